"""Composes one event after another: place, venue, date, price, labels, title, description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from teaser.data._events import course, fair, museum, music, outing, stage
from teaser.data._events.label import closing, draw_labels
from teaser.data._events.picture import draw_picture
from teaser.data._events.places import TOWNS, Town, neighbours
from teaser.data._events.programme import ALL_YEAR, DAYTIME, EVENING, TYPES, WARM, Act, Offer
from teaser.data._events.venues import INDOORS, KINDS, OPEN_AIR, exists_in, is_landmark, name_venue

YEAR = 2026
OFFERS: tuple[Offer, ...] = (
    *music.OFFERS,
    *stage.OFFERS,
    *museum.OFFERS,
    *course.OFFERS,
    *outing.OFFERS,
    *fair.OFFERS,
)
PRICE_BANDS = ("free", "under 10 euro", "10 to 20 euro", "20 to 40 euro", "over 40 euro")
DAYS = ("weekday", "weekend", "multiple days")

_YOUNG = ("Toddlers", "Children", "Families")
_PUPILS = ("Children", "Families")
_PRICE_FACTOR = {
    "Toddlers": 0.6,
    "Children": 0.7,
    "Teenagers": 0.7,
    "Families": 0.85,
    "Seniors": 0.85,
}
_YOUNG_DETAILS = {
    "Toddlers": (
        "Afterwards there is time to play, and coffee for the tall.",
        "Crying, crawling and leaving half-way are all fine.",
        "One adult per child comes along.",
        "For the youngest, from one year on.",
    ),
    "Children": (
        "For ages six to eleven.",
        "Parents may stay, but at the back.",
        "{guest} and two helpers keep an eye on everyone.",
        "From five years on.",
    ),
}
_FIRST = {
    "nl": (
        "An|Bram|Charlotte|Dries|Eline|Febe|Griet|Hannes|Ilse|Jef|Kobe|Lotte|Maarten|Nele|Otto|"
        "Pieter|Ruth|Stijn|Tine|Veerle|Wout|Yasmina|Femke|Joris|Amina|Mohamed|Roos|Senne"
    ),
    "fr": (
        "Adèle|Benoît|Camille|Damien|Élise|Fabrice|Gaëlle|Hugo|Inès|Julien|Karim|Léa|Mathilde|"
        "Noémie|Olivier|Pauline|Quentin|Rachid|Sophie|Thibault|Valérie|Xavier|Zoé|Samira|Luc|Maud"
    ),
}
_LAST = {
    "nl": (
        "Peeters|Janssens|Maes|Jacobs|Willems|Claes|Goossens|Wouters|De Smet|Vermeulen|Dubois|"
        "Van Damme|De Backer|Lemmens|Aerts|Verhaegen|Coppens|Baert|Desmet|El Amrani|Van Acker|"
        "Michiels|Pauwels|Segers|Thys|Vandenberghe|Bogaert|Mertens|Hendrickx|Yıldız"
    ),
    "fr": (
        "Lambert|Dupont|Martin|Simon|Leroy|Renard|Collard|Delvaux|Gérard|Henrotte|Lejeune|"
        "Marchal|Noël|Piron|Remacle|Servais|Thiry|Urbain|Wauters|Benali|Fontaine|Gilson|Hanot|"
        "Jadot|Lacroix|Mathieu|Dardenne|Bastin|Closset|Evrard"
    ),
}
_COUNT = {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 10: "ten"}


@dataclass(frozen=True)
class Event:
    """An event as the catalogue lists it, with ``appeal``: the log of its drawing power."""

    town_index: int
    title: str
    description: str
    type: str
    theme: str
    audience: str
    kind: str
    setting: str
    venue: str
    start: date
    end: date
    price: float
    labels: tuple[str, ...]
    picture: str
    appeal: float

    @property
    def day(self) -> str:
        """Weekday, weekend or multiple days, as the dates say."""
        if self.end > self.start:
            return "multiple days"
        return "weekend" if self.start.weekday() >= 5 else "weekday"

    @property
    def price_band(self) -> str:
        """The band that the price falls in; a limit belongs to the band above it, 40 below."""
        limits = (self.price > 0, self.price >= 10, self.price >= 20, self.price > 40)
        return PRICE_BANDS[sum(limits)]


def compose_events(n_events: int, seed: int) -> list[Event]:
    """Events with distinct titles, each from a random stream of its own."""
    taken: set[str] = set()
    rng = np.random.default_rng([seed, 1])
    size = np.array([town.population + 6 for town in TOWNS]) ** 0.8
    towns = rng.choice(len(TOWNS), size=n_events, p=size / size.sum())
    weights = np.array([offer.weight for offer in OFFERS])
    offers = rng.choice(len(OFFERS), size=n_events, p=weights / weights.sum())
    nearby = [neighbours(index) for index in range(len(TOWNS))]
    return [
        _compose(
            int(town), OFFERS[offer], nearby[town], taken, np.random.default_rng([seed, 2, index])
        )
        for index, (town, offer) in enumerate(zip(towns, offers, strict=True))
    ]


def _compose(
    town_index: int,
    offer: Offer,
    nearby: tuple[Town, ...],
    taken: set[str],
    rng: np.random.Generator,
) -> Event:
    town = TOWNS[town_index]
    rule = TYPES[offer.type]
    act, kind = _draw_act(offer, town, rng)
    audience = _one(act.audiences or offer.audiences, rng)
    start, end = _draw_dates(offer, act, kind, audience, rng)
    venue = name_venue(kind, town, rng)
    price = _draw_price(offer, kind, audience, rng)
    words = _words(town, nearby, kind, venue, start, end, rng)
    title = _draw_title(act, kind, town, words, taken, rng)
    evening = rule.hours == EVENING and audience in _YOUNG
    hours = act.hours or (DAYTIME if evening else rule.hours)
    if audience in _PUPILS and start.weekday() < 5 and end == start:
        hours = tuple(hour for hour in hours if len(hour) == 5 and hour >= "13") or ("14:00",)
    hour = _one(hours, rng) if hours else ""
    if hour.startswith("12") and offer.type == "Concert":
        price = min(price, 12.0)  # forty minutes and a sandwich are not a night out
    labels = draw_labels(offer, kind, town, audience, start, price, hour, rng)
    details = act.details or offer.details or rule.details
    if audience in _YOUNG_DETAILS and not rule.weekly:
        details = _YOUNG_DETAILS[audience]
    detail = _one(details, rng)
    sentences = [act.text, detail, closing(offer.type, start, end, hour, price, labels, rng)]
    description = " ".join(_fill(sentence, words) for sentence in sentences if sentence)
    appeal = rule.draw + KINDS[kind].size + 0.1 * np.log(town.population / 50)
    return Event(
        town_index=town_index,
        title=title,
        description=description,
        type=offer.type,
        theme=offer.theme,
        audience=audience,
        kind=kind,
        setting=KINDS[kind].setting,
        venue=venue,
        start=start,
        end=end,
        price=price,
        labels=labels,
        picture=draw_picture(offer.type, offer.theme, rng),
        appeal=float(appeal + rng.normal(0, 0.6)),
    )


def _one(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def _draw_act(offer: Offer, town: Town, rng: np.random.Generator) -> tuple[Act, str]:
    possible = [
        (act, kind)
        for act in offer.acts
        for kind in (act.kinds or offer.kinds)
        if exists_in(kind, town) and ("{water}" not in act.text or town.water)
    ]
    # Every act weighs the same, however many venues could house it.
    counts = np.array([sum(act is other for other, _ in possible) for act, _ in possible])
    weights = 1 / counts
    return possible[int(rng.choice(len(possible), p=weights / weights.sum()))]


def _draw_dates(
    offer: Offer, act: Act, kind: str, audience: str, rng: np.random.Generator
) -> tuple[date, date]:
    rule = TYPES[offer.type]
    open_air = KINDS[kind].setting in OPEN_AIR
    months = act.months or offer.months or (WARM if open_air else ALL_YEAR)
    lengths = [n for n in rule.lengths if not (open_air and rule.weekly and n > 36)]
    length = lengths[int(rng.integers(len(lengths)))]
    if rule.weekly or length == 1:
        # Schools close on Wednesday afternoon, so that is when pupils go out during the week.
        pupils = audience in _PUPILS
        workdays = (2,) if pupils else (0, 1, 2, 3, 4)
        at_weekend = rng.random() < (max(rule.weekend, 0.75) if pupils else rule.weekend)
        weekdays: tuple[int, ...] = (5, 6) if at_weekend else workdays
    else:
        weekdays = (5,) if length == 2 else (3,) if length == 4 else (4, 5)
    last = date(YEAR, 12, 31)
    days = [
        day
        for day in (date(YEAR, 1, 2) + timedelta(n) for n in range(363))
        if day.month in months
        and day.weekday() in weekdays
        and day + timedelta(length - 1) <= last
        and (day.month, day.day) not in ((12, 24), (12, 25))
        and not (act.months + offer.months == (12,) and day.day > 23 - length)
    ]
    # Halls close in the holidays: under a roof, July and August count for a third.
    quiet = [1.0 if open_air or day.month not in (7, 8) else 1 / 3 for day in days]
    start = days[int(rng.choice(len(days), p=np.array(quiet) / sum(quiet)))]
    return start, start + timedelta(length - 1)


def _draw_price(offer: Offer, kind: str, audience: str, rng: np.random.Generator) -> float:
    open_to_all = kind in ("square", "library", "community", "park") and offer.free > 0
    if rng.random() < offer.free + 0.12 * open_to_all:
        return 0.0
    low, high = offer.prices
    price = (low + (high - low) * rng.beta(1.4, 2.4)) * _PRICE_FACTOR.get(audience, 1.0)
    return max(1.0, float(round(price)) if price >= 15 else round(price * 2) / 2)


def _words(
    town: Town,
    nearby: tuple[Town, ...],
    kind: str,
    venue: str,
    start: date,
    end: date,
    rng: np.random.Generator,
) -> dict[str, str]:
    language = town.language if town.language != "both" else _one(("nl", "fr"), rng)
    person, guest = (
        f"{_one(_FIRST[language].split('|'), rng)} {_one(_LAST[language].split('|'), rng)}"
        for _ in range(2)
    )
    weeks = (end - start).days // 7 + 1
    return {
        "town": town.name,
        "water": town.water,
        "venue": venue,
        "person": person,
        "guest": guest,
        "neighbour": nearby[int(rng.integers(len(nearby)))].name,
        "weekday": f"{start:%A}",
        "weeks": _COUNT.get(weeks, str(weeks)),
    }


def _draw_title(
    act: Act,
    kind: str,
    town: Town,
    words: dict[str, str],
    taken: set[str],
    rng: np.random.Generator,
) -> str:
    spots = [spot for spot in KINDS[kind].spots if town.water or "{water}" not in spot]
    if KINDS[kind].setting == INDOORS and not is_landmark(kind, town):
        spots.extend(town.spots)
    spots.append(f"in {town.name}")
    titles = [
        _fill(pattern, {**words, "spot": _fill(spot, words)})
        for pattern in act.titles.split("|")
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


def _fill(pattern: str, words: dict[str, str]) -> str:
    text = pattern.format_map(words)
    return text[0].upper() + text[1:] if pattern.startswith("{") else text
