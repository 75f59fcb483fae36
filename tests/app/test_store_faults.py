"""Kills, locks, databases that hang or cannot be used: nothing acknowledged is lost."""

import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from app.conftest import API, PLUS, VIEW, Postgres, TestClient, append, new_person
from forked import forked
from sqlalchemy import text

from teaser.app.database import Database
from teaser.app.state import Event, State
from teaser.app.store import Store
from teaser.errors import StoreError

Hang = Callable[[], AbstractContextManager[None]]

ENDLESS = """
import sys
from teaser.app.state import Event
from teaser.app.store import Store

store = Store(sys.argv[1])
number = int(sys.argv[3])
while True:
    view = Event("view", {"item": number})
    store.decide(sys.argv[2], lambda _: view)
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_loses_nothing_that_it_acknowledged(
    database_url: str, store: Store
) -> None:
    person_id = store.create_person()
    stored: list[int] = []
    for length in (1, 7, 40):
        with forked(ENDLESS, database_url, person_id, str(len(stored))) as running:
            said = [running.stdout.readline() for _ in range(length)]
            running.kill()
            said += running.stdout.readlines()
        acknowledged = int([line for line in said if line.endswith("\n")][-1])
        stored = [e.data["item"] for e in store.export(person_id).events]
        assert stored == list(range(len(stored)))
        assert acknowledged + 1 <= len(stored) <= acknowledged + 2
        assert store.state(person_id).history == tuple(stored)
    assert append(store, person_id, PLUS).n_events == len(stored) + 1


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    """Stop all processes of a PostgreSQL server with SIGSTOP."""
    server.stop()
    try:
        yield
    finally:
        server.resume()


@contextmanager
def locked(file: str) -> Iterator[None]:
    """Hold the write lock of a file of SQLite."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=20)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@pytest.fixture
def hang(database_url: str, request: pytest.FixtureRequest) -> Hang:
    """Let the database hang: a lock on SQLite that is held, a PostgreSQL server that is stopped."""
    if database_url.startswith("sqlite"):
        return lambda: locked(database_url.removeprefix("sqlite:///"))
    server: Postgres = request.getfixturevalue("postgres")
    return lambda: stopped(server)


def timed(ask: Callable[..., Any], *args: Any, **given: Any) -> tuple[int, float]:
    """Return the status of an answer, and the seconds that it took."""
    start = time.monotonic()
    answer = ask(*args, **given)
    return answer.status_code, time.monotonic() - start


def test_a_database_that_hangs_hurts_nobody_who_does_not_need_it_and_others_get_503_in_time(
    serve: Callable[..., TestClient], database_url: str, hang: Hang
) -> None:
    with serve(is_new=True, database_url=database_url, store_timeout=1) as client:
        person = new_person(client)
        view = {"item_id": "i1"}
        assert client.post(f"{person}/views", json=view).status_code == 200
        client.get("/tour")
        with ThreadPoolExecutor(40) as pool:
            with hang():
                for _ in range(2):  # at first with open connections, then without
                    asked = [
                        pool.submit(timed, client.post, f"{person}/views", json={"item_id": "i2"})
                        for _ in range(40)
                    ]
                    time.sleep(0.2)
                    for path in ("/healthz", "/tour", f"{API}/items?item_id=i1"):
                        status, seconds = timed(client.get, path)
                        assert status == 200
                        assert seconds < 0.7
                    for status, seconds in (done.result() for done in asked):
                        assert status == 503
                        assert seconds < 5
            assert client.post(f"{person}/views", json=view).headers.get("retry-after") is None
        answer = client.get(person)
        assert answer.status_code == 200
        assert answer.json()["history"] == ["i1"]
        assert client.get("/readyz").status_code == 200


def test_a_page_waits_for_no_writer_of_sqlite(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'people.db'}"
    with serve(is_new=True, database_url=url, store_timeout=1) as client:
        person = new_person(client)
        client.get(person)
        with locked(str(tmp_path / "people.db")):
            status, seconds = timed(client.get, person)
            assert (status, seconds < 0.7) == (200, True)


def test_one_locked_person_does_not_hurt_others(
    serve: Callable[..., TestClient], postgres: Postgres
) -> None:
    url = postgres.emptied()
    with serve(is_new=True, database_url=url, store_timeout=1) as client:
        one, other = new_person(client), new_person(client)
        for person in (one, other):
            assert client.post(f"{person}/views", json={"item_id": "i1"}).status_code == 200
        with psycopg.connect(url) as holder, ThreadPoolExecutor(8) as pool:
            own = one.rpartition("/")[2]
            holder.execute("SELECT 1 FROM person WHERE id = %s FOR UPDATE", (own,))
            asked = [
                pool.submit(timed, client.post, f"{one}/views", json={"item_id": "i2"})
                for _ in range(8)
            ]
            status, seconds = timed(client.post, f"{other}/views", json={"item_id": "i2"})
            assert (status, seconds < 0.7) == (200, True)
            for status, seconds in (done.result() for done in asked):
                assert (status, seconds < 5) == (503, True)
            assert client.get(one).json()["history"] == ["i1"]
        assert client.post(f"{one}/views", json={"item_id": "i2"}).status_code == 200


def test_a_statement_ends_in_time_at_the_server_or_here(postgres: Postgres) -> None:
    database = Database(postgres.emptied(), timeout=0.5)
    for before in ("SELECT 1", "SET LOCAL statement_timeout = 0"):

        def sleep(connection: Any, before: str = before) -> None:
            connection.execute(text(before))
            connection.execute(text("CREATE TABLE late (number INTEGER)"))
            connection.execute(text("SELECT pg_sleep(3)"))

        with pytest.raises(StoreError) as raised:
            database.write(sleep)
        assert raised.value.problem == "late"
        found = database.write(lambda c: c.execute(text("SELECT to_regclass('late')")).scalar())
        assert found is None
    database.close()


def test_a_connection_that_was_cut_while_idle_is_replaced(postgres: Postgres) -> None:
    store = Store(postgres.emptied())
    store.migrate()
    person_id = store.create_person()
    with psycopg.connect(postgres.url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
    assert append(store, person_id, VIEW).history == ("i1",)
    store.close()


MIGRATE = """
import sys
from teaser.app.store import Store

sys.stdin.readline()
Store(sys.argv[1]).migrate()
"""


class TestMigrations:
    def test_several_processes_may_begin_at_once(self, database_url: str) -> None:
        with ExitStack() as stack:
            running = [stack.enter_context(forked(MIGRATE, database_url)) for _ in range(4)]
            for each in running:
                print("go", file=each.stdin, flush=True)
            for each in running:
                each.process.join()
        assert [each.process.exitcode for each in running] == [0] * 4
        store = Store(database_url)
        person_id = store.create_person()
        assert store.state(person_id) == State()
        store.close()


class TestTrouble:
    @pytest.mark.parametrize(
        "url",
        [
            "sqlite:////nowhere/at/all/people.db",
            "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2",
            "oracle://nobody@nowhere/none",
            "no address at all",
        ],
    )
    def test_a_database_that_cannot_be_reached_is_said(self, url: str) -> None:
        with pytest.raises(StoreError, match="database"):
            Store(url).ping()

    def test_tables_that_are_missing_are_said(self, database_url: str) -> None:
        store = Store(database_url)
        with pytest.raises(StoreError):
            store.ping()
        store.close()

    def test_a_file_that_is_no_database_is_said_and_left_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "people.db"
        file.write_text("once upon a time " * 100)
        with pytest.raises(StoreError, match="not a database"):
            Store(f"sqlite:///{file}").migrate()
        assert file.read_text() == "once upon a time " * 100

    def test_a_read_only_database_refuses_and_says_so(
        self, store: Store, database_url: str, tmp_path: Path
    ) -> None:
        person_id = store.create_person()
        if database_url.startswith("sqlite"):
            url = f"sqlite:///file:{tmp_path / 'people.db'}?mode=ro&uri=true"
        else:
            url = f"{database_url}&options=-c%20default_transaction_read_only%3Don"
        fixed = Store(url)
        for ask in (lambda: append(fixed, person_id, PLUS), fixed.migrate):
            with pytest.raises(StoreError, match=r"read-?only.* Let the server's user write to it"):
                ask()
        assert fixed.state(person_id) == State()
        fixed.close()

    def test_a_full_disk_refuses_and_loses_nothing(self, tmp_path: Path) -> None:
        store = Store(f"sqlite:///{tmp_path / 'people.db'}")
        store.migrate()
        person_id = store.create_person()
        pages = store.database.read(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar())
        store.database.read(
            lambda c: c.exec_driver_sql(f"PRAGMA max_page_count={(pages or 0) + 20}")
        )
        stored: list[State] = []

        def fill() -> None:
            for n in range(10_000):
                stored.append(append(store, person_id, Event("view", {"item": f"{n:0200}"})))

        with pytest.raises(StoreError, match="full"):
            fill()
        assert (
            len(store.export(person_id).events)
            == len(store.state(person_id).history)
            == len(stored)
        )
        assert stored
        store.close()

    def test_only_a_migration_makes_a_file_which_only_its_owner_can_read(
        self, tmp_path: Path
    ) -> None:
        file = tmp_path / "50% né #1.db"
        store = Store(f"sqlite:///{file}")
        for ask in (store.ping, store.keys):
            with pytest.raises(StoreError, match="is not there"):
                ask()
        assert list(tmp_path.iterdir()) == []
        store.migrate()
        assert file.stat().st_mode & 0o077 == 0
        store.close()

    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
    def test_what_would_be_forgotten_is_refused(self, url: str) -> None:
        with pytest.raises(StoreError, match=r"in memory .* Name a file"):
            Store(url)

    @pytest.mark.parametrize("rest", ["h:abc/x", "pass@h/x", "[::1/x"])
    def test_a_url_that_cannot_be_read_is_said_without_its_password(self, rest: str) -> None:
        with pytest.raises(StoreError, match=r"URL cannot be used.*postgresql://") as raised:
            Store(f"postgresql://user:secret-pass@{rest}")
        assert raised.value.__context__ is None
        assert "pass@" not in str(raised.value)

    def test_a_host_that_never_answers_is_said_within_seconds(self) -> None:
        with socket.socket() as silent:  # it listens and accepts nothing that libpq could use
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            port = silent.getsockname()[1]
            store = Store(f"postgresql://user:secret@127.0.0.1:{port}/x", timeout=0.5)
            with pytest.raises(StoreError) as raised:
                store.ping()
        assert raised.value.problem == "late"
        assert "secret" not in str(raised.value)


def test_a_file_with_damaged_pages_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    file = tmp_path / "people.db"
    store = Store(f"sqlite:///{file}")
    store.migrate()
    person_id = store.create_person()
    for n in range(300):
        append(store, person_id, Event("view", {"item": f"item {n}"}))
    store.migrate()  # all of it is in the file now, and not in the log
    store.close()
    with sqlite3.connect(file) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'event'"
        ((page,),) = connection.execute(query)
    connection.close()
    content = bytearray(file.read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    file.write_bytes(content)
    store = Store(f"sqlite:///{file}")
    store.ping()  # what is not damaged can be read
    with pytest.raises(StoreError, match="is damaged: "):
        store.migrate()
    store.close()
    file.write_bytes(b"no database" * 1000)
    other = Store(f"sqlite:///{file}")
    with pytest.raises(StoreError, match="Put a copy from before in its place"):
        other.migrate()
    other.close()


def test_no_text_of_a_deleted_person_is_left_in_the_files(tmp_path: Path) -> None:
    file = tmp_path / "people.db"
    store = Store(f"sqlite:///{file}")
    store.migrate()
    people = []
    for name in ("Wanda", "Bruno"):
        person_id = store.create_person()
        people.append(person_id)
        for n in range(9):
            append(store, person_id, Event("view", {"item": f"{name} {n}"}))
        store.make_share(person_id)
    gone, stays = people
    before = store.state(stays)
    store.delete_person(gone)
    content = b"".join(path.read_bytes() for path in tmp_path.glob("people.db*"))
    assert [name for name in (gone, "Wanda") if name.encode() in content] == []
    assert b"Bruno" in content
    assert store.state(stays) == before
    store.close()
    # A copy of the file holds all that was acknowledged.
    copy = shutil.copyfile(file, tmp_path / "copy.db")
    opened = Store(f"sqlite:///{copy}")
    assert opened.state(stays) == before
    opened.close()
