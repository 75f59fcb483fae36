"""Limits, headers, hosts, errors and health of every answer."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from app.conftest import API, Postgres, TestClient, break_path, error_of, new_person
from fastapi.responses import Response, StreamingResponse

from teaser.app.http import HEADERS

EXPECTED = {name.decode(): value.decode() for name, value in HEADERS}
BODY = b'{"history": [], "presses": []}'
JSON = {"content-type": "application/json"}
# Pages that say something about people or the model, and what each of them contains.
PRIVATE = ("/", "/api/v1/model", "/export", "/metrics", "/openapi.json")
CONTENT = 'data-card|"items"|"events"|teaser_requests|"paths"'


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": "nl"}


class TestPages:
    """Whoever looks at the site reads a page; programs read json."""

    def test_what_is_not_there_is_a_page_or_json(self, client: TestClient) -> None:
        for path in ("/nowhere", "/item/none", "/static/none"):
            page = client.get(path, headers=BROWSER)
            assert page.status_code == 404
            assert page.headers["content-type"].startswith("text/html")
            data = client.get(path, headers={"accept": "application/json"})
            assert data.status_code == 404
            assert set(data.json()["error"]) == {"code", "message"}


class TestHosts:
    """A page of another site whose name leads to this machine reads nothing and changes nothing."""

    @pytest.mark.parametrize("path", PRIVATE)
    def test_other_names_are_refused(self, client: TestClient, path: str) -> None:
        for host in ("evil.example", "127.0.0.1.evil.example", ""):
            answer = client.get(path, headers={"host": host})
            assert answer.status_code == 421, host
            assert "--host-name" in answer.text
            assert not re.search(CONTENT, answer.text), host

    def test_a_health_check_may_come_by_any_name(self, client: TestClient) -> None:
        answer = client.get("/healthz", headers={"host": "server.inside:8000"})
        assert (answer.status_code, answer.text) == (200, "ok")
        assert client.get("/readyz", headers={"host": "server.inside:8000"}).status_code == 421


class TestHeaders:
    def test_they_are_on_every_answer(self, client: TestClient) -> None:
        for path in (
            "/api/v1/model",
            "/api/v1/items?item_id=none",
            "/api/nothing",
            "/healthz",
            "/openapi.json",
        ):
            headers = client.get(path).headers
            assert {name: headers.get(name) for name in EXPECTED} == EXPECTED, path

    def test_they_are_on_what_the_guard_refuses(self, serve: Callable[..., TestClient]) -> None:
        client = serve(rate=1, max_body=10)
        large = client.post("/api/v1/recommend", content=BODY, headers=JSON)
        often = client.get("/api/v1/model")
        assert [large.status_code, often.status_code] == [413, 429]
        for answer in (large, often):
            assert {name: answer.headers.get(name) for name in EXPECTED} == EXPECTED

    def test_they_are_on_what_goes_wrong_on_our_side(self, own_client: TestClient) -> None:
        break_path(own_client, "/api/broken")
        answer = own_client.get("/api/broken")
        assert answer.status_code == 500
        assert answer.json()["error"]["code"] == "internal"
        assert "secret" not in answer.text
        assert {name: answer.headers.get(name) for name in EXPECTED} == EXPECTED

    def test_nothing_about_a_person_is_cached(self, client: TestClient) -> None:
        person = new_person(client)
        for method, path in (
            ("GET", person),
            ("GET", f"{person}/export"),
            ("POST", f"{person}/undo"),
            ("POST", "/api/v1/recommend"),
            *(("GET", path) for path in ("/", "/share", "/item/i1", "/none")),
            ("POST", "/act"),
        ):
            headers = client.request(method, path, follow_redirects=False).headers
            assert headers["cache-control"] == "no-store", path

    def test_what_is_about_nobody_may_be_cached(self, client: TestClient) -> None:
        assert "cache-control" not in client.get("/static/teaser.css").headers
        assert "etag" in client.get("/static/teaser.css").headers
        assert client.get("/brand.css").headers["cache-control"].startswith("public")
        assert client.get("/suggest?q=i").headers["cache-control"].startswith("private")


def test_watching_is_not_limited(serve: Callable[..., TestClient]) -> None:
    client = serve(rate=2)
    assert {client.get("/healthz").status_code for _ in range(9)} == {200}
    answers = [client.get("/search?q=a") for _ in range(4)]
    assert answers[-1].status_code == 429
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 30


GHENT = {"tag": "town=Ghent", "steps": 3}


class TestResponses:
    def test_a_database_that_is_down_is_503_and_the_rest_goes_on(
        self, serve: Callable[..., TestClient], new_postgres: Callable[[], Postgres]
    ) -> None:
        server = new_postgres()
        client = serve(database_url=server.emptied())
        person = new_person(client)
        client.post(f"{person}/views", json={"item_id": "i0"})
        server.kill()
        for _ in range(2):
            said = error_of(client.post(f"{person}/presses", json=GHENT), 503)
            assert said["code"] == "unavailable"
            assert str(server.folder) not in said["message"]
            assert client.post(f"{API}/recommend", json={}).status_code == 200
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        server.start()
        assert client.post(f"{person}/presses", json=GHENT).json()["history"] == ["i0"]
        assert client.get("/readyz").status_code == 200


def test_broken_headers_and_forms_are_refused_and_nothing_is_stored(client: Any) -> None:
    own = {"Origin": "http://testserver"}
    press = {"press": "+1 type=film"}
    assert client.post("/act", data=press, headers={"Origin": "http://["}).status_code == 403
    deep = {"presses": "[" * 20_000}
    assert client.post("/act", data=deep, headers=own).status_code == 422
    assert client.post("/act", data={"press": "0 type=film"}, headers=own).status_code == 422
    answer = client.post("/act", data={**press, "back": "//["}, headers=own, follow_redirects=False)
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=x", "multipart/form-data", "multipart/form-data; a"]
)
def test_a_broken_form_is_called_a_form(client: Any, kind: str) -> None:
    headers = {"Origin": "http://testserver", "content-type": kind}
    answer = client.post("/act", content=b"--y\r\nbroken", headers=headers)
    assert answer.status_code == 400
    assert "not a form" in answer.text
    assert "JSON" not in answer.text


class TestConnections:
    """A server closes the connection on which the application raises."""

    def test_an_unexpected_error_is_answered_and_not_raised(self, own_client: TestClient) -> None:
        break_path(own_client, "/broken")
        strict = TestClient(own_client.app)  # it raises what the application raises
        assert strict.get("/broken").status_code == 500
        assert strict.get("/healthz").status_code == 200

    def test_half_an_answer_ends_the_connection(self, own_client: TestClient) -> None:
        app: Any = own_client.app

        def halves() -> Iterator[bytes]:
            yield b"half"
            raise ZeroDivisionError

        def half() -> Response:
            return StreamingResponse(halves())

        app.get("/half")(half)
        with pytest.raises(ZeroDivisionError):
            TestClient(app).get("/half")
