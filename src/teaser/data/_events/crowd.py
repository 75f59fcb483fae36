"""People and what they choose: taste, distance from home, price, popularity and chance."""

from __future__ import annotations

from datetime import date

import numpy as np
from numpy.typing import NDArray

from teaser.data._events.listing import Event
from teaser.data._events.places import TOWNS, distances_km

FEWEST, MOST = 3, 60
_NEAR_KM = 20.0
_BLOCK = 1000

# What each kind of person goes out for, and what keeps them at home.
_ARCHETYPES: tuple[tuple[float, dict[str, float]], ...] = (
    (
        0.16,
        {
            "Families": 2.4,
            "Children": 1.8,
            "Toddlers": 0.8,
            "Family day": 1.2,
            "Circus": 0.8,
            "Puppetry": 0.8,
            "Animation": 0.6,
            "Market": 0.5,
            "Nature": 0.5,
            "Electronic": -1.5,
            "weekend": 0.8,
        },
    ),
    (
        0.06,
        {
            "Toddlers": 3.2,
            "Families": 1.6,
            "Puppetry": 0.6,
            "Nature": 0.5,
            "Walk": 0.6,
            "Wellbeing": 0.5,
            "Adults": -0.5,
        },
    ),
    (
        0.14,
        {
            "Electronic": 2.2,
            "Rock": 1.8,
            "Festival": 1.3,
            "Stand-up": 1.2,
            "Street food": 1.0,
            "Beer": 0.8,
            "Concert": 0.6,
            "Families": -1.5,
            "Seniors": -2.0,
            "Children": -2.0,
            "Toddlers": -2.5,
        },
    ),
    (
        0.12,
        {
            "Classical": 2.4,
            "Choir": 1.6,
            "Ballet": 1.6,
            "Painting": 1.2,
            "Exhibition": 0.8,
            "Drama": 0.6,
            "Concert": 0.6,
            "Seniors": 0.8,
            "Rock": -1.2,
            "Electronic": -1.8,
            "Sport": -0.8,
        },
    ),
    (
        0.13,
        {
            "Walk": 1.9,
            "Sport": 1.8,
            "Nature": 1.5,
            "Cycling": 1.2,
            "Running": 1.2,
            "Swimming": 0.8,
            "In nature": 0.8,
            "Outdoors": 0.6,
            "Gardening": 0.6,
            "weekend": 0.5,
            "Theatre": -0.6,
            "Lecture": -0.4,
        },
    ),
    (
        0.10,
        {
            "Workshop": 2.0,
            "Course": 1.8,
            "Ceramics": 1.0,
            "Textiles": 1.0,
            "Technology": 0.8,
            "Second-hand": 0.9,
            "Design": 0.9,
            "Photography": 0.8,
            "Cooking": 0.6,
            "Festival": -0.4,
        },
    ),
    (
        0.09,
        {
            "Food and drink": 2.0,
            "Beer": 1.6,
            "Chocolate": 1.4,
            "Street food": 1.4,
            "Cooking": 1.6,
            "Farm produce": 1.4,
            "Market": 0.8,
            "Guided tour": 0.4,
        },
    ),
    (
        0.10,
        {
            "History": 2.0,
            "Guided tour": 1.6,
            "Architecture": 1.4,
            "Industrial heritage": 1.4,
            "Lecture": 1.0,
            "Science": 0.5,
            "Exhibition": 0.8,
            "Seniors": 1.2,
            "Comedy": -0.6,
        },
    ),
    (
        0.11,
        {
            "Drama": 2.0,
            "Contemporary dance": 1.8,
            "Literature": 1.5,
            "Film classics": 1.5,
            "Documentary": 1.5,
            "Improvisation": 0.9,
            "Theatre": 0.6,
            "Photography": 0.8,
            "Sport": -0.8,
            "Market": -0.4,
        },
    ),
    (
        0.08,
        {
            "Jazz": 2.4,
            "Folk": 1.8,
            "Brass": 1.3,
            "Social dance": 1.6,
            "Concert": 0.6,
            "Choir": 0.5,
            "Festival": 0.5,
            "Beer": 0.5,
        },
    ),
    (
        0.06,
        {
            "Teenagers": 3.0,
            "Comics": 1.4,
            "Technology": 1.2,
            "Animation": 0.9,
            "Rock": 1.0,
            "Film": 0.6,
            "Swimming": 0.6,
            "Seniors": -2.0,
            "Toddlers": -2.0,
        },
    ),
)


def choose_events(
    events: list[Event], n_people: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Who chose what, and when.

    Each person ranks all events by utility plus Gumbel noise and keeps as many of the first as
    they go out in a year, which draws without replacement from the softmax of the utility.

    Returns
    -------
    person_index, event_index : arrays of shape (n_interactions,)
    lead : how many days before the event starts each choice was made
    """
    rng = np.random.default_rng([seed, 3])
    features, names = _event_features(events)
    prices = np.array([event.price for event in events])
    appeal = np.array([event.appeal for event in events])
    towns = np.array([event.town_index for event in events])
    speaks = np.array([[town.language != "fr", town.language != "nl"] for town in TOWNS])
    foreign = ~(speaks[:, None] & speaks[None]).any(axis=2)
    # Within half an hour's ride all places are near; beyond that every kilometre counts.
    effort = np.hypot(distances_km(), _NEAR_KM) - _NEAR_KM

    population = np.array([town.population for town in TOWNS])
    homes = rng.choice(len(TOWNS), size=n_people, p=population / population.sum())
    tastes = _draw_tastes(n_people, names, rng)
    reach = np.exp(rng.normal(np.log(15), 0.4, size=n_people))
    reach[rng.random(n_people) < 0.06] *= 5
    thrift = np.exp(rng.normal(np.log(0.035), 0.6, size=n_people))
    counts = np.clip(np.exp(rng.normal(np.log(11), 0.75, size=n_people)), FEWEST, MOST).astype(int)
    counts = np.minimum(counts, len(events))

    people: list[NDArray[np.intp]] = []
    chosen: list[NDArray[np.intp]] = []
    for start in range(0, n_people, _BLOCK):
        block = slice(start, min(start + _BLOCK, n_people))
        home = homes[block, None]
        utility = tastes[block] @ features.T + appeal
        utility -= effort[home, towns] / reach[block, None]
        utility -= thrift[block, None] * prices + foreign[home, towns]
        utility += rng.gumbel(size=utility.shape)
        order = np.argsort(-utility, axis=1)[:, : counts.max()]
        kept = np.arange(order.shape[1]) < counts[block, None]
        people.append(np.nonzero(kept)[0] + start)
        chosen.append(order[kept])
    person_index, event_index = np.concatenate(people), np.concatenate(chosen)
    lead = np.minimum(rng.exponential(16, size=len(event_index)), 120).astype(np.int64)
    return person_index, event_index, lead


def choice_dates(
    events: list[Event], event_index: NDArray[np.intp], lead: NDArray[np.int64]
) -> NDArray[np.datetime64]:
    """The day of each choice: some time before the event starts."""
    starts = np.array([event.start - date(1970, 1, 1) for event in events], "timedelta64[D]")
    days: NDArray[np.datetime64] = np.datetime64("1970-01-01", "D") + (
        starts[event_index] - lead.astype("timedelta64[D]")
    )
    return days


def _event_features(events: list[Event]) -> tuple[NDArray[np.float64], list[str]]:
    described = [
        (event.type, event.theme, event.audience, event.setting, event.day) for event in events
    ]
    names = sorted({name for row in described for name in row})
    column = {name: position for position, name in enumerate(names)}
    features = np.zeros((len(events), len(names)))
    for row, values in enumerate(described):
        features[row, [column[name] for name in values]] = 1
    return features, names


def _draw_tastes(n_people: int, names: list[str], rng: np.random.Generator) -> NDArray[np.float64]:
    table = np.array([[likes.get(name, 0.0) for name in names] for _, likes in _ARCHETYPES])
    share = np.array([share for share, _ in _ARCHETYPES])
    first, second = rng.choice(len(_ARCHETYPES), size=(2, n_people), p=share / share.sum())
    mix = rng.beta(4, 2, size=(n_people, 1))
    tastes: NDArray[np.float64] = mix * table[first] + (1 - mix) * table[second]
    return tastes + rng.normal(0, 0.45, size=tastes.shape)
