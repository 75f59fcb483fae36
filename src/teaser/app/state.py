"""The state of a person: what it holds, what actions do to it, and which actions are possible.

Every action is an `Event`. `Draft` is the state as it is stored; events change it. `State` is the
state at one moment: what had ended by then is not in it.
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any, Literal, Self, get_args

from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import (
    LimitError,
    ParameterError,
    TeaserError,
    UnknownNameError,
    closest_names,
    shortened,
)
from teaser.profile import DEFAULT_STEERING, MAX_PRESSES, check_press, press_limit
from teaser.words.wishes import LASTS, MAX_BOUND, Period

AS_FITTED = DEFAULT_STEERING.balance
# The name of the list that everybody has.
MAIN = ""
Order = Literal["appeal", "newest"]
Kind = Literal[
    "view",
    "remove",
    "press",
    "hide",
    "unhide",
    "vary",
    "balance",
    "about",
    "filter",
    "make_feed",
    "switch_feed",
    "rename_feed",
    "drop_feed",
    "profiling",
    "several",
    "import",
    "reset",
    "undo",
    "redo",
]

MAX_ABOUT = 200
MAX_PRESS_TAGS = 20
MAX_STRENGTH = 1e9
MAX_FEEDS = 20
MAX_FEED_NAME = 60
MAX_FILTER_TAGS = 50
# The most that is stored for a person, by kind: with more, pages would be slow.
LIMITS = {
    "viewed items": 10_000,
    "pressed tags": 2_000,
    "hidden items": 1_000,
    "hidden tags": 1_000,
    "things that end by themselves": 200,
    "feeds": MAX_FEEDS,
}
_FILTER_PARTS = ("only", "without", "at_most", "at_least", "when")
_DAYS: dict[str, int] = {"today": 1, "week": 8}
# Near the first and the last year of a calendar a time cannot be written in every zone.
_FIRST, _LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """One action of a person.

    Attributes
    ----------
    kind
        One of `Kind`.
    data
        `item` for view and remove, and with view `strength` where it is not 1;
        `item` or `tag` for hide and unhide; `presses` (tag text -> steps) for press;
        press and hide may have `until`, the time at which they end, see `ending`;
        `variety` for vary; `balance` for balance; `about` (tag texts) for about, which replaces
        the facts given before; `filters` for filter, which replaces those of the current feed;
        `feed` for those of feeds, with make_feed also `copy`, a feed to begin with in place of the
        current one, and with rename_feed its new `name`; `on`, and perhaps `order`, for profiling;
        `actions` (pairs of kind and data) for several, which are undone together;
        `state` (a draft as JSON) for import, which replaces all; nothing for the others.
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


def parts_of(event: Event) -> list[Event]:
    """Return the actions of an event: those of several, else the event alone."""
    if event.kind != "several":
        return [event]
    return [Event(kind, data) for kind, data in event.data["actions"]]


def ending(
    lasts: str, zone: tzinfo | None = None, *, now: datetime | None = None
) -> dict[str, str]:
    """Return the data that say when an action ends: `until`, in UTC; nothing for `always`.

    Parameters
    ----------
    lasts
        `today`: until the coming midnight; `week`: until the midnight seven days after that one;
        `always`.
    zone
        The time zone of the midnights; that of the machine by default.
    now
        The present by default.
    """
    if lasts not in LASTS:
        raise ParameterError(
            f"lasts must be one of {', '.join(LASTS)}, found {shortened(lasts)!r}."
        )
    if lasts == "always":
        return {}
    today = (now or datetime.now(UTC)).astimezone(zone).date()
    midnight = datetime.combine(today + timedelta(_DAYS[lasts]), time(), tzinfo=zone)
    return {"until": time_text(midnight)}


def time_text(at: datetime) -> str:
    """Return a time as it is stored; one without a zone is in that of the machine."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def read_time(text: Any) -> datetime:
    """Return a time that was stored or sent, in UTC.

    Raises
    ------
    ParameterError
        If the text is not a time with a zone, from the year 2000 to 9000.
    """
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None and _FIRST <= found <= _LAST:
            return found.astimezone(UTC)
    except (TypeError, ValueError):
        pass
    raise ParameterError(
        f"until must be a time with its zone, as 2026-11-17T00:00:00+00:00, found "
        f"{shortened(text)!r}."
    )


@dataclass(frozen=True)
class ListFilter:
    """What an item must have to be in a list; tags as `feature=value`.

    Attributes
    ----------
    only
        An item needs one of these tags of each feature that they name.
    without
        An item has none of these tags.
    at_most, at_least
        Bounds on columns of numbers; an item without a number does not pass.
    when
        The period of its date, as `teaser.words.wishes.Period` writes it; empty for any.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    at_most: Mapping[str, float] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)
    when: str = ""

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return bool(self.only or self.without or self.at_most or self.at_least or self.when)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that it names."""
        return (*self.only, *self.without)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of numbers that it names."""
        return tuple(dict.fromkeys((*self.at_most, *self.at_least)))

    def to_json(self) -> dict[str, Any]:
        """Return the conditions that there are, as they are stored."""
        return {name: value for name, value in vars(self).items() if value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the conditions that were stored."""
        return cls(
            only=tuple(dict.fromkeys(data.get("only", ()))),
            without=tuple(dict.fromkeys(data.get("without", ()))),
            at_most={name: float(x) for name, x in data.get("at_most", {}).items()},
            at_least={name: float(x) for name, x in data.get("at_least", {}).items()},
            when=data.get("when", ""),
        )


NO_FILTER = ListFilter()


@dataclass(frozen=True)
class Ending:
    """Something that ends by itself.

    Attributes
    ----------
    kind
        `press` or `hide`.
    name
        The tag as `feature=value`, or the id of the item.
    steps
        How many presses end; 0 for what is hidden.
    until
        When it ends.
    is_item
        Whether it is an item; else it is a tag.
    """

    kind: Literal["press", "hide"]
    name: ItemId
    steps: int
    until: datetime
    is_item: bool = False


@dataclass(frozen=True)
class Feed:
    """One list of a person at one moment.

    Attributes
    ----------
    presses
        Net presses now, by tag text.
    filters
        The conditions on its items.
    variety
        How much the list is varied, 0 to 1.
    balance
        From 0, tags alone, over 0.5, the model as it was fitted, to 1, viewed items alone.
    ends
        The presses that end, the first to end first.
    lasting
        Net presses without those that end; None if none ends.
    """

    presses: Mapping[str, int] = field(default_factory=dict)
    filters: ListFilter = NO_FILTER
    variety: float = 0.0
    balance: float = AS_FITTED
    ends: tuple[Ending, ...] = ()
    lasting: Mapping[str, int] | None = None

    @property
    def permanent(self) -> Mapping[str, int]:
        """Net presses that do not end, by tag text."""
        return self.presses if self.lasting is None else self.lasting

    def to_json(self) -> dict[str, Any]:
        """Return the feed as it is stored, such as in a copy that another feed begins with."""
        return {
            "presses": dict(self.permanent),
            "temporary": [[e.name, e.steps, time_text(e.until)] for e in self.ends],
            "filters": self.filters.to_json(),
            "variety": self.variety,
            "balance": self.balance,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], now: datetime | None = None) -> Self:
        """Return a stored feed at a time; None is before anything ends."""
        lasting = {tag: steps for tag, steps in data["presses"].items() if steps}
        temporary = [(tag, steps, read_time(until)) for tag, steps, until in data["temporary"]]
        left = [each for each in temporary if now is None or each[2] > now]
        net = dict(lasting)
        for tag, steps, _ in left:
            net[tag] = net.get(tag, 0) + steps
        ends = (Ending("press", tag, steps, until) for tag, steps, until in left)
        return cls(
            presses={tag: within_range(steps) for tag, steps in net.items() if steps},
            filters=ListFilter.from_json(data["filters"]),
            variety=data["variety"],
            balance=data["balance"],
            ends=tuple(sorted(ends, key=lambda end: end.until)),
            lasting=lasting if left else None,
        )


@dataclass(frozen=True)
class State(Feed):
    """The state of a person at one moment: the current feed, and what holds for all feeds.

    Attributes
    ----------
    history
        Viewed items, the latest last.
    strengths
        The strength of each item of the history where it is not 1; below 0 for a disliked item.
    hidden
        Items that are not recommended.
    about
        The facts that the person gave about themselves, each as `feature=value`.
    undoable, redoable
        The actions that undo and redo would apply to, if any.
    n_events
        The number of events that lead to this state; it is also the version of the stored state.
    hidden_tags
        Tags whose items are not recommended.
    ends
        Presses of the current feed and hidden items and tags that end, the first to end first.
    feed
        The name of the current feed; `MAIN`, which is empty, for the main list.
    feeds
        All feeds by name, the main list first, the others in the order in which they were made.
    profiling
        Whether lists follow history, presses and facts; else everybody's list is the same but for
        filters and hidden items.
    order
        What orders the list without a profile: general appeal, or dates.
    """

    history: tuple[ItemId, ...] = ()
    hidden: tuple[ItemId, ...] = ()
    about: tuple[str, ...] = ()
    undoable: Event | None = None
    redoable: Event | None = None
    n_events: int = 0
    strengths: Mapping[ItemId, float] = field(default_factory=dict)
    hidden_tags: tuple[str, ...] = ()
    feed: str = MAIN
    feeds: Mapping[str, Feed] = field(default_factory=lambda: {MAIN: Feed()})
    profiling: bool = True
    order: Order = "appeal"

    @property
    def current(self) -> Feed:
        """The current feed."""
        own = {each.name: getattr(self, each.name) for each in fields(Feed)}
        return Feed(**{**own, "ends": tuple(end for end in self.ends if end.kind == "press")})

    def temporary_steps(self, text: str) -> int:
        """Return the sum of the presses on a tag that end, in the current feed."""
        return sum(end.steps for end in self.ends if end.kind == "press" and end.name == text)


# The parts of a draft that are dicts.
_PAIRS = ("history", "hidden", "hidden_tags", "feeds")


@dataclass
class Draft:
    """A state as it is stored, which events change; dicts hold the order of names.

    Attributes
    ----------
    history
        The strength of each viewed item, the latest last.
    hidden, hidden_tags
        When each hidden item and tag ends, as text; None if it does not.
    feeds
        Each feed as JSON: `presses` that last (tag -> steps), `temporary` presses (tag, steps,
        until), `filters`, `variety` and `balance`.
    """

    history: dict[ItemId, float] = field(default_factory=dict)
    hidden: dict[ItemId, str | None] = field(default_factory=dict)
    hidden_tags: dict[str, str | None] = field(default_factory=dict)
    about: tuple[str, ...] = ()
    profiling: bool = True
    order: Order = "appeal"
    feed: str = MAIN
    feeds: dict[str, dict[str, Any]] = field(default_factory=lambda: {MAIN: read_feed({})})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the draft that was stored."""
        pairs = {name: dict(data[name]) for name in _PAIRS}
        return cls(**{**data, **pairs, "about": tuple(data["about"])})

    def to_json(self) -> dict[str, Any]:
        """Return the draft as it is stored: ids may be numbers, so dicts become pairs."""
        pairs = {name: list(getattr(self, name).items()) for name in _PAIRS}
        return {**vars(self), **pairs, "about": list(self.about)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the draft of a state, without what had ended by then."""
        ends = {(e.is_item, e.name): time_text(e.until) for e in state.ends if e.kind == "hide"}
        feeds = {**state.feeds, state.feed: state.current}
        return cls(
            history={item: state.strengths.get(item, 1.0) for item in state.history},
            hidden={item: ends.get((True, item)) for item in state.hidden},
            hidden_tags={tag: ends.get((False, tag)) for tag in state.hidden_tags},
            about=state.about,
            profiling=state.profiling,
            order=state.order,
            feed=state.feed,
            feeds={name: feed.to_json() for name, feed in feeds.items()},
        )

    def state(self, now: datetime | None, **course: Any) -> State:
        """Return the state at a time; None is before anything ends.

        `course` has what the draft does not know: `undoable`, `redoable`, `n_events`.
        """
        feeds = {name: Feed.from_json(feed, now) for name, feed in self.feeds.items()}
        current = feeds[self.feed]
        hidden, hidden_tags = _not_ended(self.hidden, now), _not_ended(self.hidden_tags, now)
        ends = [*current.ends]
        ends += [Ending("hide", item, 0, t, True) for item, t in hidden.items() if t]
        ends += [Ending("hide", tag, 0, t) for tag, t in hidden_tags.items() if t]
        of_feed = {**vars(current), "ends": tuple(sorted(ends, key=lambda end: end.until))}
        return State(
            **of_feed,
            history=tuple(self.history),
            hidden=tuple(hidden),
            about=self.about,
            strengths={item: x for item, x in self.history.items() if x != 1},
            hidden_tags=tuple(hidden_tags),
            feed=self.feed,
            feeds=feeds,
            profiling=self.profiling,
            order=self.order,
            **course,
        )

    def apply(self, event: Event) -> None:
        """Change the draft by one action; undo and redo are for `replay`."""
        data, current = event.data, self.feeds[self.feed]
        match event.kind:
            case "view":
                self.history.pop(data["item"], None)
                self.history[data["item"]] = float(data.get("strength", 1.0))
            case "remove":
                self.history.pop(data["item"], None)
            case "hide" | "unhide":
                hidden: dict[Any, str | None] = self.hidden_tags if "tag" in data else self.hidden
                name = data["tag"] if "tag" in data else data["item"]
                hidden.pop(name, None)
                if event.kind == "hide":
                    hidden[name] = time_text(read_time(data["until"])) if "until" in data else None
            case "press":
                _press(current, data["presses"], data.get("until"))
            case "vary":
                current["variety"] = float(data["variety"])
            case "balance":
                current["balance"] = float(data["balance"])
            case "filter":
                current["filters"] = ListFilter.from_json(data["filters"]).to_json()
            case "about":
                self.about = tuple(dict.fromkeys(data["about"]))
            case "profiling":
                self.profiling, self.order = data["on"], data.get("order", self.order)
            case "make_feed":
                begun = data.get("copy")
                made = copy.deepcopy(current) if begun is None else read_feed(begun)
                self.feeds[data["feed"]], self.feed = made, data["feed"]
            case "switch_feed":
                self.feed = data["feed"] if data["feed"] in self.feeds else self.feed
            case "rename_feed":
                old, new = data["feed"], data["name"]
                if old != MAIN and old in self.feeds and (new == old or new not in self.feeds):
                    self.feeds = {new if n == old else n: f for n, f in self.feeds.items()}
                    self.feed = new if self.feed == old else self.feed
            case "drop_feed":
                if data["feed"] != MAIN and self.feeds.pop(data["feed"], None) is not None:
                    self.feed = MAIN if self.feed == data["feed"] else self.feed
            case "several":
                for part in parts_of(event):
                    self.apply(part)
            case "reset":
                vars(self).update(vars(Draft()))
            case "import":
                vars(self).update(vars(Draft.from_json(copy.deepcopy(data["state"]))))


def read_feed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a feed as it is stored, from one that may lack parts or end twice at one time."""
    feed: dict[str, Any] = {
        "presses": {tag: int(steps) for tag, steps in data.get("presses", {}).items()},
        "temporary": [],
        "filters": ListFilter.from_json(data.get("filters", {})).to_json(),
        "variety": float(data.get("variety", 0.0)),
        "balance": float(data.get("balance", AS_FITTED)),
    }
    for tag, steps, until in data.get("temporary", ()):
        _press(feed, {tag: steps}, until)
    return feed


def _press(feed: dict[str, Any], presses: Mapping[str, Any], until: Any) -> None:
    """Add presses to a stored feed, which end at a time if one is given."""
    if until is None:
        own = feed["presses"]
        for tag, steps in presses.items():
            own[tag] = within_range(own.get(tag, 0) + int(steps))
        return
    temporary = {(tag, end): steps for tag, steps, end in feed["temporary"]}
    for tag, steps in presses.items():
        key = tag, time_text(read_time(until))
        temporary[key] = temporary.pop(key, 0) + int(steps)
    feed["temporary"] = [[tag, steps, end] for (tag, end), steps in temporary.items() if steps]


def within_range(steps: int) -> int:
    """Return net presses on a tag as far as its range goes."""
    return max(-MAX_PRESSES, min(MAX_PRESSES, steps))


def _not_ended(times: Mapping[Any, str | None], now: datetime | None) -> dict[Any, Any]:
    """Return the names that have not ended, with the time at which they end."""
    read = {name: None if until is None else read_time(until) for name, until in times.items()}
    return {n: until for n, until in read.items() if until is None or now is None or until > now}


@dataclass(frozen=True)
class Replayed:
    """What all events of a person lead to.

    Attributes
    ----------
    events
        The events.
    draft
        The state as it is stored.
    undo_seq, redo_seq
        The numbers of the events, from 1, that undo and redo would apply to; None for none.
    """

    events: Sequence[Event]
    draft: Draft
    undo_seq: int | None
    redo_seq: int | None

    def state(self, now: datetime | None = None) -> State:
        """Return the state at a time; None is before anything ends."""
        seqs = self.undo_seq, self.redo_seq
        undoable, redoable = (None if n is None else self.events[n - 1] for n in seqs)
        course = {"undoable": undoable, "redoable": redoable, "n_events": len(self.events)}
        return self.draft.state(now, **course)


def replay(events: Iterable[Event]) -> Replayed:
    """Apply all events of a person from the beginning; undone actions are left out."""
    known, done, undone = list(events), list[int](), list[int]()
    for place, event in enumerate(known):
        if event.kind == "undo":
            undone += [done.pop()] if done else []
        elif event.kind == "redo":
            done += [undone.pop()] if undone else []
        else:
            done.append(place)
            undone.clear()
    draft = Draft()
    for place in done:
        draft.apply(known[place])
    return Replayed(known, draft, *(stack[-1] + 1 if stack else None for stack in (done, undone)))


def state_of(events: Iterable[Event], now: datetime | None = None) -> State:
    """Return the state that events lead to, at a time; None is before anything ends."""
    return replay(events).state(now)


def state_after(state: State, event: Event, now: datetime | None = None) -> State:
    """Return a state with one action applied; which actions can be undone is as before it.

    `now` is the time of the state; it is needed only for an action that has ended by then.
    """
    draft = Draft.from_state(state)
    draft.apply(event)
    course = ("undoable", "redoable", "n_events")
    return draft.state(now, **{name: getattr(state, name) for name in course})


def check(state: State, event: Event) -> None:
    """Raise `ParameterError` or `UnknownNameError` if the event is not possible in this state."""
    data = event.data
    match event.kind:
        case "view":
            _check_strength(data.get("strength", 1))
        case "remove":
            if data["item"] not in state.history:
                said = "The item {name!r} is not in the history, so it cannot be removed."
                raise UnknownNameError("viewed item", data["item"], message=said)
        case "hide" | "unhide":
            _check_hidden(state, event)
        case "press":
            _check_press(state, data)
        case "vary":
            _check_number("variety", data.get("variety"))
        case "balance":
            _check_number("balance", data.get("balance"))
        case "about":
            _check_tags("about", data.get("about"), MAX_ABOUT)
        case "filter":
            check_filters(data.get("filters"))
        case "make_feed":
            _check_new_name(state, data.get("feed"))
            if len(state.feeds) > MAX_FEEDS:  # the main list is one of them
                raise LimitError(
                    "There are {limit} lists beside the main one, which is the most. Drop one "
                    "first.",
                    problem="lists",
                    limit=MAX_FEEDS,
                )
            if data.get("copy") is not None:
                _check_feed(data["copy"])
        case "switch_feed" | "rename_feed" | "drop_feed":
            _check_feed_event(state, event)
        case "profiling":
            order, known = data.get("order", "appeal"), get_args(Order)
            if order not in known:
                raise ParameterError(f"order must be {' or '.join(known)}, found {order!r}.")
        case "several":
            for part in parts_of(event):
                check(state, part)
                state = state_after(state, part)
        case "import":
            _check_import(data)
        case "undo":
            if state.undoable is None:
                raise ParameterError("There is nothing to undo.", problem="nothing to undo")
        case "redo":
            if state.redoable is None:
                raise ParameterError("There is nothing to redo.", problem="nothing to redo")
    if "until" in data:
        read_time(data["until"])
    if event.kind in ("view", "press", "hide", "make_feed"):
        _check_counts(state_after(state, event), counts_of(state))


def counts_of(state: State) -> dict[str, int]:
    """Return how much of each kind in `LIMITS` there is in a state, in all of its feeds."""
    feeds = {**state.feeds, state.feed: state.current}.values()
    hidden_for_now = sum(end.kind == "hide" for end in state.ends)
    return {
        "viewed items": len(state.history),
        "pressed tags": sum(len(feed.permanent) for feed in feeds),
        "hidden items": len(state.hidden),
        "hidden tags": len(state.hidden_tags),
        "things that end by themselves": hidden_for_now + sum(len(feed.ends) for feed in feeds),
        "feeds": len(feeds) - 1,
    }


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


def feed_name(name: Any) -> str:
    """Return a name for a feed, with single spaces.

    Raises
    ------
    ParameterError
        Unless it has 1 to `MAX_FEED_NAME` letters that can be printed.
    """
    found = " ".join(name.split()) if isinstance(name, str) else ""
    if not 0 < len(found) <= MAX_FEED_NAME or not found.isprintable():
        raise _bad_name(name)
    return found


def find_feed(state: State, name: Any) -> str:
    """Return the name of a feed as it is stored; upper and lower case are the same.

    Raises
    ------
    UnknownNameError
        If the person has no such feed.
    """
    if name == MAIN:
        return MAIN
    named = {known.casefold(): known for known in state.feeds if known != MAIN}
    wanted = " ".join(name.split()).casefold() if isinstance(name, str) else ""
    if wanted not in named:
        raise UnknownNameError("list", name, closest_names(str(name), named.values()))
    return named[wanted]


def check_filters(filters: Any) -> ListFilter:
    """Return conditions on a list, given as they are stored.

    Every way into the state passes here: forms, wishes, the API, assistants, imports and copies.

    Raises
    ------
    ParameterError
        If they are no conditions.
    """
    if not isinstance(filters, Mapping) or not set(filters) <= set(_FILTER_PARTS):
        raise ParameterError(
            f"filters must be an object with some of {', '.join(_FILTER_PARTS)}, found "
            f"{shortened(repr(filters))}."
        )
    for part in ("only", "without"):
        _check_tags(part, filters.get(part, ()), MAX_FILTER_TAGS)
    for part in ("at_most", "at_least"):
        _check_bounds(part, filters.get(part, {}))
    when = filters.get("when", "")
    if not isinstance(when, str):
        raise ParameterError(f"when must be a period as a text, found {shortened(repr(when))}.")
    if when:
        Period.parse(when)
    found = ListFilter.from_json(filters)
    if both := sorted(set(found.only) & set(found.without)):
        raise ParameterError(
            f"The filters want only {shortened(both[0])} and nothing of it. Take one off."
        )
    for column, least in found.at_least.items():
        if least > found.at_most.get(column, math.inf):
            most = found.at_most[column]
            raise ParameterError(
                f"The filters want {shortened(column)} from {least:g} "
                f"and up to {most:g}, which is nothing."
            )
    return found


def too_much(kind: str, n: int) -> LimitError:
    """Return the error of storing more than pages can show quickly; `kind` is one of `LIMITS`."""
    return LimitError(
        "{n:,} {kind} are too many; at most {limit:,} can be kept. Nothing was changed.",
        problem="stored",
        kind=kind,
        n=n,
        limit=LIMITS[kind],
    )


def no_export(problem: str) -> ParameterError:
    """Return the error of a file that cannot be imported; `problem` is a sentence."""
    return ParameterError(
        f"This is no export of a person, or it is damaged: {problem} Nothing was changed. "
        "Export the data again and send the file as it is.",
        problem="no export",
    )


def _bad_name(name: Any) -> ParameterError:
    return ParameterError(
        "{name!r} cannot be the name of a list. It must be a line of 1 to {limit} letters.",
        problem="list name",
        name=name,
        limit=MAX_FEED_NAME,
    )


def _check_counts(state: State, before: Mapping[str, int]) -> None:
    """Check that there is not too much in a state; what was more before may stay."""
    for kind, n in counts_of(state).items():
        if n > max(LIMITS[kind], before.get(kind, 0)):
            raise too_much(kind, n)


def _check_hidden(state: State, event: Event) -> None:
    data = event.data
    if "tag" in data:
        _check_tags("tag", [data["tag"]], 1)
    if event.kind == "unhide":
        if "tag" in data and data["tag"] not in state.hidden_tags:
            said = "The tag {name} is not hidden, so it cannot be shown again."
            raise UnknownNameError("hidden item", data["tag"], message=said)
        if "tag" not in data and data["item"] not in state.hidden:
            said = "The item {name!r} is not hidden, so it cannot be shown again."
            raise UnknownNameError("hidden item", data["item"], message=said)


def _check_press(state: State, data: Mapping[str, Any]) -> None:
    """Check presses as they are to be stored.

    Presses on earlier names of a tag are taken back in the same event, so those that end at 0 are
    not counted. One action may take back presses the other way: more than `MAX_PRESSES` steps.
    """
    presses = _steps_by_tag(data.get("presses"))
    if "until" in data:
        for tag, steps in presses.items():
            _check_temporary(str(tag), state.temporary_steps(str(tag)) + steps)
        _check_n_tags(len(presses))
        return
    lasting = state.permanent
    ends = [check_press(tag, lasting.get(str(tag), 0) + n) for tag, n in presses.items()]
    _check_n_tags(sum(end != 0 for end in ends))


def _check_feed_event(state: State, event: Event) -> None:
    feed = event.data.get("feed")
    if feed not in state.feeds:
        find_feed(state, feed)
    if event.kind != "switch_feed" and feed == MAIN:
        raise ParameterError("The main list stays as it is: it has no name and cannot be dropped.")
    if event.kind == "rename_feed":
        _check_new_name(state, event.data.get("name"), but=str(feed))


def _check_import(data: Mapping[str, Any]) -> None:
    """Check what the types of an export leave open; see `GivenExport`."""
    draft = Draft.from_json(data["state"])
    names = [name for name in draft.feeds if name != MAIN]
    try:
        for strength in draft.history.values():
            _check_strength(strength)
        _check_tags("hidden_tags", list(draft.hidden_tags))
        _check_tags("about", draft.about, MAX_ABOUT)
        for name in names:
            if feed_name(name) != name:
                raise _bad_name(name)
        if len({name.casefold() for name in names}) < len(names):
            raise ParameterError("Two of its lists have one name.")
        for feed in draft.feeds.values():
            _check_feed(feed)
        _check_counts(draft.state(None), {})
    except TeaserError as error:
        if error.problem == "stored":  # it is an export, and as large as it is
            raise
        raise no_export(str(error)) from None


def _check_feed(data: Mapping[str, Any]) -> None:
    """Check what the types of a feed leave open; see `GivenFeed`."""
    _check_tags("presses", list(data.get("presses", ())))
    check_filters(data.get("filters", {}))
    temporary = read_feed(data)["temporary"]
    _check_tags("temporary", [tag for tag, _, _ in temporary])
    for tag, steps, _ in temporary:
        _check_temporary(tag, steps)


def _check_new_name(state: State, name: Any, *, but: str = MAIN) -> None:
    """Check a name that a feed is to have; `but` is the one that it has."""
    if feed_name(name) != name:
        raise _bad_name(name)
    if any(n.casefold() == name.casefold() for n in state.feeds if n not in (MAIN, but)):
        raise ParameterError(
            "There is a list named {name!r} already. Take another name.",
            problem="list exists",
            name=name,
        )


def _steps_by_tag(presses: Any) -> dict[Tag, int]:
    if not isinstance(presses, Mapping) or not presses:
        raise ParameterError("A press needs a tag and a number of steps.")
    for tag, steps in presses.items():
        if isinstance(steps, bool) or not isinstance(steps, int) or steps == 0:
            raise ParameterError(
                f"A press on {shortened(tag)} needs a whole number of steps other than 0, found "
                f"{shortened(repr(steps))}."
            )
    return {Tag.parse(str(tag)): steps for tag, steps in presses.items()}


def _check_temporary(tag: str, steps: int) -> None:
    """Check presses that end: they may lead from one end of the range to the other."""
    if abs(steps) > 2 * MAX_PRESSES:
        raise press_limit(tag, steps, 2 * MAX_PRESSES)


def _check_n_tags(n: int) -> None:
    if n > MAX_PRESS_TAGS:
        raise ParameterError(
            f"One action can press at most {MAX_PRESS_TAGS} tags, found {n}. Press them in parts."
        )


def _check_tags(name: str, tags: Any, most: float = math.inf) -> None:
    if not isinstance(tags, list | tuple):
        raise ParameterError(f"{name} must be a list of tags, which may be empty.")
    if len(tags) > most:
        raise ParameterError(f"{name} can hold at most {most} tags, found {len(tags)}.")
    for text in tags:
        if not isinstance(text, str):
            raise ParameterError(f"A tag is a text, found {shortened(repr(text))}.")
        Tag.parse(text)


def _check_bounds(name: str, bounds: Any) -> None:
    if not isinstance(bounds, Mapping) or len(bounds) > MAX_FILTER_TAGS:
        raise ParameterError(f"{name} must give at most {MAX_FILTER_TAGS} columns a number each.")
    for column, bound in bounds.items():
        _check_number(f"{name} of {shortened(column)}", bound, -MAX_BOUND, MAX_BOUND)


def _check_strength(strength: Any) -> None:
    _check_number("strength", strength, -MAX_STRENGTH, MAX_STRENGTH)
    if strength == 0:
        raise ParameterError("strength must be other than 0. Below 0 the item was disliked.")


def _check_number(name: str, value: Any, least: float = 0, most: float = 1) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise ParameterError(
            f"{name} must be a number from {least:g} to {most:g}, found {shortened(repr(value))}."
        )
