"""A generated catalogue of cultural events in Belgium, and the people who go to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from teaser.data._events.crowd import choice_dates, choose_events
from teaser.data._events.label import LABELS
from teaser.data._events.listing import DAYS, PRICE_BANDS, Event, compose_events
from teaser.data._events.places import TOWNS
from teaser.data.dataset import Dataset
from teaser.data.tagging.rule_set import Category, ListOf, Rules
from teaser.errors import ParameterError

__all__ = [
    "CATEGORY_COLUMNS",
    "DAYS",
    "LABELS",
    "LIST_COLUMNS",
    "LIST_SEPARATOR",
    "PRICE_BANDS",
    "ROLES",
    "TAG_COLUMNS",
    "Catalogue",
    "dataset",
    "generate",
]

CATEGORY_COLUMNS: tuple[str, ...] = (
    "type",
    "theme",
    "audience",
    "region",
    "town",
    "day",
    "setting",
    "price_band",
)
LIST_COLUMNS: tuple[str, ...] = ("labels",)
LIST_SEPARATOR = "|"
TAG_COLUMNS: tuple[str, ...] = CATEGORY_COLUMNS + LIST_COLUMNS
ROLES: dict[str, str] = {
    "title": "title",
    "picture": "picture",
    "description": "description",
    "date": "date",
}


@dataclass(frozen=True)
class Catalogue:
    """Events and the choices of people.

    Attributes
    ----------
    interactions : frame with ``user_id``, ``item_id`` and ``day``, one row a choice, each pair once
    items : frame with one row an event. ``CATEGORY_COLUMNS`` hold one value a row and
        ``LIST_COLUMNS`` several, separated by ``LIST_SEPARATOR``, or "" for none; the rest is to
        be shown: ``item_id, title, description, latitude, longitude, price, venue, date,
        end_date, picture`` (an SVG)
    """

    interactions: pl.DataFrame
    items: pl.DataFrame


def generate(*, seed: int = 0, n_events: int = 2400, n_people: int = 9000) -> Catalogue:
    """Make a catalogue; the same arguments give the same frames.

    Places are real, events and people are not. A person chooses by taste, distance from home,
    price, language and the event's drawing power, with noise, so that those who share a taste or
    a neighbourhood choose alike.

    Parameters
    ----------
    seed : a number of 0 or more
    n_events, n_people : how many of each, at least 1
    """
    for name, value, least in (
        ("seed", seed, 0),
        ("n_events", n_events, 1),
        ("n_people", n_people, 1),
    ):
        if value < least:
            raise ParameterError(
                f"{name} must be at least {least}, found {value}. Give a larger one."
            )
    events = compose_events(n_events, seed)
    person_index, event_index, lead = choose_events(events, n_people, seed)
    item_ids = _name_all("e", n_events)
    user_ids = _name_all("p", n_people)
    interactions = pl.DataFrame(
        {
            "user_id": user_ids.gather(person_index),
            "item_id": item_ids.gather(event_index),
            "day": choice_dates(events, event_index, lead),
        }
    )
    return Catalogue(interactions=interactions, items=_items(item_ids, events))


def dataset(
    *,
    seed: int = 0,
    n_events: int = 2400,
    n_people: int = 9000,
    rules: Rules | str | Path | None = None,
) -> Dataset:
    """Make a catalogue, and a data set of it by the rules that suit it or by others."""
    catalogue = generate(seed=seed, n_events=n_events, n_people=n_people)
    own = Rules(
        (*map(Category, CATEGORY_COLUMNS), ListOf("labels", separator=LIST_SEPARATOR)), ROLES
    )
    return Dataset.from_tables(
        catalogue.interactions, catalogue.items, rules=own if rules is None else rules
    )


def _name_all(letter: str, count: int) -> pl.Series:
    width = max(4, len(str(count)))
    return pl.Series([f"{letter}{number:0{width}d}" for number in range(1, count + 1)])


def _items(item_ids: pl.Series, events: list[Event]) -> pl.DataFrame:
    towns = [TOWNS[event.town_index] for event in events]
    return pl.DataFrame(
        {
            "item_id": item_ids,
            "title": [event.title for event in events],
            "description": [event.description for event in events],
            "type": [event.type for event in events],
            "theme": [event.theme for event in events],
            "audience": [event.audience for event in events],
            "region": [town.region for town in towns],
            "town": [town.name for town in towns],
            "latitude": [town.latitude for town in towns],
            "longitude": [town.longitude for town in towns],
            "day": [event.day for event in events],
            "setting": [event.setting for event in events],
            "price": [event.price for event in events],
            "price_band": [event.price_band for event in events],
            "labels": [LIST_SEPARATOR.join(event.labels) for event in events],
            "venue": [event.venue for event in events],
            "date": [event.start for event in events],
            "end_date": [event.end for event in events],
            "picture": [event.picture for event in events],
        }
    )
