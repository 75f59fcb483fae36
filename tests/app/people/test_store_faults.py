"""Kills, migrations, databases that cannot be reached or written: nothing acknowledged is lost."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from app.conftest import Postgres, append
from app.people.actions import PLUS, VIEW
from forked import forked
from sqlalchemy import column, create_engine, insert, inspect, table

from teaser.app.people.events import Event
from teaser.app.people.fold import fold
from teaser.app.people.keys import hash_of
from teaser.app.people.state import State
from teaser.app.people.store import Store
from teaser.app.people.tables import event as events
from teaser.app.people.tables import metadata, person, snapshot
from teaser.errors import (
    StoreError,
)

ENDLESS = """
import sys
from teaser.app.people.events import Event
from teaser.app.people.store import Store

store = Store(sys.argv[1])
number = int(sys.argv[3])
while True:
    view = Event("view", {"item": number})
    store.decide(sys.argv[2], lambda _: view)
    print(number, flush=True)
    number += 1
"""


def kill_after(length: int, script: str, url: str, person_id: str, number: int) -> int:
    """Kill a process after it said so many numbers, and return the last that it acknowledged."""
    with forked(script, url, person_id, str(number)) as running:
        said = [running.stdout.readline() for _ in range(length)]
        running.kill()
        said += running.stdout.readlines()
    assert running.process.exitcode == -9
    return int([line for line in said if line.endswith("\n")][-1])


def test_a_killed_process_loses_nothing_that_it_acknowledged(
    database_url: str, store: Store
) -> None:
    person_id, _ = store.create_person()
    stored: list[int] = []
    for length in (1, 7, 40):
        acknowledged = kill_after(length, ENDLESS, database_url, person_id, len(stored))
        stored = [e.data["item"] for e in store.events(person_id)]
        assert stored == list(range(len(stored)))
        assert acknowledged + 1 <= len(stored) <= acknowledged + 2
    assert append(store, person_id, PLUS).n_events == len(stored) + 1


MIXED = """
import sys
from teaser.app.people.events import Event
from teaser.app.people.store import Store

store = Store(sys.argv[1])
number = int(sys.argv[3])
until = "2100-01-01T00:00:00+00:00"
while True:
    name = f"feed {number}"
    event = [
        Event("make_feed", {"feed": name}),
        Event("filter", {"filters": {"only": [f"tag={number}"]}}),
        Event("hide", {"tag": f"tag={number}", "until": until}),
        Event("several", {"actions": [
            ["press", {"presses": {f"tag={number}": 2}, "until": until}],
            ["drop_feed", {"feed": f"feed {number - 3}"}],
        ]}),
    ][number % 4]
    store.decide(sys.argv[2], lambda _: event)
    print(number, flush=True)
    number += 1
"""


def test_a_kill_loses_no_feed_and_nothing_hidden_that_was_acknowledged(
    database_url: str, store: Store
) -> None:
    person_id, _ = store.create_person()
    n_stored = 0
    for length in (2, 9, 150):
        acknowledged = kill_after(length, MIXED, database_url, person_id, n_stored)
        stored = store.events(person_id)
        n_stored = len(stored)
        assert acknowledged + 1 <= n_stored <= acknowledged + 2
        # The state of the snapshots is that of all events.
        state = store.state(person_id)
        now = datetime.now(UTC)
        assert state == fold([Event(e.kind, e.data) for e in stored], now)
        assert len(state.hidden_tags) == (n_stored + 1) // 4
        assert [e.kind for e in state.ends if e.kind == "hide"] == ["hide"] * ((n_stored + 1) // 4)


def test_a_database_of_an_earlier_version_gives_the_same_states(database_url: str) -> None:
    """Begin with the tables of before feeds, and with a snapshot that this version cannot read."""
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    config = Config()
    migrations = resources.files("teaser.app.people") / "migrations"
    config.set_main_option("script_location", str(migrations))
    course = [VIEW, PLUS, Event("hide", {"item": "i2"}), Event("about", {"people": ["age=young"]})]
    person_id, at = "p" * 43, datetime.now(UTC)
    own = {"person_id": person_id}
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        connection.execute(insert(person).values(id=person_id, created_at=at))
        for place, event in enumerate(course, 1):
            row = {**own, "place": place, "kind": event.kind, "data": event.data, "at": at}
            connection.execute(insert(events).values(row))
        old = {"done": [[1, 4]], "undone": [], "base": 4, "history": ["i1"], "strengths": []}
        connection.execute(insert(snapshot).values(**own, place=4, version=1, data=old))
        link = {**own, "token_hash": hash_of("a link"), "place": 2, "created_at": at}
        connection.execute(insert(table("share", *map(column, link))).values(link))
    engine.dispose()
    new = Store(database_url)
    new.migrate()
    state = new.state(person_id)
    assert state == fold(course)
    assert (state.history, state.presses) == (("i1",), {"town=Ghent": 1})
    assert (state.hidden, state.about) == (("i2",), ("age=young",))
    assert new.shared_state("a link") == fold(course[:2])
    assert [share.feed for share in new.shares(person_id)] == [None]
    assert append(new, person_id, Event("make_feed", {"feed": "Friday"})).presses == state.presses
    new.close()


MIGRATE = """
import sys
from teaser.app.people.store import Store

sys.stdin.readline()
Store(sys.argv[1]).migrate()
"""


class TestMigrations:
    def test_they_lead_to_exactly_the_tables_that_the_code_sees(self, store: Store) -> None:
        engine = create_engine(store.url)
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []
            assert set(inspect(connection).get_table_names()) == {
                *metadata.tables,
                "alembic_version",
            }
        engine.dispose()

    def test_twice_is_harmless(self, store: Store) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        store.migrate()
        assert store.state(person_id).history == ("i1",)

    def test_several_processes_may_begin_at_once(self, database_url: str) -> None:
        with ExitStack() as stack:
            running = [stack.enter_context(forked(MIGRATE, database_url)) for _ in range(4)]
            for each in running:
                print("go", file=each.stdin, flush=True)
            for each in running:
                each.process.join()
        assert [each.process.exitcode for each in running] == [0] * 4
        store = Store(database_url)
        person_id, _ = store.create_person()
        assert store.state(person_id) == State()
        store.close()


def read_only(database_url: str, folder: Path) -> Store:
    """Open a database whose connections refuse to write."""
    if database_url.startswith("sqlite"):
        return Store(f"sqlite:///file:{folder / 'people.db'}?mode=ro&uri=true")
    return Store(f"{database_url}&options=-c%20default_transaction_read_only%3Don")


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
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        fixed = read_only(database_url, tmp_path)
        for _ in range(3):
            with pytest.raises(StoreError, match=r"read-?only"):
                append(fixed, person_id, PLUS)
        fixed.close()
        assert store.state(person_id).presses == {}

    def test_what_takes_no_writing_is_neither_ready_nor_begun_with(
        self, store: Store, database_url: str, tmp_path: Path
    ) -> None:
        fixed = read_only(database_url, tmp_path)
        assert fixed.keys() == []  # it can be read
        for ask in (fixed.ping, fixed.migrate):
            with pytest.raises(StoreError, match=r"read-?only.* Let the server's user write to it"):
                ask()
        fixed.close()
        store.ping()

    def test_a_full_disk_refuses_and_loses_nothing(self, tmp_path: Path) -> None:
        store = Store(f"sqlite:///{tmp_path / 'people.db'}")
        store.migrate()
        person_id, _ = store.create_person()
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1")
        stored: list[State] = []

        def fill() -> None:
            for _ in range(10_000):
                stored.append(append(store, person_id, Event("view", {"item": "x" * 200})))

        with pytest.raises(StoreError, match="full"):
            fill()
        assert len(store.events(person_id)) == len(stored) > 0
        store.close()

    def test_a_server_that_goes_away_and_comes_back(
        self, new_postgres: Callable[[], Postgres]
    ) -> None:
        server = new_postgres()
        store = Store(server.emptied())
        store.migrate()
        person_id, _ = store.create_person()
        append(store, person_id, VIEW)
        server.kill()
        for _ in range(3):
            with pytest.raises(StoreError):
                append(store, person_id, PLUS)
        server.start()
        assert append(store, person_id, PLUS).history == ("i1",)
        store.close()
