"""Labels of an event, given by chance where their conditions hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from teaser.data.events.material import read_table
from teaser.data.events.occasion import Occasion

_MOST = 4


@dataclass(frozen=True)
class Condition:
    """What an occasion must be like; an empty field allows everything."""

    types: tuple[str, ...] = ()
    except_types: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    except_themes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    except_kinds: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    months: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()
    min_price: float = 0.0
    min_population: float = 0.0
    open_air: bool | None = None

    def holds(self, occasion: Occasion) -> bool:
        """Whether the occasion meets all of it."""
        offer, kind = occasion.offer, occasion.kind
        hour = int(occasion.hour.split(":")[0]) if occasion.hour else None
        return (
            (not self.types or offer.type in self.types)
            and offer.type not in self.except_types
            and (not self.themes or offer.theme in self.themes)
            and offer.theme not in self.except_themes
            and (not self.kinds or kind.name in self.kinds)
            and kind.name not in self.except_kinds
            and (not self.audiences or occasion.audience in self.audiences)
            and (not self.months or occasion.start.month in self.months)
            and (not self.hours or hour in self.hours)
            and occasion.price >= self.min_price
            and occasion.town.population >= self.min_population
            and self.open_air in (None, kind.open_air)
        )


@dataclass(frozen=True)
class Label:
    """A label, how often it is given where one of its conditions holds, and how a text says it."""

    name: str
    chance: float
    clause: str
    when: tuple[Condition, ...]


@cache
def labels() -> dict[str, Label]:
    """Return the labels of ``labels.toml`` by name."""
    tables = read_table("labels")["labels"]
    return {
        table["name"]: Label(**{**table, "when": tuple(Condition(**c) for c in table["when"])})
        for table in tables
    }


def draw_labels(occasion: Occasion, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw the names of labels that suit an occasion, at most four, in the order of the file."""
    draws = rng.random(len(labels()))
    given = [
        label.name
        for label, draw in zip(labels().values(), draws, strict=True)
        if draw < label.chance and any(condition.holds(occasion) for condition in label.when)
    ]
    return tuple(given[:_MOST])
