"""The examples in the API's document: a value for each field, put together for each schema."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict

_TIME = "2026-05-01T12:00:00Z"
_LEFT_OUT = object()
_VALUES: dict[str, Any] = {
    "about": [],
    "aliases": [],
    "affinity": 0.6,
    "token": "Xz0kq5QJm3n8cQ0W7rT9uVxYzAbEx1Ck0b0s0mA6jH5",
    "lasts": "always",
    "profiling": True,
    "without": [],
    "when": "weekend",
    "wishes": ["press +4 town=Ghent", "when weekend"],
    "unmatched": [],
    "unknown_columns": [],
    "until": _TIME,
    "only": ["town=Ghent"],
    "on": False,
    "hidden_tags": ["type=Workshop"],
    "lasting": None,
    "is_item": False,
    "feed": "Friday night",
    "ends": [],
    "data": {},
    "at_most": {},
    "at_least": {},
    "at": _TIME,
    "balance": 0.4,
    "boost: float": 0.0,
    "ignored": 0,
    "boosts": {},
    "boost: list": ["town=Ghent:0.2"],
    "boost": {"town=Ghent": 0.2},
    "can_press": True,
    "can_redo": False,
    "can_undo": True,
    "certainty": 0.8,
    "code": "unknown_name",
    "columns": ["town"],
    "contribution": 0.6,
    "converged": True,
    "created_at": _TIME,
    "date": "2026-05-01",
    "difference": 0.5,
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
    "label": "Ghent",
    "labelled": 590,
    "learns_from_views": False,
    "link": None,
    "match": 0.9,
    "message": "Unknown tag town=Gent. Closest: town=Ghent, town=Genk, town=Geel.",
    "n": 5,
    "n_discovered": 0,
    "n_disliked": 0,
    "n_events": 4,
    "n_interactions": 124728,
    "name": "e0004",
    "name: ItemId": "town=Ghent",
    "name: ModelItemId": "town=Ghent",
    "n_items": 210,
    "n_people": 300,
    "n_tags": 101,
    "n_users": 9000,
    "neighbours": 100,
    "new": "town=Ghent",
    "note": None,
    "old": "town=Waremme",
    "other_contribution": 0.1,
    "other_id": "e0007",
    "other_score": 0.3,
    "other_title": "Evening of Flemish baroque",
    "parameters": {"l2_weights": 200.0, "l2_encoder": 500.0},
    "part": 0.02,
    "path": "/s/Xz0kq5QJm3n8cQ0W7rT9uVxYzAbEx1Ck0b0s0mA6jH5",
    "person_id": "x1Ck0b0s0mA6jH5nQ2yq5QJm3n8cQ0W7rT9uVxYzAbE",
    "picks": ["e0001"],
    "place": 4,
    "places": 20,
    "press_change": 1.2,
    "presses": 3,
    "q": "ghent",
    "rank": 12,
    "rank_after": 9,
    "rank_before": 143,
    "rank_pressed": 7,
    "rank_without": 31,
    "raw": 0.03,
    "residual": 0.0003,
    "roles": {"title": "title", "date": "date"},
    "said": "You lean towards Ghent.",
    "score": 0.8,
    "share": 0.75,
    "share_id": "0f3a5b7c9d1e2f40",
    "shown": ["e0002", "e0003"],
    "shown_columns": {"title": "title", "date": "date"},
    "similarity": 0.6,
    "sparse": True,
    "step": 0.2,
    "steps": 3,
    "strength": 0.6,
    "strengths": {"e0003": -0.125},
    "strengths: bool": False,
    "tag": "town=Ghent",
    "tag_share": 0.75,
    "tags": {"town=Ghent": 0.6},
    "tags: dict[str, int]": {"type": 16, "town": 101, "popularity": 1},
    "tags_weight": 1.0,
    "times": 3.2,
    "title": "Blue notes under the limes",
    "top": 3,
    "total": 3,
    "unknown_about": [],
    "unused_columns": ["venue"],
    "unknown_items": [],
    "unknown_tags": [],
    "user_features": [],
    "uses_user_features": False,
    "version": "0.2.0",
    "user_tags": {"age": ["18-24", "25-34"]},
    "value": "Ghent",
    "variety": 0.3,
    "viewed": {},
    "recipe": None,
    "unknown": "raise",
    "unknown: list": [],
    "contradictions": [],
    "text": "more concerts in Ghent",
    "wish": "only town=Ghent",
    "words": "in Ghent",
    "number": None,
    "weight": 1.0,
    "where": ["town=Ghent", "town=Bruges"],
    "without_neighbours": 12,
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
        return models if get_origin(_needed(annotation)) is list else models[0]
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    # A name that stands for two things has a value for each type.
    kind = annotation.__name__ if annotation in (bool, int, float) else str(annotation)
    if get_origin(annotation) is list and f"{name}: list" in _VALUES:
        kind = "list"
    return _VALUES.get(f"{name}: {kind}", _VALUES.get(name, _LEFT_OUT))


def _needed(annotation: Any) -> Any:
    """Return the type of an optional value, without what is annotated to it."""
    choices = [choice for choice in get_args(annotation) if choice is not type(None)]
    if type(None) in get_args(annotation) and len(choices) == 1:
        return _needed(choices[0])
    return choices[0] if get_origin(annotation) is Annotated else annotation


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the schemas in a type: of a list, of an optional value, of a named union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(getattr(annotation, "__value__", annotation)):
        yield from _models(inner)
