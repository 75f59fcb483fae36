"""The database is ready only if it takes a write, which is tried once a second at most."""

import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from app.conftest import TestClient, services_of
from sqlalchemy import Connection, event

from teaser.app.database.database import Database
from teaser.app.people.store import Store
from teaser.app.people.write_check import WriteCheck
from teaser.errors import StoreError


@contextmanager
def no_space() -> Iterator[None]:
    """Let no file of this process grow beyond a page, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_not_ready_until_there_is_space(client: TestClient) -> None:
    store = services_of(client).store
    assert client.get("/readyz").text == "ready"
    store._write_check._ended -= 1.0  # a second later
    with no_space():
        assert store.keys() == []  # it can be read
        found = [client.get("/readyz").status_code for _ in range(2)]
    assert found == [503, 503]
    assert client.get("/readyz").text == "ready"


@pytest.fixture
def written(store: Store) -> Iterator[list[str]]:
    """The statements that write, as they are sent."""
    sent: list[str] = []

    def note(connection: Connection, _: object, statement: str, *rest: object) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            sent.append(statement)

    event.listen(store._engine, "before_cursor_execute", note)
    yield sent
    event.remove(store._engine, "before_cursor_execute", note)


def test_it_writes_once_a_second_however_often_it_is_asked(
    store: Store, written: list[str]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.ping(), range(40)))
    assert 1 <= len(written) <= 2  # the first time there is no row to change
    assert all("setting" in statement for statement in written)
    written.clear()
    store._write_check._ended -= 1.0  # a second later
    store.ping()
    assert len(written) == 1


def test_what_failed_is_tried_again_at_once(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'people.db'}")
    check = WriteCheck(database)
    with pytest.raises(StoreError):
        check.run()
    store = Store(database.url)
    store.migrate()
    check.run()
    (tmp_path / "people.db").rename(tmp_path / "moved.db")
    with pytest.raises(StoreError, match="not there"):
        check.run()  # nothing is written within the second, but the database must answer
    (tmp_path / "moved.db").rename(tmp_path / "people.db")
    check.run()
    store.close()
    database.close()
