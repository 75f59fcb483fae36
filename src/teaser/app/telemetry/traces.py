"""OpenTelemetry traces: a span of each request, and of its use of the store and the model."""

import os
import threading
from collections.abc import Mapping
from typing import Any, TypeAlias

from teaser.errors import MissingPackageError, ParameterError

Span: TypeAlias = Any  # OpenTelemetry's, which is an optional package
_SERVICE = "teaser"
_NAMES = {"store_read": "store read", "store_write": "store write", "model": "model"}


class Traces:
    """Spans of one process, sent to a collector as the `OTEL_*` variables say.

    Spans hold the route's template, the method and the status: no path, query, header or address.

    Raises
    ------
    MissingPackageError
        If the extra `traces` is not installed.
    ParameterError
        If `OTEL_TRACES_EXPORTER` or the protocol names something that is not supported.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry.sdk.resources import SERVICE_NAME, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
            from opentelemetry.trace.propagation.tracecontext import (
                TraceContextTextMapPropagator,
            )
        except ImportError as error:
            raise MissingPackageError("Tracing", str(error.name), extra="traces") from None
        # Variables that name the service win over the name here.
        named = "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        name = {} if named or os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: _SERVICE}
        self.provider = TracerProvider(resource=Resource.create(name), shutdown_on_exit=False)
        self._tracer = self.provider.get_tracer(_SERVICE)
        self._server, self._error = SpanKind.SERVER, StatusCode.ERROR
        self._in_context = set_span_in_context
        self._parent = TraceContextTextMapPropagator()
        _add_exporter(self.provider)

    def begin_request(self, headers: Mapping[str, str]) -> Span:
        """Return a span for a request; it belongs to the trace that its headers name, if any."""
        return self._tracer.start_span(
            "request", context=self._parent.extract(headers), kind=self._server
        )

    def begin_part(self, request: Span, part: str) -> Span:
        """Return a span for a part of a request."""
        return self._tracer.start_span(_NAMES[part], context=self._in_context(request))

    def end_request(self, span: Span, method: str, route: str, status: int) -> None:
        """End the span of a request with its answer."""
        span.update_name(f"{method} {route}")
        span.set_attribute("http.request.method", method)
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_attribute("error.type", str(status))
            span.set_status(self._error)
        span.end()

    def close(self, seconds: float = 1.0) -> None:
        """Send what is left, and stop; what a collector does not take in time is lost."""
        # The exporter tries for ten seconds and more; a daemon thread does not hold up the exit.
        thread = threading.Thread(target=self.provider.shutdown, daemon=True)
        thread.start()
        thread.join(seconds)


def trace_id_of(span: Span) -> str:
    """Return the id of the trace that a span belongs to, as collectors show it."""
    return format(span.get_span_context().trace_id, "032x")


def _add_exporter(provider: Any) -> None:
    """Send spans by OTLP over http, or nowhere, as `OTEL_TRACES_EXPORTER` says."""
    variables = os.environ
    exporter = variables.get("OTEL_TRACES_EXPORTER") or "otlp"
    if exporter == "none":
        return
    protocol = variables.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or variables.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    if exporter != "otlp" or protocol not in ("", "http/protobuf"):
        raise ParameterError(
            f"Traces cannot be sent by {protocol or exporter}. Set OTEL_TRACES_EXPORTER to otlp "
            "or none, and OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf."
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingPackageError("Tracing", str(error.name), extra="traces") from None
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
