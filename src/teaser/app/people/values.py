"""The values of a state while actions are applied to them, and as they are stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from teaser.app.people.events import Event, facts_of, parts_of, read_time, time_text
from teaser.app.people.state import (
    AS_FITTED,
    MAIN,
    NO_FILTER,
    Ending,
    Feed,
    ListFilter,
    Order,
    State,
)
from teaser.data.matrix import ItemId
from teaser.profile import MAX_PRESSES


@dataclass
class FeedValues:
    """The values of one feed while actions are applied to them.

    Attributes
    ----------
    presses
        Net presses that last, by tag text; some may be 0.
    passing
        Presses that end, by tag text and time.
    """

    presses: dict[str, int] = field(default_factory=dict)
    passing: dict[tuple[str, datetime], int] = field(default_factory=dict)
    filters: ListFilter = NO_FILTER
    variety: float = 0.0
    balance: float = AS_FITTED
    # The feed once all that ends has ended, until an action changes it: most feeds of a person are
    # not the current one.
    _lasting: Feed | None = field(default=None, init=False, compare=False, repr=False)

    def copy(self) -> "FeedValues":
        """Return values that can be changed apart from these."""
        found = FeedValues(
            dict(self.presses), dict(self.passing), self.filters, self.variety, self.balance
        )
        found._lasting = self._lasting
        return found

    def press(self, presses: Mapping[str, Any], until: datetime | None) -> None:
        """Add presses, which end at a time if one is given."""
        self._lasting = None
        if until is None:
            own = self.presses
            for tag, steps in presses.items():
                own[tag] = _within_range(own.get(tag, 0) + int(steps))
            return
        for tag, steps in presses.items():
            total = self.passing.pop((tag, until), 0) + int(steps)
            if total:
                self.passing[tag, until] = total

    def set(
        self,
        *,
        filters: ListFilter | None = None,
        variety: float | None = None,
        balance: float | None = None,
    ) -> None:
        """Replace what is given."""
        self._lasting = None
        self.filters = self.filters if filters is None else filters
        self.variety = self.variety if variety is None else variety
        self.balance = self.balance if balance is None else balance

    def at(self, now: datetime | None) -> Feed:
        """Return the feed at a time; None is before anything ends."""
        if self._lasting is None:
            presses = {tag: steps for tag, steps in self.presses.items() if steps}
            self._lasting = Feed(presses, self.filters, self.variety, self.balance)
        passing = [(*key, n) for key, n in self.passing.items() if now is None or key[1] > now]
        if not passing:
            return self._lasting
        ends = [Ending("press", tag, steps, until) for tag, until, steps in passing]
        net = dict(self._lasting.presses)
        for tag, _, steps in passing:
            net[tag] = net.get(tag, 0) + steps
        return replace(
            self._lasting,
            presses={tag: _within_range(steps) for tag, steps in net.items() if steps},
            ends=tuple(sorted(ends, key=lambda end: end.until)),
            lasting=self._lasting.presses,
        )

    @classmethod
    def of(cls, feed: Feed) -> Self:
        """Return the values of a feed."""
        return cls(
            presses=dict(feed.presses if feed.lasting is None else feed.lasting),
            passing={(str(end.name), end.until): end.steps for end in feed.ends},
            filters=feed.filters,
            variety=feed.variety,
            balance=feed.balance,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the values as they are stored."""
        found: dict[str, Any] = {"presses": dict(self.presses)}
        if self.passing:
            found["passing"] = [[t, n, time_text(until)] for (t, until), n in self.passing.items()]
        if self.filters:
            found["filters"] = self.filters.to_json()
        return {**found, "variety": self.variety, "balance": self.balance}

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the values that were stored; `Feed.to_json` writes the same."""
        passing: dict[tuple[str, datetime], int] = {}
        for tag, steps, until in data.get("passing", ()):
            key = tag, read_time(until)
            passing[key] = passing.get(key, 0) + int(steps)
        return cls(
            presses={tag: int(steps) for tag, steps in data.get("presses", {}).items()},
            passing=passing,
            filters=ListFilter.of_json(data.get("filters", {})),
            variety=float(data.get("variety", 0.0)),
            balance=float(data.get("balance", AS_FITTED)),
        )


@dataclass
class Values:
    """The values of a state while actions are applied to them; dicts keep the order of names."""

    history: dict[ItemId, float] = field(default_factory=dict)  # the strength of each
    hidden: dict[ItemId, datetime | None] = field(default_factory=dict)  # when it ends
    hidden_tags: dict[str, datetime | None] = field(default_factory=dict)
    about: tuple[str, ...] = ()
    profiling: bool = True
    order: Order = "appeal"
    feed: str = MAIN
    feeds: dict[str, FeedValues] = field(default_factory=lambda: {MAIN: FeedValues()})

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the values of a state."""
        ends = {(end.is_item, end.name): end.until for end in state.ends if end.kind == "hide"}
        feeds = {name: FeedValues.of(feed) for name, feed in state.feeds.items()}
        return cls(
            history={item: state.strengths.get(item, 1.0) for item in state.history},
            hidden={item: ends.get((True, item)) for item in state.hidden},
            hidden_tags={tag: ends.get((False, tag)) for tag in state.hidden_tags},
            about=state.about,
            profiling=state.profiling,
            order=state.order,
            feed=state.feed,
            feeds=feeds | {state.feed: FeedValues.of(state.current)},
        )

    def copy(self) -> "Values":
        """Return values that can be changed apart from these."""
        return replace(
            self,
            history=dict(self.history),
            hidden=dict(self.hidden),
            hidden_tags=dict(self.hidden_tags),
            feeds={name: feed.copy() for name, feed in self.feeds.items()},
        )

    def after(self, event: Event) -> "Values":
        """Apply an action; a reset and an import return new values."""
        if event.kind in _APPLY:
            _APPLY[event.kind](self, event.data)
            return self
        if event.kind == "reset":
            return Values()
        if event.kind == "import":
            return Values.of_json(event.data["state"])
        # A later version may have stored other kinds, which are passed over.
        for part in parts_of(event) if event.kind == "several" else ():
            self.after(part)
        return self

    def state_at(
        self,
        now: datetime | None,
        *,
        undoable: Event | None = None,
        redoable: Event | None = None,
        n_events: int = 0,
    ) -> State:
        """Return the state at a time; None is before anything ends.

        `undoable`, `redoable` and `n_events` are those of `State`: the values do not know them.
        """
        feeds = {name: feed.at(now) for name, feed in self.feeds.items()}
        current = feeds[self.feed]
        hidden = _not_ended(self.hidden, now)
        hidden_tags = _not_ended(self.hidden_tags, now)
        ends = [Ending("hide", item, 0, t, True) for item, t in hidden.items() if t is not None]
        ends += [Ending("hide", tag, 0, t) for tag, t in hidden_tags.items() if t is not None]
        if ends:
            ends = sorted([*current.ends, *ends], key=lambda end: end.until)
        return State(
            history=tuple(self.history),
            presses=current.presses,
            hidden=tuple(hidden),
            variety=current.variety,
            balance=current.balance,
            about=self.about,
            strengths={item: x for item, x in self.history.items() if x != 1},
            filters=current.filters,
            hidden_tags=tuple(hidden_tags),
            ends=tuple(ends) or current.ends,
            lasting=current.lasting,
            feed=self.feed,
            feeds=feeds,
            profiling=self.profiling,
            order=self.order,
            undoable=undoable,
            redoable=redoable,
            n_events=n_events,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the values as they are stored."""
        hidden = enumerate(self.hidden.values())
        return {
            "history": list(self.history),
            "strengths": [[i, x] for i, x in enumerate(self.history.values()) if x != 1],
            "hidden": list(self.hidden),
            "hidden_until": [[i, time_text(until)] for i, until in hidden if until],
            "hidden_tags": [
                [t, until and time_text(until)] for t, until in self.hidden_tags.items()
            ],
            "about": list(self.about),
            "profiling": self.profiling,
            "order": self.order,
            "feed": self.feed,
            "feeds": [[name, feed.to_json()] for name, feed in self.feeds.items()],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the values that were stored."""
        items, hidden = data["history"], data["hidden"]
        return cls(
            history=dict.fromkeys(items, 1.0) | {items[i]: x for i, x in data["strengths"]},
            hidden=dict.fromkeys(hidden)
            | {hidden[i]: read_time(until) for i, until in data["hidden_until"]},
            hidden_tags={t: until and read_time(until) for t, until in data["hidden_tags"]},
            about=tuple(data["about"]),
            profiling=data["profiling"],
            order=data["order"],
            feed=data["feed"],
            feeds={name: FeedValues.of_json(feed) for name, feed in data["feeds"]},
        )

    @property
    def current(self) -> FeedValues:
        """The values of the current feed."""
        return self.feeds[self.feed]


def _view(values: Values, data: Mapping[str, Any]) -> None:
    values.history.pop(data["item"], None)
    values.history[data["item"]] = float(data.get("strength", 1.0))


def _remove(values: Values, data: Mapping[str, Any]) -> None:
    values.history.pop(data["item"], None)


def _press(values: Values, data: Mapping[str, Any]) -> None:
    values.current.press(data["presses"], _until(data))


def _hide(values: Values, data: Mapping[str, Any]) -> None:
    _unhide(values, data)
    if "tag" in data:
        values.hidden_tags[data["tag"]] = _until(data)
    else:
        values.hidden[data["item"]] = _until(data)


def _unhide(values: Values, data: Mapping[str, Any]) -> None:
    if "tag" in data:
        values.hidden_tags.pop(data["tag"], None)
    else:
        values.hidden.pop(data["item"], None)


def _vary(values: Values, data: Mapping[str, Any]) -> None:
    values.current.set(variety=float(data["variety"]))


def _balance(values: Values, data: Mapping[str, Any]) -> None:
    values.current.set(balance=float(data["balance"]))


def _filter(values: Values, data: Mapping[str, Any]) -> None:
    values.current.set(filters=ListFilter.of_json(data["filters"]))


def _about(values: Values, data: Mapping[str, Any]) -> None:
    values.about = tuple(dict.fromkeys(facts_of(data)))


def _make_feed(values: Values, data: Mapping[str, Any]) -> None:
    copied = data.get("copy")
    begun = values.current.copy() if copied is None else FeedValues.of_json(copied)
    values.feeds[data["feed"]] = begun
    values.feed = data["feed"]


def _switch_feed(values: Values, data: Mapping[str, Any]) -> None:
    if data["feed"] in values.feeds:
        values.feed = data["feed"]


def _rename_feed(values: Values, data: Mapping[str, Any]) -> None:
    old, new = data["feed"], data["name"]
    if old == MAIN or old not in values.feeds or (new in values.feeds and new != old):
        return
    values.feeds = {new if n == old else n: feed for n, feed in values.feeds.items()}
    values.feed = new if values.feed == old else values.feed


def _drop_feed(values: Values, data: Mapping[str, Any]) -> None:
    if data["feed"] != MAIN and values.feeds.pop(data["feed"], None) is not None:
        values.feed = MAIN if values.feed == data["feed"] else values.feed


def _profiling(values: Values, data: Mapping[str, Any]) -> None:
    values.profiling = bool(data["on"])
    values.order = data.get("order", values.order)


_APPLY: dict[str, Callable[[Values, Mapping[str, Any]], None]] = {
    "view": _view,
    "remove": _remove,
    "press": _press,
    "hide": _hide,
    "unhide": _unhide,
    "vary": _vary,
    "balance": _balance,
    "about": _about,
    "filter": _filter,
    "make_feed": _make_feed,
    "switch_feed": _switch_feed,
    "rename_feed": _rename_feed,
    "drop_feed": _drop_feed,
    "profiling": _profiling,
}


def _until(data: Mapping[str, Any]) -> datetime | None:
    return read_time(data["until"]) if "until" in data else None


def _not_ended(times: Mapping[Any, datetime | None], now: datetime | None) -> dict[Any, Any]:
    """Return the names that have not ended, with the time at which they end."""
    return {
        name: until for name, until in times.items() if until is None or now is None or until > now
    }


def _within_range(steps: int) -> int:
    return max(-MAX_PRESSES, min(MAX_PRESSES, steps))
