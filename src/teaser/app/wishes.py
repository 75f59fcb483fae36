"""Wishes applied to a person's state: the one action that they are together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any

from teaser.app.actions import decide
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.state import MAX_PRESS_TAGS, Event, ListFilter, State, ending, within_range
from teaser.data.tags import Tag
from teaser.errors import LimitError, ParameterError
from teaser.steer.variation import start_presses
from teaser.words.wishes import Period, Wish, refuse_contradictions

# The most wishes that are applied together: on the site, over the API and by assistants.
MAX_WISHES = 50
_Action = tuple[str, dict[str, Any]]


def check_n_wishes(n: int) -> None:
    """Raise `LimitError` for more wishes than apply together."""
    if n > MAX_WISHES:
        raise LimitError(
            "{n:,} wishes are too many at once; at most {limit} apply together. Say it in parts.",
            problem="wishes",
            n=n,
            limit=MAX_WISHES,
        )


def event_of(
    wishes: Iterable[Wish], state: State, catalogue: Catalogue, *, now: datetime | None = None
) -> Event:
    """Return the action that some wishes are together; it is one step of undo.

    Presses go as far as their tags go. Conditions come to those of the current feed; one that the
    feed has and that a new one contradicts makes way. Of two bounds among the wishes on one side
    of a column, and of two periods that share days, both hold: the tighter bound, the shared days.

    Parameters
    ----------
    wishes
        What is wished, at least one wish.
    state
        The person's present state.
    catalogue
        Which items and tags there are.
    now
        The present by default.

    Raises
    ------
    UnknownNameError
        If the catalogue does not have a tag, an item or a column.
    LimitError
        If there are more than `MAX_WISHES`.
    ParameterError
        If there is no wish, or if two of them cannot both hold.
    """
    each = tuple(dict.fromkeys(wishes))
    if not each:
        raise ParameterError("Nothing is wished. Say at least one thing.")
    check_n_wishes(len(each))
    zone = catalogue.zone
    today = (now or datetime.now(zone)).astimezone(zone).date()
    refuse_contradictions(each, today=today)
    actions: list[_Action] = []
    filters = _filters(each, state.filters, today)
    if filters != state.filters:
        actions.append(("filter", {"filters": filters.to_json()}))
    for wish in each:
        if wish.kind == "never":
            actions.append(("hide", {"tag": wish.name, **ending(wish.lasts, zone, now=now)}))
        elif wish.kind == "variety":
            actions.append(("vary", {"variety": wish.number}))
    for lasts, presses in _presses(each, state, catalogue).items():
        ends = ending(lasts, zone, now=now)
        left = iter(presses.items())
        while part := dict(islice(left, MAX_PRESS_TAGS)):
            actions.append(("press", {"presses": part, **ends}))
    if not actions:  # all of it is in the filters already
        actions.append(("filter", {"filters": filters.to_json()}))
    return Event("several", {"actions": [list(action) for action in actions]})


def decide_wishes(wishes: Iterable[Wish], state: State, catalogue: Catalogue) -> Event | None:
    """Return the event that applies wishes to what holds now; None if they move nothing."""
    return decide(state, event_of(wishes, state, catalogue), catalogue)


def _filters(wishes: Sequence[Wish], current: ListFilter, today: date) -> ListFilter:
    """Return the conditions of a list with those of wishes."""
    only, without = dict.fromkeys(current.only), dict.fromkeys(current.without)
    at_most, at_least = dict(current.at_most), dict(current.at_least)
    # The loosest bound first, so that the tightest one stays.
    for wish in sorted(wishes, key=_tightness):
        number = wish.number or 0.0
        if wish.kind in ("only", "without"):
            own, opposite = (only, without) if wish.kind == "only" else (without, only)
            opposite.pop(wish.name, None)
            own[wish.name] = None
        elif wish.kind == "at_most":
            at_most[wish.name] = number
            if at_least.get(wish.name, number) > number:
                del at_least[wish.name]
        elif wish.kind == "at_least":
            at_least[wish.name] = number
            if at_most.get(wish.name, number) < number:
                del at_most[wish.name]
    periods = [wish.name for wish in wishes if wish.kind == "when"]
    when = _shared_days(periods, today) if periods else current.when
    return ListFilter(tuple(only), tuple(without), at_most, at_least, when)


def _tightness(wish: Wish) -> float:
    """Return a number that grows as a bound becomes tighter; 0 for other wishes."""
    number = wish.number or 0.0
    return {"at_most": -number, "at_least": number}.get(wish.kind, 0.0)


def _shared_days(periods: Sequence[str], today: date) -> str:
    """Return the days that all periods have, as the period among them that has no others."""
    days = [Period.parse(period).days(today) for period in periods]
    first = max((day for day, _ in days if day is not None), default=None)
    last = min((day for _, day in days if day is not None), default=None)
    if (first, last) in days:
        return periods[days.index((first, last))]
    return str(Period("", first, last))


def _presses(
    wishes: Iterable[Wish], state: State, catalogue: Catalogue
) -> dict[str, dict[str, int]]:
    """Return the steps on each tag by how long they last, as far as its range goes.

    One step stays for a tag at its limit, so that the visitor is told.
    """
    wanted: dict[str, Counter[Tag]] = {}
    for wish in wishes:
        if wish.kind == "press":
            pressed = {catalogue.tag(Tag.parse(wish.name)): wish.steps}
            wanted.setdefault(wish.lasts, Counter()).update(pressed)
        elif wish.kind == "like":
            start = start_presses(catalogue.model, wish.name)
            wanted.setdefault("always", Counter()).update(start)
    net = dict(PersonalModel(catalogue, state).own.presses)
    found: dict[str, dict[str, int]] = {}
    for lasts, presses in wanted.items():
        for tag, steps in presses.items():
            if steps:
                now = net.get(tag, 0)
                net[tag] = within_range(now + steps)
                least = 1 if steps > 0 else -1
                found.setdefault(lasts, {})[str(tag)] = net[tag] - now or least
    return found
