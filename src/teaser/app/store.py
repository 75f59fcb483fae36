"""Persons with their events and shares, and API keys, in a database; secrets only as hashes.

A person is one row: the state as JSON with its version. Every action also adds a row of events,
in the same transaction. A state is read without its events; undo and redo replay them.
"""

import base64
import copy
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import resources
from itertools import groupby
from operator import itemgetter
from typing import Any, Self

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.exc import IntegrityError

from teaser.app.database import Database
from teaser.app.state import (
    LIMITS,
    Draft,
    Event,
    Feed,
    Kind,
    State,
    check,
    find_feed,
    replay,
    state_of,
)
from teaser.data.matrix import ItemId
from teaser.errors import LimitError, ParameterError, StoreError, UnknownNameError

MAX_SHARES = 100
# The most bytes that the events and shares of one person may take.
MAX_BYTES = 2 * 2**20
_MIGRATION_SECONDS = 60.0
_ATTEMPTS = 50
_SHARE_ID = 16
_PAGE = 50  # persons that are read or removed in one transaction
_NEVER = datetime.min.replace(tzinfo=UTC)


class Time(sa.TypeDecorator[datetime]):
    """A time; it is read as UTC also from a database that stores no time zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Return the time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _owner(of: str, **more: Any) -> sa.Column[str]:
    """Return the column of whom a row belongs to; it is deleted with them."""
    owner = sa.ForeignKey(f"{of}.id", ondelete="CASCADE")
    return sa.Column(
        f"{of.removeprefix('study_')}_id", sa.String(43), owner, nullable=False, **more
    )


metadata = sa.MetaData()
person = sa.Table(
    "person",
    metadata,
    sa.Column("id", sa.String(43), primary_key=True),
    sa.Column("is_site", sa.Boolean, nullable=False),  # known by a cookie; hidden from the API
    sa.Column("created_at", Time(), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # the number of events
    sa.Column("bytes", sa.Integer, nullable=False),  # of all events and shares
    sa.Column("undo_seq", sa.Integer),  # the event that undo applies to
    sa.Column("redo_seq", sa.Integer),
    sa.Column("state", sa.JSON, nullable=False),
)
events = sa.Table(
    "event",
    metadata,
    _owner("person", primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", Time(), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)
share = sa.Table(
    "share",
    metadata,
    sa.Column("token_hash", sa.String(64), primary_key=True),
    _owner("person", index=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("created_at", Time(), nullable=False),
    sa.Column("feed", sa.String(60)),  # none for the whole profile
    sa.Column("bytes", sa.Integer, nullable=False),
    sa.Column("state", sa.JSON, nullable=False),
)
api_key = sa.Table(
    "api_key",
    metadata,
    sa.Column("key_hash", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("created_at", Time(), nullable=False),
    sa.Column("revoked_at", Time()),
)
setting = sa.Table(
    "setting",
    metadata,
    sa.Column("name", sa.String(40), primary_key=True),
    sa.Column("value", sa.String(100), nullable=False),
)
# User studies, see teaser.userstudy; a participant has a person for each arm.
study_participant = sa.Table(
    "study_participant",
    metadata,
    sa.Column("id", sa.String(43), primary_key=True),
    sa.Column("study", sa.String(40), nullable=False),
    sa.Column("mode", sa.String(10), nullable=False),  # real, pilot or simulated
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("token_id", sa.String(43)),  # of the cookie
    sa.Column("code_hash", sa.String(64), nullable=False, unique=True),
    sa.Column("arm_order", sa.Integer, nullable=False),
    sa.Column("language", sa.String(2), nullable=False),
    sa.Column("consent", sa.String(40), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # the number of rows of its log
    sa.Column("created_at", Time(), nullable=False),
    sa.Column("active_at", Time(), nullable=False),
    sa.Column("finished_at", Time()),
    sa.Column("hashes", sa.JSON, nullable=False),  # of the file and of each model
    sa.Column("state", sa.JSON, nullable=False),
    sa.UniqueConstraint("study", "mode", "token_id", name="one_token"),
    sa.UniqueConstraint("study", "mode", "place", name="one_place"),
)
study_session = sa.Table(
    "study_session",
    metadata,
    _owner("study_participant", primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.String(40), nullable=False),
    sa.Column("person_id", sa.String(43), nullable=False),
)
study_log = sa.Table(
    "study_log",
    metadata,
    _owner("study_participant", primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", Time(), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)
study_answer = sa.Table(
    "study_answer",
    metadata,
    _owner("study_participant", primary_key=True),
    sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("question", sa.String(40), primary_key=True),
    sa.Column("at", Time(), nullable=False),
    sa.Column("value", sa.JSON, nullable=False),  # a number or a text
)

_undo, _redo = events.alias("undo"), events.alias("redo")
# A person by primary key, with the events that undo and redo apply to.
_PERSON = (
    sa.select(
        person,
        _undo.c.kind.label("undo_kind"),
        _undo.c.data.label("undo_data"),
        _redo.c.kind.label("redo_kind"),
        _redo.c.data.label("redo_data"),
    )
    .outerjoin(_undo, sa.and_(_undo.c.person_id == person.c.id, _undo.c.seq == person.c.undo_seq))
    .outerjoin(_redo, sa.and_(_redo.c.person_id == person.c.id, _redo.c.seq == person.c.redo_seq))
    .where(person.c.id == sa.bindparam("id"))
)
_EVENTS = (
    sa.select(events.c.seq, events.c.at, events.c.kind, events.c.data)
    .where(events.c.person_id == sa.bindparam("id"), events.c.seq <= sa.bindparam("until"))
    .order_by(events.c.seq)
)


@dataclass(frozen=True)
class StoredEvent:
    """One action, with its place among the person's actions and its time."""

    place: int
    at: datetime
    kind: Kind
    data: dict[str, Any]


@dataclass(frozen=True)
class StoredShare:
    """A link that shows a state of a person or one feed, read-only; its token is not stored.

    Attributes
    ----------
    share_id
        The name by which the owner ends the link; it does not open it.
    place
        The link shows the state after this many actions.
    feed
        The name of the feed that it shows, empty for the main list; None for the whole profile.
    """

    share_id: str
    place: int
    created_at: datetime
    feed: str | None = None


@dataclass(frozen=True)
class Stored:
    """All that is stored for a person."""

    created_at: datetime
    state: State
    shares: list[StoredShare]
    events: list[StoredEvent]


@dataclass(frozen=True)
class Decided:
    """The states before and after a decision, and the event that was stored, if any."""

    before: State
    after: State
    event: Event | None


@dataclass(frozen=True)
class View:
    """A view that counts: it is in the history, its strength is above 0, the item not hidden."""

    item: ItemId
    strength: float
    at: datetime


@dataclass(frozen=True)
class Visits:
    """What one person did that the next model may use, without the person's id.

    Attributes
    ----------
    views
        The views that count, the latest last.
    presses
        Net presses by tag text, of all lists of the person, whenever they were made; of a tag that
        is pressed in several, those of the latest. They teach nothing: they say which tags the
        next model must not lose.
    """

    views: tuple[View, ...] = ()
    presses: Mapping[str, int] = field(default_factory=dict)


class Store:
    """Persons and keys in a database; every method commits before it returns.

    Parameters
    ----------
    url
        `sqlite:///file` or `postgresql://user:password@host/name`.
    max_events
        The most actions that are stored for one person.
    timeout
        The seconds to wait for the database; see `Database`.
    clock
        Returns the time, at which some of what people did has ended.
    """

    def __init__(
        self,
        url: str,
        *,
        max_events: int = 10_000,
        timeout: float = 10.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.database = Database(url, timeout)
        self.url = self.database.url
        self.max_events = max_events
        self._clock = clock
        self._with_site = True

    def migrate(self) -> None:
        """Bring the tables to this version; safe to call from several processes.

        Only this method creates a file of SQLite. A database that is read-only is refused, and so
        is a file of SQLite with damaged pages.
        """
        patient = Database(self.url, _MIGRATION_SECONDS)
        patient.make_file()
        config = Config()
        config.set_main_option("script_location", str(resources.files("teaser.app") / "migrations"))

        def upgrade(connection: sa.Connection) -> None:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727001)")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            # A write, so that a read-only database is refused now.
            connection.execute(sa.update(setting).values(name=setting.c.name))

        try:
            patient.check_file()
            patient.write(upgrade)
            patient.empty_log()
        finally:
            patient.close()

    def ping(self) -> None:
        """Raise `StoreError` unless the database answers and has its tables."""
        self._setting("signing_key")

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    @cached_property
    def without_site(self) -> Self:
        """A view of the store for the API: visitors of the site, who have a token, are hidden."""
        narrow = copy.copy(self)
        narrow._with_site = False
        return narrow

    @cached_property
    def signing_key(self) -> bytes:
        """The key that signs tokens of the site: made with the tables, shared by all processes."""
        return str(self._setting("signing_key")).encode()

    def create_person(self, token: str | None = None) -> str:
        """Add a person and return the id; one with a token is a visitor of the site.

        Two calls with the same token return the same person.
        """
        person_id = id_of(token) if token else secrets.token_urlsafe(32)
        self._add_person(person_id, is_site=token is not None)
        return person_id

    def _add_person(self, person_id: str, *, is_site: bool) -> None:
        """Add a person without history, unless there is one of that id."""
        row = {"id": person_id, "is_site": is_site, "created_at": self._clock()}
        row |= {"version": 0, "bytes": 0, "state": Draft().to_json()}
        with suppress(IntegrityError):
            self.database.write(lambda c: c.execute(sa.insert(person).values(row)))

    def own_person(
        self, key_name: str, user_id: str, history: Mapping[ItemId, float] | None = None
    ) -> str | None:
        """Return the id of the person whom a key knows by an id of its own.

        Only a keyed hash of the two names is stored. The part of a key's name before a slash is
        what counts, so that `shop/2` can follow `shop/1`. The id begins with a dot, as no other
        does: it is no address, so that no other key opens it.

        Parameters
        ----------
        history
            What a new person begins with: items with their strengths, the latest last. Without it
            nobody is added, and the answer is None if there is no such person.
        """
        named = f"{key_name.partition('/')[0]}\0{user_id}".encode()
        digest = hmac.digest(self.signing_key, b"own\0" + named, "sha256")
        person_id = f".{base64.urlsafe_b64encode(digest).decode()[:42]}"
        query = sa.select(person.c.id).where(person.c.id == person_id)
        if self.database.read(lambda c: c.execute(query).scalar_one_or_none()) is not None:
            return person_id
        if history is None:
            return None
        self._add_person(person_id, is_site=False)
        latest = dict(list(history.items())[-LIMITS["viewed items"] :])
        if latest:
            begun = Event("import", {"state": Draft(history=latest).to_json()})
            self.decide(person_id, lambda state: None if state.n_events else begun)
        return person_id

    def find_person(self, token: str) -> str | None:
        """Return the id of the person who holds a token; None if there is no such person."""
        query = sa.select(person.c.id).where(person.c.id == id_of(token))
        return self.database.read(lambda c: c.execute(query).scalar_one_or_none())

    def state(self, person_id: str) -> State:
        """Return the current state of a person."""
        row = self.database.read(lambda c: self._person(c, person_id))
        return self._state(row, self._clock())

    def last_action(self, person_id: str, place: int) -> tuple[State, Event]:
        """Return the action at a place, and the state before it."""
        found = self.database.read(lambda c: self._events(c, person_id, place))
        if len(found) < place:
            raise UnknownNameError("person")
        *before, last = [Event(each.kind, each.data) for each in found]
        return state_of(before, self._clock()), last

    def export(self, person_id: str) -> Stored:
        """Return all that is stored for a person."""

        def read(connection: sa.Connection) -> Stored:
            row = self._person(connection, person_id)
            return Stored(
                row.created_at,
                self._state(row, self._clock()),
                _shares(connection, person_id),
                self._events(connection, person_id, row.version),
            )

        return self.database.read(read)

    def decide(self, person_id: str, decision: Callable[[State], Event | None]) -> Decided:
        """Decide on an action and store it, as if nothing else happened in between.

        Parameters
        ----------
        person_id
            Whose action it is.
        decision
            Is given the current state and returns the event to store, or None to store nothing.
            If another action of the person was stored meanwhile, it is called again with the state
            after that one, so it must be a pure function. No lock is held while it runs.

        Raises
        ------
        LimitError
            If as many actions or bytes of the person are stored as are allowed.
        ParameterError, UnknownNameError
            If the event is not possible in the state.
        """
        for attempt in range(_ATTEMPTS):
            row, now = self.database.read(lambda c: self._person(c, person_id)), self._clock()
            before = self._state(row, now)
            event = decision(before)
            if event is None:
                return Decided(before, before, None)
            check(before, event)
            if row.version >= self.max_events:
                raise LimitError(
                    "{limit:,} actions are stored for this person, which is the most. Delete the "
                    "person to begin again.",
                    problem="actions",
                    limit=self.max_events,
                )
            size = _check_bytes(row.bytes + _size(event.data))
            after, seqs = self._after(row, event, now)
            changed = {**seqs, "bytes": size, "state": Draft.from_state(after).to_json()}
            if self._append(row, event, now, changed):
                return Decided(before, after, event)
            time.sleep(2e-6 * attempt * secrets.randbelow(1_000))  # another came first
        raise StoreError("Too many actions of this person at once. Try again.")

    def delete_person(self, person_id: str) -> None:
        """Remove a person with all that is stored of them."""

        def remove(connection: sa.Connection) -> None:
            self._person(connection, person_id)
            connection.execute(sa.delete(person).where(person.c.id == person_id))

        self.database.write(remove)
        self.database.empty_log()

    def remove_unseen(self, days: int) -> int:
        """Remove people whose last action is older than so many days; return how many.

        People who have done nothing count from when they were added. Those of user studies stay.
        """
        before = self._clock() - timedelta(days=days)
        is_last = sa.and_(events.c.person_id == person.c.id, events.c.seq == person.c.version)
        unseen = (
            sa.select(person.c.id)
            .outerjoin(events, is_last)
            .where(sa.func.coalesce(events.c.at, person.c.created_at) < before)
            .where(person.c.id.not_in(sa.select(study_session.c.person_id)))
            .limit(_PAGE)
        )
        gone, n_removed = sa.delete(person).where(person.c.id.in_(unseen)), 0
        while n := self.database.write(lambda c: c.execute(gone).rowcount):
            n_removed += n
        self.database.empty_log()
        return n_removed

    def make_share(self, person_id: str, feed: str | None = None) -> tuple[str, StoredShare]:
        """Make a link to the current state, or to one feed; return its token, and the share.

        Raises
        ------
        UnknownNameError
            If the person has no feed of that name.
        LimitError
            If the person has `MAX_SHARES` links in use.
        """
        token, now = secrets.token_urlsafe(32), self._clock()

        def add(connection: sa.Connection) -> StoredShare:
            row = self._person(connection, person_id)
            state = self._state(row, now)
            name = None if feed is None else find_feed(state, feed)
            shown = Draft.from_state(state)
            data = shown.to_json() if name is None else shown.feeds[name]
            if len(_shares(connection, person_id)) >= MAX_SHARES:
                raise LimitError(
                    "{limit:,} links are in use, which is the most. End one of them first.",
                    problem="shares",
                    limit=MAX_SHARES,
                )
            size = _size(data)
            _check_bytes(row.bytes + size)
            new = {"token_hash": hash_of(token), "person_id": person_id, "seq": row.version}
            new |= {"created_at": now, "feed": name, "bytes": size, "state": data}
            connection.execute(sa.insert(share).values(new))
            _add_bytes(connection, person_id, size)
            return StoredShare(share_id_of(token), row.version, now, name)

        try:
            return token, self.database.write(add)
        except IntegrityError:  # deleted meanwhile
            raise UnknownNameError("person") from None

    def shares(self, person_id: str) -> list[StoredShare]:
        """Return the links of a person that are in use, the oldest first."""

        def read(connection: sa.Connection) -> list[StoredShare]:
            self._person(connection, person_id)
            return _shares(connection, person_id)

        return self.database.read(read)

    def revoke_share(self, person_id: str, share_id: str) -> None:
        """End a link of a person: from now on it shows nothing."""

        def end(connection: sa.Connection) -> None:
            self._person(connection, person_id)
            own = share.c.person_id == person_id
            found = connection.execute(
                sa.select(share.c.token_hash, share.c.bytes).where(own)
            ).all()
            for digest, size in found:
                if digest[:_SHARE_ID] == share_id:
                    connection.execute(sa.delete(share).where(own, share.c.token_hash == digest))
                    _add_bytes(connection, person_id, -size)
                    return
            raise UnknownNameError("share")

        self.database.write(end)

    def shared_state(self, token: str) -> State | None:
        """Return the state that a link shows; None if no link to a profile has this token."""
        row = self._shared(token)
        if row is None or row.feed is not None:
            return None
        return Draft.from_json(row.state).state(self._clock(), n_events=row.seq)

    def shared_feed(self, token: str) -> tuple[str, Feed] | None:
        """Return name and feed that a link shows; None if no link to a feed has this token."""
        row = self._shared(token)
        if row is None or row.feed is None:
            return None
        return row.feed, Feed.from_json(row.state, self._clock())

    def create_key(self, name: str) -> str:
        """Add an API key and return it; only its hash is stored."""
        if not name.strip() or len(name) > 100:
            raise ParameterError("A key needs a name of 1 to 100 characters.")
        key = "tk_" + secrets.token_urlsafe(32)
        row = {"key_hash": hash_of(key), "name": name, "created_at": datetime.now(UTC)}
        try:
            self.database.write(lambda c: c.execute(sa.insert(api_key).values(row)))
        except IntegrityError:
            raise ParameterError(f"There is a key named {name!r} already.") from None
        return key

    def key_name(self, key: str) -> str | None:
        """Return the name of a key; None if it is not known, or was revoked."""
        query = sa.select(api_key.c.name).where(
            api_key.c.key_hash == hash_of(key), api_key.c.revoked_at.is_(None)
        )
        return self.database.read(lambda c: c.execute(query).scalar_one_or_none())

    def keys(self) -> list[tuple[str, datetime, datetime | None]]:
        """Return name, creation and revocation of every key."""
        query = sa.select(api_key.c.name, api_key.c.created_at, api_key.c.revoked_at)
        return [tuple(row) for row in self._rows(query.order_by(api_key.c.created_at))]

    def revoke_key(self, name: str) -> None:
        """Revoke a key."""
        change = sa.update(api_key).where(api_key.c.name == name, api_key.c.revoked_at.is_(None))
        change = change.values(revoked_at=datetime.now(UTC))
        if self.database.write(lambda c: c.execute(change).rowcount) == 0:
            raise ParameterError(f"There is no key named {name!r} in use.")

    @property
    def learn_since(self) -> datetime | None:
        """Since when views teach the next model without a break; None if they do not."""
        found = self._setting("learn_since")
        return None if found is None else datetime.fromisoformat(found)

    def switch_learning(self, is_on: bool) -> None:
        """Record what the privacy page says from now on; a server calls this when it starts.

        Switched on again after a break, learning begins anew: the views of the break, and those
        before it, do not count.
        """
        if (self.learn_since is not None) == is_on:
            return
        row = {"name": "learn_since", "value": datetime.now(UTC).isoformat()}
        gone = sa.delete(setting).where(setting.c.name == "learn_since")
        change = sa.insert(setting).values(row) if is_on else gone
        with suppress(IntegrityError):  # another process has recorded it at the same time
            self.database.write(lambda c: c.execute(change))

    def visits(self, *, with_api: bool = False) -> Iterator[Visits]:
        """Yield what each person did that the next model may use; no id is among it.

        Views before learning was switched on are not returned.

        Parameters
        ----------
        with_api
            Whether persons of the API count too. A program that uses them has told them itself
            what it does with what they view.

        Raises
        ------
        ParameterError
            If the next model may not use what people do.
        """
        since = self.learn_since
        if since is None:
            raise ParameterError(
                "Views on this site do not teach the next model. Start the server with --learn "
                "(TEASER_LEARN=true), which the site's privacy page then says; or leave the views "
                "out with --no-views."
            )
        last = ""
        while True:
            page = (
                sa.select(person.c.id).where(person.c.id > last).order_by(person.c.id).limit(_PAGE)
            )
            if not with_api:
                page = page.where(person.c.is_site)
            ids = [row.id for row in self._rows(page)]
            if not ids:
                return
            last = ids[-1]
            query = sa.select(events.c.person_id, events.c.kind, events.c.data, events.c.at)
            query = query.where(events.c.person_id.in_(ids))
            query = query.order_by(events.c.person_id, events.c.seq)
            for _, own in groupby(self._rows(query), key=itemgetter(0)):
                found = _visits((tuple(row)[1:] for row in own), since)
                if found.views or found.presses:
                    yield found

    def _rows(self, query: sa.Select[Any]) -> Sequence[Any]:
        return self.database.read(lambda c: c.execute(query).all())

    def _setting(self, name: str) -> str | None:
        query = sa.select(setting.c.value).where(setting.c.name == name)
        return self.database.read(lambda c: c.execute(query).scalar_one_or_none())

    def _person(self, connection: sa.Connection, person_id: str) -> Any:
        """Return the row of a person, who must be known."""
        row = connection.execute(_PERSON, {"id": person_id}).one_or_none()
        if row is None or (row.is_site and not self._with_site):
            raise UnknownNameError("person")
        return row

    def _state(self, row: Any, now: datetime) -> State:
        return Draft.from_json(row.state).state(
            now,
            undoable=None if row.undo_kind is None else Event(row.undo_kind, row.undo_data),
            redoable=None if row.redo_kind is None else Event(row.redo_kind, row.redo_data),
            n_events=row.version,
        )

    def _events(self, connection: sa.Connection, person_id: str, until: int) -> list[StoredEvent]:
        rows = connection.execute(_EVENTS, {"id": person_id, "until": until})
        return [StoredEvent(*row) for row in rows]

    def _after(self, row: Any, event: Event, now: datetime) -> tuple[State, dict[str, int | None]]:
        """Return the state after an event, and the events that undo and redo then apply to."""
        seq = row.version + 1
        if event.kind not in ("undo", "redo"):
            draft = Draft.from_json(row.state)
            draft.apply(event)
            after = draft.state(now, undoable=event, n_events=seq)
            return after, {"undo_seq": seq, "redo_seq": None}
        stored = self.database.read(lambda c: self._events(c, row.id, row.version))
        found = replay([*(Event(each.kind, each.data) for each in stored), event])
        return found.state(now), {"undo_seq": found.undo_seq, "redo_seq": found.redo_seq}

    def _append(self, row: Any, event: Event, now: datetime, changed: dict[str, Any]) -> bool:
        """Store an event and the state after it; return False if another event came first."""
        seq = row.version + 1
        change = sa.update(person).where(person.c.id == row.id, person.c.version == row.version)
        new = {"person_id": row.id, "seq": seq, "at": now}
        new |= {"kind": event.kind, "data": dict(event.data)}

        def write(connection: sa.Connection) -> bool:
            if connection.execute(change.values(version=seq, **changed)).rowcount == 0:
                return False
            connection.execute(sa.insert(events).values(new))
            return True

        return self.database.write(write)

    def _shared(self, token: str) -> Any:
        query = sa.select(share).where(share.c.token_hash == hash_of(token))
        return self.database.read(lambda c: c.execute(query).one_or_none())


def hash_of(secret: str) -> str:
    """Hash a token; it has 256 random bits, so a fast hash is safe."""
    return hashlib.sha256(secret.encode()).hexdigest()


def id_of(token: str) -> str:
    """Return the id of the person who holds a token; the token does not follow from it."""
    digest = hashlib.sha256(b"person " + token.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def share_id_of(token: str) -> str:
    """Return the name of a link: the beginning of its token's hash."""
    return hash_of(token)[:_SHARE_ID]


def _size(data: Mapping[str, Any]) -> int:
    return len(json.dumps(dict(data)))


def _check_bytes(n: int) -> int:
    """Return the bytes stored of a person, or raise `LimitError` if they are too many."""
    if n > MAX_BYTES:
        raise LimitError(
            "The stored actions of this person would take more than {limit:,} bytes, which is the "
            "most. Nothing was changed. Delete the person to begin again.",
            problem="bytes",
            limit=MAX_BYTES,
        )
    return n


def _shares(connection: sa.Connection, person_id: str) -> list[StoredShare]:
    query = sa.select(share.c.token_hash, share.c.seq, share.c.created_at, share.c.feed)
    query = query.where(share.c.person_id == person_id)
    found = connection.execute(query.order_by(share.c.created_at, share.c.token_hash))
    return [StoredShare(digest[:_SHARE_ID], *others) for digest, *others in found]


def _add_bytes(connection: sa.Connection, person_id: str, size: int) -> None:
    change = sa.update(person).where(person.c.id == person_id)
    connection.execute(change.values(bytes=person.c.bytes + size))


@dataclass(frozen=True)
class _Timed:
    """An item in an event, with the time of the event; equal to the same item at any time."""

    item: ItemId
    at: datetime = field(compare=False)


def _visits(rows: Iterable[tuple[str, dict[str, Any], datetime]], since: datetime) -> Visits:
    """Return what counts of the events of one person, given as kind, data and time."""
    draft: Any = replay(Event(kind, _timed(kind, data, at)) for kind, data, at in rows).draft
    views = (
        View(key.item, strength, key.at)
        for key, strength in draft.history.items()
        if key.at >= since and key not in draft.hidden and strength > 0
    )
    feeds = [Feed.from_json(feed) for feed in draft.feeds.values()]
    presses = {tag: n for feed in feeds for tag, n in feed.presses.items()}
    return Visits(tuple(views), presses)


def _timed(kind: str, data: dict[str, Any], at: datetime) -> dict[str, Any]:
    """Return the data of an event, its items with the time, so that a replay has the last one.

    What was imported was not viewed here, so it is older than any view that counts.
    """
    if kind == "several":
        return {"actions": [[each, _timed(each, own, at)] for each, own in data["actions"]]}
    if kind == "import":
        state = data["state"]
        items = {n: [(_Timed(i, _NEVER), x) for i, x in state[n]] for n in ("history", "hidden")}
        return {"state": {**state, **items}}
    return {**data, "item": _Timed(data["item"], at)} if "item" in data else data
