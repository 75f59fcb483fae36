"""Spans of requests, the store and the model, in memory and at a collector on loopback."""

import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from app.conftest import TestClient
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from teaser.app.monitoring import Traces
from teaser.errors import MissingPackageError, ParameterError

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}


@pytest.fixture
def traced(
    serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[TestClient, InMemorySpanExporter]]:
    """A server whose spans stay in memory."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    app: Any = serve(alone=True, traces=True, proxies="10.0.0.1").app
    memory = InMemorySpanExporter()
    app.state.traces.provider.add_span_processor(SimpleSpanProcessor(memory))
    yield TestClient(app, client=("10.0.0.1", 1), raise_server_exceptions=False), memory
    app.state.traces.close()


def test_failures_are_marked_and_say_nothing_more(
    traced: tuple[TestClient, InMemorySpanExporter],
) -> None:
    client, memory = traced

    def broken() -> None:
        raise ZeroDivisionError("a secret of ours")

    app: Any = client.app
    app.get("/broken/{word}")(broken)
    client.get("/broken/secret?secret=1", headers={"user-agent": "secret"})
    *parts, span = memory.get_finished_spans()
    assert {part.name for part in parts} <= {"store read"}  # whose cookie it is
    assert span.status.status_code.name == "ERROR"
    assert dict(span.attributes or {})["error.type"] == "500"
    assert "secret" not in span.to_json()
    assert not span.events


def test_a_trusted_proxy_names_the_trace_and_the_log_has_it(
    traced: tuple[TestClient, InMemorySpanExporter],
) -> None:
    client, memory = traced
    client.get("/healthz", headers=PARENT)
    TestClient(client.app, client=("10.0.0.2", 1)).get("/healthz", headers=PARENT)
    near, far = (format(s.context.trace_id, "032x") for s in memory.get_finished_spans())
    assert near == TRACE != far


def test_without_the_extra_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingPackageError, match=r"opentelemetry.*\[traces\]"):
        Traces()


@pytest.mark.parametrize(
    ("name", "value"),
    [("OTEL_TRACES_EXPORTER", "zipkin"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
)
def test_other_ways_to_send_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ParameterError, match=f"{value}.*otlp"):
        Traces()


class Collector(ThreadingHTTPServer):
    """Keeps what is sent to it, and answers once it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        received: list[tuple[str, bytes]] = []
        may_answer = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.append((self.path, body))
                may_answer.wait()
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

        super().__init__(("127.0.0.1", 0), Handler)
        self.received, self.may_answer = received, may_answer
        address = f"http://127.0.0.1:{self.server_address[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector(monkeypatch) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.may_answer.set()
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector_when_the_server_stops(
    serve: Callable[..., TestClient], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "books")
    collector.may_answer.set()
    with serve(is_new=True, traces=True) as client:
        client.get("/item/i1")
    ((path, body),) = collector.received
    assert path == "/v1/traces"
    sent = ExportTraceServiceRequest.FromString(body)
    (resource,) = sent.resource_spans
    named = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert named["service.name"] == "books"
    spans = [span for scope in resource.scope_spans for span in scope.spans]
    assert "GET /item/{item_id}" in {span.name for span in spans}
    for span in spans:
        for random in ("trace_id", "span_id", "parent_span_id"):
            span.ClearField(random)
        for clock in ("start_time_unix_nano", "end_time_unix_nano"):
            span.ClearField(clock)
        assert b"i1" not in span.SerializeToString()


def test_a_collector_that_does_not_answer_holds_up_nothing(collector: Collector) -> None:
    traces = Traces()
    traces.end_request(traces.begin_request({}), "GET", "/", 200)
    closing = threading.Thread(target=traces.close, args=(0.05,))
    closing.start()
    closing.join(60)
    assert not closing.is_alive()  # the collector never answers
