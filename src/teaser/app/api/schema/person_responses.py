"""A person as typed JSON: the state, links that show it, and every action."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Self

from pydantic.main import IncEx

from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.requests import ModelItemId, Share
from teaser.app.people.event_log import StoredEvent
from teaser.app.people.events import Kind, State, facts_of
from teaser.app.people.store import Store, StoredShare
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.data.tagging.tag import Tag


class NetPresses(Schema):
    """Net presses on one tag: + is positive, - is negative."""

    tag: str
    steps: int


class Person(Schema):
    """The state of a person.

    `strengths` has the items of the history whose strength is not 1; one below 0 was disliked.
    `unknown_items`, `unknown_tags` and `unknown_about` are the names in it that the present model
    does not have; they are stored and have no effect until a model has them. `note` says why an
    action was not stored.
    """

    person_id: str
    history: list[ModelItemId]
    strengths: dict[str, float]
    presses: list[NetPresses]
    hidden: list[ModelItemId]
    variety: Share
    balance: Share
    about: list[str]
    can_undo: bool
    can_redo: bool
    n_events: int
    unknown_items: list[ModelItemId]
    unknown_tags: list[str]
    unknown_about: list[str]
    note: str | None

    @classmethod
    def of(
        cls, person_id: str, state: State, catalogue: Catalogue, *, note: str | None = None
    ) -> Self:
        """Return the response for a state; names that the catalogue lacks are listed as unknown."""
        items, tags = catalogue.model.items_, catalogue.tag_index
        return cls(
            person_id=person_id,
            history=list(state.history),
            strengths={str(item): x for item, x in state.strengths.items()},
            presses=[NetPresses(tag=tag, steps=steps) for tag, steps in _presses(state, catalogue)],
            hidden=list(state.hidden),
            variety=state.variety,
            balance=state.balance,
            about=list(state.about),
            can_undo=state.undoable is not None,
            can_redo=state.redoable is not None,
            n_events=state.n_events,
            unknown_items=[i for i in (*state.history, *state.hidden) if i not in items],
            unknown_tags=[text for text in state.presses if Tag.parse(text) not in tags],
            unknown_about=[t for t in state.about if Tag.parse(t) not in catalogue.user_tag_index],
            note=note,
        )


def _presses(state: State, catalogue: Catalogue) -> list[tuple[str, int]]:
    """Return net presses by today's names of tags; of tags that the model lacks, as stored."""
    index, tags = catalogue.tag_index, catalogue.model.tags_
    net = PersonalModel(catalogue, state).presses
    found: dict[str, int] = {}
    for text, steps in state.presses.items():
        place = index.get(Tag.parse(text))
        if place is None:
            found[text] = steps
        elif tags[place] in net:
            found[str(tags[place])] = net[tags[place]]
    return list(found.items())


class Link(Schema):
    """A link that shows a person's state, read-only, as it was after `place` actions.

    `share_id` is the name by which the link is ended; its path is returned only when it is made.
    """

    share_id: str
    place: int
    created_at: datetime

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
    """One action, with its place among the person's actions and its time."""

    place: int
    at: datetime
    kind: Kind
    item_id: ModelItemId | None
    strength: float | None
    presses: list[Steps]
    variety: float | None
    balance: float | None
    about: list[str] | None

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
        )


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
