"""The tables of the database; migrations/ holds the changes to them."""

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    TypeDecorator,
)


class Time(TypeDecorator[datetime]):
    """A time; it is read as UTC also from a database that stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData()

_Serial = BigInteger().with_variant(Integer, "sqlite")

person = Table(
    "person",
    metadata,
    Column("id", String(43), primary_key=True),
    Column("token_hash", String(64), unique=True, nullable=True),
    Column("created_at", Time(), nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("person_id", String(43), ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("data", JSON, nullable=False),
    Column("at", Time(), nullable=False),
    Index("event_of_person", "person_id", "place", unique=True),
)

share = Table(
    "share",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("person_id", String(43), ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("created_at", Time(), nullable=False),
    # The name of the feed that the link shows; of none for the whole profile.
    Column("feed", String(60), nullable=True),
    Index("share_of_person", "person_id"),
)

snapshot = Table(
    "snapshot",
    metadata,
    Column("person_id", String(43), ForeignKey("person.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("data", JSON, nullable=False),
)

api_key = Table(
    "api_key",
    metadata,
    Column("key_hash", String(64), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("created_at", Time(), nullable=False),
    Column("revoked_at", Time(), nullable=True),
)

setting = Table(
    "setting",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", String(100), nullable=False),
)
