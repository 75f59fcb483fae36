"""Generate events and the choices of users as tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.demo.event import GeneratedEvent, compose_events
from teaser.data.demo.places import DISTANCES_KM, TOWNS, read_table
from teaser.data.rules import Category, ListOf, Rules
from teaser.errors import ParameterError
from teaser.parameters import check_count

CATEGORY_COLUMNS = (
    "type",
    "theme",
    "audience",
    "region",
    "town",
    "day",
    "setting",
    "price_band",
)
LIST_SEPARATOR = "|"
RULES = Rules(
    (*map(Category, CATEGORY_COLUMNS), ListOf("labels", separator=LIST_SEPARATOR)),
    {name: name for name in ("title", "picture", "description", "date")},
)
# The choices lie up to 120 days before the first event, and the last event about a year after it.
_EARLIEST, _LATEST = date(1900, 1, 1), date(9000, 1, 1)
FEWEST, MOST = 3, 60
_NEAR_KM = 20.0
_MAX_LEAD_DAYS = 120
_BLOCK = 1000


@dataclass(frozen=True)
class GeneratedEvents:
    """Events and the choices of users.

    Attributes
    ----------
    interactions : frame with ``user_id``, ``item_id`` and ``day``, one row a choice, each pair once
    items : frame with one row an event. ``CATEGORY_COLUMNS`` hold one value a row; ``labels``
        holds several, separated by ``LIST_SEPARATOR``, or "" for none. The other columns are to
        be shown: ``item_id, title, description, latitude, longitude, price, venue, date,
        end_date, picture`` (an SVG)
    """

    interactions: pl.DataFrame
    items: pl.DataFrame


def generate(
    *, seed: int = 0, n_events: int = 2400, n_users: int = 9000, start: date | None = None
) -> GeneratedEvents:
    """Generate events and choices; the same seed, sizes and start give the same frames.

    Towns are real, events and users are not. A user chooses by taste, distance from home, price,
    language and the event's popularity, with noise. Users who share a taste or a neighbourhood
    therefore choose alike.

    Parameters
    ----------
    seed : 0 or more
    n_events, n_users : how many of each, at least 1
    start : the first day of the year in which the events take place; today by default
    """
    check_count("seed", seed, least=0)
    check_count("n_events", n_events)
    check_count("n_users", n_users)
    made = _generated(n_events, n_users, seed, _first_day(start))
    return GeneratedEvents(made.interactions.clone(), made.items.clone())


@lru_cache(maxsize=2)
def _generated(n_events: int, n_users: int, seed: int, first: date) -> GeneratedEvents:
    """Generate them, or return the last ones: a notebook asks for the same again and again."""
    events = compose_events(n_events, seed, first)
    user_index, event_index, days = choose_events(events, n_users, seed)
    item_ids = _name_all("e", n_events)
    interactions = pl.DataFrame(
        {
            "user_id": _name_all("p", n_users).gather(user_index),
            "item_id": item_ids.gather(event_index),
            "day": days,
        }
    )
    return GeneratedEvents(interactions=interactions, items=_items(item_ids, events))


def dataset(
    *,
    seed: int = 0,
    n_events: int = 2400,
    n_users: int = 9000,
    start: date | None = None,
    rules: Rules | str | Path | None = None,
) -> Dataset:
    """Generate events, and make a data set of them by ``RULES`` or by other tag rules."""
    made = generate(seed=seed, n_events=n_events, n_users=n_users, start=start)
    return Dataset.from_tables(
        made.interactions, made.items, rules=RULES if rules is None else rules
    )


def _first_day(start: date | None) -> date:
    if start is None:
        return date.today()
    day = start.date() if isinstance(start, datetime) else start
    if not isinstance(day, date) or not _EARLIEST <= day <= _LATEST:
        raise ParameterError(
            f"start must be a date from {_EARLIEST} to {_LATEST}, found {start!r}. Give one such "
            "as datetime.date(2026, 1, 1)."
        )
    return day


def _name_all(letter: str, count: int) -> pl.Series:
    width = max(4, len(str(count)))
    return pl.Series([f"{letter}{number:0{width}d}" for number in range(1, count + 1)])


def _items(item_ids: pl.Series, events: list[GeneratedEvent]) -> pl.DataFrame:
    occasions = [event.occasion for event in events]
    return pl.DataFrame(
        {
            "item_id": item_ids,
            "title": [event.title for event in events],
            "description": [event.description for event in events],
            "type": [occasion.offer.type for occasion in occasions],
            "theme": [occasion.offer.theme for occasion in occasions],
            "audience": [occasion.audience for occasion in occasions],
            "region": [occasion.town.region for occasion in occasions],
            "town": [occasion.town.name for occasion in occasions],
            "latitude": [occasion.town.latitude for occasion in occasions],
            "longitude": [occasion.town.longitude for occasion in occasions],
            "day": [occasion.day for occasion in occasions],
            "setting": [occasion.kind.setting for occasion in occasions],
            "price": [occasion.price for occasion in occasions],
            "price_band": [occasion.price_band for occasion in occasions],
            "labels": [LIST_SEPARATOR.join(event.labels) for event in events],
            "venue": [occasion.venue for occasion in occasions],
            "date": [occasion.start for occasion in occasions],
            "end_date": [occasion.end for occasion in occasions],
            "picture": [event.picture for event in events],
        }
    )


def choose_events(
    events: list[GeneratedEvent], n_users: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.datetime64]]:
    """Draw who chose what, and when.

    Each user ranks all events by utility plus Gumbel noise and keeps as many of the first as they
    go out in a year. This draws without replacement from the softmax of the utility.

    Returns
    -------
    user_index, event_index : arrays of shape (n_interactions,)
    day : when each choice was made, some days before the event starts
    """
    rng = np.random.default_rng([seed, 3])
    features, names = _event_features(events)
    prices = np.array([event.occasion.price for event in events])
    appeal = np.array([event.appeal for event in events])
    places = np.array([event.town_index for event in events])
    speaks = np.array([[town.language != "fr", town.language != "nl"] for town in TOWNS])
    foreign = ~(speaks[:, None] & speaks[None]).any(axis=2)
    # Within half an hour's ride all places are near; beyond that every kilometre counts.
    effort = np.hypot(DISTANCES_KM, _NEAR_KM) - _NEAR_KM

    population = np.array([town.population for town in TOWNS])
    homes = rng.choice(len(TOWNS), size=n_users, p=population / population.sum())
    tastes = _draw_tastes(n_users, names, rng)
    reach = np.exp(rng.normal(np.log(15), 0.4, size=n_users))
    reach[rng.random(n_users) < 0.06] *= 5
    thrift = np.exp(rng.normal(np.log(0.035), 0.6, size=n_users))
    counts = np.clip(np.exp(rng.normal(np.log(11), 0.75, size=n_users)), FEWEST, MOST).astype(int)
    counts = np.minimum(counts, len(events))

    users: list[NDArray[np.intp]] = []
    chosen: list[NDArray[np.intp]] = []
    for start in range(0, n_users, _BLOCK):
        block = slice(start, min(start + _BLOCK, n_users))
        home = homes[block, None]
        # utility = taste . features + appeal - distance / reach - thrift * price - foreign language
        utility = tastes[block] @ features.T + appeal
        utility -= effort[home, places] / reach[block, None]
        utility -= thrift[block, None] * prices + foreign[home, places]
        utility += rng.gumbel(size=utility.shape)
        order = np.argsort(-utility, axis=1)[:, : counts.max()]
        kept = np.arange(order.shape[1]) < counts[block, None]
        users.append(np.nonzero(kept)[0] + start)
        chosen.append(order[kept])
    user_index, event_index = np.concatenate(users), np.concatenate(chosen)
    lead = np.minimum(rng.exponential(16, size=len(event_index)), _MAX_LEAD_DAYS)
    starts = np.array([event.occasion.start for event in events], "datetime64[D]")
    day = starts[event_index] - lead.astype("timedelta64[D]")
    return user_index, event_index, day


def _event_features(events: list[GeneratedEvent]) -> tuple[NDArray[np.float64], list[str]]:
    described = [
        (o.offer.type, o.offer.theme, o.audience, o.kind.setting, o.day)
        for o in (event.occasion for event in events)
    ]
    names = sorted({name for row in described for name in row})
    column = {name: position for position, name in enumerate(names)}
    features = np.zeros((len(events), len(names)))
    for row, values in enumerate(described):
        features[row, [column[name] for name in values]] = 1
    return features, names


def _draw_tastes(n_users: int, names: list[str], rng: np.random.Generator) -> NDArray[np.float64]:
    """Mix the tastes of two groups for each user, with noise; shape (n_users, n_names)."""
    groups = read_table("tastes")["tastes"]
    table = np.array([[group["likes"].get(name, 0.0) for name in names] for group in groups])
    share = np.array([group["share"] for group in groups])
    first, second = rng.choice(len(groups), size=(2, n_users), p=share / share.sum())
    mix = rng.beta(4, 2, size=(n_users, 1))
    tastes: NDArray[np.float64] = mix * table[first] + (1 - mix) * table[second]
    return tastes + rng.normal(0, 0.45, size=tastes.shape)
