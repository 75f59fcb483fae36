"""Labels of an event and the sentence that closes its description, which must agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import numpy as np

from teaser.data._events.places import Town
from teaser.data._events.programme import WARM, Offer
from teaser.data._events.venues import KINDS, OPEN_AIR


@dataclass(frozen=True)
class Facts:
    """All that a label may depend on."""

    type: str
    theme: str
    kind: str
    audience: str
    month: int
    price: float
    hour: int
    population: float
    open_air: bool


@dataclass(frozen=True)
class LabelRule:
    """A label, when it may be given, how often it then is, and how a sentence mentions it."""

    label: str
    chance: float
    clause: str
    fits: Callable[[Facts], bool]


_YOUNG = ("Toddlers", "Children", "Families")
_GREEN = ("park", "wood", "lake", "garden", "farm")
_ROUGH = ("wood", "marsh", "castle", "works", "beach", "lake", "farm")

RULES: tuple[LabelRule, ...] = (
    LabelRule("late night", 1.0, "it will be late", lambda f: f.hour >= 22),
    LabelRule(
        "lunch hour",
        1.0,
        "over by half past one",
        lambda f: f.hour == 12 and f.type == "Concert",
    ),
    LabelRule(
        "museum pass",
        0.7,
        "free with a museum pass",
        lambda f: f.type == "Exhibition" and f.kind == "museum" and f.price > 0,
    ),
    LabelRule(
        "premiere",
        0.15,
        "this is the premiere",
        lambda f: f.type in ("Theatre", "Dance") and f.theme not in ("Social dance", "Ballet"),
    ),
    LabelRule(
        "first edition",
        0.14,
        "this is the first edition",
        lambda f: f.type in ("Festival", "Market", "Sport"),
    ),
    LabelRule(
        "bring a picnic",
        0.4,
        "bring a picnic and a rug",
        lambda f: (
            f.kind in _GREEN
            and f.month in WARM
            and f.type in ("Concert", "Film", "Family day", "Walk")
        ),
    ),
    LabelRule(
        "booking required",
        0.6,
        "booking required",
        lambda f: f.type in ("Workshop", "Course", "Guided tour") or f.kind == "kitchen",
    ),
    LabelRule(
        "materials included",
        0.6,
        "all materials are included",
        lambda f: (
            (f.type == "Workshop" or (f.type, f.theme) == ("Course", "Painting")) and f.price >= 10
        ),
    ),
    LabelRule(
        "first drink included",
        0.15,
        "the first drink is included",
        lambda f: (
            f.audience in ("Adults", "Seniors")
            and f.price >= 8
            and f.type in ("Concert", "Comedy", "Dance", "Lecture", "Food and drink")
            and f.kind != "church"
        ),
    ),
    LabelRule(
        "sign language",
        0.12,
        "interpreted in sign language",
        lambda f: f.type in ("Theatre", "Lecture", "Comedy", "Guided tour"),
    ),
    LabelRule(
        "relaxed performance",
        0.2,
        "a relaxed performance, with the lights half up",
        lambda f: f.type in ("Theatre", "Film", "Dance") and f.audience in _YOUNG,
    ),
    LabelRule(
        "no language needed",
        0.5,
        "no language needed",
        lambda f: f.theme in ("Contemporary dance", "Ballet", "Circus") and f.type != "Family day",
    ),
    LabelRule(
        "in English",
        0.15,
        "everything is in English",
        lambda f: (
            f.type in ("Guided tour", "Lecture", "Comedy")
            and f.population > 80
            and f.audience in ("Adults", "Everyone")
        ),
    ),
    LabelRule(
        "subtitled",
        0.5,
        "subtitled",
        lambda f: (
            f.type == "Film"
            and f.audience in ("Adults", "Everyone", "Teenagers")
            and not f.open_air
        ),
    ),
    LabelRule(
        "dogs welcome",
        0.3,
        "dogs on a lead are welcome",
        lambda f: f.type in ("Walk", "Market") and f.open_air and f.kind != "marsh",
    ),
    LabelRule(
        "buggy friendly",
        0.4,
        "easy with a buggy",
        lambda f: (
            f.audience in ("Toddlers", "Families")
            and f.type in ("Walk", "Family day", "Exhibition", "Market")
            and f.kind not in _ROUGH
        ),
    ),
    LabelRule(
        "under twelve free",
        0.25,
        "free under twelve",
        lambda f: (
            f.price >= 5
            and f.audience in ("Everyone", "Families")
            and f.type in ("Exhibition", "Festival", "Guided tour", "Food and drink")
        ),
    ),
    LabelRule(
        "vegetarian",
        0.4,
        "plenty for vegetarians",
        lambda f: f.theme in ("Street food", "Cooking"),
    ),
    LabelRule(
        "rain or shine",
        0.25,
        "it goes on rain or shine",
        lambda f: f.open_air and f.type in ("Walk", "Market", "Sport"),
    ),
    LabelRule(
        "quiet hours",
        0.12,
        "quiet hours on Thursday evening",
        lambda f: f.type == "Exhibition",
    ),
    LabelRule(
        "reduced fare",
        0.35,
        "reduced fare for those who need it",
        lambda f: f.price >= 6,
    ),
    LabelRule(
        "wheelchair accessible",
        0.4,
        "accessible by wheelchair",
        lambda f: f.kind not in _ROUGH and f.type not in ("Guided tour", "Sport", "Walk"),
    ),
)
LABELS: tuple[str, ...] = tuple(rule.label for rule in RULES)
_CLAUSES = {rule.label: rule.clause for rule in RULES}
_MOST = 4


def draw_labels(
    offer: Offer,
    kind: str,
    town: Town,
    audience: str,
    start: date,
    price: float,
    hour: str,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """Labels that fit the event, at most four, in the order of the rules."""
    facts = Facts(
        type=offer.type,
        theme=offer.theme,
        kind=kind,
        audience=audience,
        month=start.month,
        price=price,
        hour=int(hour.split(":")[0]) if hour else -1,
        population=town.population,
        open_air=KINDS[kind].setting in OPEN_AIR,
    )
    draws = rng.random(len(RULES))
    labels = [
        rule.label
        for rule, draw in zip(RULES, draws, strict=True)
        if draw < rule.chance and rule.fits(facts)
    ]
    return tuple(labels[:_MOST])


def closing(
    type_: str,
    start: date,
    end: date,
    hour: str,
    price: float,
    labels: tuple[str, ...],
    rng: np.random.Generator,
) -> str:
    """The last sentence: when, and one label or the price."""
    if not hour:
        opening = f"Open until {end.day} {end:%B}"
    elif type_ == "Course":
        opening = f"Each time at {hour}"
    elif end > start:
        opening = f"From {hour} each day"
    elif type_ in ("Market", "Family day", "Food and drink"):
        opening = f"From {hour}"
    else:
        opening = ("Starts at {}", "At {}", "Begins at {}")[int(rng.integers(3))].format(hour)
    clauses = [_CLAUSES[label] for label in labels]
    if price == 0 and "booking required" not in labels:
        clauses.append("free of charge")
    if not clauses:
        return f"{opening}."
    clause = clauses[int(rng.integers(len(clauses)))]
    return f"{opening}; {clause}."
