"""Every request has an id, one log line and one count; none of them says who sent it."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from app.conftest import API, OWN, TestClient, new_person
from prometheus_client.parser import text_string_to_metric_families

ID = "x-request-id"
ACCEPT = (b"accept", b"application/json, text/event-stream")


def lines_of(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the facts of the lines of requests."""
    found = [record for record in caplog.records if record.name == "teaser.access"]
    return [record.__dict__["teaser_facts"] for record in found]


def break_path(client: TestClient, path: str) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a secret of ours")

    app: Any = client.app
    app.get(path)(broken)


class TestId:
    def test_each_answer_has_its_own(self, serve: Callable[..., TestClient]) -> None:
        client = serve(max_body=10)
        answers = [client.get(path) for path in ("/", "/", "/nowhere", "/static/teaser.css")]
        answers.append(client.get("/", headers={"host": "evil.example"}))
        answers.append(client.post("/act", content=b"x" * 20, headers=OWN))
        assert [a.status_code for a in answers] == [200, 200, 404, 200, 421, 413]
        ids = [answer.headers[ID] for answer in answers]
        assert len(set(ids)) == 6
        assert all(len(name) == 16 and name.isalnum() for name in ids)

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
