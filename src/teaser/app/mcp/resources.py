"""The resources: the vocabulary of tags, items, the model, what decides in lists."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.uri_template import UriTemplate

from teaser.app.api.schema.requests import MAX_NAME
from teaser.app.api.schema.responses import Card
from teaser.app.api.schema.transparency import Transparency
from teaser.app.mcp.source import Source
from teaser.app.serving.catalogue import Catalogue
from teaser.closeness import closest_names
from teaser.errors import ParameterError, UnknownFeatureError

JSON = "application/json"
PAGE = 200
_FEW = 10
_MOST_COMPLETIONS = 100
_MAX_ADDRESS = 4 * MAX_NAME  # a character of a name may take several in an address


@dataclass(frozen=True)
class Resource:
    """One resource, or with variables in its address a family of them.

    Attributes
    ----------
    template
        The address, as RFC 6570 writes it.
    content
        Returns the content as JSON values, given the variables.
    """

    template: str
    name: str
    title: str
    description: str
    content: Callable[[Source, Mapping[str, str]], Any]

    @property
    def is_template(self) -> bool:
        """Whether the address has variables."""
        return UriTemplate.is_template(self.template)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of an address of this family; None for any other address."""
        found = UriTemplate.parse(self.template).match(uri, max_uri_length=_MAX_ADDRESS)
        return None if found is None else {name: str(value) for name, value in found.items()}


def vocabulary(source: Source, _: Mapping[str, str]) -> Any:
    """Return all features with their most common tags, and the columns that bounds can be on."""
    catalogue = source.catalogue()
    return {
        "features": [
            {
                "feature": feature,
                "n_tags": len(tags),
                "most_common": _tags(catalogue, feature, 0, _FEW),
                "all": _VOCABULARY_OF.expand({"feature": feature}),
            }
            for feature, tags in catalogue.features.items()
        ],
        "about": {f: [str(tag) for tag in tags] for f, tags in catalogue.user_features.items()},
        "numbers": list(catalogue.numbers),
        "has_dates": catalogue.dates is not None,
        "n_items": len(catalogue.model.items_),
    }


def feature_vocabulary(source: Source, given: Mapping[str, str]) -> Any:
    """Return a page of the tags of a feature, the most common first."""
    catalogue = source.catalogue()
    feature = given["feature"]
    tags = catalogue.features.get(feature)
    if tags is None:
        raise UnknownFeatureError(feature, closest_names(feature, catalogue.features))
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


def item(source: Source, given: Mapping[str, str]) -> Any:
    """Return the data of an item."""
    return Card.of(source.catalogue().card(given["item_id"])).model_dump(mode="json")


def model(source: Source, _: Mapping[str, str]) -> Any:
    """Return the kind of model that is served, its size and its parameters."""
    return source.catalogue().model.describe()


def transparency(source: Source, _: Mapping[str, str]) -> Any:
    """Return what decides in lists, as numbers and in sentences."""
    catalogue = source.catalogue()
    measured = catalogue.model.transparency_
    found = Transparency.of(catalogue, learns=source.settings.learn).model_dump(mode="json")
    return {"sentences": [] if measured is None else measured.sentences(), **found}


def _tags(catalogue: Catalogue, feature: str, start: int, stop: int) -> list[dict[str, Any]]:
    index, sizes = catalogue.tag_index, catalogue.tag_sizes
    return [
        {"tag": str(tag), "n_items": int(sizes[index[tag]])}
        for tag in catalogue.features[feature][start:stop]
    ]


_VOCABULARY_OF = UriTemplate.parse("teaser://vocabulary/{feature}{?page}")
RESOURCES = (
    Resource(
        "teaser://vocabulary",
        "vocabulary",
        "Features and tags",
        "All features with their most common tags, and the columns of numbers: the names that "
        "presses, conditions and wishes take.",
        vocabulary,
    ),
    Resource(
        str(_VOCABULARY_OF),
        "feature_vocabulary",
        "Tags of a feature",
        f"All tags of a feature, the most common first, {PAGE} a page.",
        feature_vocabulary,
    ),
    Resource(
        "teaser://item/{item_id}",
        "item",
        "An item",
        "What the data say of an item: title, description, date, link, tags.",
        item,
    ),
    Resource(
        "teaser://model",
        "model",
        "The model",
        "The kind of model that is served, its size and its parameters.",
        model,
    ),
    Resource(
        "teaser://transparency",
        "transparency",
        "What decides here",
        "What lists are made up of, what a press changes, where the data come from.",
        transparency,
    ),
)


def list_resources() -> list[types.Resource]:
    """Return the resources with a fixed address."""
    return [
        types.Resource(
            uri=r.template, name=r.name, title=r.title, description=r.description, mime_type=JSON
        )
        for r in RESOURCES
        if not r.is_template
    ]


def list_templates() -> list[types.ResourceTemplate]:
    """Return the families of resources."""
    return [
        types.ResourceTemplate(
            uri_template=r.template,
            name=r.name,
            title=r.title,
            description=r.description,
            mime_type=JSON,
        )
        for r in RESOURCES
        if r.is_template
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
    for resource in RESOURCES:
        given = resource.match(uri)
        if given is not None:
            content = resource.content(source, given)
            return json.dumps(content, ensure_ascii=False, allow_nan=False, default=str)
    known = ", ".join(resource.template for resource in RESOURCES)
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
