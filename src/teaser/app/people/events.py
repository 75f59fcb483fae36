"""What a person has done, folded into what is now: history, presses, hidden items, settings; undo.

Every action is an event that is only ever appended. Undo and redo are events too, so that the
whole course can be read later; the state is a pure function of the events.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError
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
MAX_KNOWN = 200
AS_FITTED = DEFAULT_STEERING.balance
_LONGEST = 500


@dataclass(frozen=True)
class Event:
    """One action of a person: what was done, and to what.

    Attributes
    ----------
    kind
        One of `KINDS`.
    data
        `item` of view, remove, hide and unhide; `presses` (tag text -> steps) of press; `variety`
        of vary; `balance` of balance; `people` (texts of tags of people) of about, which takes the
        place of what was told before; nothing of the others.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """What is now.

    Attributes
    ----------
    history
        Items viewed, the latest last.
    presses
        Net presses by tag text, `feature=value`.
    hidden
        Items that are not to be recommended.
    variety
        How much lists are varied, 0 to 1.
    balance
        From 0, the tags alone, over 0.5, the model as it was fitted, to 1, viewed items alone; see
        `teaser.profile.Steering`. Of use only where the model has a remainder.
    people
        What the person told about themselves, each as `feature=value`.
    undoable, redoable
        The actions that undo and redo would take back and make again, if any.
    n_events
        How many events this state comes from.
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


@dataclass(frozen=True)
class _Settings:
    """What is set, not added to: the last that was said is what holds."""

    variety: float = 0.0
    balance: float = AS_FITTED
    about: tuple[str, ...] = ()

    def after(self, event: Event) -> "_Settings":
        if event.kind == "vary":
            return replace(self, variety=float(event.data["variety"]))
        if event.kind == "balance":
            return replace(self, balance=float(event.data["balance"]))
        if event.kind == "about":
            return replace(self, about=tuple(dict.fromkeys(told_about(event.data))))
        return self


def told_about(data: Mapping[str, Any]) -> Any:
    """Return what an `about` event tells; earlier versions stored it under `people`."""
    return data.get("about", data.get("people"))


def fold(events: Iterable[Event]) -> State:
    """Return the state that the events lead to."""
    done: list[Event] = []
    undone: list[Event] = []
    count = 0
    for event in events:
        count += 1
        if event.kind == "undo":
            if done:
                undone.append(done.pop())
        elif event.kind == "redo":
            if undone:
                done.append(undone.pop())
        else:
            done.append(event)
            undone.clear()
    return _replay(done, undone[-1] if undone else None, count)


def _replay(done: Sequence[Event], redoable: Event | None, count: int) -> State:
    """Make the actions again, one after the other; a dict keeps their order at no cost."""
    history: dict[ItemId, None] = {}
    hidden: dict[ItemId, None] = {}
    presses: dict[str, int] = {}
    settings = _Settings()
    for event in done:
        item = event.data.get("item")
        if event.kind in ("view", "remove"):
            history.pop(item, None)  # type: ignore[arg-type]
        if event.kind in ("hide", "unhide"):
            hidden.pop(item, None)  # type: ignore[arg-type]
        if event.kind == "view" and item is not None:
            history[item] = None
        elif event.kind == "hide" and item is not None:
            hidden[item] = None
        elif event.kind == "press":
            for tag, steps in event.data["presses"].items():
                net = presses.get(tag, 0) + int(steps)
                presses[tag] = max(-MAX_PRESSES, min(MAX_PRESSES, net))
        elif event.kind == "reset":
            history, hidden, presses, settings = {}, {}, {}, _Settings()
        settings = settings.after(event)
    return State(
        history=tuple(history),
        presses={tag: steps for tag, steps in presses.items() if steps},
        hidden=tuple(hidden),
        variety=settings.variety,
        balance=settings.balance,
        about=settings.about,
        undoable=done[-1] if done else None,
        redoable=redoable,
        n_events=count,
    )


def check(state: State, event: Event) -> None:
    """Raise `ParameterError` if the event cannot happen in this state."""
    if event.kind not in KINDS:
        raise ParameterError(f"Unknown action {event.kind!r}. Known: {', '.join(KINDS)}.")
    item = event.data.get("item")
    if event.kind in ("view", "remove", "hide", "unhide") and not isinstance(item, int | str):
        raise ParameterError(f"The action {event.kind!r} needs an item.")
    if event.kind == "remove" and item not in state.history:
        raise ParameterError(f"{item!r} is not in the history, so it cannot be removed.")
    if event.kind == "unhide" and item not in state.hidden:
        raise ParameterError(f"{item!r} is not hidden.")
    if event.kind == "press":
        _check_presses(state, event.data.get("presses"))
    for kind, name in (("vary", "variety"), ("balance", "balance")):
        if event.kind == kind and not 0 <= _number(event.data.get(name)) <= 1:
            raise ParameterError(f"{name} must be from 0 to 1, found {event.data.get(name)!r}.")
    if event.kind == "about":
        _check_about(told_about(event.data))
    if event.kind == "undo" and state.undoable is None:
        raise ParameterError("There is nothing to undo.")
    if event.kind == "redo" and state.redoable is None:
        raise ParameterError("There is nothing to redo.")


def _check_presses(state: State, presses: Any) -> None:
    if not isinstance(presses, Mapping) or not presses:
        raise ParameterError("A press needs a tag and a number of steps.")
    for tag, steps in presses.items():
        Tag.parse(str(tag))
        # More than all one way at once takes back what was pressed the other way.
        if isinstance(steps, bool) or not isinstance(steps, int) or steps == 0:
            raise ParameterError(
                f"A press on {tag} needs a whole number of steps other than 0, found {steps!r}."
            )
        check_press(tag, state.presses.get(tag, 0) + steps)


def _check_about(about: Any) -> None:
    if not isinstance(about, list | tuple):
        raise ParameterError("What is told about oneself is a list of tags, which may be empty.")
    if len(about) > MAX_KNOWN:
        raise ParameterError(f"At most {MAX_KNOWN} tags can be told, found {len(about)}.")
    for text in about:
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise ParameterError(f"A tag is a text of at most {_LONGEST} letters, found {text!r}.")
        Tag.parse(text)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0
