"""The resources: the vocabulary of tags, items, the model, what decides in lists."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.uri_template import UriTemplate

from teaser.app.api import responses
from teaser.app.api.requests import MAX_NAME
from teaser.app.catalogue import Catalogue
from teaser.app.mcp.tools import Source
from teaser.errors import ParameterError, UnknownNameError, closest_names

JSON = "application/json"
PAGE = 200
_FEW = 10
_MOST_COMPLETIONS = 100
_MAX_ADDRESS = 4 * MAX_NAME  # a character of a name may take several in an address
_FEATURE = "teaser://vocabulary/{feature}{?page}"
Content = Callable[[Source, Mapping[str, str]], Any]


@dataclass(frozen=True)
class Resource:
    """One resource, or with variables in its address (RFC 6570) a family of them.

    `content` returns JSON values, given the variables; its docstring describes it to assistants.
    """

    template: str
    title: str
    content: Content

    @property
    def is_template(self) -> bool:
        """Whether the address has variables."""
        return UriTemplate.is_template(self.template)

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
    if not (page.isascii() and page.isdigit() and len(page) < 10 and 1 <= int(page) <= n_pages):
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


def list_resources() -> list[types.Resource]:
    """Return the resources with a fixed address."""
    return [types.Resource(uri=r.template, **r.described) for r in RESOURCES if not r.is_template]


def list_templates() -> list[types.ResourceTemplate]:
    """Return the families of resources."""
    families = [r for r in RESOURCES if r.is_template]
    return [types.ResourceTemplate(uri_template=r.template, **r.described) for r in families]


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


def complete_variable(source: Source, variable: str, begun: str) -> types.Completion:
    """Return the features whose names begin with a text, for the variable of an address."""
    if variable != "feature":
        return types.Completion(values=[])
    wanted = begun.casefold()
    names = [name for name in source.catalogue().features if name.casefold().startswith(wanted)]
    return types.Completion(
        values=names[:_MOST_COMPLETIONS],
        total=len(names),
        has_more=len(names) > _MOST_COMPLETIONS,
    )
