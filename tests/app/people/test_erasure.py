"""Deleted is deleted: no text of a deleted person is left in the bytes of SQLite's files."""

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from app.conftest import append

from teaser.app.people.erasure import Erasure
from teaser.app.people.events import Event
from teaser.app.people.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path / 'people.db'}")
    opened.migrate()
    yield opened
    opened.close()


def has_come(is_so: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def found(folder: Path, *texts: str) -> list[str]:
    """Return which of the texts are in the bytes of the database's files."""
    content = b"".join(
        path.read_bytes() for path in (folder / "people.db", folder / "people.db-wal")
    )
    return [text for text in texts if text.encode() in content]


def is_gone(folder: Path, *texts: str) -> bool:
    return not found(folder, *texts)


def busy_person(store: Store, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a person with many texts: viewed items, pressed tags, a snapshot, a link."""
    monkeypatch.setattr("teaser.app.people.store.REACH", 4)
    monkeypatch.setattr("teaser.app.people.event_log.REACH", 4)
    person = store.create_person()[0]
    for n in range(9):
        append(store, person, Event("view", {"item": f"{name} {n} " + "x" * 700}))
        append(store, person, Event("press", {"presses": {f"town={name}": (-1) ** n}}))
    store.make_share(person)
    return person


def delete_only(store: Store, person: str) -> None:
    """Delete a person as a process does that is killed right after it."""
    with store._writing() as connection:
        for rows in ("event WHERE person_id", "snapshot WHERE person_id", "person WHERE id"):
            connection.exec_driver_sql(f"DELETE FROM {rows} = ?", (person,))  # noqa: S608


def test_no_text_of_a_deleted_person_is_left(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = busy_person(store, "Wanda", monkeypatch)
    stays = busy_person(store, "Bruno", monkeypatch)
    before = store.state(stays)
    assert found(tmp_path, gone, "Wanda", stays, "Bruno") == [gone, "Wanda", stays, "Bruno"]
    store.delete_person(gone)
    assert has_come(lambda: not found(tmp_path, gone, "Wanda"))
    assert found(tmp_path, stays, "Bruno")
    assert store.state(stays) == before


def test_a_reader_delays_it_and_does_not_prevent_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = busy_person(store, "Wanda", monkeypatch)
    reader = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchall()
    store.delete_person(gone)
    assert not has_come(lambda: not found(tmp_path, gone, "Wanda"), 0.5)
    other = store.create_person()[0]  # others go on
    append(store, other, Event("view", {"item": "i1"}))
    reader.execute("COMMIT")
    reader.close()
    assert has_come(lambda: not found(tmp_path, gone, "Wanda"))


def crowd(store: Store, rng: random.Random) -> dict[str, str]:
    """Make persons whose events take turns; return the text that the events of each hold."""
    people = {f"{rng.getrandbits(256):064x}"[:43]: f"TEXT{n:04d}Z" for n in range(40)}
    with store._writing() as connection:
        for who in people:
            connection.exec_driver_sql("INSERT INTO person VALUES (?, NULL, 0)", (who,))
        for step in range(2_400):
            who = rng.choice(list(people))
            row = (who, step, "view", f'{{"item":"{people[who]}{"x" * rng.randrange(300)}"}}')
            insert = "INSERT INTO event (person_id, place, kind, data, at) VALUES (?, ?, ?, ?, 0)"
            connection.exec_driver_sql(insert, row)
    return people


def test_copies_that_sqlite_left_when_it_moved_rows_are_erased_too(
    store: Store, tmp_path: Path
) -> None:
    """Many persons come and go, so that rows move between pages; `secure_delete` is not enough."""
    rng = random.Random(4)  # noqa: S311
    people, copies = crowd(store, rng), 0
    alive = list(people)
    for n in range(30):
        who = alive.pop(rng.randrange(len(alive)))
        delete_only(store, who)
        store._erasure.empty_log()
        copies += bool(found(tmp_path, who, people[who]))
        store._erasure.begin(who)
        assert has_come(partial(is_gone, tmp_path, who, people[who])), n
    assert copies > 0


def test_the_log_of_a_process_that_ended_is_emptied_at_the_start(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = busy_person(store, "Wanda", monkeypatch)
    delete_only(store, gone)
    assert found(tmp_path, "Wanda")
    Store(store.url).migrate()
    assert not found(tmp_path, "Wanda")


def marks(store: Store) -> list[str]:
    with store._reading() as connection:
        names = connection.exec_driver_sql("SELECT name FROM setting").scalars().all()
    return [name for name in names if name.startswith("erasing")]


def test_copies_that_a_killed_process_left_are_erased_after_the_next_start(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)  # noqa: S311
    people = crowd(store, rng)
    monkeypatch.setattr(store._erasure, "begin", lambda *_: None)  # killed right after a deletion
    gone: list[str] = []
    while not (left := found(tmp_path, *gone, *(people[who] for who in gone))):
        gone.append(rng.choice([who for who in people if who not in gone]))
        store.delete_person(gone[-1])
        assert store._erasure.empty_log()
    assert len(marks(store)) == len(gone)
    assert not any(who in mark for mark in marks(store) for who in gone)
    after = Store(store.url)
    after.migrate()
    assert has_come(partial(is_gone, tmp_path, *left))
    assert has_come(lambda: not marks(store))
    after.close()
    with store._reading() as connection:
        kept = connection.exec_driver_sql("SELECT id FROM person").scalars().all()
    assert set(kept) == set(people) - set(gone)


def test_no_mark_stays_of_what_is_erased(store: Store) -> None:
    store.delete_person(store.create_person()[0])
    assert has_come(lambda: store._erasure._thread is None)
    assert marks(store) == []


LAST = """
import sqlite3, sys

connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM event").fetchall()
connection.close()
"""


def test_looking_through_the_file_leaves_the_locks_of_sqlite_alone(
    store: Store, tmp_path: Path
) -> None:
    """Closing the last connection deletes the log: no other process may think it has that one."""
    person = store.create_person()[0]
    store.delete_person(store.create_person()[0])
    assert has_come(lambda: store._erasure._thread is None)
    append(store, person, Event("view", {"item": "i1"}))
    subprocess.run([sys.executable, "-c", LAST, str(tmp_path / "people.db")], check=True)
    assert (tmp_path / "people.db-wal").exists()
    assert store.state(person).history == ("i1",)


def test_closing_ends_the_thread(store: Store, tmp_path: Path) -> None:
    reader = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchall()
    store.delete_person(store.create_person()[0])
    assert "erasure" in {thread.name for thread in threading.enumerate()}
    store.close()
    assert "erasure" not in {thread.name for thread in threading.enumerate()}
    reader.close()


def test_a_large_file_is_not_written_anew_and_the_log_says_so(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("teaser.app.people.erasure._MOST_VACUUMED", 1)
    person = store.create_person()[0]
    erasure = Erasure(store._database)
    erasure.begin(person)  # still there, like a copy in an unused part
    assert has_come(lambda: erasure._thread is None)
    assert "VACUUM" in caplog.text
    assert found(tmp_path, person)
