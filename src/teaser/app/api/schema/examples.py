"""The examples in the API's document: a value for each field, put together for each schema."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict

_TIME = "2026-05-01T12:00:00Z"
_LEFT_OUT = object()
_VALUES: dict[str, Any] = {
    "about": [],
    "aliases": [],
    "affinity": 0.6,
    "at": _TIME,
    "balance": 0.4,
    "boost: float": 0.0,
    "ignored": 0,
    "boost: list": ["town=Ghent:0.2"],
    "boost": {"town=Ghent": 0.2},
    "can_redo": False,
    "can_undo": True,
    "certainty": 0.8,
    "code": "unknown_name",
    "contribution": 0.6,
    "converged": True,
    "created_at": _TIME,
    "date": "2026-05-01",
    "discovered": False,
    "disliked": False,
    "description": "Young trios by day and one big name each night.",
    "entries": 240000,
    "exclude": ["e0009"],
    "facts": {"type": ["Festival"], "town": ["Waremme"]},
    "feature": "town",
    "features": ["type", "town"],
    "from_tags": 0.6,
    "from_viewed": 0.0,
    "general": 0.2,
    "general_share": 0.25,
    "grain": 20.0,
    "grains": {"20": 120, "5": 479},
    "groups": [],
    "groups: int": 599,
    "has_picture": True,
    "hidden": [],
    "history": ["e0001", "e0002", "e0003"],
    "impact": 0.4,
    "item_id": "e0004",
    "items": _LEFT_OUT,
    "items: int": 2400,
    "iterations": 4,
    "k": 5,
    "kind": "Teaser",
    "labelled": 590,
    "link": None,
    "match": 0.9,
    "message": "Unknown tag town=Gent. Closest: town=Ghent, town=Genk, town=Geel.",
    "n_events": 4,
    "name": "e0004",
    "n_items": 210,
    "neighbours": 100,
    "note": None,
    "parameters": {"l2_weights": 200.0, "l2_encoder": 500.0},
    "part": 0.02,
    "path": "/s/Xz0kq5QJm3n8cQ0W7rT9uVxYzAbEx1Ck0b0s0mA6jH5",
    "person_id": "x1Ck0b0s0mA6jH5nQ2yq5QJm3n8cQ0W7rT9uVxYzAbE",
    "picks": ["e0001"],
    "place": 4,
    "presses": 3,
    "q": "ghent",
    "rank_after": 9,
    "rank_before": 143,
    "raw": 0.03,
    "residual": 0.0003,
    "roles": {"title": "title", "date": "date"},
    "said": "You lean towards Ghent.",
    "score": 0.8,
    "share": 0.75,
    "share_id": "0f3a5b7c9d1e2f40",
    "shown": ["e0002", "e0003"],
    "similarity": 0.6,
    "sparse": True,
    "steps": 3,
    "strength": 0.6,
    "strengths": {"e0003": -0.125},
    "tag": "town=Ghent",
    "tag_share": 0.75,
    "tags": {"town=Ghent": 0.6},
    "tags: dict[str, int]": {"type": 16, "town": 101, "popularity": 1},
    "tags_weight": 1.0,
    "title": "Blue notes under the limes",
    "top": 3,
    "total": 3,
    "unknown_about": [],
    "unknown_items": [],
    "unknown_tags": [],
    "user_tags": {"age": ["18-24", "25-34"]},
    "value": "Ghent",
    "variety": 0.3,
    "viewed": {},
    "recipe": None,
    "unknown": "raise",
    "weight": 1.0,
    "where": ["town=Ghent", "town=Bruges"],
    "weights": {"user_power": 0.5, "ridge_power": 0.5},
}


def example_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return an example of a schema; optional fields without a value are left out."""
    values = {name: _value(name, field.annotation) for name, field in model.model_fields.items()}
    return {name: value for name, value in values.items() if value is not _LEFT_OUT}


def add_example(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Add an example to the JSON schema of a model."""
    schema["examples"] = [example_of(model)]


class Schema(BaseModel):
    """A schema of the API with an example."""

    model_config = ConfigDict(json_schema_extra=add_example)


def _value(name: str, annotation: Any) -> Any:
    models = [example_of(model) for model in _models(annotation)]
    if models:
        return models if get_origin(annotation) is list else models[0]
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    # A name that stands for two things has a value for each type.
    kind = annotation.__name__ if annotation in (int, float) else str(annotation)
    if get_origin(annotation) is list and f"{name}: list" in _VALUES:
        kind = "list"
    return _VALUES.get(f"{name}: {kind}", _VALUES.get(name, _LEFT_OUT))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the schemas in a type: of a list, of an optional value, of a named union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(getattr(annotation, "__value__", annotation)):
        yield from _models(inner)
