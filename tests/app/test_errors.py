"""Errors have one shape and one status by class, for programs and for visitors."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from app.conftest import API, Postgres, TestClient, error_of, new_person
from fastapi.responses import Response, StreamingResponse

from teaser.app.errors import status_of
from teaser.errors import (
    ArtifactError,
    LimitError,
    ParameterError,
    ResourceError,
    StoreError,
    TeaserError,
    UnknownNameError,
)

GHENT = {"tag": "town=Ghent", "steps": 3}


class TestResponses:
    def test_other_paths_and_methods_have_the_one_shape(self, client: TestClient) -> None:
        assert error_of(client.get(f"{API}/nothing"), 404)["code"] == "not_found"
        assert error_of(client.get(f"{API}/recommend"), 405)["code"] == "method_not_allowed"
        assert error_of(client.get("/api/"), 404)

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


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownNameError("person"), (404, "unknown_person")),
        (UnknownNameError("item", "i99"), (404, "unknown_name")),
        (UnknownNameError("share"), (404, "unknown_share")),
        (LimitError("Too much.", problem="bytes"), (413, "too_large")),
        (LimitError("Too many."), (422, "invalid")),
        (TeaserError("Foreign.", problem="foreign origin"), (403, "forbidden")),
        (ParameterError(), (422, "invalid")),
        (StoreError(), (503, "unavailable")),
        (ArtifactError(), (503, "unavailable")),
        (ResourceError(), (503, "unavailable")),
        (ValueError(), (500, "internal")),
    ],
)
def test_each_error_has_its_status_and_code(error: Exception, status: tuple[int, str]) -> None:
    assert status_of(error) == status


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


class TestMethods:
    PERSON = f"{API}/people/{'a' * 43}"

    def test_all_of_a_path_are_named(self, client: TestClient) -> None:
        for path, methods in (
            ("/", "GET, HEAD, OPTIONS"),
            ("/act", "OPTIONS, POST"),
            ("/share", "GET, HEAD, OPTIONS, POST"),
            ("/item/a/b", "GET, HEAD, OPTIONS"),
            ("/static/teaser.css", "GET, HEAD, OPTIONS"),
            ("/healthz", "GET, HEAD, OPTIONS"),
            ("/openapi.json", "GET, HEAD, OPTIONS"),
            (f"{API}/recommend", "OPTIONS, POST"),
            (self.PERSON, "DELETE, GET, HEAD, OPTIONS"),
            (f"{self.PERSON}/views", "DELETE, OPTIONS, POST"),
            (f"{self.PERSON}/shares", "GET, HEAD, OPTIONS, POST"),
            (f"{self.PERSON}/variety", "OPTIONS, PUT"),
        ):
            answer = client.patch(path)
            assert (answer.status_code, answer.headers["allow"]) == (405, methods), path
            asked = client.options(path)
            assert (asked.status_code, asked.headers["allow"], asked.content) == (204, methods, b"")


class TestConnections:
    """A server closes the connection on which the application raises."""

    def test_an_unexpected_error_is_answered_and_not_raised(self, own_client: TestClient) -> None:
        app: Any = own_client.app

        def broken() -> None:
            raise ZeroDivisionError

        app.get("/broken")(broken)
        strict = TestClient(app)  # it raises what the application raises
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
