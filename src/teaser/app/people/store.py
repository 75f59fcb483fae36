"""Persons, their events, shares and API keys in the database; secrets are stored as hashes."""

import copy
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import resources
from typing import Self

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    Connection,
    Select,
    String,
    bindparam,
    cast,
    delete,
    false,
    func,
    insert,
    select,
)
from sqlalchemy.exc import IntegrityError

from teaser.app.cache import Cache
from teaser.app.database.database import Database
from teaser.app.people.checks import find_feed
from teaser.app.people.erasure import Erasure
from teaser.app.people.event_log import (
    Decided,
    Decider,
    Decision,
    StoredEvent,
    last_place,
    read_events,
    read_fold,
)
from teaser.app.people.events import Event
from teaser.app.people.keys import Keys, hash_of
from teaser.app.people.learning import Learning
from teaser.app.people.shares import (
    StoredShare,
    add_share,
    find_share,
    read_shares,
    remove_share,
)
from teaser.app.people.snapshot import REACH, SnapshotReader
from teaser.app.people.state import Feed, State
from teaser.app.people.tables import api_key, person, setting, share, snapshot
from teaser.app.people.tables import event as events
from teaser.app.people.write_check import WriteCheck
from teaser.errors import StorageLimitError, StoreError, UnknownPersonError

_MIGRATION_SECONDS = 60.0
_PAGE = 200
_MAX_IDS = 1_000
# The most bytes that the events of one person may take; smaller events are not counted again.
MAX_BYTES = 2 * 2**20
_SMALL = 1_024

# The queries of a press are built once.
_PERSON_OF_TOKEN = select(person.c.id).where(person.c.token_hash == bindparam("token_hash"))
_PERSON = select(person.c.id).where(person.c.id == bindparam("id"))
_STORED_BYTES = select(func.coalesce(func.sum(func.length(cast(events.c.data, String))), 0)).where(
    events.c.person_id == bindparam("id")
)
_WRITE_NOTHING = delete(api_key).where(false())
_SIGNING_KEY = select(setting.c.value).where(setting.c.name == "signing_key")


@dataclass(frozen=True)
class Kept:
    """What is stored of a person besides events: the time of creation, and links in use.

    Attributes
    ----------
    n_events
        The number of events at that time.
    """

    created_at: datetime
    shares: list[StoredShare]
    n_events: int


class Store:
    """Persons and keys in a database; every method commits before it returns.

    Parameters
    ----------
    url
        `sqlite:///file` or `postgresql://user:password@host/name`.
    max_events
        The most actions that are stored for one person.
    timeout
        The seconds that a transaction may take.
    clock
        Tells the time, at which some of what people did has ended.
    """

    def __init__(
        self,
        url: str,
        *,
        max_events: int = 10_000,
        timeout: float = 10.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        database = Database(url, timeout)
        self.url = database.url
        self.max_events = max_events
        self._database = database
        self._erasure = Erasure(database)
        self._engine = database.engine
        self._reading = database.reading
        self._looking = partial(database.reading, single=True)
        self._writing = database.writing
        self._appending = partial(database.writing, single=True)
        self._write_check = WriteCheck(database)
        self._keys = Keys(database)
        self._ids: Cache[str] = Cache(_MAX_IDS)
        self._clock = clock
        self._know(_PERSON)

    @property
    def is_hanging(self) -> bool:
        """Whether the database did not answer in time when it was used last."""
        return self._database.is_hanging

    @property
    def is_refusing_writes(self) -> bool:
        """Whether the database hangs for writing, and another request tries it."""
        return self._database.is_refusing_writes

    def migrate(self) -> None:
        """Bring the tables to this version; safe to call from several processes.

        Only this method creates a file of SQLite. A database that is read-only is refused.
        """
        self._database.make()
        config = Config()
        migrations = resources.files("teaser.app.people") / "migrations"
        config.set_main_option("script_location", str(migrations))
        with self._reading():
            pass  # say within seconds that there is no database; a migration may take longer
        with self._writing(timeout=_MIGRATION_SECONDS) as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727001)")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.execute(_WRITE_NOTHING)
        self._erasure.resume()  # the process before may have ended right after a deletion

    def ping(self) -> None:
        """Raise `StoreError` unless the database answers and takes a write.

        It writes at most once a second, however often this is called.
        """
        self._write_check.run()

    def close(self) -> None:
        """Close all connections."""
        self._erasure.close()
        self._database.close()

    @cached_property
    def without_site(self) -> Self:
        """A view of the store for the API: visitors of the site, who have a token, are hidden."""
        narrow = copy.copy(self)
        narrow._know(_PERSON.where(person.c.token_hash.is_(None)))
        return narrow

    @cached_property
    def learning(self) -> Learning:
        """Whether the next model may use what people do here, and what it may use."""
        return Learning(self._database)

    @cached_property
    def signing_key(self) -> bytes:
        """The key that signs tokens of the site: made with the tables, shared by all processes."""
        with self._reading() as connection:
            return str(connection.execute(_SIGNING_KEY).scalar_one()).encode()

    def create_person(
        self, *, with_token: bool = False, token: str | None = None
    ) -> tuple[str, str | None]:
        """Add a person; return the id, and the secret token if there is one.

        A `token` that is given becomes the person's. Two calls at once with the same token return
        the same person.
        """
        person_id = secrets.token_urlsafe(32)
        token = token or (secrets.token_urlsafe(32) if with_token else None)
        row = {"id": person_id, "token_hash": token and hash_of(token), "created_at": self._clock()}
        try:
            with self._appending() as connection:
                connection.execute(insert(person).values(row))
        except IntegrityError:
            found = self.find_person(token or "")
            if found is None:
                raise StoreError("A person was made and deleted at once. Try again.") from None
            return found, token
        return person_id, token

    def find_person(self, token: str, *, is_kept: bool = False) -> str | None:
        """Return the id of the person who holds a token.

        With `is_kept` an id in memory will do. The person may be deleted by now, so it is for
        callers that go on if there is no such person.
        """
        token_hash = hash_of(token)
        person_id = self._ids.get(token_hash) if is_kept else None
        if person_id is not None:
            return person_id
        with self._looking() as connection:
            found = connection.execute(_PERSON_OF_TOKEN, {"token_hash": token_hash})
            person_id = found.scalar_one_or_none()
        if person_id is None:
            self._ids.pop(token_hash)
        else:
            self._ids.put(token_hash, person_id)
        return person_id

    def events(self, person_id: str) -> list[StoredEvent]:
        """Return all actions of a person, in order; `event_pages` holds fewer at once."""
        with self._reading_of(person_id) as connection:
            return read_events(connection, person_id)

    def event_pages(self, person_id: str, *, until: int) -> Iterator[list[StoredEvent]]:
        """Return the first `until` actions of a person in pages, each in its own transaction.

        The pages end early if the person is deleted meanwhile.
        """
        after = 0
        while after < until:
            with self._reading() as connection:
                page = read_events(connection, person_id, after=after, until=until, limit=_PAGE)
            if not page:
                return
            yield page
            after = page[-1].place

    def kept(self, person_id: str) -> Kept:
        """Return what is stored of a person besides events."""
        with self._reading_of(person_id) as connection:
            query = select(person.c.created_at).where(person.c.id == person_id)
            created_at = connection.execute(query).scalar_one()
            shares = read_shares(connection, person_id)
            return Kept(created_at, shares, last_place(connection, person_id))

    def state(self, person_id: str, *, until: int | None = None) -> State:
        """Return the current state, or after the first `until` events."""
        fold, n_read = read_fold(self._reading, self._snapshots, person_id, until)
        state = fold.state_at(self._clock())
        if n_read >= REACH:
            self._decider.remember(person_id, fold)
        return state

    def last_action(self, person_id: str, place: int) -> tuple[State, Event]:
        """Return the action at a place, and the state before it."""
        with self._reading_of(person_id) as connection:
            found = read_events(connection, person_id, after=place - 1, until=place)
        if not found:
            raise UnknownPersonError
        return self.state(person_id, until=place - 1), Event(found[0].kind, found[0].data)

    def decide(self, person_id: str, decision: Decision) -> Decided:
        """Decide on an action and append it, as if nothing else happened in between.

        Parameters
        ----------
        person_id
            Whose action it is.
        decision
            Is given the current state and returns the event to append, or None to store nothing.
            If another action of the person was stored meanwhile, it is called again with the state
            after that one, so it must be a pure function. No lock is held while it runs, unless
            that happened several times.

        Raises
        ------
        ActionLimitError
            If as many actions of the person are stored as are allowed.
        ParameterError
            If the event is not possible in the state.
        """

        def within_budget(state: State) -> Event | None:
            event = decision(state)
            size = 0 if event is None else len(json.dumps(dict(event.data)))
            if size > _SMALL:
                with self._reading() as connection:
                    stored = connection.execute(_STORED_BYTES, {"id": person_id}).scalar_one()
                if stored + size > MAX_BYTES:
                    raise StorageLimitError(MAX_BYTES)
            return event

        return self._decider.decide(person_id, within_budget)

    def delete_person(self, person_id: str) -> None:
        """Remove a person with all that is stored of them; `Erasure` removes the bytes soon."""
        with self._writing() as connection:
            self._need(connection, person_id, lock=True)
            for table in (events, share, snapshot):
                connection.execute(delete(table).where(table.c.person_id == person_id))
            connection.execute(delete(person).where(person.c.id == person_id))
            mark = self._erasure.mark(connection)
        self._decider.forget(person_id)
        self._erasure.begin(person_id, mark)

    def make_share(self, person_id: str, feed: str | None = None) -> tuple[str, StoredShare]:
        """Make a link to the current state, or to one feed; return its token, and the share.

        Raises
        ------
        UnknownFeedError
            If the person has no feed of that name.
        """
        name = None if feed is None else find_feed(self.state(person_id), feed)
        with self._writing() as connection:
            self._need(connection, person_id, lock=True)
            place = last_place(connection, person_id)
            return add_share(connection, person_id, place, name, self._clock())

    def shares(self, person_id: str) -> list[StoredShare]:
        """Return the links of a person that are in use, the oldest first."""
        with self._reading_of(person_id) as connection:
            return read_shares(connection, person_id)

    def revoke_share(self, person_id: str, share_id: str) -> None:
        """End a link of a person: from now on it shows nothing."""
        with self._writing() as connection:
            self._need(connection, person_id)
            remove_share(connection, person_id, share_id)

    def shared_state(self, token: str) -> State | None:
        """Return the state that a link shows; None if no link to a profile has this token."""
        with self._reading() as connection:
            found = find_share(connection, token)
        if found is None or found[2] is not None:
            return None
        return self.state(found[0], until=found[1])

    def shared_feed(self, token: str) -> tuple[str, Feed] | None:
        """Return name and feed that a link shows; None if no link to a feed has this token."""
        with self._reading() as connection:
            found = find_share(connection, token)
        if found is None or found[2] is None:
            return None
        # A feed that was dropped between the check of its name and the row is not there.
        feed = self.state(found[0], until=found[1]).feeds.get(found[2])
        return None if feed is None else (found[2], feed)

    def create_key(self, name: str) -> str:
        """Add an API key and return it; only its hash is stored."""
        return self._keys.create(name)

    def has_key(self, key: str) -> bool:
        """Return whether a key is known and not revoked."""
        return self._keys.has(key)

    def keys(self) -> list[tuple[str, datetime, datetime | None]]:
        """Return name, creation and revocation of every key."""
        return self._keys.all()

    def revoke_key(self, name: str) -> None:
        """Revoke a key."""
        self._keys.revoke(name)

    def _know(self, query: Select[str]) -> None:
        """Set which persons there are: those that a query finds by `id`."""
        self._known = (query, query.with_for_update())
        self._snapshots = SnapshotReader(query)
        # Each view keeps its own persons in memory only.
        self._decider = Decider(self._database, query, self.max_events, self._clock)

    def _need(self, connection: Connection, person_id: str, *, lock: bool = False) -> None:
        # Actions of one person wait for each other; SQLite has one writer anyway.
        query = self._known[lock]
        if connection.execute(query, {"id": person_id}).first() is None:
            raise UnknownPersonError

    @contextmanager
    def _reading_of(self, person_id: str) -> Iterator[Connection]:
        """Open a transaction that reads about a person, who must be known."""
        with self._reading() as connection:
            self._need(connection, person_id)
            yield connection
