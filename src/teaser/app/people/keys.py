"""The keys of the API in the database, and how all secrets are hashed."""

import hashlib
import secrets
from datetime import UTC, datetime

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from teaser.app.database.database import Database
from teaser.app.people.tables import api_key
from teaser.errors import ParameterError


class Keys:
    """The keys of the API; only their hashes are stored.

    Parameters
    ----------
    database
        The database of the store.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str) -> str:
        """Add a key and return it."""
        if not name.strip() or len(name) > 100:
            raise ParameterError("A key needs a name of 1 to 100 characters.")
        key = "tk_" + secrets.token_urlsafe(32)
        row = {"key_hash": hash_of(key), "name": name, "created_at": datetime.now(UTC)}
        try:
            with self._database.writing() as connection:
                connection.execute(insert(api_key).values(row))
        except IntegrityError:
            raise ParameterError(f"There is a key named {name!r} already.") from None
        return key

    def has(self, key: str) -> bool:
        """Return whether a key is known and not revoked."""
        with self._database.reading() as connection:
            query = select(api_key.c.name).where(
                api_key.c.key_hash == hash_of(key), api_key.c.revoked_at.is_(None)
            )
            return connection.execute(query).first() is not None

    def all(self) -> list[tuple[str, datetime, datetime | None]]:
        """Return name, creation and revocation of every key."""
        with self._database.reading() as connection:
            query = select(api_key.c.name, api_key.c.created_at, api_key.c.revoked_at)
            return [tuple(row) for row in connection.execute(query.order_by(api_key.c.created_at))]

    def revoke(self, name: str) -> None:
        """Revoke a key."""
        with self._database.writing() as connection:
            change = update(api_key).where(api_key.c.name == name, api_key.c.revoked_at.is_(None))
            if connection.execute(change.values(revoked_at=datetime.now(UTC))).rowcount == 0:
                raise ParameterError(f"There is no key named {name!r} in use.")


def hash_of(secret: str) -> str:
    """Hash a token; it has 256 random bits, so a fast hash is safe."""
    return hashlib.sha256(secret.encode()).hexdigest()
