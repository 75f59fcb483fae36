"""An insertion as a transaction of its own: the same rows and errors as through SQLAlchemy."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam, insert, literal_column, select
from sqlalchemy.exc import IntegrityError

from teaser.app.database.database import Database
from teaser.app.database.deadline import StoreUse, using
from teaser.app.people.tables import metadata, snapshot
from teaser.errors import StoreError, StoreTimeoutError

DATA: dict[str, Any] = {"é": [1, 2.5, None, True], "text": "a'b\"c"}
ROW = {"person_id": "a", "place": 1, "version": 2, "data": DATA}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    database.make()
    with database.writing() as connection:
        metadata.create_all(connection)
        person = metadata.tables["person"]
        created = {"id": "a", "created_at": datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)}
        connection.execute(insert(person), created)
    yield database
    database.close()


def rows(database: Database) -> list[tuple[Any, ...]]:
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(select(snapshot))]


def test_values_are_stored_as_sqlalchemy_stores_them(database: Database) -> None:
    write = database.single_write(insert(snapshot))
    assert write(ROW) == 1
    with database.writing() as connection:
        connection.execute(insert(snapshot), {**ROW, "place": 2})
    first, second = sorted(rows(database))
    assert first == ("a", 1, 2, DATA)
    assert second == ("a", 2, 2, DATA)
    with pytest.raises(IntegrityError):
        write(ROW)
    assert write({**ROW, "place": 3}) == 1  # the connection is fit for use


def test_a_time_is_the_same_in_a_condition(database: Database) -> None:
    person = metadata.tables["person"]
    known = select(person.c.id).where(
        person.c.created_at == bindparam("created", type_=person.c.created_at.type)
    )
    query = known.add_columns(*(literal_column(text) for text in ("7", "1", "'{}'")))
    names = ["person_id", "place", "version", "data"]
    write = database.single_write(insert(snapshot).from_select(names, query))
    assert write({"created": datetime(2026, 2, 3, 4, 5, 6, 788, tzinfo=UTC)}) == 0
    assert write({"created": datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)}) == 1


def test_nothing_is_stored_for_nobody(database: Database) -> None:
    write, use = database.single_write(insert(snapshot)), StoreUse(5.0)
    assert use.abandon_unstarted()
    with using(use), pytest.raises(StoreTimeoutError):
        write(ROW)
    assert rows(database) == []


def test_a_file_that_is_away_is_an_error_and_comes_back(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'people.db'}")
    database.make()
    with database.writing() as connection:
        metadata.create_all(connection)
        connection.execute(
            insert(metadata.tables["person"]), {"id": "a", "created_at": datetime.now(UTC)}
        )
    write = database.single_write(insert(snapshot))
    (tmp_path / "people.db").rename(tmp_path / "moved.db")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"people\.db is not there"):
            write(ROW)
    (tmp_path / "moved.db").rename(tmp_path / "people.db")
    assert write(ROW) == 1
    database.close()
