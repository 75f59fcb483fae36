"""The rows of events: appended, read in order, and added to a fold."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select

from teaser.app.people.events import Event, Kind
from teaser.app.people.fold import StateFold
from teaser.app.people.snapshot import SnapshotReader
from teaser.app.people.tables import event as events
from teaser.errors import UnknownPersonError

# The queries of a press are built once.
_OF_PERSON = events.c.person_id == bindparam("person_id")
_AFTER = events.c.place > bindparam("after")
_UNTIL = events.c.place <= bindparam("until")
_IN_ORDER = (_OF_PERSON, _AFTER, _UNTIL)
# No transaction reads more, so that each is short whatever a person has done.
STRIDE = 1_000
_ACTIONS = (
    select(events.c.kind, events.c.data).where(*_IN_ORDER).order_by(events.c.place).limit(STRIDE)
)
_EVENTS = (
    select(events.c.place, events.c.at, events.c.kind, events.c.data)
    .where(*_IN_ORDER)
    .order_by(events.c.place)
)
_LAST_PLACE = select(func.coalesce(func.max(events.c.place), 0)).where(_OF_PERSON)
_APPEND = insert(events)
_NO_END = 2**31 - 1


@dataclass(frozen=True)
class StoredEvent:
    """One action, with its place among the person's actions and its time."""

    place: int
    at: datetime
    kind: Kind
    data: dict[str, Any]


def append_event(
    connection: Connection, person_id: str, place: int, event: Event, at: datetime
) -> None:
    """Append an event; a place that is taken is an `IntegrityError`, as is an unknown person."""
    row = {"person_id": person_id, "place": place, "at": at}
    connection.execute(_APPEND, row | {"kind": event.kind, "data": dict(event.data)})


class LockingAppend:
    """Appends events in PostgreSQL: one statement locks the person and inserts the row.

    Locks are taken in one order, or there are deadlocks: the person, the place.

    Parameters
    ----------
    known
        The query of the id of a person whose `id` is given; it finds no other persons.
    """

    def __init__(self, known: Select[str]) -> None:
        own = known.with_for_update().cte("own")
        columns = [events.c[name] for name in ("place", "kind", "data", "at")]
        given = [bindparam(column.name, type_=column.type) for column in columns]
        names = ["person_id", *(column.name for column in columns)]
        query = insert(events).from_select(names, select(own.c.id, *given))
        self._insert = query.execution_options(preserve_rowcount=True)

    def __call__(
        self, connection: Connection, person_id: str, place: int, event: Event, at: datetime
    ) -> None:
        """Append an event; a place that is taken is an `IntegrityError`.

        Raises
        ------
        UnknownPersonError
            If there is no such person.
        """
        row = {"id": person_id, "place": place, "at": at}
        done = connection.execute(
            self._insert, row | {"kind": event.kind, "data": dict(event.data)}
        )
        if not done.rowcount:
            raise UnknownPersonError


def read_events(
    connection: Connection,
    person_id: str,
    *,
    after: int = 0,
    until: int | None = None,
    limit: int | None = None,
) -> list[StoredEvent]:
    """Return events in order, those after one place and until another, at most `limit`."""
    query = _EVENTS if limit is None else _EVENTS.limit(limit)
    return [StoredEvent(*row) for row in connection.execute(query, _span(person_id, after, until))]


def read_fold(
    opened: Callable[[], AbstractContextManager[Connection]],
    snapshots: SnapshotReader,
    person_id: str,
    until: int | None = None,
    *,
    with_snapshot: bool = True,
) -> tuple[StateFold, int]:
    """Return the fold of a person's events, and how many of them were read for it.

    `opened` opens a transaction; a long past is read in several of them.

    Raises
    ------
    UnknownPersonError
        If there is no such person.
    """
    with opened() as connection:
        fold = snapshots.read(connection, person_id, until)
        fold = fold if with_snapshot else StateFold()
        start = fold.n_events
        has_more = extend(connection, person_id, fold, until)
    while has_more:
        with opened() as connection:
            snapshots.read(connection, person_id, until)  # the person may be deleted by now
            has_more = extend(connection, person_id, fold, until)
    if not fold.is_whole:
        return read_fold(opened, snapshots, person_id, until, with_snapshot=False)
    return fold, fold.n_events - start


def extend(connection: Connection, person_id: str, fold: StateFold, until: int | None) -> bool:
    """Add the next events to a fold, at most `STRIDE`; return whether there may be more."""
    span = _span(person_id, fold.n_events, until)
    found = connection.execute(_ACTIONS, span).all()
    for row in found:
        fold.add(Event(*row))
    return len(found) == STRIDE


def last_place(connection: Connection, person_id: str) -> int:
    """Return the number of a person's events."""
    return int(connection.execute(_LAST_PLACE, {"person_id": person_id}).scalar_one())


def _span(person_id: str, after: int, until: int | None) -> dict[str, Any]:
    return {"person_id": person_id, "after": after, "until": _NO_END if until is None else until}
