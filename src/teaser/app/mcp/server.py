"""The MCP server: tools and resources over a source, for any transport."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from teaser._version import __version__
from teaser.app.errors import sentence_of
from teaser.app.mcp.resources import (
    JSON,
    complete_variable,
    list_resources,
    list_templates,
    read_resource,
)
from teaser.app.mcp.tools import ME, TOOLS, Source, Tool
from teaser.errors import TeaserError, closest

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
NAME = "teaser"
_INSTRUCTIONS = (
    "A recommender that people can read and steer. Items have tags (feature=value); a profile is "
    "an affinity with each tag; a list is ordered by the sum of the affinities of an item's tags. "
    "Find items and tags with search before you name them in another tool. Tell people the reasons "
    "that the tools return, not guesses. Presses on tags change lists: use them only when a person "
    "asks for more or less of something. For a request in words, show what say understood, and "
    "apply what the person agrees to."
)
_STORED = (
    " Views and presses are stored for a person_id. {who} With a person_id leave history and "
    "presses out; without one, nothing is stored."
)
_OWN = f"The person at this computer is {ME!r}; new_person makes others."
_MANY = "new_person makes one; keep it for the person, and show it to nobody else."
_STATELESS = " Nothing is stored: give history and presses with every call."


def build_server(source: Source, *, title: str) -> Server[Any]:
    """Return a server with all tools and resources.

    Parameters
    ----------
    source
        The catalogue and the persons that the tools use. Without persons, the tools that need
        them are left out.
    title
        The name of the site, which clients show.
    """
    has_people = source.people is not None
    tools = {t.name: t for t in TOOLS if has_people or not t.needs_people}
    handlers = _Handlers(source, tools)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title=title,
        instructions=_instructions(source),
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_completion=handlers.complete,
    )
    # Telemetry is our own, without names that a client sent.
    server.middleware.clear()
    return server


def _instructions(source: Source) -> str:
    if source.people is None:
        return _INSTRUCTIONS + _STATELESS
    return _INSTRUCTIONS + _STORED.format(who=_OWN if source.people.own_id else _MANY)


class _Handlers:
    """The requests of the protocol, answered from a source."""

    def __init__(self, source: Source, tools: dict[str, Tool]) -> None:
        self.source = source
        self.tools = tools

    def input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self.tools.get(name)
        return None if tool is None else tool.described.input_schema

    async def list_tools(self, _: Context, asked: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.described for tool in self.tools.values()])

    async def call_tool(
        self, _: Context, asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self.tools.get(asked.name)
        if tool is None:
            near = closest(asked.name, list(self.tools)) or f" There are {', '.join(self.tools)}."
            message = f"There is no tool {asked.name[:100]!r}.{near}"
            raise MCPError(types.INVALID_PARAMS, message)
        return await tool.call(self.source, asked.arguments or {})

    async def list_resources(self, _: Context, asked: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=list_resources())

    async def list_templates(self, _: Context, asked: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list_templates())

    async def read_resource(
        self, _: Context, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await self._run(partial(read_resource, self.source, asked.uri))
        found = types.TextResourceContents(uri=asked.uri, mime_type=JSON, text=text)
        return types.ReadResourceResult(contents=[found])

    async def complete(
        self, _: Context, asked: types.CompleteRequestParams
    ) -> types.CompleteResult:
        variable, begun = asked.argument.name, asked.argument.value
        work = partial(complete_variable, self.source, variable, begun)
        return types.CompleteResult(completion=await self._run(work))

    async def _run(self, work: Callable[[], T]) -> T:
        """Return what the work returns; an error of ours becomes one of the protocol."""
        try:
            return await self.source.run(work, uses_store=False)
        except TeaserError as error:
            raise MCPError(types.INVALID_PARAMS, sentence_of(error)) from None
