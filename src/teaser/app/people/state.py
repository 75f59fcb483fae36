"""The state of a person: what is common to all their lists, and the named lists, which are feeds.

A state holds for one moment: what had ended by then is not in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from teaser.app.people.events import Event, time_text
from teaser.data.matrix import ItemId
from teaser.profile import DEFAULT_STEERING

AS_FITTED = DEFAULT_STEERING.balance
# The name of the list that everybody has.
MAIN = ""
Order = Literal["appeal", "newest"]


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
        The period of its date, as `teaser.words.period` writes it; empty for any.
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
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in (
                ("only", list(self.only)),
                ("without", list(self.without)),
                ("at_most", self.at_most),
                ("at_least", self.at_least),
                ("when", self.when),
            )
            if value
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self:
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
    """One list of a person.

    Attributes
    ----------
    presses
        Net presses now, by tag text.
    filters
        The conditions on its items.
    variety, balance
        As in `State`.
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

    def to_json(self) -> dict[str, Any]:
        """Return the feed as it is stored, such as in a copy that another feed begins with."""
        lasting = self.presses if self.lasting is None else self.lasting
        found: dict[str, Any] = {"presses": dict(lasting)}
        if self.ends:
            found["passing"] = [[e.name, e.steps, time_text(e.until)] for e in self.ends]
        if self.filters:
            found["filters"] = self.filters.to_json()
        return {**found, "variety": self.variety, "balance": self.balance}


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
        Net presses of the current feed now, by tag text, `feature=value`.
    hidden
        Items that are not recommended.
    variety
        How much the list of the current feed is varied, 0 to 1.
    balance
        From 0, tags alone, over 0.5, the model as it was fitted, to 1, viewed items alone; see
        `teaser.profile.Steering`. It has an effect only if the model has a remainder. It is that of
        the current feed.
    about
        The facts that the person gave about themselves, each as `feature=value`.
    undoable, redoable
        The actions that undo and redo would apply to, if any.
    n_events
        The number of events that lead to this state.
    filters
        The conditions on the list of the current feed.
    hidden_tags
        Tags whose items are not recommended.
    ends
        Presses of the current feed and hidden items and tags that end, the first to end first.
    lasting
        Net presses of the current feed without those that end; None if none ends.
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
    presses: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[ItemId, ...] = ()
    variety: float = 0.0
    balance: float = AS_FITTED
    about: tuple[str, ...] = ()
    undoable: Event | None = None
    redoable: Event | None = None
    n_events: int = 0
    strengths: Mapping[ItemId, float] = field(default_factory=dict)
    filters: ListFilter = NO_FILTER
    hidden_tags: tuple[str, ...] = ()
    ends: tuple[Ending, ...] = ()
    lasting: Mapping[str, int] | None = None
    feed: str = MAIN
    feeds: Mapping[str, Feed] = field(default_factory=lambda: {MAIN: Feed()})
    profiling: bool = True
    order: Order = "appeal"

    @property
    def current(self) -> Feed:
        """The current feed."""
        return Feed(
            presses=self.presses,
            filters=self.filters,
            variety=self.variety,
            balance=self.balance,
            ends=tuple(end for end in self.ends if end.kind == "press"),
            lasting=self.lasting,
        )

    @property
    def lasting_presses(self) -> Mapping[str, int]:
        """Net presses of the current feed that do not end."""
        return self.presses if self.lasting is None else self.lasting

    def passing_steps(self, text: str) -> int:
        """Return the sum of the presses on a tag that end, in the current feed."""
        return sum(end.steps for end in self.ends if end.kind == "press" and end.name == text)
