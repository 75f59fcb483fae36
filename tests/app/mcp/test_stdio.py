"""`teaser mcp` in a process of its own, asked by the SDK's client over stdin and stdout."""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from app.mcp.conftest import found, refused, with_client
from mcp.client.stdio import StdioServerParameters

from teaser.app.mcp.stdio import own_person
from teaser.app.mcp.tools import ME
from teaser.app.store import Store

Ask = Callable[..., Any]


@pytest.fixture
def command(model_folder: Path) -> list[str]:
    return [sys.executable, "-m", "teaser", "mcp", str(model_folder)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of the test's own, so that the data folder is in it."""
    return {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.fixture
def ask(command: list[str], environment: dict[str, str]) -> Ask:
    """Return a function that starts the command and works with a client of it."""

    def start(work: Callable[[Any], Awaitable[Any]], *options: str, mode: str = "auto") -> Any:
        arguments = [*command[1:], *options]
        server = StdioServerParameters(command=command[0], args=arguments, env=environment)
        return with_client(server, work, mode=mode)

    return start


def test_assistants_of_both_eras_steer_the_one_at_this_computer(ask: Ask, tmp_path: Path) -> None:
    who = {"person_id": ME}

    async def show(client: Any) -> Any:
        return found(await client.call_tool("person", who))

    async def steer(client: Any, item_id: str) -> tuple[Any, Any]:
        before = await show(client)
        found(await client.call_tool("press", {**who, "tag": "town=Ghent", "steps": 2}))
        found(await client.call_tool("view", {**who, "item_id": item_id}))
        assert "i999" in refused(await client.call_tool("view", {**who, "item_id": "i999"}))
        return before, await show(client)

    first, then = ask(partial(steer, item_id="i4"), mode="auto")
    assert first["history"] == first["presses"] == []
    # Another process finds what the first one stored.
    second, last = ask(partial(steer, item_id="i7"), mode="legacy")
    assert then == second
    assert last["presses"] == [{"tag": "town=Ghent", "steps": 4}]
    assert last["history"] == ["i4", "i7"]
    assert last["person_id"] == ME
    (file,) = (tmp_path / "data" / "teaser" / "assistants").glob("*.db")
    assert file.parent.stat().st_mode & 0o077 == 0


def test_a_database_can_be_named_and_persons_are_kept_apart(ask: Ask, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"

    async def press_for_two(client: Any) -> Any:
        other = found(await client.call_tool("new_person", {}))["person_id"]
        for who, tag in ((ME, "town=Ghent"), (other, "town=Liège")):
            found(await client.call_tool("press", {"person_id": who, "tag": tag}))
        return other

    other = ask(press_for_two, "--database", url)
    store = Store(url)
    assert store.state(own_person(store)).presses == {"town=Ghent": 1}
    assert store.state(other).presses == {"town=Liège": 1}
    store.close()


def test_only_messages_go_to_stdout_and_it_ends_at_a_signal(
    command: list[str], environment: dict[str, str]
) -> None:
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*command, "--log-level", "debug"], env=environment, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'no json\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        first = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert all(line.startswith(b"{") for line in (first, *rest.splitlines()))
    assert b"Traceback" not in errors
