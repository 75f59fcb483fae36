"""The rows of events: decided on and appended, read in order, and added to a fold."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError

from teaser.app.cache import Cache
from teaser.app.database.database import Database
from teaser.app.people.checks import check
from teaser.app.people.events import Event, Kind
from teaser.app.people.fold import KeptFold, StateFold
from teaser.app.people.snapshot import REACH, SnapshotReader, save_snapshot
from teaser.app.people.state import State
from teaser.app.people.tables import event as events
from teaser.errors import ActionLimitError, StoreError, TeaserError, UnknownPersonError

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
_ATTEMPTS = 20
_FREE_ATTEMPTS = 3
# A snapshot saves time later, so a request gives this share of its time to one at most.
_SNAPSHOT_SHARE = 0.25
# Some 10 kB each: the last actions of a person are kept, of which `_NEAR` can be undone.
_MAX_FOLDS = 1_000
_NEAR = 20


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
    """Appends events in one statement, which locks the person in PostgreSQL.

    Locks are taken in one order, or there are deadlocks: the person, the place.

    Parameters
    ----------
    known
        The query of the id of a person whose `id` is given; it finds no other persons.
    database
        Where events are.
    """

    def __init__(self, known: Select[str], database: Database) -> None:
        columns = [events.c[name] for name in ("place", "kind", "data", "at")]
        given = [bindparam(column.name, type_=column.type) for column in columns]
        names = ["person_id", *(column.name for column in columns)]
        # Not a CTE: of a statement that begins with WITH, SQLite's driver does not count the rows.
        own = known.with_for_update().subquery("own")
        row = select(own.c.id, *given)
        last = select(events.c.place).where(
            events.c.person_id == own.c.id,
            events.c.place == bindparam("last_place"),
            events.c.at == bindparam("last_at", type_=events.c.at.type),
        )
        own_insert = insert(events).from_select(names, row)
        self._insert = own_insert.execution_options(preserve_rowcount=True)
        after_last = insert(events).from_select(names, row.where(last.exists()))
        self._insert_after = database.single_write(after_last)

    def __call__(
        self, connection: Connection, person_id: str, place: int, event: Event, at: datetime
    ) -> None:
        """Append an event; a place that is taken is an `IntegrityError`.

        Raises
        ------
        UnknownPersonError
            If there is no such person.
        """
        row = _row(person_id, place, event, at)
        if not connection.execute(self._insert, row).rowcount:
            raise UnknownPersonError

    def after(
        self, last_at: datetime, person_id: str, place: int, event: Event, at: datetime
    ) -> bool:
        """Append an event in a transaction of its own, if the one before it is of a given time.

        Return whether it was appended. A place that is taken is an `IntegrityError`.
        """
        last = {"last_place": place - 1, "last_at": last_at}
        return self._insert_after(_row(person_id, place, event, at) | last) == 1


def _row(person_id: str, place: int, event: Event, at: datetime) -> dict[str, Any]:
    data = dict(event.data)
    return {"id": person_id, "place": place, "at": at, "kind": event.kind, "data": data}


@dataclass(frozen=True)
class Decided:
    """The states before and after a decision, and the event that was appended, if any."""

    before: State
    after: State
    event: Event | None


Decision = Callable[[State], Event | None]
_Opened = Callable[[], AbstractContextManager[Connection]]


class Decider:
    """Decides on actions and appends them, as if nothing else happened in between.

    The fold after an action is kept in memory. The next action is decided on it, and stored in the
    one statement that looks whether the last event is still that of the fold.

    Parameters
    ----------
    database
        Where events are.
    known
        The query of the id of a person whose `id` is given; it finds no other persons.
    max_events
        The most actions that are stored for one person.
    clock
        Tells the time, at which some of what people did has ended.
    """

    def __init__(
        self,
        database: Database,
        known: Select[str],
        max_events: int,
        clock: Callable[[], datetime],
    ) -> None:
        self.max_events = max_events
        self._clock = clock
        self._seconds = _SNAPSHOT_SHARE * database.timeout
        self._reading, self._writing = database.reading, database.writing
        self._locked = known.with_for_update()
        self._snapshots = SnapshotReader(known)
        self._append = LockingAppend(known, database)
        self._folds: Cache[KeptFold] = Cache(_MAX_FOLDS)

    def decide(self, person_id: str, decision: Decision) -> Decided:
        """Decide on an action and append it; see `Store.decide`."""
        kept = self._folds.pop(person_id)
        done = None if kept is None else self._decide_on(kept, person_id, decision)
        if done is not None:
            return done
        for attempt in range(_ATTEMPTS):
            with suppress(IntegrityError):  # the person was deleted, or the place was taken
                if attempt < _FREE_ATTEMPTS:
                    appending = partial(self._writing, single=True)
                    decided, read = self._decide(person_id, decision, self._reading, appending)
                else:
                    decided, read = self._decide_alone(person_id, decision)
                is_due = read.n_since >= REACH
                if is_due:
                    self.remember(person_id, read.fold)
                if decided.event is not None:
                    n_since = 0 if is_due else read.n_since + 1
                    self._keep(person_id, replace(read, n_since=n_since))
                return decided
        raise StoreError("Too many actions of this person at once. Try again.")

    def remember(self, person_id: str, fold: StateFold) -> None:
        """Store a snapshot if that is possible now; without it, only more events are read."""
        with (
            suppress(StoreError, UnknownPersonError, IntegrityError),
            self._writing(timeout=self._seconds) as connection,
        ):
            self._lock(connection, person_id)
            save_snapshot(connection, person_id, fold)

    def forget(self, person_id: str) -> None:
        """Keep nothing of a person in memory."""
        self._folds.pop(person_id)

    def _decide_on(self, kept: KeptFold, person_id: str, decision: Decision) -> Decided | None:
        """Decide on a fold in memory; None if events must be read for it.

        What stores nothing is decided again: another process may have stored something.
        """
        now, fold = self._clock(), kept.fold
        before = fold.state_at(now)
        try:
            event = decision(before)
            if event is None or before.n_events >= self.max_events:
                return None
            check(before, event)
        except TeaserError:
            return None
        fold.add(event)
        if not fold.is_whole:
            return None
        try:
            is_stored = self._append.after(kept.last_at, person_id, fold.n_events, event, now)
        except IntegrityError:
            return None
        if not is_stored:
            return None
        decided = Decided(before, fold.state_at(now), event)
        self._keep(person_id, KeptFold(fold, now, kept.n_since + 1))
        return decided

    def _keep(self, person_id: str, kept: KeptFold) -> None:
        """Keep a fold for the next action, unless that has to make a snapshot."""
        if kept.n_since >= REACH:
            return
        if len(kept.fold.known) > 2 * _NEAR:
            kept.fold.narrow(_NEAR)
        self._folds.put(person_id, kept)

    def _decide_alone(self, person_id: str, decision: Decision) -> tuple[Decided, KeptFold]:
        """Decide while all other actions of the person wait."""
        with self._writing() as connection:
            self._lock(connection, person_id)
            return self._decide(
                person_id,
                decision,
                lambda: nullcontext(connection),
                lambda: nullcontext(connection),
            )

    def _decide(
        self, person_id: str, decision: Decision, reading: _Opened, writing: _Opened
    ) -> tuple[Decided, KeptFold]:
        """Return the decision, and the fold after it with the number of events read for it."""
        fold, n_read = read_fold(reading, self._snapshots, person_id)
        now = self._clock()
        before = fold.state_at(now)
        event = decision(before)
        if event is None:
            return Decided(before, before, None), KeptFold(fold, now, n_read)
        check(before, event)
        if before.n_events >= self.max_events:
            raise ActionLimitError(self.max_events)
        fold.add(event)
        if not fold.is_whole:  # undo or redo went further than the snapshot reaches
            n = before.n_events
            fold, n_read = read_fold(reading, self._snapshots, person_id, n, with_snapshot=False)
            fold.add(event)
        with writing() as connection:
            is_locked = connection.dialect.name == "postgresql"
            append = self._append if is_locked else append_event
            append(connection, person_id, fold.n_events, event, now)
        return Decided(before, fold.state_at(now), event), KeptFold(fold, now, n_read)

    def _lock(self, connection: Connection, person_id: str) -> None:
        if connection.execute(self._locked, {"id": person_id}).first() is None:
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
