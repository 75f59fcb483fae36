"""People's state on disk: appended events; of tokens and keys only hashes are kept."""

import copy
import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib import resources
from typing import Any, Self

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, bindparam, delete, false, insert, select, update
from sqlalchemy.exc import IntegrityError

from teaser.app.people.database import Database
from teaser.app.people.database import StoreError as StoreError
from teaser.app.people.events import Event, State, check, fold
from teaser.app.people.tables import api_key, person, setting, share
from teaser.app.people.tables import event as events
from teaser.errors import ParameterError, TeaserError

_ATTEMPTS = 20
MAX_SHARES = 100
_SHARE_ID = 16

# What every press asks is put together once.
_PERSON_OF_TOKEN = select(person.c.id).where(person.c.token_hash == bindparam("token_hash"))
_PERSON = select(person.c.id).where(person.c.id == bindparam("id"))
_OF_PERSON = events.c.person_id == bindparam("person_id")
_COURSE = select(events.c.kind, events.c.data).where(_OF_PERSON).order_by(events.c.place)
_EVENTS = (
    select(events.c.place, events.c.at, events.c.kind, events.c.data)
    .where(_OF_PERSON)
    .order_by(events.c.place)
)
_APPEND = insert(events)
_WRITE_NOTHING = delete(api_key).where(false())
_SIGNING_KEY = select(setting.c.value).where(setting.c.name == "signing_key")


class UnknownPersonError(TeaserError, LookupError):
    """Nobody of that name, or with that token."""


class UnknownShareError(TeaserError, LookupError):
    """No link of that name among those of a person."""


@dataclass(frozen=True)
class StoredEvent:
    """One action, with its place in the person's course and its time."""

    place: int
    at: datetime
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class StoredShare:
    """A link that shows a state of a person, read-only; the token in the link is kept nowhere.

    Attributes
    ----------
    share_id
        By which the owner can end the link; it opens nothing.
    place
        After how many actions the state is that it shows.
    """

    share_id: str
    place: int
    created_at: datetime


class Store:
    """What was acknowledged is stored: every method commits before it returns.

    Parameters
    ----------
    url
        `sqlite:///file` or `postgresql://user:password@host/name`.
    max_events
        The most actions that are kept of one person.
    """

    def __init__(self, url: str, *, max_events: int = 10_000) -> None:
        database = Database(url)
        self.url = database.url
        self.max_events = max_events
        self._database = database
        self._engine = database.engine
        self._reading = database.reading
        self._writing = database.writing
        self._known = (_PERSON, _PERSON.with_for_update())

    def migrate(self) -> None:
        """Bring the tables to this version; safe to call from several processes.

        A file of SQLite is made here and nowhere else. What cannot be written to is refused.
        """
        self._database.make()
        config = Config()
        migrations = resources.files("teaser.app.people") / "migrations"
        config.set_main_option("script_location", str(migrations))
        with self._writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727001)")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.execute(_WRITE_NOTHING)

    def ping(self) -> None:
        """Raise `StoreError` unless the database answers, and takes what is written."""
        with self._writing() as connection:
            connection.execute(_WRITE_NOTHING)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    @cached_property
    def without_site(self) -> Self:
        """The same store, in which nobody is known who came by the site, with a token."""
        narrow = copy.copy(self)
        query = _PERSON.where(person.c.token_hash.is_(None))
        narrow._known = (query, query.with_for_update())
        return narrow

    @cached_property
    def signing_key(self) -> bytes:
        """What tokens of the site are signed with: made with the tables, the same for all."""
        with self._reading() as connection:
            return str(connection.execute(_SIGNING_KEY).scalar_one()).encode()

    def create_person(
        self, *, with_token: bool = False, token: str | None = None
    ) -> tuple[str, str | None]:
        """Add a person; return the id, and a secret token if the person will come back by it.

        Whoever comes with a `token` of their own that nobody holds yet is known by it; of two
        calls at once with the same one, both return the same person.
        """
        person_id = secrets.token_urlsafe(32)
        token = token or (secrets.token_urlsafe(32) if with_token else None)
        row = {"id": person_id, "token_hash": token and _hash(token), "created_at": _now()}
        try:
            with self._writing() as connection:
                connection.execute(insert(person).values(row))
        except IntegrityError:
            found = self.find_person(token or "")
            if found is None:
                raise StoreError("A person was made and deleted at once. Try again.") from None
            return found, token
        return person_id, token

    def find_person(self, token: str) -> str | None:
        """Return the id of the person who holds a token."""
        with self._reading() as connection:
            found = connection.execute(_PERSON_OF_TOKEN, {"token_hash": _hash(token)})
            return found.scalar_one_or_none()

    def events(self, person_id: str, *, until: int | None = None) -> list[StoredEvent]:
        """Return all that a person did, in order."""
        with self._reading() as connection:
            self._need(connection, person_id)
            return self._read(connection, person_id, until)

    def kept(self, person_id: str) -> tuple[list[StoredEvent], list[StoredShare]]:
        """Return all that is kept of a person: actions, and links in use."""
        with self._reading() as connection:
            self._need(connection, person_id)
            found = self._read(connection, person_id)
            return found, self._read_shares(connection, person_id)

    def state(self, person_id: str, *, until: int | None = None) -> State:
        """Return what is now, or was after the first `until` events."""
        return fold(Event(e.kind, e.data) for e in self.events(person_id, until=until))

    def act(self, person_id: str, action: Event) -> State:
        """Append an action if it can happen now, and return the state after it."""
        return self.step(person_id, action)[1]

    def step(self, person_id: str, action: Event) -> tuple[State, State]:
        """Append an action if it can happen now; return the states right before and after it."""
        for _ in range(_ATTEMPTS):
            try:
                with self._writing() as connection:
                    self._need(connection, person_id, lock=True)
                    found = connection.execute(_COURSE, {"person_id": person_id})
                    course = [Event(*row) for row in found]
                    before = fold(course)
                    check(before, action)
                    if len(course) >= self.max_events:
                        raise ParameterError(
                            f"{len(course):,} actions are kept of this person, which is the most. "
                            "Delete the person to begin again."
                        )
                    row = {"person_id": person_id, "place": len(course) + 1, "kind": action.kind}
                    values = {**row, "data": dict(action.data), "at": _now()}
                    connection.execute(_APPEND, values)
                return before, fold([*course, action])
            except IntegrityError:
                continue  # the person was deleted meanwhile, or the place taken; look again
        raise StoreError("Too many actions of this person at once. Try again.")

    def delete_person(self, person_id: str) -> None:
        """Remove a person and all that is known of them."""
        with self._writing() as connection:
            self._need(connection, person_id)
            connection.execute(delete(events).where(events.c.person_id == person_id))
            connection.execute(delete(share).where(share.c.person_id == person_id))
            connection.execute(delete(person).where(person.c.id == person_id))

    def create_share(self, person_id: str) -> str:
        """Return a token under which the state of now can be seen, and nothing changed."""
        return self.make_share(person_id)[0]

    def make_share(self, person_id: str) -> tuple[str, StoredShare]:
        """Make a link to the state of now; return its token, kept nowhere, and what is kept."""
        token = secrets.token_urlsafe(32)
        with self._writing() as connection:
            self._need(connection, person_id, lock=True)
            if len(self._read_shares(connection, person_id)) >= MAX_SHARES:
                raise ParameterError(
                    f"{MAX_SHARES} links are in use, which is the most. End one of them first."
                )
            place = len(self._read(connection, person_id))
            row = {"token_hash": _hash(token), "person_id": person_id, "place": place}
            at = _now()
            connection.execute(insert(share).values({**row, "created_at": at}))
        return token, StoredShare(share_id_of(token), place, at)

    def shares(self, person_id: str) -> list[StoredShare]:
        """Return the links of a person that are in use, the oldest first."""
        with self._reading() as connection:
            self._need(connection, person_id)
            return self._read_shares(connection, person_id)

    def revoke_share(self, person_id: str, share_id: str) -> None:
        """End a link of a person; whoever follows it from now on sees nothing."""
        with self._writing() as connection:
            self._need(connection, person_id)
            known = [s.share_id for s in self._read_shares(connection, person_id)]
            if share_id not in known:
                raise UnknownShareError("There is no such link. Perhaps it was ended already.")
            connection.execute(
                delete(share).where(
                    share.c.person_id == person_id, share.c.token_hash.startswith(share_id)
                )
            )

    def shared_state(self, token: str) -> State | None:
        """Return the state that was shared under a token."""
        with self._reading() as connection:
            query = select(share.c.person_id, share.c.place).where(
                share.c.token_hash == _hash(token)
            )
            found = connection.execute(query).one_or_none()
        return None if found is None else self.state(found[0], until=found[1])

    def create_key(self, name: str) -> str:
        """Add an API key and return it; only its hash is kept."""
        if not name.strip() or len(name) > 100:
            raise ParameterError("A key needs a name of 1 to 100 letters.")
        key = "tk_" + secrets.token_urlsafe(32)
        row = {"key_hash": _hash(key), "name": name, "created_at": _now()}
        try:
            with self._writing() as connection:
                connection.execute(insert(api_key).values(row))
        except IntegrityError:
            raise ParameterError(f"There is a key named {name!r} already.") from None
        return key

    def has_key(self, key: str) -> bool:
        """Tell whether a key is known and not revoked."""
        with self._reading() as connection:
            query = select(api_key.c.name).where(
                api_key.c.key_hash == _hash(key), api_key.c.revoked_at.is_(None)
            )
            return connection.execute(query).first() is not None

    def keys(self) -> list[tuple[str, datetime, datetime | None]]:
        """Return name, creation and revocation of every key."""
        with self._reading() as connection:
            query = select(api_key.c.name, api_key.c.created_at, api_key.c.revoked_at)
            return [tuple(row) for row in connection.execute(query.order_by(api_key.c.created_at))]

    def revoke_key(self, name: str) -> None:
        """Make a key useless from now on."""
        with self._writing() as connection:
            change = update(api_key).where(api_key.c.name == name, api_key.c.revoked_at.is_(None))
            if connection.execute(change.values(revoked_at=_now())).rowcount == 0:
                raise ParameterError(f"There is no key named {name!r} in use.")

    def _need(self, connection: Connection, person_id: str, *, lock: bool = False) -> None:
        # Actions of one person wait for each other; SQLite has one writer anyway.
        query = self._known[lock]
        if connection.execute(query, {"id": person_id}).first() is None:
            raise UnknownPersonError("There is no such person. Was it deleted?")

    def _read(
        self, connection: Connection, person_id: str, until: int | None = None
    ) -> list[StoredEvent]:
        query = _EVENTS if until is None else _EVENTS.where(events.c.place <= until)
        found = connection.execute(query, {"person_id": person_id})
        return [StoredEvent(*row) for row in found]

    def _read_shares(self, connection: Connection, person_id: str) -> list[StoredShare]:
        query = select(share.c.token_hash, share.c.place, share.c.created_at)
        query = query.where(share.c.person_id == person_id)
        found = connection.execute(query.order_by(share.c.created_at, share.c.token_hash))
        return [StoredShare(digest[:_SHARE_ID], place, at) for digest, place, at in found]


def share_id_of(token: str) -> str:
    """Return the name of a link among those of its owner: the beginning of the token's hash."""
    return _hash(token)[:_SHARE_ID]


def _hash(secret: str) -> str:
    """Hash a token of 256 random bits; nothing slower is needed for such."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> datetime:
    return datetime.now(UTC)
