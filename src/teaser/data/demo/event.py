"""Compose events: what, where, when, for whom, at what price, and in which words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Template

from teaser.data.demo.places import (
    TOWNS,
    VENUE_KINDS,
    Town,
    VenueKind,
    draw_one,
    landmarks,
    name_venue,
    neighbours,
    read_table,
)
from teaser.templates import environment

EVENING = ("19:30", "20:00", "20:30")
# The random draws follow this order: another order gives other events for the same seed.
_FILES = ("music", "stage", "museum", "course", "outing", "fair")
PRICE_BANDS = ("free", "under 10 euro", "10 to 20 euro", "20 to 40 euro", "over 40 euro")
_ALL_YEAR = tuple(range(1, 13))
_WARM = (5, 6, 7, 8, 9)
_DAYTIME = ("10:00", "11:00", "14:00", "15:00")
_YOUNG = ("Toddlers", "Children", "Families")
_PUPILS = ("Children", "Families")
# Nothing starts on these days (month, day).
_CLOSED = ((1, 1), (12, 24), (12, 25), (12, 31))
_MOST = 4
_COUNT = {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 10: "ten"}
_OPENINGS = ("Starts at {}", "At {}", "Begins at {}")


@dataclass(frozen=True)
class EventType:
    """What a type of event implies, whatever its theme.

    Attributes
    ----------
    weekend : the share of single days that fall on Saturday or Sunday
    details : sentences that suit any event of the type
    lengths : possible durations in days, drawn with equal chance
    weekly : whether it returns every week of its duration, as a course does
    drop_in : whether visitors may come at any time after the opening
    draw : shifts popularity
    """

    weekend: float
    details: tuple[str, ...]
    lengths: tuple[int, ...] = (1,)
    weekly: bool = False
    drop_in: bool = False
    hours: tuple[str, ...] = EVENING
    draw: float = 0.0


@dataclass(frozen=True)
class Audience:
    """Whom an event is for: what they pay relative to others, and sentences for them alone."""

    price_factor: float = 1.0
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Act:
    """One thing to do, with what it needs.

    Titles and text may use ``{town} {spot} {water} {venue} {person} {guest} {neighbour}
    {weekday} {weeks}``. An empty field falls back to that of the offer, then of the type.
    """

    titles: tuple[str, ...]
    text: str
    kinds: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    months: tuple[int, ...] = ()
    hours: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Offer:
    """All acts of one type and theme.

    Attributes
    ----------
    kinds, audiences : possible kinds of venue and audiences; a repeated one is drawn more often
    prices : lowest and highest price, in euro
    weight : how often the offer is drawn, relative to the others
    free : the share of events without a ticket
    months : when it takes place; without, in the warm months in the open air, else all year
    """

    type: str
    theme: str
    kinds: tuple[str, ...]
    prices: tuple[float, float]
    acts: tuple[Act, ...]
    weight: float = 1.0
    free: float = 0.1
    audiences: tuple[str, ...] = ("Everyone", "Adults")
    months: tuple[int, ...] = ()
    details: tuple[str, ...] = ()


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
        return EVENT_TYPES[self.offer.type]

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


def meets(occasion: Occasion, condition: Mapping[str, Any]) -> bool:
    """Return whether an occasion meets all of a condition of ``labels.toml``."""
    offer, kind = occasion.offer, occasion.kind
    facts = {
        "types": offer.type,
        "themes": offer.theme,
        "kinds": kind.name,
        "audiences": occasion.audience,
        "months": occasion.start.month,
        "hours": int(occasion.hour.split(":")[0]) if occasion.hour else None,
    }
    numbers = {"min_price": occasion.price, "min_population": occasion.town.population}

    def holds(name: str, wanted: Any) -> bool:
        if name == "open_air":
            return bool(kind.open_air == wanted)
        if name in numbers:
            return bool(numbers[name] >= wanted)
        if name.startswith("except_"):
            return facts[name.removeprefix("except_")] not in wanted
        return facts[name] in wanted

    return all(holds(name, wanted) for name, wanted in condition.items())


@dataclass(frozen=True)
class Label:
    """A label, how often it is given where one of its conditions holds, and how a text says it."""

    name: str
    chance: float
    clause: str
    when: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class GeneratedEvent:
    """An event as it is listed; ``appeal`` is the log of its popularity."""

    town_index: int
    occasion: Occasion
    title: str
    description: str
    labels: tuple[str, ...]
    picture: str
    appeal: float


def compose_events(n_events: int, seed: int, first: date) -> list[GeneratedEvent]:
    """Compose events with distinct titles, in the year from ``first``."""
    taken: set[str] = set()
    rng = np.random.default_rng([seed, 1])
    size = np.array([town.population + 6 for town in TOWNS]) ** 0.8
    town_indices = rng.choice(len(TOWNS), size=n_events, p=size / size.sum())
    weights = np.array([offer.weight for offer in offers()])
    drawn = rng.choice(len(offers()), size=n_events, p=weights / weights.sum())
    return [
        _compose(int(town), offers()[offer], first, taken, np.random.default_rng([seed, 2, index]))
        for index, (town, offer) in enumerate(zip(town_indices, drawn, strict=True))
    ]


def _compose(
    town_index: int, offer: Offer, first: date, taken: set[str], rng: np.random.Generator
) -> GeneratedEvent:
    town = TOWNS[town_index]
    occasion = draw_occasion(offer, town, first, rng)
    words = draw_words(occasion, neighbours(town_index), rng)
    title = draw_title(occasion, words, taken, rng)
    occasion = draw_hour(occasion, rng)
    labels = draw_labels(occasion, rng)
    description = describe(occasion, labels, words, rng)
    picture = draw_picture(offer.type, offer.theme, rng)
    appeal = occasion.type.draw + occasion.kind.size + 0.1 * np.log(town.population / 50)
    return GeneratedEvent(
        town_index=town_index,
        occasion=occasion,
        title=title,
        description=description,
        labels=labels,
        picture=picture,
        appeal=float(appeal + rng.normal(0, 0.6)),
    )


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
        kinds = [VENUE_KINDS[name] for name in act.kinds or offer.kinds]
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
    rule = EVENT_TYPES[offer.type]
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
    price = (low + (high - low) * rng.beta(1.4, 2.4)) * AUDIENCES[audience].price_factor
    return max(1.0, float(round(price)) if price >= 15 else round(price * 2) / 2)


def draw_labels(occasion: Occasion, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw the names of labels that suit an occasion, at most four, in the order of the file."""
    draws = rng.random(len(LABELS))
    given = [
        label.name
        for label, draw in zip(LABELS.values(), draws, strict=True)
        if draw < label.chance and any(meets(occasion, condition) for condition in label.when)
    ]
    return tuple(given[:_MOST])


def draw_words(
    occasion: Occasion, nearby: tuple[Town, ...], rng: np.random.Generator
) -> dict[str, str]:
    """Draw what the patterns of titles and texts are filled with."""
    town = occasion.town
    language = town.language if town.language != "both" else draw_one(("nl", "fr"), rng)
    names = read_table("names")[language]
    person, guest = (
        f"{draw_one(names['first'], rng)} {draw_one(names['last'], rng)}" for _ in range(2)
    )
    weeks = (occasion.end - occasion.start).days // 7 + 1
    return {
        "town": town.name,
        "water": town.water,
        "venue": occasion.venue,
        "person": person,
        "guest": guest,
        "neighbour": draw_one(nearby, rng).name,
        "weekday": f"{occasion.start:%A}",
        "weeks": _COUNT.get(weeks, str(weeks)),
    }


def draw_title(
    occasion: Occasion, words: dict[str, str], taken: set[str], rng: np.random.Generator
) -> str:
    """Draw a title that no other event has, and add it to those taken."""
    town, kind = occasion.town, occasion.kind
    spots = [spot for spot in kind.spots if town.water or "{water}" not in spot]
    # The address of a well-known venue could contradict the phrases of the town.
    if kind.setting == "Indoors" and not landmarks(kind, town):
        spots.extend(town.spots)
    spots.append(f"in {town.name}")
    titles = [
        fill(pattern, {**words, "spot": fill(spot, words)})
        for pattern in occasion.act.titles
        if town.water or "{water}" not in pattern
        for spot in (spots if "{spot}" in pattern else ("",))
    ]
    titles = [titles[int(index)] for index in rng.permutation(len(titles))]
    free = [title for title in titles if title not in taken]
    if not free:
        free = [
            title
            for stem in titles
            for title in (f"{stem} in {town.name}", f"{stem}, with {words['guest']}")
            if title not in taken and stem.count(town.name) + title.count(" in ") < 2
        ] or [f"{titles[0]}, with {words['guest']}"]
    taken.add(free[0])
    return free[0]


def describe(
    occasion: Occasion, given: tuple[str, ...], words: dict[str, str], rng: np.random.Generator
) -> str:
    """Write two or three sentences: what happens, a detail, and when."""
    details = occasion.act.details or occasion.offer.details or occasion.type.details
    if not occasion.type.weekly:
        details = AUDIENCES[occasion.audience].details or details
    sentences = (occasion.act.text, draw_one(details, rng), _closing(occasion, given, rng))
    return " ".join(fill(sentence, words) for sentence in sentences if sentence)


def fill(pattern: str, words: dict[str, str]) -> str:
    """Fill a pattern; a word at its beginning gets a capital."""
    text = pattern.format_map(words)
    return text[0].upper() + text[1:] if pattern.startswith("{") else text


def _closing(occasion: Occasion, given: tuple[str, ...], rng: np.random.Generator) -> str:
    """Write the last sentence: when, and one label or the price."""
    hour, end = occasion.hour, occasion.end
    if not hour:
        opening = f"Open until {end.day} {end:%B}"
    elif occasion.type.weekly:
        opening = f"Each time at {hour}"
    elif end > occasion.start:
        opening = f"From {hour} each day"
    elif occasion.type.drop_in:
        opening = f"From {hour}"
    else:
        opening = draw_one(_OPENINGS, rng).format(hour)
    clauses = [LABELS[name].clause for name in given]
    if occasion.price == 0 and "booking required" not in given:
        clauses.append("free of charge")
    return f"{opening}; {draw_one(clauses, rng)}." if clauses else f"{opening}."


def draw_picture(type_: str, theme: str, rng: np.random.Generator) -> str:
    """Return an SVG image of 320 by 180, titled with the type and the theme."""

    def draws(low: int, high: int, n: int) -> list[int]:
        return [int(rng.integers(low, high)) for _ in range(n)]

    tables = read_table("emblems")
    emblem = tables["emblems"][theme]
    drawn = _picture_template().render(
        type=type_,
        theme=theme,
        draw=lambda low, high: draws(low, high, 1)[0],
        draws=draws,
        random=rng.random,
        emblem=emblem["path"],
        filled=emblem.get("filled", True),
        **tables["palettes"][emblem["palette"]],
    )
    return re.sub(r">\s+<", "><", drawn).strip()


# Types of event, audiences and labels by name.
EVENT_TYPES = {name: EventType(**table) for name, table in read_table("types").items()}
AUDIENCES = {name: Audience(**table) for name, table in read_table("audiences").items()}
LABELS = {table["name"]: Label(**table) for table in read_table("labels")["labels"]}


@cache
def offers() -> tuple[Offer, ...]:
    """Return all offers of ``offers/*.toml``, which take a while to read."""
    return tuple(
        Offer(**{**table, "acts": tuple(Act(**act) for act in table["acts"])})
        for name in _FILES
        for table in read_table(f"offers/{name}")["offers"]
    )


@cache
def _picture_template() -> Template:
    return environment(Path(__file__).parent).get_template("picture.svg")
