"""A server of PostgreSQL that is slow, or holds a lock, is waited for until the deadline."""

from typing import Any

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


def test_options_of_the_url_take_precedence(postgres: Postgres) -> None:
    database = Database(f"{postgres.emptied()}&application_name=shop&connect_timeout=7")
    with database.reading() as connection:
        found = connection.execute(
            text("SELECT current_setting('application_name'), current_setting('statement_timeout')")
        ).one()
    assert tuple(found) == ("shop", "10s")
    database.close()
