"""A request is refused by its head before its body is read; bodies are bounded in size and time."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from app.conftest import API, OWN, TestClient, error_of, new_person

from teaser.app import http

JSON = {"content-type": "application/json"}
PERSON = "a" * 43


class BodyReadError(Exception):
    """The application asked for the body of a request."""


def scope_of(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    """Return a request as the server gives it to the application."""
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": b"", "client": ("127.0.0.1", 0), "server": ("testserver", 80),
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()], "state": {},
    }  # fmt: skip


def answer_to_head(app: Any, method: str, path: str, headers: dict[str, str]) -> int:
    """Return the status that is answered to the head of a request, whose body never comes."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        raise BodyReadError

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    sent = {"host": "testserver", "content-length": "1000", **JSON, **headers}
    scope = scope_of(method, path, sent)
    asyncio.run(app(scope, receive, send))
    return statuses[0]


class TestHeadFirst:
    @pytest.mark.parametrize("path", ["/recommend", "/people", f"/people/{PERSON}/import", "/none"])
    def test_a_missing_or_wrong_key_is_refused_without_the_body(
        self, serve: Callable[..., TestClient], path: str
    ) -> None:
        app = serve(keys="on").app
        for headers in ({}, {"authorization": "Bearer tk_wrong"}):
            assert answer_to_head(app, "POST", API + path, headers) == 401

    @pytest.mark.parametrize("path", ["/act", "/import", "/say", f"{API}/recommend", "/mcp"])
    def test_a_page_of_another_site_is_refused_without_the_body(
        self, client: TestClient, path: str
    ) -> None:
        headers = {"origin": "https://evil.example"}
        assert answer_to_head(client.app, "POST", path, headers) == 403

    def test_what_is_no_id_of_a_person_is_refused_without_the_body(
        self, client: TestClient
    ) -> None:
        for path in ("/people/short/import", f"/people/{PERSON}!/views"):
            assert answer_to_head(client.app, "POST", API + path, {}) == 422

    def test_a_large_body_is_refused_without_reading_it(self, client: TestClient) -> None:
        large = {**OWN, "content-length": "65537"}
        assert answer_to_head(client.app, "POST", "/act", large) == 413


class TestSize:
    def chunks(self, size: int) -> Iterator[bytes]:
        yield b'{"history": ["'
        for _ in range(size // 100):
            yield b"x" * 100
        yield b'"]}'

    def test_a_body_of_unknown_length_is_counted(self, serve: Callable[..., TestClient]) -> None:
        client = serve(max_body=1000)
        answer = client.post(f"{API}/recommend", content=self.chunks(5000), headers=JSON)
        assert error_of(answer, 413)["code"] == "too_large"
        whole = client.post(f"{API}/recommend", content=self.chunks(0), headers=JSON)
        assert whole.status_code != 413

    def test_only_the_two_imports_take_more(self, serve: Callable[..., TestClient]) -> None:
        client = serve(max_body=1000, max_import=5000)
        body = b"x" * 2000
        paths = {f"{new_person(client)}/import": 422, f"{API}/import": 413, "/item/import": 413}
        for path, status in paths.items():
            answer = client.post(path, content=body, headers={**JSON, **OWN})
            assert (answer.status_code == 413) == (status == 413), path

    def test_a_visitor_imports_much_only_with_a_cookie_of_this_site(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(max_body=1000, max_import=5000)
        files = {"file": ("export.json", b"x" * 2000)}
        assert client.post("/import", files=files, headers=OWN).status_code == 413
        client.get("/import")
        assert client.post("/import", files=files, headers=OWN).status_code == 422


class TestTime:
    def test_a_body_that_does_not_come_ends_with_408(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(idle_timeout=0.05)
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(60)
            return {}

        scope = scope_of("POST", "/act", {"host": "testserver", **OWN})
        app: Any = client.app
        asyncio.run(app(scope, receive, send))
        assert sent[0]["status"] == 408


class Waiting:
    """Requests whose bodies have begun and do not end; each is from an address."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self, path: str, address: str, body: bytes, **headers: str) -> int:
        """Send a part of a body; return the status of the answer, 0 if it is waited for more."""
        statuses: list[int] = []
        parts = iter([{"type": "http.request", "body": body, "more_body": True}])

        async def receive() -> dict[str, Any]:
            for part in parts:
                return part
            await asyncio.sleep(60)
            raise BodyReadError

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        sent = {"host": "testserver", **OWN, **JSON, **headers}
        scope = scope_of("POST", path, sent) | {"client": (address, 0)}
        self.tasks.append(asyncio.create_task(self.app(scope, receive, send)))
        await asyncio.wait(self.tasks[-1:], timeout=0.2)
        return statuses[0] if statuses else 0

    async def end(self) -> None:
        """Let all clients leave."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class TestManyAtOnce:
    IMPORT = f"{API}/people/{PERSON}/import"

    def test_large_bodies_share_a_budget_and_small_ones_do_not(
        self, serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http, "MAX_BUFFERED", 5000)
        client = serve(max_body=1000, max_import=4000)

        async def send_all() -> tuple[list[int], list[int]]:
            waiting = Waiting(client.app)
            small = [await waiting.begin("/act", "10.0.0.1", b"x" * 900) for _ in range(8)]
            large = [await waiting.begin(self.IMPORT, f"10.0.0.{n}", b"x" * 2000) for n in range(3)]
            small += [await waiting.begin("/act", "10.0.0.1", b"x" * 900)]
            await waiting.end()
            large += [await waiting.begin(self.IMPORT, "10.0.0.9", b"x" * 2000)]
            await waiting.end()
            return small, large

        assert asyncio.run(send_all()) == ([0] * 9, [0, 0, 503, 0])

    def test_an_address_has_few_large_bodies_at_once(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client, declared = serve(max_body=1000, max_import=4000), {"content-length": "3000"}

        async def send_all() -> list[int]:
            waiting = Waiting(client.app)
            found = [
                await waiting.begin(self.IMPORT, f"2001:db8::{n}", b"x", **declared)
                for n in range(http.MAX_LARGE + 1)
            ]
            found.append(await waiting.begin(self.IMPORT, "2001:db8::1", b"x" * 1001))
            found.append(await waiting.begin(self.IMPORT, "2001:db8::1", b"x" * 900))
            found.append(await waiting.begin(self.IMPORT, "10.0.0.1", b"x", **declared))
            await waiting.end()
            found.append(await waiting.begin(self.IMPORT, "2001:db8::1", b"x", **declared))
            await waiting.end()
            return found

        assert asyncio.run(send_all()) == [0] * http.MAX_LARGE + [429, 429, 0, 0, 0]
