"""The tables: times come back in UTC, whatever the database keeps of them."""

from datetime import UTC, datetime, timedelta, timezone

from sqlalchemy import create_engine, insert, select

from teaser.app.people.tables import Time, api_key, metadata


def test_times_come_back_in_utc() -> None:
    dialect = create_engine("sqlite://").dialect
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    for found in (noon, noon.replace(tzinfo=None), noon.astimezone(timezone(timedelta(hours=2)))):
        read = Time().process_result_value(found, dialect)
        assert read == noon
        assert read.utcoffset() == timedelta(0)
    assert Time().process_result_value(None, dialect) is None


def test_a_row_comes_back_as_it_was_written() -> None:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    row = {"key_hash": "0" * 64, "name": "site", "created_at": datetime.now(UTC)}
    with engine.begin() as connection:
        connection.execute(insert(api_key).values(row))
        found = connection.execute(select(api_key)).one()
    engine.dispose()
    assert found == (row["key_hash"], "site", row["created_at"], None)
