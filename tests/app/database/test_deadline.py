"""The transactions of a request share one limit; one that nobody waits for is not committed."""

import math
import time
from collections.abc import Iterator
from functools import partial

import anyio
import pytest
from sqlalchemy import event, text

from teaser.app.database import deadline
from teaser.app.database.database import Database
from teaser.app.database.deadline import StoreUse, need_time, seconds_left, time_limit, using
from teaser.app.database.threads import StoreThreads
from teaser.errors import StoreTimeoutError


def test_without_a_transaction_there_is_no_limit() -> None:
    assert math.isinf(seconds_left())
    need_time()


def test_transactions_share_the_limit_and_computation_is_free() -> None:
    with using(StoreUse(50.0)):
        with time_limit(60.0):
            first = seconds_left()
            time.sleep(0.1)
        time.sleep(0.1)
        with time_limit(60.0):
            second = seconds_left()
        with time_limit(1.0):
            assert seconds_left() <= 1.0
    assert 40 < second <= first - 0.1
    with time_limit(1.0):
        assert seconds_left() <= 1.0


def test_it_ends_in_an_error_and_the_caller_learns_it() -> None:
    late: list[str] = []
    use = StoreUse(0.0)
    with using(use), time_limit(1.0, lambda: late.append("late")):
        with pytest.raises(StoreTimeoutError):
            need_time()
        time.sleep(0.2)
        assert use.abandon_if_late()
    assert late == ["late"]
    assert use.is_abandoned
    assert not StoreUse(0.0).abandon_if_late()  # it is not in the store


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database with one table of numbers."""
    database = Database(database_url)
    database.make()
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE kept (number INTEGER)"))
    yield database
    database.close()


def insert(database: Database, use: StoreUse, seconds: float, *, single: bool = False) -> None:
    """Insert a row, then let some time pass before the end of the transaction."""
    with using(use), database.writing(single=single) as connection:
        connection.execute(text("INSERT INTO kept VALUES (1)"))
        time.sleep(seconds)
        use.abandon_if_late()


def n_rows(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute(text("SELECT count(*) FROM kept")).scalar_one())


def test_what_nobody_waits_for_is_not_committed(database: Database) -> None:
    insert(database, StoreUse(20.0), 0.0)
    for use in (StoreUse(0.05), StoreUse(0.0)):
        with pytest.raises(StoreTimeoutError):
            insert(database, use, 0.2)
    if database.engine.dialect.name == "postgresql":  # one statement does not commit by itself
        with pytest.raises(StoreTimeoutError):
            insert(database, StoreUse(0.15), 0.4, single=True)
    assert n_rows(database) == 1


def test_what_is_stored_is_waited_for(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_COMMIT_SECONDS", "_COMMIT_GRACE"):
        monkeypatch.setattr(deadline, name, 60.0)
    event.listen(database.engine, "commit", lambda connection: time.sleep(1.0))

    def write(single: bool) -> None:
        with database.writing(single=single) as connection:
            connection.execute(text("INSERT INTO kept VALUES (1)"))

    for single in (True, False):
        anyio.run(StoreThreads(0.6).run, partial(write, single))
    assert n_rows(database) == 2
