"""Draws what, where, when, for whom and at what price: all of an event but its text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

import numpy as np

from teaser.data.events.material import draw_one
from teaser.data.events.offer import (
    EVENING,
    Act,
    EventType,
    Offer,
    audiences,
    event_types,
)
from teaser.data.events.town import Town
from teaser.data.events.venue import VenueKind, name_venue, venue_kinds

PRICE_BANDS = ("free", "under 10 euro", "10 to 20 euro", "20 to 40 euro", "over 40 euro")

_ALL_YEAR = tuple(range(1, 13))
_WARM = (5, 6, 7, 8, 9)
_DAYTIME = ("10:00", "11:00", "14:00", "15:00")
_YOUNG = ("Toddlers", "Children", "Families")
_PUPILS = ("Children", "Families")
# Nothing starts on these days (month, day).
_CLOSED = ((1, 1), (12, 24), (12, 25), (12, 31))


@dataclass(frozen=True)
class Occasion:
    """What happens where, when, for whom and at what price; ``hour`` is "" for opening hours."""

    offer: Offer
    act: Act
    town: Town
    kind: VenueKind
    venue: str
    audience: str
    start: date
    end: date
    price: float
    hour: str = ""

    @property
    def type(self) -> EventType:
        """The type of event."""
        return event_types()[self.offer.type]

    @property
    def day(self) -> str:
        """Weekday, weekend or multiple days."""
        if self.end > self.start:
            return "multiple days"
        return "weekend" if self.start.weekday() >= 5 else "weekday"

    @property
    def price_band(self) -> str:
        """The band of the price; a limit belongs to the band above it, 40 to the one below."""
        limits = (self.price > 0, self.price >= 10, self.price >= 20, self.price > 40)
        return PRICE_BANDS[sum(limits)]


def draw_occasion(offer: Offer, town: Town, first: date, rng: np.random.Generator) -> Occasion:
    """Draw an occasion within a year from ``first``, without its hour."""
    act, kind = _draw_act(offer, town, rng)
    audience = draw_one(act.audiences or offer.audiences, rng)
    start, end = _draw_dates(offer, act, kind, audience, first, rng)
    venue = name_venue(kind, town, rng)
    price = _draw_price(offer, kind, audience, rng)
    return Occasion(offer, act, town, kind, venue, audience, start, end, price)


def draw_hour(occasion: Occasion, rng: np.random.Generator) -> Occasion:
    """Return the occasion with the hour at which it starts."""
    usual = occasion.type.hours
    if usual == EVENING and occasion.audience in _YOUNG:
        usual = _DAYTIME
    hours = occasion.act.hours or usual
    if occasion.audience in _PUPILS and occasion.day == "weekday":
        hours = tuple(hour for hour in hours if len(hour) == 5 and hour >= "13") or ("14:00",)
    hour = draw_one(hours, rng) if hours else ""
    # A concert in the lunch hour is short, hence cheap.
    is_short = hour.startswith("12") and occasion.offer.type == "Concert"
    price = min(occasion.price, 12.0) if is_short else occasion.price
    return replace(occasion, hour=hour, price=price)


@lru_cache(maxsize=4096)
def possible_days(
    first: date, months: tuple[int, ...], weekdays: tuple[int, ...], length: int
) -> tuple[date, ...]:
    """Return the days of a year from ``first`` on which something of this length may start.

    It ends within the year where it can. What is for December alone ends before Christmas.
    """
    latest = 23 - length if months == (12,) else 31
    year = [first + timedelta(n) for n in range(365)]
    days = tuple(
        day
        for day in year
        if day.month in months
        and day.weekday() in weekdays
        and day.day <= latest
        and (day.month, day.day) not in _CLOSED
    )
    return tuple(day for day in days if day + timedelta(length - 1) <= year[-1]) or days


def _draw_act(offer: Offer, town: Town, rng: np.random.Generator) -> tuple[Act, VenueKind]:
    possible: list[tuple[Act, VenueKind]] = []
    weights: list[float] = []
    for act in offer.acts:
        if "{water}" in act.text and not town.water:
            continue
        kinds = [venue_kinds()[name] for name in act.kinds or offer.kinds]
        there = [(act, kind) for kind in kinds if kind.exists_in(town)]
        possible += there
        # Every act weighs the same, however many venues could house it.
        weights += [1 / len(there) for _ in there]
    chances = np.array(weights)
    return possible[int(rng.choice(len(possible), p=chances / chances.sum()))]


def _draw_dates(
    offer: Offer,
    act: Act,
    kind: VenueKind,
    audience: str,
    first: date,
    rng: np.random.Generator,
) -> tuple[date, date]:
    rule = event_types()[offer.type]
    months = act.months or offer.months or (_WARM if kind.open_air else _ALL_YEAR)
    lengths = [n for n in rule.lengths if not (kind.open_air and rule.weekly and n > 36)]
    length = draw_one(lengths, rng)
    weekdays: tuple[int, ...]
    if rule.weekly or length == 1:
        # Schools close on Wednesday afternoon, so that is when pupils go out during the week.
        pupils = audience in _PUPILS
        at_weekend = rng.random() < (max(rule.weekend, 0.75) if pupils else rule.weekend)
        weekdays = (5, 6) if at_weekend else (2,) if pupils else (0, 1, 2, 3, 4)
    else:
        weekdays = (5,) if length == 2 else (3,) if length == 4 else (4, 5)
    days = possible_days(first, months, weekdays, length)
    # Halls close in the holidays: under a roof, July and August count for a third.
    chances = np.array([1.0 if kind.open_air or d.month not in (7, 8) else 1 / 3 for d in days])
    start = days[int(rng.choice(len(days), p=chances / sum(chances)))]
    return start, start + timedelta(length - 1)


def _draw_price(offer: Offer, kind: VenueKind, audience: str, rng: np.random.Generator) -> float:
    if rng.random() < offer.free + 0.12 * (kind.often_free and offer.free > 0):
        return 0.0
    low, high = offer.prices
    price = (low + (high - low) * rng.beta(1.4, 2.4)) * audiences()[audience].price_factor
    return max(1.0, float(round(price)) if price >= 15 else round(price * 2) / 2)
