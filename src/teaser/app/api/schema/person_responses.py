"""A person as typed JSON: the state, links that show it, and every action."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic.main import IncEx

from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.requests import ModelItemId, Share
from teaser.app.people import state
from teaser.app.people.event_log import StoredEvent
from teaser.app.people.events import Kind, facts_of
from teaser.app.people.shares import StoredShare
from teaser.app.people.state import ListFilter, Order, State
from teaser.app.people.store import Store
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.list_filter import unknown_columns, unknown_tags
from teaser.app.serving.personal_model import known_presses
from teaser.data.tags import Tag


class NetPresses(Schema):
    """Net presses on one tag: + is positive, - is negative."""

    tag: str
    steps: int


class Filters(Schema):
    """The conditions on a list: `only` items with these tags, `without` those, bounds, a period.

    Tags of one feature in `only` are alternatives. `when` is empty for any date.
    """

    only: list[str]
    without: list[str]
    at_most: dict[str, float]
    at_least: dict[str, float]
    when: str

    @classmethod
    def of(cls, filters: ListFilter) -> Self:
        """Return the response for the conditions of a list."""
        return cls.model_validate(filters, from_attributes=True)


class Ending(Schema):
    """Something that ends by itself at `until`: presses on a tag, or what is hidden.

    `name` is a tag, or an item if `is_item`; `steps` are the presses that end, 0 for what is
    hidden.
    """

    kind: Literal["press", "hide"]
    name: ModelItemId
    is_item: bool
    steps: int
    until: datetime

    @classmethod
    def of(cls, end: state.Ending) -> Self:
        """Return the response for an ending."""
        return cls.model_validate(end, from_attributes=True)


class Feed(Schema):
    """One list of a person; the main list has an empty name.

    `presses` are net presses now, by today's names of tags; `lasting` those of them that do not
    end, null if none ends. `ends` are the presses that end.
    """

    feed: str
    presses: list[NetPresses]
    lasting: list[NetPresses] | None
    filters: Filters
    variety: Share
    balance: Share
    ends: list[Ending]

    @classmethod
    def of(cls, name: str, feed: state.Feed, catalogue: Catalogue) -> Self:
        """Return the response for a feed."""
        return cls(feed=name, **_list_fields(feed, catalogue))


class Feeds(Schema):
    """The lists of a person, the main one first, and the name of the current one."""

    feed: str
    feeds: list[Feed]

    @classmethod
    def of(cls, found: State, catalogue: Catalogue) -> Self:
        """Return the response for the feeds of a state."""
        feeds = [Feed.of(name, feed, catalogue) for name, feed in found.feeds.items()]
        return cls(feed=found.feed, feeds=feeds)


class Person(Schema):
    """The state of a person.

    `strengths` has the items of the history whose strength is not 1; one below 0 was disliked.
    `presses`, `lasting`, `filters`, `variety` and `balance` are those of the current list, `feed`;
    `feeds` has all lists. `hidden` and `hidden_tags` hold for all of them. `ends` tells what of all
    this ends by itself, and when. With `profiling` false, lists follow neither history nor presses
    nor `about`: `order` decides.
    `unknown_items`, `unknown_tags`, `unknown_columns` and `unknown_about` are the names in it that
    the present model does not have; they are stored and have no effect until a model has them.
    `note` says why an action was not stored.
    """

    person_id: str
    history: list[ModelItemId]
    strengths: dict[str, float]
    presses: list[NetPresses]
    lasting: list[NetPresses] | None
    filters: Filters
    hidden: list[ModelItemId]
    hidden_tags: list[str]
    ends: list[Ending]
    variety: Share
    balance: Share
    about: list[str]
    feed: str
    feeds: list[Feed]
    profiling: bool
    order: Order
    can_undo: bool
    can_redo: bool
    n_events: int
    unknown_items: list[ModelItemId]
    unknown_tags: list[str]
    unknown_columns: list[str]
    unknown_about: list[str]
    note: str | None

    @classmethod
    def of(
        cls,
        person_id: str,
        state: State,
        catalogue: Catalogue,
        *,
        note: str | None = None,
        **more: Any,
    ) -> Self:
        """Return the response for a state; names that the catalogue lacks are listed as unknown."""
        items = catalogue.model.items_
        filters = [feed.filters for feed in state.feeds.values()]
        pressed = [text for feed in state.feeds.values() for text in _pressed(feed)]
        named = [text for conditions in filters for text in conditions.tags]
        columns = [name for each in filters for name in unknown_columns(catalogue, each)]
        own = _list_fields(state.current, catalogue)
        own["ends"] = [Ending.of(end) for end in state.ends]
        return cls(
            person_id=person_id,
            history=list(state.history),
            strengths={str(item): x for item, x in state.strengths.items()},
            hidden=list(state.hidden),
            hidden_tags=list(state.hidden_tags),
            about=list(state.about),
            feed=state.feed,
            feeds=Feeds.of(state, catalogue).feeds,
            profiling=state.profiling,
            order=state.order,
            can_undo=state.undoable is not None,
            can_redo=state.redoable is not None,
            n_events=state.n_events,
            unknown_items=[i for i in (*state.history, *state.hidden) if i not in items],
            unknown_tags=unknown_tags(catalogue, [*pressed, *named, *state.hidden_tags]),
            unknown_columns=list(dict.fromkeys(columns)),
            unknown_about=[t for t in state.about if Tag.parse(t) not in catalogue.user_tag_index],
            note=note,
            **own,
            **more,
        )


class Imported(Person):
    """The state after an import; `unmatched` are the names in it that the model does not have.

    They are kept, and have no effect until a model has them.
    """

    unmatched: list[str]

    @classmethod
    def after(cls, person_id: str, state: State, catalogue: Catalogue) -> Self:
        """Return the response for the state after an import."""
        return cls.of(person_id, state, catalogue, unmatched=unmatched_names(state, catalogue))


def unmatched_names(state: State, catalogue: Catalogue) -> list[str]:
    """Return the names in a state that the catalogue does not have: items, tags, columns, facts."""
    found = Person.of("", state, catalogue)
    names = [*found.unknown_items, *found.unknown_tags, *found.unknown_columns]
    return list(dict.fromkeys(map(str, [*names, *found.unknown_about])))


def _list_fields(feed: state.Feed, catalogue: Catalogue) -> dict[str, Any]:
    return {
        "presses": _presses(feed.presses, catalogue),
        "lasting": None if feed.lasting is None else _presses(feed.lasting, catalogue),
        "filters": Filters.of(feed.filters),
        "variety": feed.variety,
        "balance": feed.balance,
        "ends": [Ending.of(end) for end in feed.ends],
    }


def _presses(presses: Mapping[str, int], catalogue: Catalogue) -> list[NetPresses]:
    """Return net presses by today's names of tags; of tags that the model lacks, as stored."""
    index, tags = catalogue.tag_index, catalogue.model.tags_
    net = known_presses(catalogue, presses)
    found: dict[str, int] = {}
    for text, steps in presses.items():
        place = index.get(Tag.parse(text))
        if place is None:
            found[text] = steps
        elif tags[place] in net:
            found[str(tags[place])] = net[tags[place]]
    return [NetPresses(tag=tag, steps=steps) for tag, steps in found.items()]


def _pressed(feed: state.Feed) -> list[str]:
    return [*feed.presses, *(feed.lasting or ()), *(str(end.name) for end in feed.ends)]


class Link(Schema):
    """A link that shows a person's state or one list, read-only, as it was after `place` actions.

    `share_id` is the name by which the link is ended; its path is returned only when it is made.
    `feed` is the list that it shows, null for the whole profile.
    """

    share_id: str
    place: int
    created_at: datetime
    feed: str | None

    @classmethod
    def of(cls, share: StoredShare) -> Self:
        """Return the response for a stored share."""
        return cls.model_validate(share, from_attributes=True)


class NewLink(Link):
    """A new link: the site shows the state at `path`."""

    path: str


class Links(Schema):
    """The links of a person that are in use, the oldest first."""

    shares: list[Link]


class Steps(Schema):
    """The steps of one press on a tag; steps that took back earlier presses are included."""

    tag: str
    steps: int


class ExportedEvent(Schema):
    """One action, with its place among the person's actions and its time.

    `data` has what no other field tells, as it is stored.
    """

    place: int
    at: datetime
    kind: Kind
    item_id: ModelItemId | None
    strength: float | None
    presses: list[Steps]
    variety: float | None
    balance: float | None
    about: list[str] | None
    data: dict[str, Any]

    @classmethod
    def of(cls, event: StoredEvent) -> Self:
        """Return the response for a stored event."""
        return cls(
            place=event.place,
            at=event.at,
            kind=event.kind,
            item_id=event.data.get("item"),
            strength=event.data.get("strength", 1.0) if event.kind == "view" else None,
            presses=[Steps(tag=t, steps=n) for t, n in event.data.get("presses", {}).items()],
            variety=event.data.get("variety"),
            balance=event.data.get("balance"),
            about=facts_of(event.data),
            data={name: value for name, value in event.data.items() if name not in _TOLD},
        )


# What the other fields of an exported event tell of its data.
_TOLD = {"item", "strength", "presses", "variety", "balance", "about", "people"}


class Export(Schema):
    """All that is stored for a person, and the state that follows from it.

    These are the time of creation (null for a visitor who has done nothing yet), links in use, and
    every action in order.
    """

    person_id: str
    created_at: datetime | None
    state: Person
    shares: list[Link]
    events: list[ExportedEvent]


def export_of(
    store: Store, person_id: str | None, catalogue: Catalogue, *, with_id: bool = True
) -> Iterator[str]:
    """Return an `Export` as JSON, in pieces; nothing is stored of a visitor without a person.

    Actions are read in pages while the pieces are taken, so the whole is never in memory.
    `with_id=False` leaves the person's id out.
    """
    kept = store.kept(person_id) if person_id else None
    state = store.state(person_id, until=kept.n_events) if person_id and kept else State()
    export = Export(
        person_id=person_id or "",
        created_at=kept.created_at if kept else None,
        state=Person.of(person_id or "", state, catalogue),
        shares=[Link.of(share) for share in kept.shares] if kept else [],
        events=[],
    )
    hidden: dict[str, IncEx | bool] = {"person_id": True, "state": {"person_id"}}
    head = export.model_dump_json(exclude=None if with_id else hidden)
    pages = store.event_pages(person_id or "", until=state.n_events)
    return _with_events(head, pages)


def _with_events(head: str, pages: Iterable[list[StoredEvent]]) -> Iterator[str]:
    """Return pieces of JSON: actions are put into the empty list that ends the head."""
    yield head.removesuffix("]}")
    separator = "\n"
    for page in pages:
        texts = (ExportedEvent.of(event).model_dump_json() for event in page)
        yield separator + ",\n".join(texts)
        separator = ",\n"
    yield "\n]}\n"
