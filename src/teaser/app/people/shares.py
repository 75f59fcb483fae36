"""The rows of shares: links that show a state or one feed, read-only."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from teaser.app.people.keys import hash_of
from teaser.app.people.tables import share
from teaser.errors import ShareLimitError, UnknownShareError

MAX_SHARES = 100
_SHARE_ID = 16


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


def add_share(
    connection: Connection, person_id: str, place: int, feed: str | None, at: datetime
) -> tuple[str, StoredShare]:
    """Add a link; return its token, not stored, and the share."""
    if len(read_shares(connection, person_id)) >= MAX_SHARES:
        raise ShareLimitError(MAX_SHARES)
    token = secrets.token_urlsafe(32)
    row = {"token_hash": hash_of(token), "person_id": person_id, "place": place}
    connection.execute(insert(share).values({**row, "created_at": at, "feed": feed}))
    return token, StoredShare(share_id_of(token), place, at, feed)


def read_shares(connection: Connection, person_id: str) -> list[StoredShare]:
    """Return the links of a person that are in use, the oldest first."""
    query = select(share.c.token_hash, share.c.place, share.c.created_at, share.c.feed)
    query = query.where(share.c.person_id == person_id)
    found = connection.execute(query.order_by(share.c.created_at, share.c.token_hash))
    return [StoredShare(digest[:_SHARE_ID], *others) for digest, *others in found]


def remove_share(connection: Connection, person_id: str, share_id: str) -> None:
    """End a link; raise `UnknownShareError` if the person has no such link."""
    if share_id not in [known.share_id for known in read_shares(connection, person_id)]:
        raise UnknownShareError
    own = share.c.person_id == person_id
    connection.execute(delete(share).where(own, share.c.token_hash.startswith(share_id)))


def find_share(connection: Connection, token: str) -> tuple[str, int, str | None] | None:
    """Return whose link has a token, the number of actions that it shows, and its feed."""
    query = select(share.c.person_id, share.c.place, share.c.feed)
    found = connection.execute(query.where(share.c.token_hash == hash_of(token))).one_or_none()
    return None if found is None else (found.person_id, found.place, found.feed)


def share_id_of(token: str) -> str:
    """Return the name of a link: the beginning of its token's hash."""
    return hash_of(token)[:_SHARE_ID]
