"""`/mcp` on a real server: the keys, limits and checks of the API, for clients of both eras."""

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from app.conftest import TestClient, connected, new_key, services_of
from app.mcp.conftest import found, refused, with_client
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from served import Running, get
from sqlalchemy import text

from teaser.app.mcp import mount
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.app.store import Store

HEADERS = {"accept": "application/json, text/event-stream"}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
PERSON = "a" * 43


@pytest.fixture
def run(run: Callable[..., Running]) -> Callable[..., Running]:
    """Start a server for assistants."""
    return partial(run, TEASER_MCP="true")


@pytest.fixture(scope="module")
def usual(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of two workers for assistants, for all tests that need no other settings."""
    folder = tmp_path_factory.mktemp("usual") / "served"
    shutil.copytree(model_folder, folder)
    server = Running(folder, "--workers", "2", TEASER_MCP="true")
    yield server
    server.stop()


@asynccontextmanager
async def with_key(url: str, key: str) -> AsyncIterator[Any]:
    """Open a transport that sends a key."""
    headers = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as client,
        streamable_http_client(f"{url}/mcp", http_client=client) as streams,
    ):
        yield streams


def ask(
    server: str | AbstractAsyncContextManager[Any],
    work: Callable[[Any], Awaitable[Any]],
    mode: str = "auto",
) -> Any:
    target = f"{server}/mcp" if isinstance(server, str) else server
    return with_client(target, work, mode=mode)


async def recommend(client: Any) -> Any:
    return await client.call_tool("recommend", {"k": 2, "history": ["i0"]})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_uses_a_person_and_leaves_no_trace_in_the_log(usual: Running, mode: str) -> None:
    server = usual

    async def steer(client: Any) -> tuple[str, Any]:
        person_id = found(await client.call_tool("new_person", {}))["person_id"]
        who = {"person_id": person_id}
        found(await client.call_tool("press", {**who, "tag": "town=Ghent", "steps": 2}))
        found(await client.call_tool("view", {**who, "item_id": "i7"}))
        refused(await client.call_tool("view", {**who, "item_id": "i777"}))
        found(await client.call_tool("undo", who))
        listed = found(await client.call_tool("recommend", who))["recommendations"]
        await client.read_resource("teaser://item/i7")
        return person_id, listed

    person_id, listed = ask(server.url, steer, mode)
    api = f"{server.url}/api/v1/people/{person_id}"
    assert json.loads(get(f"{api}/recommendations?k=10"))["recommendations"] == listed
    log = server.log.read_text()
    assert "route=/mcp" in log
    assert person_id not in log
    assert "i777" not in log
    assert "Traceback" not in log
    counted = get(f"{server.url}/metrics")
    assert 'teaser_requests_total{method="POST",route="/mcp",status="200"}' in counted
    assert "teaser_model_seconds_count" in counted


def test_without_a_key_nothing_is_done_and_a_sentence_says_why(
    run: Callable[..., Running],
) -> None:
    server = run("--keys", "on")
    url = f"sqlite:///{server.log.with_name('served.people.db')}"
    store = Store(url)

    async def make(client: Any) -> Any:
        return await client.call_tool("new_person", {})

    for mode in ("auto", "legacy"):
        assert "A key is needed" in told(partial(ask, server.url, make, mode))
        wrong = with_key(server.url, "tk_wrong")
        assert "not known" in told(partial(ask, wrong, make, mode))
    assert n_people(store) == 0
    key = store.create_key("assistant")
    made = found(ask(with_key(server.url, key), make))
    assert n_people(store) == 1
    assert store.state(made["person_id"]).n_events == 0
    store.revoke_key("assistant")
    assert "revoked" in told(partial(ask, with_key(server.url, key), make))
    store.close()


def told(connect: Callable[[], Any]) -> str:
    """Return the message with which a connection is refused; it comes in groups of tasks."""
    with pytest.raises(BaseExceptionGroup) as refusal:
        connect()
    error: BaseException = refusal.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, MCPError)
    return error.message


def n_people(store: Store) -> int:
    with connected(store) as connection:
        return int(connection.execute(text("SELECT count(*) FROM person")).scalar_one())


def test_several_workers_serve_one_client(usual: Running) -> None:
    server = usual
    assert len(server.workers()) == 2
    answered: list[Any] = []

    async def make(client: Any) -> Any:
        return found(await client.call_tool("new_person", {}))["person_id"]

    person_id = ask(server.url, make)

    async def press(client: Any) -> Any:
        asked = {"person_id": person_id, "tag": "town=Ghent"}
        return await client.call_tool("press", asked)

    async def press_at_once() -> None:
        async def once(mode: str) -> None:
            async with Client(f"{server.url}/mcp", mode=mode) as client:
                answered.append(await press(client))

        async with anyio.create_task_group() as group:
            for mode in ("auto", "legacy", "auto", "legacy"):
                group.start_soon(once, mode)

    anyio.run(press_at_once)
    assert all(found(answer)["stored"] for answer in answered)

    async def show(client: Any) -> Any:
        return found(await client.call_tool("person", {"person_id": person_id}))

    for mode in ("auto", "legacy"):
        assert ask(server.url, show, mode)["presses"] == [{"tag": "town=Ghent", "steps": 4}]


def test_beyond_the_rate_a_sentence_says_how_long_to_wait(run: Callable[..., Running]) -> None:
    server = run(TEASER_RATE="8")

    async def hurry(client: Any) -> Any:
        for _ in range(20):
            await recommend(client)

    with pytest.raises(MCPError, match="Too many requests"):
        ask(server.url, hurry)


class TestRawRequests:
    """What is refused before the SDK is asked, and what it refuses."""

    @pytest.fixture(scope="class")
    @classmethod
    def client(
        cls, model_folder: Path, empty_database: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[TestClient]:
        """One for all: a start of the application takes longer than these tests."""
        file = shutil.copyfile(empty_database, tmp_path_factory.mktemp("raw") / "people.db")
        settings = Settings(
            model=model_folder,
            database_url=f"sqlite:///{file}",
            hosts="testserver",
            rate=0,
            store_timeout=30,
            max_body=20_000,
        )
        with TestClient(create_app(settings), raise_server_exceptions=False) as client:
            yield client

    def post(self, client: TestClient, content: Any = None, **headers: str) -> Any:
        body = content if isinstance(content, str) else json.dumps(content or LISTING)
        usual = {**HEADERS, "content-type": "application/json"}
        return client.post("/mcp", content=body, headers={**usual, **headers})

    def error(self, answer: Any, status: int) -> Any:
        assert answer.status_code == status, answer.text
        said = answer.json()
        assert said["jsonrpc"] == "2.0"
        assert "Traceback" not in answer.text
        return said["error"]

    def test_a_listing_is_answered(self, client: TestClient) -> None:
        answer = self.post(client)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        assert "mcp-session-id" not in answer.headers
        assert "set-cookie" not in answer.headers
        assert {tool["name"] for tool in answer.json()["result"]["tools"]} >= {"recommend"}

    def test_a_large_body_is_refused(self, client: TestClient) -> None:
        error = self.error(self.post(client, '"' + "x" * 30_000 + '"'), 413)
        assert "20,000 bytes" in error["message"]
        assert error["data"] == {"code": "too_large"}

    def test_a_large_body_without_its_length_is_refused(self, client: TestClient) -> None:
        pieces = iter([b"x" * 8_000] * 5)
        headers = {**HEADERS, "content-type": "application/json"}
        self.error(client.post("/mcp", content=pieces, headers=headers), 413)

    def test_pages_of_other_sites_are_refused(self, client: TestClient) -> None:
        error = self.error(self.post(client, origin="https://evil.example"), 403)
        assert error["data"] == {"code": "forbidden"}
        self.error(self.post(client, **{"sec-fetch-site": "cross-site"}), 403)
        assert self.post(client, origin="http://testserver").status_code == 200

    def test_another_host_is_refused(self, client: TestClient) -> None:
        assert "name" in self.error(self.post(client, host="evil.example"), 421)["message"]

    @pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
    def test_other_methods_are_refused(self, client: TestClient, method: str) -> None:
        answer = client.request(method, "/mcp", headers={"accept": "text/event-stream"})
        self.error(answer, 405)
        assert "POST" in answer.headers["allow"]

    @pytest.mark.parametrize(
        "content",
        [
            "{",
            "",
            "[" * 5_000,
            "1" * 9_000,
            "null",
            "[]",
            [LISTING, LISTING],
            {"jsonrpc": "2.0", "id": 1},
            {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": 3},
        ],
    )
    @pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
    def test_what_is_no_message_is_refused(
        self, client: TestClient, content: Any, version: str
    ) -> None:
        self.error(self.post(client, content, **{"mcp-protocol-version": version}), 400)

    @pytest.mark.parametrize(
        ("params", "code"),
        [
            ({}, -32602),
            ({"name": 3}, -32602),
            ({"name": "recommend", "arguments": [1]}, -32602),
            ({"name": "nothing", "arguments": {}}, -32602),
        ],
    )
    def test_wrong_parameters_are_errors_of_the_protocol(
        self, client: TestClient, params: Any, code: int
    ) -> None:
        answer = self.post(client, {**LISTING, "method": "tools/call", "params": params})
        assert answer.json()["error"]["code"] == code
        assert "Traceback" not in answer.text

    def test_another_content_type_is_refused(self, client: TestClient) -> None:
        answer = self.post(client, **{"content-type": "text/plain"})
        assert answer.status_code == 400

    def test_the_address_is_not_in_the_document_of_the_api(self, client: TestClient) -> None:
        assert "/mcp" not in client.get("/openapi.json").json()["paths"]

    def test_a_request_with_a_key_counts_for_the_key(
        self, serve: Callable[..., TestClient]
    ) -> None:
        with serve(is_new=True, keys="on", rate=3, key_rate=5) as client:
            key = {"authorization": f"Bearer {new_key(client)}"}
            codes = [self.post(client, **key).status_code for _ in range(6)]
            assert codes == [200] * 5 + [429]
            assert self.post(client).status_code == 401
            assert services_of(client).settings.needs_keys


def test_it_can_be_switched_off(serve: Callable[..., TestClient]) -> None:
    with serve(is_new=True, mcp=False) as client:
        assert client.post("/mcp", json=LISTING).status_code == 404


def test_without_the_package_there_is_nothing(
    serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mount.IS_INSTALLED
    monkeypatch.setattr(mount, "IS_INSTALLED", False)
    with serve(is_new=True) as client:
        assert client.post("/mcp", json=LISTING).status_code == 404


def test_the_server_does_without_the_package() -> None:
    lines = [
        "import sys",
        "sys.modules['mcp'] = sys.modules['mcp_types'] = None",
        "from teaser.app.mcp import mount",
        "import teaser.app.server",
        "assert not mount.IS_INSTALLED",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_an_application_can_start_again(serve: Callable[..., TestClient]) -> None:
    client = serve(is_new=True)
    for _ in range(2):
        with client:
            assert client.post("/mcp", json=LISTING, headers=HEADERS).status_code == 200
