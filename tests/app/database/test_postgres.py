"""A server of PostgreSQL that is slow, or holds a lock, is waited for until the deadline."""

import time
from typing import Any

import psycopg
import pytest
from app.conftest import Postgres
from sqlalchemy import text

from teaser.app.database.database import Database
from teaser.errors import StoreTimeoutError


@pytest.mark.parametrize("server_limit", ["usual", "none"])
def test_a_statement_ends_in_time_at_the_server_or_here(
    postgres: Postgres, server_limit: str
) -> None:
    database = Database(postgres.emptied(), timeout=1.0)

    def sleep() -> None:
        with database.writing() as connection:
            if server_limit == "none":
                connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("CREATE TABLE late (number INTEGER)"))
            connection.execute(text("SELECT pg_sleep(3)"))

    with pytest.raises(StoreTimeoutError):
        sleep()
    assert database.is_hanging
    with database.writing() as connection:
        assert connection.execute(text("SELECT to_regclass('late')")).scalar() is None
    assert not database.is_hanging
    pool: Any = database.engine.pool
    assert pool.checkedout() == 0
    database.close()


def test_a_connection_that_was_cut_while_idle_is_replaced(postgres: Postgres) -> None:
    database = Database(postgres.emptied())

    def backend() -> int:
        with database.reading() as connection:
            return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())

    first = backend()
    assert backend() == first
    with psycopg.connect(host=str(postgres.folder), user="postgres") as other:
        other.execute("SELECT pg_terminate_backend(%s)", (first,))
    time.sleep(0.6)
    assert backend() != first
    database.close()


def test_reading_needs_no_transaction_and_sees_what_was_written(postgres: Postgres) -> None:
    database = Database(postgres.emptied())
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE kept (number INTEGER)"))
    with database.reading() as connection:
        for n in range(3):
            assert connection.execute(text("SELECT count(*) FROM kept")).scalar() == n
            with database.writing() as other:
                other.execute(text("INSERT INTO kept VALUES (1)"))
    with database.engine.connect() as connection:  # as usual, it is rolled back at the end
        connection.execute(text("INSERT INTO kept VALUES (1)"))
    with database.reading(single=True) as connection:
        assert connection.execute(text("SELECT count(*) FROM kept")).scalar() == 3
    database.close()


def test_options_of_the_url_take_precedence(postgres: Postgres) -> None:
    database = Database(f"{postgres.emptied()}&application_name=shop&connect_timeout=7")
    with database.reading() as connection:
        found = connection.execute(
            text("SELECT current_setting('application_name'), current_setting('statement_timeout')")
        ).one()
    assert tuple(found) == ("shop", "10s")
    database.close()
