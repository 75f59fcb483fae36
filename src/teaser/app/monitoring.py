"""What operators see of the server: health, metrics, logs and traces. None of it holds ids."""

import json
import logging
import os
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar, cast

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from teaser.app.settings import Settings
from teaser.console import visible_line
from teaser.errors import MissingPackageError

if TYPE_CHECKING:
    from teaser.app.models import ModelHolder

Part = Literal["store_read", "store_write", "model"]
Span: TypeAlias = Any  # OpenTelemetry's, which is an optional package
P = ParamSpec("P")
T = TypeVar("T")

access_log = logging.getLogger("teaser.access")
_FACTS = "teaser_facts"
_BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 2.5, 5.0)
_SERVICE = "teaser"


@dataclass
class RequestRecord:
    """One request while it is handled.

    Attributes
    ----------
    request_id
        A random name of the request; it says nothing about who sent it.
    traces, span
        Where its spans go, and its own span; None where traces are off.
    times
        The parts that were measured, and their seconds.
    running
        The parts that are being measured now.
    """

    request_id: str
    traces: "Traces | None" = None
    span: Span | None = None
    times: list[tuple[Part, float]] = field(default_factory=list)
    running: set[Part] = field(default_factory=set)

    def seconds(self, *parts: Part) -> float:
        """Return the time that some parts took together."""
        return sum(seconds for part, seconds in self.times if part in parts)


_current: ContextVar[RequestRecord | None] = ContextVar("teaser_request", default=None)


def begin_request(record: RequestRecord) -> None:
    """Make a record the current one, for this task and the threads that it starts."""
    _current.set(record)


def current_request() -> RequestRecord | None:
    """Return the record of the request that is being handled; None outside of one."""
    return _current.get()


@contextmanager
def measured(part: Part) -> Iterator[None]:
    """Measure a block, or as a decorator the calls of a function, as a part of the request.

    A part within the same part is not measured again. Outside of a request nothing happens.
    """
    record = _current.get()
    if record is None or part in record.running:
        yield
        return
    record.running.add(part)
    traces, span = record.traces, record.span
    child = traces.begin_part(span, part) if traces is not None and span is not None else None
    start = time.perf_counter()
    try:
        yield
    finally:
        record.times.append((part, time.perf_counter() - start))
        record.running.discard(part)
        if child is not None:
            child.end()


class Metrics:
    """Counts and times of answered requests, and the state of the served model.

    `teaser serve` sets `PROMETHEUS_MULTIPROC_DIR`: the counts of all its workers are then added up,
    also those of workers that have ended. The model's gauges are of the process that answers.
    """

    def __init__(self, holder: "ModelHolder") -> None:
        registry = self._own = CollectorRegistry()
        self._model = _ModelGauges(holder)
        self._requests = Counter(
            "teaser_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._times = _histogram("request", "Time to answer.", registry, "method", "route")
        self._store = _histogram("store", "Time of a transaction.", registry, "operation")
        self._models = _histogram("model", "Time of the model for a profile or list.", registry)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer and the parts of the current request."""
        self._requests.labels(method, route, str(status)).inc()
        self._times.labels(method, route).observe(seconds)
        record = current_request()
        for part, taken in record.times if record is not None else ():
            if part == "model":
                self._models.observe(taken)
            else:
                self._store.labels(part.removeprefix("store_")).observe(taken)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        registry = self._own
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            registry, collect_all = CollectorRegistry(), cast(Any, MultiProcessCollector)
            collect_all(registry)
        model = CollectorRegistry()
        model.register(self._model)
        return generate_latest(registry) + generate_latest(model)


class _ModelGauges(Collector):
    """Gauges of the model that this process serves."""

    def __init__(self, holder: "ModelHolder") -> None:
        self._holder = holder

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the gauges."""
        holder = self._holder
        age = max(0.0, time.time() - holder.written_at)
        for name, said, value in (
            (
                "stale",
                "1 while the model's folder cannot be used and the previous model is served.",
                float(holder.load_error is not None),
            ),
            ("age_seconds", "Time since the served model was written.", age),
            ("written_timestamp_seconds", "When it was written.", holder.written_at),
            ("loaded_timestamp_seconds", "When this worker loaded it.", holder.loaded_at),
        ):
            yield GaugeMetricFamily(f"teaser_model_{name}", said, value=value)


def _histogram(name: str, said: str, registry: CollectorRegistry, *labels: str) -> Histogram:
    return Histogram(f"teaser_{name}_seconds", said, labels, buckets=_BOUNDS, registry=registry)


def configure_logs(settings: Settings) -> None:
    """Write all log lines of this process to standard error; only a server process calls it.

    Lines of this package are written from `log_level` on. Of other packages only warnings and
    errors are, because lines of lower levels may hold addresses and the values of queries.
    """
    level = getattr(logging, settings.log_level.upper())
    handler = logging.StreamHandler()
    is_json, with_messages = settings.log_format == "json", settings.log_level == "debug"
    handler.setFormatter(_Formatter(is_json=is_json, with_messages=with_messages))
    handler.set_name(_SERVICE)
    root = logging.getLogger()
    root.handlers = [h for h in root.handlers if h.get_name() != _SERVICE] + [handler]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("teaser").setLevel(level)
    # Warnings of the SDK for assistants hold what a client sent, and come as often as it likes.
    logging.getLogger("mcp").setLevel(logging.ERROR)


def log_request(record: RequestRecord, answer: Mapping[str, Any], *, level: int) -> None:
    """Write the line of one request: the facts of its answer, and the times of its parts."""
    facts = dict(answer)
    if store := record.seconds("store_read", "store_write"):
        facts["store_ms"] = round(store * 1e3, 1)
    if model := record.seconds("model"):
        facts["model_ms"] = round(model * 1e3, 1)
    access_log.log(level, "request", extra={_FACTS: facts})


class _Formatter(logging.Formatter):
    """Lines for people, with further facts as name=value, or one JSON object a line.

    Parameters
    ----------
    is_json
        Whether a line is a JSON object.
    with_messages
        Whether messages of exceptions are written. They may hold ids, so they are not as a rule.
    """

    def __init__(self, *, is_json: bool, with_messages: bool) -> None:
        super().__init__()
        self.is_json = is_json
        self.with_messages = with_messages

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; in text, with the stack of an exception below it."""
        error = record.exc_info[1] if record.exc_info else None
        facts, lines = self.facts(record), list(self._lines_of(error))
        if self.is_json:
            facts |= {"error": lines[-1], "stack": "\n".join(lines)} if lines else {}
            return json.dumps(facts, default=str)
        start = f"{facts.pop('time')} {facts.pop('level').upper()} {facts.pop('logger')}: "
        line = " ".join([facts.pop("message"), *(f"{k}={v}" for k, v in facts.items())])
        # Without line feeds what is logged cannot write lines of its own.
        return "\n".join(map(visible_line, [start + line, *lines]))

    def facts(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what a line tells, by name."""
        at = datetime.fromtimestamp(record.created, UTC)
        message = record.getMessage().strip()
        if record.name == "asyncio" and not self.with_messages:
            message = message.partition("\n")[0]  # further lines show the objects involved
        facts: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
            **getattr(record, _FACTS, {}),
        }
        if (request := current_request()) is not None:
            facts["request_id"] = request.request_id
            if request.span is not None:
                facts["trace_id"] = format(request.span.get_span_context().trace_id, "032x")
        return facts

    def _lines_of(self, error: BaseException | None) -> Iterator[str]:
        """Yield the stack and the type of an exception, after those of its causes."""
        if error is None:
            return
        before = None if error.__suppress_context__ else error.__context__
        for inner in (*getattr(error, "exceptions", ()), error.__cause__ or before):
            yield from self._lines_of(inner)
        for frame in traceback.extract_tb(error.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} {frame.name}: {frame.line}"
        name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
        yield f"{name}: {error}" if self.with_messages else name


class Traces:
    """OpenTelemetry spans of one process, sent to a collector as the `OTEL_*` variables say.

    Spans hold the route's template, the method and the status: no path, query, header or address.

    Raises
    ------
    MissingPackageError
        If the extra `traces` is not installed.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import OTELResourceDetector, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
            from opentelemetry.trace.propagation import tracecontext
        except ImportError as error:
            raise MissingPackageError("Tracing", str(error.name), extra="traces") from None
        # Variables that name the service win over the name here.
        resource = Resource.create({"service.name": _SERVICE}).merge(
            OTELResourceDetector().detect()
        )
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracer = self.provider.get_tracer(_SERVICE)
        self._server, self._error = SpanKind.SERVER, StatusCode.ERROR
        self._in_context = set_span_in_context
        self._parent = tracecontext.TraceContextTextMapPropagator()
        if os.environ.get("OTEL_TRACES_EXPORTER") != "none":
            self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def begin_request(self, headers: Mapping[str, str]) -> Span:
        """Return a span for a request; it belongs to the trace that its headers name, if any."""
        return self._tracer.start_span(
            "request", context=self._parent.extract(headers), kind=self._server
        )

    def begin_part(self, request: Span, part: str) -> Span:
        """Return a span for a part of a request."""
        name = part.replace("_", " ")
        return self._tracer.start_span(name, context=self._in_context(request))

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
