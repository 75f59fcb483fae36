"""Users and what they choose: by taste, distance from home, price, popularity and chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teaser.data.events.event import GeneratedEvent
from teaser.data.events.material import read_table
from teaser.data.events.town import distances_km, towns

FEWEST, MOST = 3, 60
_NEAR_KM = 20.0
_MAX_LEAD_DAYS = 120
_BLOCK = 1000


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
    speaks = np.array([[town.language != "fr", town.language != "nl"] for town in towns()])
    foreign = ~(speaks[:, None] & speaks[None]).any(axis=2)
    # Within half an hour's ride all places are near; beyond that every kilometre counts.
    effort = np.hypot(distances_km(), _NEAR_KM) - _NEAR_KM

    population = np.array([town.population for town in towns()])
    homes = rng.choice(len(towns()), size=n_users, p=population / population.sum())
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
