"""`/mcp` on a real server: the keys, limits and checks of the API, for clients of both eras."""

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from app.conftest import TestClient, connected, new_key, services_of
from app.mcp.conftest import found, refused, with_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from served import Running, get
from sqlalchemy import text

from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.app.store import Store

HEADERS = {"accept": "application/json, text/event-stream"}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def usual(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of two workers for assistants who have a key."""
    folder = tmp_path_factory.mktemp("usual") / "served"
    shutil.copytree(model_folder, folder)
    server = Running(folder, "--workers", "2", "--keys", "on", TEASER_MCP="true")
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

    store = store_of(server)
    key = store.create_key(mode)
    person_id, listed = ask(with_key(server.url, key), steer, mode)
    request = urllib.request.Request(  # noqa: S310
        f"{server.url}/api/v1/people/{person_id}/recommendations?k=10",
        headers={"authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        assert json.load(answer)["recommendations"] == listed
    store.close()
    log = server.log.read_text()
    assert "route=/mcp" in log
    assert person_id not in log
    assert "i777" not in log
    assert "Traceback" not in log
    counted = get(f"{server.url}/metrics")
    assert 'teaser_requests_total{method="POST",route="/mcp",status="200"}' in counted
    assert "teaser_model_seconds_count" in counted


def store_of(server: Running) -> Store:
    return Store(f"sqlite:///{server.log.with_name('served.people.db')}")


def test_without_a_key_nothing_is_done_and_a_sentence_says_why(usual: Running) -> None:
    server, store = usual, store_of(usual)
    before = n_people(store)

    async def make(client: Any) -> Any:
        return await client.call_tool("new_person", {})

    for mode in ("auto", "legacy"):
        assert "A key is needed" in told(partial(ask, server.url, make, mode))
        wrong = with_key(server.url, "tk_wrong")
        assert "not known" in told(partial(ask, wrong, make, mode))
    assert n_people(store) == before
    key = store.create_key("assistant")
    made = found(ask(with_key(server.url, key), make))
    assert n_people(store) == before + 1
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

    def test_a_request_with_a_key_counts_for_the_key(
        self, serve: Callable[..., TestClient]
    ) -> None:
        with serve(is_new=True, keys="on", rate=3, key_rate=5) as client:
            key = {"authorization": f"Bearer {new_key(client)}"}
            codes = [self.post(client, **key).status_code for _ in range(6)]
            assert codes == [200] * 5 + [429]
            assert self.post(client).status_code == 401
            assert services_of(client).settings.needs_keys


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
