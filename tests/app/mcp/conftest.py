"""An MCP server over the small model, and the SDK's own client of it."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import Client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from teaser import Teaser
from teaser.app.catalogue import Catalogue
from teaser.app.database import StoreThreads
from teaser.app.mcp.server import build_server
from teaser.app.mcp.tools import People, Source
from teaser.app.settings import Settings
from teaser.app.store import Store

T = TypeVar("T")


def with_client(server: Any, work: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    """Return what work with a connected client returns, or raise the error that it was told."""

    async def connect() -> T | MCPError:
        async with Client(server, **options) as client:
            try:
                return await work(client)
            except MCPError as error:  # outside it would come in groups of the client's tasks
                return error

    result = anyio.run(connect)
    if isinstance(result, MCPError):
        raise result
    return result


def call(server: Any, tool: str, **arguments: Any) -> CallToolResult:
    """Call one tool of a server."""
    return with_client(server, lambda client: client.call_tool(tool, arguments))


def found(answer: CallToolResult) -> dict[str, Any]:
    """Return the structured result of a call that succeeded, and check that the text tells it."""
    assert not answer.is_error, answer.content
    result: dict[str, Any] = answer.structured_content
    assert text_of(answer) == "\n".join(result["sentences"])
    assert all(result["sentences"])
    return result


def refused(answer: CallToolResult) -> str:
    """Return the sentence of a call that was refused."""
    assert answer.is_error
    assert answer.structured_content is None
    said = text_of(answer)
    assert said.endswith((".", "?"))
    assert "Traceback" not in said
    return said


def text_of(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


def read(server: Any, uri: str) -> Any:
    """Return what a resource holds."""
    (content,) = with_client(server, lambda client: client.read_resource(uri)).contents
    content_text: Any = content
    assert content_text.mime_type == "application/json"
    return json.loads(content_text.text)


def without_sentences(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name != "sentences"}


@pytest.fixture(scope="session")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    """Persons in a file of SQLite."""
    store = Store(f"sqlite:///{tmp_path / 'people.db'}")
    store.migrate()
    yield People(store, StoreThreads(30.0))
    store.close()


@pytest.fixture
def source(catalogue: Catalogue, people: People, model_folder: Path) -> Source:
    return Source(lambda: catalogue, Settings(model=model_folder), people)


@pytest.fixture
def server(source: Source) -> Server[Any]:
    return build_server(source, title="Events")


@pytest.fixture
def stateless(source: Source) -> Server[Any]:
    """A server that stores nothing."""
    return build_server(replace(source, people=None), title="Events")


@pytest.fixture
def person_id(people: People) -> str:
    return people.store.create_person()
