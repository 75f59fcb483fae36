"""Puts an occasion into words: title and description."""

from __future__ import annotations

import numpy as np

from teaser.data.events.label import labels
from teaser.data.events.material import draw_one, read_table
from teaser.data.events.occasion import Occasion
from teaser.data.events.offer import audiences
from teaser.data.events.town import Town
from teaser.data.events.venue import landmarks

_COUNT = {4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 10: "ten"}
_OPENINGS = ("Starts at {}", "At {}", "Begins at {}")


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
        details = audiences()[occasion.audience].details or details
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
    clauses = [labels()[name].clause for name in given]
    if occasion.price == 0 and "booking required" not in given:
        clauses.append("free of charge")
    return f"{opening}; {draw_one(clauses, rng)}." if clauses else f"{opening}."
