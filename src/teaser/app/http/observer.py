"""The outermost ASGI middleware: an id for every request, and its log line, counts and span."""

import logging
import os
import re
import time
from typing import Any

from teaser.app.http.address_set import AddressSet
from teaser.app.http.metrics import Metrics
from teaser.app.http.middleware import MONITORING, Message, Receive, Scope, Send, address_of
from teaser.app.http.route_names import RouteNames, method_name
from teaser.app.settings import Settings
from teaser.app.telemetry.logs import log_request
from teaser.app.telemetry.request_record import RequestRecord, begin_request
from teaser.app.telemetry.traces import Traces

ID_HEADER = "x-request-id"
# What nginx logs for a client that left before its answer.
_LEFT = 499
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


class Observer:
    """Give every request an id; count, log and trace its answer.

    Parameters
    ----------
    settings
        Which proxies are trusted to give a request its id.
    metrics
        Where answers are counted.
    routes
        The names of routes.
    traces
        Where spans go; None where traces are off.
    """

    def __init__(
        self,
        app: Any,
        *,
        settings: Settings,
        metrics: Metrics,
        routes: RouteNames,
        traces: Traces | None,
    ) -> None:
        self.app = app
        self.metrics = metrics
        self.routes = routes
        self.traces = traces
        self._proxies = AddressSet(settings.proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(self, scope)

        async def receive_observed() -> Message:
            message = await receive()
            answer.has_left |= message["type"] == "http.disconnect"
            return message

        async def send_observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = _LEFT if answer.has_left else message["status"]
                given = (ID_HEADER.encode(), answer.record.request_id.encode())
                message["headers"] = [*message.get("headers", ()), given]
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                answer.finish()  # before it is sent: whoever has it finds it counted
            await send(message)

        begin_request(answer.record)
        try:
            await self.app(answer.scope, receive_observed, send_observed)
        finally:
            answer.finish()

    def new_record(self, scope: Scope) -> RequestRecord:
        """Return the record of a new request, under the id that a trusted proxy gave it."""
        given: dict[str, str] = {}
        if address_of(scope) in self._proxies:
            names = (b"x-request-id", b"traceparent", b"tracestate")
            found = [(n, v) for n, v in scope["headers"] if n in names]
            given = {name.decode(): value.decode("latin-1") for name, value in found}
        request_id = given.get(ID_HEADER, "")
        if not _ID.fullmatch(request_id):
            request_id = os.urandom(8).hex()
        span = self.traces.begin_request(given) if self.traces is not None else None
        return RequestRecord(request_id, self.traces, span)


class _Answer:
    """The answer to one request, until it is counted."""

    def __init__(self, observer: Observer, scope: Scope) -> None:
        self.observer = observer
        self.method = method_name(scope["method"])
        self.start = time.perf_counter()
        self.record = observer.new_record(scope)
        self.scope = {**scope}  # the router writes the route into it
        self.status = _LEFT
        self.has_left = False
        self.is_finished = False

    def finish(self) -> None:
        """Count, log and trace the answer, once."""
        if self.is_finished:
            return
        self.is_finished = True
        seconds = time.perf_counter() - self.start
        record, name = self.record, self.observer.routes.of(self.scope)
        record.late = self.observer.metrics.record_part
        self.observer.metrics.record(name, self.status, seconds, record.times)
        facts = {"method": self.method, "route": name.route, "status": self.status}
        facts["ms"] = round(seconds * 1e3, 1)
        is_watch = self.scope["path"] in MONITORING
        log_request(record, facts, level=logging.DEBUG if is_watch else logging.INFO)
        if record.traces is not None:
            record.traces.end_request(record.span, self.method, name.route, self.status)
