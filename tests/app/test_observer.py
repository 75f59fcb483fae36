"""What a server tells of itself: ids, log lines, counts and spans; none of them says who asked."""

import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, OWN, TestClient, break_path, new_person
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from teaser.app.monitoring import RequestRecord, Traces, begin_request, configure_logs
from teaser.app.settings import Settings
from teaser.console import visible_line
from teaser.errors import MissingPackageError

ID = "x-request-id"
ACCEPT = (b"accept", b"application/json, text/event-stream")


def lines_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the facts of the lines of requests."""
    found = [record for record in caplog.records if record.name == "teaser.access"]
    return [record.__dict__["teaser_facts"] for record in found]


class TestId:
    def test_one_of_a_trusted_proxy_is_kept_if_it_is_a_plain_word(
        self, serve: Callable[..., TestClient]
    ) -> None:
        app: Any = serve(proxies="10.0.0.0/8").app
        proxy, other = (TestClient(app, client=(host, 1)) for host in ("10.0.0.1", "11.0.0.1"))
        word = "aB3-_" * 5
        assert proxy.get("/healthz", headers={ID: word}).headers[ID] == word
        assert other.get("/healthz", headers={ID: word}).headers[ID] != word
        for wrong in ("short", "a" * 65, 'a"b' * 5, "a b" * 5, "ab\x0bc" * 5):
            answer = proxy.get("/healthz", headers={ID: wrong})
            assert answer.headers[ID] != wrong
            assert len(answer.headers.get_list(ID)) == 1

    def test_it_is_in_the_answer_and_the_log_of_what_failed(
        self, own_client: TestClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        for path in ("/broken", "/api/broken"):
            break_path(own_client, path)
        page = own_client.get("/broken", headers={"accept": "text/html", "accept-language": "nl"})
        assert page.headers[ID] in page.text
        assert "Nummer van deze fout" in page.text
        assert "secret" not in page.text
        data = own_client.get("/api/broken").json()["error"]
        assert set(data) == {"code", "message", "request_id"}
        missing = own_client.get("/api/nothing").json()["error"]
        assert "request_id" not in missing


class TestLines:
    def test_a_line_tells_route_status_and_times_and_not_who_asked(
        self, client: TestClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.DEBUG, "teaser"):
            person = new_person(client)
            client.get(
                f"{person}/recommendations?k=3", headers={"referer": "http://secret.example"}
            )
            client.get("/item/i1?secret=1")
            client.head("/item/i1")
            client.request("SECRET", "/item/i1")
        made, listed, item, head, strange = lines_of(caplog)
        people = f"{API}/people"
        assert (made["method"], made["route"], made["status"]) == ("POST", people, 201)
        assert made["store_ms"] >= 0
        assert listed["route"] == f"{people}/{{person_id}}/recommendations"
        assert listed["ms"] >= listed["model_ms"] > 0
        assert (item["route"], item["status"]) == ("/item/{item_id}", 200)
        assert (head["method"], head["route"]) == ("HEAD", "/item/{item_id}")
        assert (strange["method"], strange["status"]) == ("other", 405)
        written = str(lines_of(caplog))
        assert all(word not in written for word in (person[-43:], "i1", "secret", "testclient"))

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            (f"{API}/recommend", b"application/json"),
            ("/act", b"application/x-www-form-urlencoded"),
            ("/import", b"multipart/form-data; boundary=x"),
            ("/mcp", b"application/json"),
        ],
    )
    def test_a_client_that_leaves_within_its_body_is_told_apart_and_is_no_error(
        self,
        serve: Callable[..., TestClient],
        caplog: pytest.LogCaptureFixture,
        path: str,
        kind: bytes,
    ) -> None:
        scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path}
        scope |= {"raw_path": b"", "query_string": b"", "client": ("127.0.0.1", 1)}
        origin = (b"origin", b"http://testserver")
        scope |= {"scheme": "http"}
        scope |= {"headers": [(b"host", b"testserver"), origin, (b"content-type", kind), ACCEPT]}
        messages = iter([{"type": "http.request", "body": b"--x", "more_body": True}])

        async def receive() -> dict[str, object]:
            return next(messages, {"type": "http.disconnect"})

        async def send(message: object) -> None:
            pass

        with serve(is_new=True, mcp=True) as client, caplog.at_level(logging.INFO):
            portal: Any = client.portal
            portal.call(client.app, scope, receive, send)
        assert [line["status"] for line in lines_of(caplog)] == [499]
        assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_all_is_counted_as_prometheus_reads_it(own_client: TestClient) -> None:
    person = new_person(own_client)
    own_client.get(f"{person}/recommendations")
    own_client.get("/item/i1")
    own_client.get("/item/none")
    own_client.post("/act", data={"view": "i1"}, headers=OWN, follow_redirects=False)
    answer = own_client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = [s for f in text_string_to_metric_families(answer.text) for s in f.samples]
    values = {(s.name, *(s.labels[name] for name in sorted(s.labels))): s.value for s in samples}
    assert values["teaser_requests_total", "GET", "/item/{item_id}", "200"] == 1
    assert values["teaser_requests_total", "GET", "/item/{item_id}", "404"] == 1
    assert values["teaser_requests_total", "POST", "/act", "303"] == 1
    assert values["teaser_store_seconds_count", "write"] >= 2
    assert values["teaser_store_seconds_count", "read"] >= 1
    assert values["teaser_model_seconds_count",] >= 2
    assert 0 < values["teaser_model_age_seconds",] < 10_000
    assert person[-43:] not in answer.text
    assert not [s for s in samples if "i1" in s.labels.values()]


PRIVATE = "tom@example.org"
HOSTILE = "a\n\tb\r\x1b[31m\x9b\u2028c\u202ed"


@pytest.fixture
def handler_of(own_logs: None) -> Callable[..., logging.Handler]:
    """Configure the logs of this process."""

    def configure(**settings: str) -> logging.Handler:
        configure_logs(Settings(model=Path(), **settings))
        configure_logs(Settings(model=Path(), **settings))
        (found,) = [h for h in logging.getLogger().handlers if h.get_name() == "teaser"]
        return found

    return configure


def fail() -> None:
    try:
        dict[str, int]()[PRIVATE]
    except KeyError as error:
        raise ValueError(f"{PRIVATE} is not there") from error


def log_failure(request_id: str = "0123456789abcdef") -> None:
    begin_request(RequestRecord(request_id))
    try:
        fail()
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")


class TestJson:
    def test_an_exception_has_its_type_and_stack_and_no_message(
        self, handler_of: Any, capsys: Any
    ) -> None:
        handler_of(log_format="json")
        copy_context().run(log_failure)
        written = capsys.readouterr().err
        assert PRIVATE not in written
        said = json.loads(written)
        assert (said["level"], said["logger"]) == ("error", "uvicorn.error")
        assert (said["error"], said["request_id"]) == ("ValueError", "0123456789abcdef")
        assert re.search(
            r"test_observer.py:\d+ fail: .*\nKeyError\n(.*\n)+ValueError", said["stack"]
        )


class TestText:
    def test_a_value_cannot_write_lines_of_its_own(self, handler_of: Any, capsys: Any) -> None:
        handler_of()
        logging.getLogger("teaser").warning("%s", HOSTILE)
        written = capsys.readouterr().err
        assert len(written.splitlines()) == 1
        assert written.endswith(r"teaser: a\x0a\x09b\x0d\x1b[31m\x9b\u2028c\u202ed" + "\n")

    def test_nor_do_lines_of_json_hold_control_characters(
        self, handler_of: Any, capsys: Any
    ) -> None:
        handler_of(log_format="json")
        logging.getLogger("teaser").warning("%s", HOSTILE)
        written = capsys.readouterr().err
        assert json.loads(written)["message"] == HOSTILE
        assert visible_line(written.rstrip("\n")) == written.rstrip("\n")


def test_what_asyncio_shows_of_objects_is_left_out(handler_of: Any, capsys: Any) -> None:
    handler_of()
    text = f"Task exception was never retrieved\nfuture: <Task exception=ValueError('{PRIVATE}')>"
    logging.getLogger("asyncio").error(text)
    written = capsys.readouterr().err
    assert PRIVATE not in written
    assert "Task exception was never retrieved" in written


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
    break_path(client, "/broken/{word}")
    client.get("/broken/secret?secret=1", headers={"user-agent": "secret"})
    *parts, span = memory.get_finished_spans()
    assert {part.name for part in parts} <= {"store read"}  # whose cookie it is
    assert span.status.status_code.name == "ERROR"
    assert dict(span.attributes or {})["error.type"] == "500"
    assert "secret" not in span.to_json()
    assert not span.events


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingPackageError, match=r"opentelemetry.*\[traces\]"):
        Traces()


class Collector(ThreadingHTTPServer):
    """Keeps what is sent to it, and answers once it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        received: list[tuple[str, bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.append((self.path, body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

        super().__init__(("127.0.0.1", 0), Handler)
        self.received = received
        address = f"http://127.0.0.1:{self.server_address[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector(monkeypatch) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_spans_reach_a_collector_when_the_server_stops(
    serve: Callable[..., TestClient], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "books")
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
