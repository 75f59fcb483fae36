"""The actions of a person as events, and the state that they lead to.

Every action is an event, and events are only appended. Undo and redo are events too, so the whole
sequence can be read later. The state is a pure function of the events.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import (
    NotHiddenError,
    NothingToRedoError,
    NothingToUndoError,
    NotInHistoryError,
    ParameterError,
)
from teaser.profile import DEFAULT_STEERING, MAX_PRESSES, check_press

Kind = Literal[
    "view",
    "remove",
    "press",
    "hide",
    "unhide",
    "vary",
    "balance",
    "about",
    "reset",
    "undo",
    "redo",
]
KINDS = get_args(Kind)
MAX_ABOUT = 200
MAX_PRESS_TAGS = 20
MAX_STRENGTH = 1e9
AS_FITTED = DEFAULT_STEERING.balance


@dataclass(frozen=True)
class Event:
    """One action of a person.

    Attributes
    ----------
    kind
        One of `KINDS`.
    data
        `item` for view, remove, hide and unhide, and with view `strength` where it is not 1;
        `presses` (tag text -> steps) for press;
        `variety` for vary; `balance` for balance; `about` (tag texts) for about, which replaces
        the facts given before; nothing for the others.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """The state of a person.

    Attributes
    ----------
    history
        Viewed items, the latest last.
    strengths
        The strength of each item of the history where it is not 1; below 0 for a disliked item.
    presses
        Net presses by tag text, `feature=value`.
    hidden
        Items that are not recommended.
    variety
        How much lists are varied, 0 to 1.
    balance
        From 0, tags alone, over 0.5, the model as it was fitted, to 1, viewed items alone; see
        `teaser.profile.Steering`. It has an effect only if the model has a remainder.
    about
        The facts that the person gave about themselves, each as `feature=value`.
    undoable, redoable
        The actions that undo and redo would apply to, if any.
    n_events
        The number of events that lead to this state.
    """

    history: tuple[ItemId, ...] = ()
    presses: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[ItemId, ...] = ()
    variety: float = 0.0
    balance: float = AS_FITTED
    about: tuple[str, ...] = ()
    undoable: Event | None = None
    redoable: Event | None = None
    n_events: int = 0
    strengths: Mapping[ItemId, float] = field(default_factory=dict)


def facts_of(data: Mapping[str, Any]) -> Any:
    """Return the facts of an `about` event; earlier versions stored them under `people`."""
    return data.get("about", data.get("people"))


@dataclass
class Values:
    """The values of a state while actions are applied to them; dicts keep the order of items."""

    history: dict[ItemId, float] = field(default_factory=dict)  # the strength of each
    hidden: dict[ItemId, None] = field(default_factory=dict)
    presses: dict[str, int] = field(default_factory=dict)
    variety: float = 0.0
    balance: float = AS_FITTED
    about: tuple[str, ...] = ()

    def copy(self) -> "Values":
        """Return values that can be changed apart from these."""
        return replace(
            self,
            history=dict(self.history),
            hidden=dict(self.hidden),
            presses=dict(self.presses),
        )

    def after(self, event: Event) -> "Values":
        """Apply an action; a reset returns new values."""
        kind, data = event.kind, event.data
        if kind in ("view", "remove"):
            self.history.pop(data["item"], None)
        elif kind in ("hide", "unhide"):
            self.hidden.pop(data["item"], None)
        if kind == "view":
            self.history[data["item"]] = float(data.get("strength", 1.0))
        elif kind == "hide":
            self.hidden[data["item"]] = None
        elif kind == "press":
            for tag, steps in data["presses"].items():
                net = self.presses.get(tag, 0) + int(steps)
                self.presses[tag] = max(-MAX_PRESSES, min(MAX_PRESSES, net))
        elif kind == "vary":
            self.variety = float(data["variety"])
        elif kind == "balance":
            self.balance = float(data["balance"])
        elif kind == "about":
            self.about = tuple(dict.fromkeys(facts_of(data)))
        return Values() if kind == "reset" else self


class StateFold:
    """Events folded into a state; a further event is added without folding all of them again.

    The fold keeps the places of the actions that are done and undone, and the values after the
    first `base` of the actions that are done. A fold of all events has `base` 0. One that was read
    from a snapshot has a larger `base` and knows only the events near the end, so undo and redo
    reach a limited number of steps back and forth: `is_whole` tells whether they went too far.

    Parameters
    ----------
    events
        The events so far, in order.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.n_events = 0
        self.done: list[int] = []
        self.undone: list[int] = []
        self.known: dict[int, Event] = {}
        self.base = 0
        self.base_values = Values()
        self._values: Values | None = None
        self._has_base = True
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add an event; only undo and redo make the next `state` apply earlier actions again."""
        self.n_events += 1
        if event.kind == "undo":
            if self.done:
                self.undone.append(self.done.pop())
                self._has_base &= len(self.done) >= self.base
                self._values = None
        elif event.kind == "redo":
            if self.undone:
                self._has_base &= self.undone[-1] in self.known
                self.done.append(self.undone.pop())
                self._values = None
        else:
            self.done.append(self.n_events)
            self.undone.clear()
            self.known[self.n_events] = event
            self._values = self._values and self._values.after(event)

    @property
    def is_whole(self) -> bool:
        """Whether all is known that the state needs."""
        tops = self.done[-1:] + self.undone[-1:]
        return self._has_base and all(place in self.known for place in tops)

    @property
    def state(self) -> State:
        """The state that the events lead to."""
        if self._values is None:
            self._values = self._applied(self.base_values.copy(), self.done[self.base :])
        values = self._values
        return State(
            history=tuple(values.history),
            presses={tag: steps for tag, steps in values.presses.items() if steps},
            hidden=tuple(values.hidden),
            variety=values.variety,
            balance=values.balance,
            about=values.about,
            undoable=self.known[self.done[-1]] if self.done else None,
            redoable=self.known[self.undone[-1]] if self.undone else None,
            n_events=self.n_events,
            strengths={item: x for item, x in values.history.items() if x != 1},
        )

    def narrow(self, reach: int) -> None:
        """Forget events, so that undo and redo can still go `reach` steps from here."""
        base = max(self.base, len(self.done) - reach)
        self.base_values = self._applied(self.base_values, self.done[self.base : base])
        self.base = base
        near = self.done[max(0, base - 1) :] + self.undone[-reach - 1 :]
        self.known = {place: self.known[place] for place in near if place in self.known}

    def _applied(self, values: Values, places: Iterable[int]) -> Values:
        for place in places:
            values = values.after(self.known[place])
        return values


def fold(events: Iterable[Event]) -> State:
    """Return the state that the events lead to."""
    return StateFold(events).state


def check(state: State, event: Event) -> None:
    """Raise `ParameterError` if the event is not possible in this state."""
    kind, data = event.kind, event.data
    if kind not in KINDS:
        raise ParameterError(f"Unknown action {kind!r}. Known: {', '.join(KINDS)}.")
    item = data.get("item")
    if kind in ("view", "remove", "hide", "unhide") and not isinstance(item, int | str):
        raise ParameterError(f"The action {kind!r} needs an item.")
    if kind == "view":
        _check_strength(data.get("strength", 1))
    if kind == "remove" and item not in state.history:
        raise NotInHistoryError(item)
    if kind == "unhide" and item not in state.hidden:
        raise NotHiddenError(item)
    if kind == "press":
        _check_presses(_steps_by_tag(data.get("presses")), state)
    for setting_kind, name in (("vary", "variety"), ("balance", "balance")):
        if kind == setting_kind and not 0 <= _number(data.get(name)) <= 1:
            raise ParameterError(f"{name} must be from 0 to 1, found {data.get(name)!r}.")
    if kind == "about":
        _check_about(facts_of(data))
    if kind == "undo" and state.undoable is None:
        raise NothingToUndoError
    if kind == "redo" and state.redoable is None:
        raise NothingToRedoError


def checked_presses(presses: Any) -> dict[Tag, int]:
    """Return the steps of a press by tag.

    Raises
    ------
    ParameterError
        Unless there are 1 to `MAX_PRESS_TAGS` tags, and each has a whole number of steps other than
        0.
    """
    if isinstance(presses, Mapping):
        _check_n_tags(len(presses))
    return _steps_by_tag(presses)


def _steps_by_tag(presses: Any) -> dict[Tag, int]:
    if not isinstance(presses, Mapping) or not presses:
        raise ParameterError("A press needs a tag and a number of steps.")
    for tag, steps in presses.items():
        if isinstance(steps, bool) or not isinstance(steps, int) or steps == 0:
            raise ParameterError(
                f"A press on {tag} needs a whole number of steps other than 0, found {steps!r}."
            )
    return {Tag.parse(str(tag)): steps for tag, steps in presses.items()}


def _check_presses(presses: Mapping[Tag, int], state: State) -> None:
    """Check presses as they are to be stored.

    Presses on earlier names of a tag are taken back in the same event, so those that end at 0 are
    not counted.
    """
    # One action may take back presses the other way: more than MAX_PRESSES steps.
    ends = [check_press(tag, state.presses.get(str(tag), 0) + n) for tag, n in presses.items()]
    _check_n_tags(sum(end != 0 for end in ends))


def _check_n_tags(n: int) -> None:
    if n > MAX_PRESS_TAGS:
        raise ParameterError(
            f"One action can press at most {MAX_PRESS_TAGS} tags, found {n}. Press them in parts."
        )


def _check_strength(strength: Any) -> None:
    is_number = isinstance(strength, int | float) and not isinstance(strength, bool)
    if not is_number or not 0 < abs(strength) <= MAX_STRENGTH:
        raise ParameterError(
            f"The strength of a view must be a number other than 0 within {MAX_STRENGTH:g} of it, "
            f"found {strength!r}. It is 1 by default, and below 0 for a disliked item."
        )


def _check_about(about: Any) -> None:
    if not isinstance(about, list | tuple):
        raise ParameterError("about must be a list of tags, which may be empty.")
    if len(about) > MAX_ABOUT:
        raise ParameterError(f"about can hold at most {MAX_ABOUT} tags, found {len(about)}.")
    for text in about:
        if not isinstance(text, str):
            raise ParameterError(f"A tag is a text, found {text!r}.")
        Tag.parse(text)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
