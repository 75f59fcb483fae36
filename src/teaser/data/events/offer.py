"""What is on offer: types of event, their themes, and the acts of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from teaser.data.events.material import read_table

EVENING = ("19:30", "20:00", "20:30")

# The random draws follow this order: another order gives other events for the same seed.
_FILES = ("music", "stage", "museum", "course", "outing", "fair")


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


@cache
def offers() -> tuple[Offer, ...]:
    """Return all offers of ``offers/*.toml``."""
    return tuple(
        _offer(**table) for name in _FILES for table in read_table(f"offers/{name}")["offers"]
    )


@cache
def event_types() -> dict[str, EventType]:
    """Return the types of event of ``types.toml`` by name."""
    return {name: EventType(**table) for name, table in read_table("types").items()}


@cache
def audiences() -> dict[str, Audience]:
    """Return the audiences of ``audiences.toml`` by name."""
    return {name: Audience(**table) for name, table in read_table("audiences").items()}


def _offer(acts: tuple[dict[str, Any], ...], **table: Any) -> Offer:
    return Offer(acts=tuple(Act(**act) for act in acts), **table)
