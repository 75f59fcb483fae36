"""The MCP server: tools and resources over a source, for any transport.

The resources are the vocabulary of tags, items, the model, and what decides in lists.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from teaser._version import __version__
from teaser.app.api import responses
from teaser.app.api.requests import MAX_NAME
from teaser.app.catalogue import Catalogue
from teaser.app.errors import sentence_of
from teaser.app.mcp.tools import ME, TOOLS, Source
from teaser.errors import ParameterError, TeaserError, UnknownNameError, closest, closest_names

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
JSON = "application/json"
PAGE = 200
_FEW = 10
_MAX_ADDRESS = 4 * MAX_NAME  # a character of a name may take several in an address
_FEATURE = "teaser://vocabulary/{feature}{?page}"
Content = Callable[[Source, Mapping[str, str]], Any]


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
    people = source.people
    told = _STORED.format(who=_OWN if people.own_id else _MANY) if people else _STATELESS
    tools = {t.name: t for t in TOOLS if people or not t.needs_people}

    async def list_tools(_: Any, asked: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.described for tool in tools.values()])

    async def call_tool(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if asked.name not in tools:
            near = closest(asked.name, list(tools)) or f" There are {', '.join(tools)}."
            message = f"There is no tool {asked.name[:100]!r}.{near}"
            raise MCPError(types.INVALID_PARAMS, message)
        return await tools[asked.name].call(source, asked.arguments or {})

    async def list_resources(_: Any, asked: object) -> types.ListResourcesResult:
        fixed = [r for r in RESOURCES if not UriTemplate.is_template(r.template)]
        resources = [types.Resource(uri=r.template, **r.described) for r in fixed]
        return types.ListResourcesResult(resources=resources)

    async def list_templates(_: Any, asked: object) -> types.ListResourceTemplatesResult:
        families = [r for r in RESOURCES if UriTemplate.is_template(r.template)]
        found = [types.ResourceTemplate(uri_template=r.template, **r.described) for r in families]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read(_: Any, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            work = partial(read_resource, source, asked.uri)
            text = await source.run(work, uses_store=False)
        except TeaserError as error:
            raise MCPError(types.INVALID_PARAMS, sentence_of(error)) from None
        found = types.TextResourceContents(uri=asked.uri, mime_type=JSON, text=text)
        return types.ReadResourceResult(contents=[found])

    server: Server[Any] = Server(
        NAME,
        version=__version__,
        title=title,
        instructions=_INSTRUCTIONS + told,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
    )
    # Telemetry is our own, without names that a client sent.
    server.middleware.clear()
    return server


@dataclass(frozen=True)
class Resource:
    """One resource, or with variables in its address (RFC 6570) a family of them.

    `content` returns JSON values, given the variables; its docstring describes it to assistants.
    """

    template: str
    title: str
    content: Content

    @property
    def described(self) -> dict[str, Any]:
        """What the protocol says about it, but for its address."""
        text = " ".join((self.content.__doc__ or "").split())
        own = {"name": self.content.__name__, "title": self.title, "description": text}
        return {**own, "mime_type": JSON}

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of an address of this family; None for any other address."""
        found = UriTemplate.parse(self.template).match(uri, max_uri_length=_MAX_ADDRESS)
        return None if found is None else {name: str(value) for name, value in found.items()}


RESOURCES: list[Resource] = []


def resource(template: str, title: str) -> Callable[[Content], Content]:
    """Add a function to the resources."""

    def add(content: Content) -> Content:
        RESOURCES.append(Resource(template, title, content))
        return content

    return add


@resource("teaser://vocabulary", "Features and tags")
def vocabulary(source: Source, _: Mapping[str, str]) -> Any:
    """All features with their most common tags, and the columns of numbers.

    These are the names that presses, conditions and wishes take.
    """
    catalogue = source.catalogue()
    address = UriTemplate.parse(_FEATURE)
    return {
        "features": [
            {
                "feature": feature,
                "n_tags": len(tags),
                "most_common": _tags(catalogue, feature, 0, _FEW),
                "all": address.expand({"feature": feature}),
            }
            for feature, tags in catalogue.features.items()
        ],
        "about": {f: [str(tag) for tag in tags] for f, tags in catalogue.user_features.items()},
        "numbers": list(catalogue.numbers),
        "has_dates": catalogue.dates is not None,
        "n_items": len(catalogue.model.items_),
    }


@resource(_FEATURE, "Tags of a feature")
def feature_vocabulary(source: Source, given: Mapping[str, str]) -> Any:
    """All tags of a feature, the most common first, 200 a page."""
    catalogue = source.catalogue()
    feature = given["feature"]
    tags = catalogue.features.get(feature)
    if tags is None:
        raise UnknownNameError("feature", feature, closest_names(feature, catalogue.features))
    page, n_pages = given.get("page", "1"), -(-len(tags) // PAGE)
    if page not in map(str, range(1, n_pages + 1)):
        raise ParameterError(
            f"page must be a whole number from 1 to {n_pages} for the feature {feature!r}, found "
            f"{page[:20]!r}."
        )
    start = (int(page) - 1) * PAGE
    return {
        "feature": feature,
        "n_tags": len(tags),
        "page": int(page),
        "n_pages": n_pages,
        "tags": _tags(catalogue, feature, start, start + PAGE),
    }


@resource("teaser://item/{item_id}", "An item")
def item(source: Source, given: Mapping[str, str]) -> Any:
    """What the data say of an item: title, description, date, link, tags."""
    card = source.catalogue().card(given["item_id"])
    return responses.Card.model_validate(card).model_dump(mode="json")


@resource("teaser://model", "The model")
def model(source: Source, _: Mapping[str, str]) -> Any:
    """The kind of model that is served, its size and its parameters."""
    return source.catalogue().model.describe()


@resource("teaser://transparency", "What decides here")
def transparency(source: Source, _: Mapping[str, str]) -> Any:
    """What lists are made up of, what a press changes, where the data come from."""
    catalogue = source.catalogue()
    measured = catalogue.model.transparency_
    found = responses.Transparency.from_catalogue(catalogue, learns=source.settings.learn)
    said = [] if measured is None else measured.sentences()
    return {"sentences": said, **found.model_dump(mode="json")}


def _tags(catalogue: Catalogue, feature: str, start: int, stop: int) -> list[dict[str, Any]]:
    index, sizes = catalogue.tag_index, catalogue.tag_sizes
    return [
        {"tag": str(tag), "n_items": int(sizes[index[tag]])}
        for tag in catalogue.features[feature][start:stop]
    ]


def read_resource(source: Source, uri: str) -> str:
    """Return the content at an address, as JSON.

    Raises
    ------
    UnknownNameError
        If the catalogue does not have the item or the feature.
    ParameterError
        If nothing is at the address, or the page is out of range.
    """
    for each in RESOURCES:
        given = each.match(uri)
        if given is not None:
            content = each.content(source, given)
            return json.dumps(content, ensure_ascii=False, allow_nan=False, default=str)
    known = ", ".join(each.template for each in RESOURCES)
    raise ParameterError(f"There is no resource at {uri[:200]!r}. There are {known}.")
