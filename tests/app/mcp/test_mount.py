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
from app.conftest import TestClient, connected
from app.mcp.conftest import found, refused, with_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from served import Running, get
from sqlalchemy import text

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


def test_a_listing_is_answered_without_a_session(client: TestClient) -> None:
    answer = client.post("/mcp", json=LISTING, headers=HEADERS)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "mcp-session-id" not in answer.headers
    assert "set-cookie" not in answer.headers
    assert {tool["name"] for tool in answer.json()["result"]["tools"]} >= {"recommend"}


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
