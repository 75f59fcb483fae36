"""A file of SQLite is made on purpose only; one that is away for a while loses nothing."""

import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app.conftest import TestClient, append, services_of
from sqlalchemy import text

from teaser.app.database.database import Database
from teaser.app.people.events import Event
from teaser.app.people.store import Store
from teaser.errors import StoreError, StoreTimeoutError

VIEWS = [Event("view", {"item": f"i{n}"}) for n in range(9)]
PARTS = ("people.db", "people.db-shm", "people.db-wal")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path / 'people.db'}")
    opened.migrate()
    yield opened
    opened.close()


def move(names: tuple[str, ...], source: Path, target: Path) -> None:
    """Move files of a database, the one that the others belong to last."""
    target.mkdir(exist_ok=True)
    for name in reversed(names):
        (source / name).rename(target / name)


class TestAway:
    @pytest.mark.parametrize("names", [PARTS[:1], PARTS], ids=["alone", "with its log"])
    def test_nothing_is_answered_nothing_made_and_nothing_lost(
        self, store: Store, tmp_path: Path, names: tuple[str, ...]
    ) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEWS[1])
        append(store, person_id, VIEWS[2])
        move(names, tmp_path, tmp_path / "away")
        for ask in (
            store.ping,
            lambda: store.state(person_id),
            lambda: append(store, person_id, VIEWS[3]),
            lambda: store.find_person("nobody"),
            store.create_person,
        ):
            for _ in range(2):
                with pytest.raises(StoreError, match=r"people\.db is not there"):
                    ask()
        assert not (tmp_path / "people.db").exists()
        move(names, tmp_path / "away", tmp_path)
        store.ping()
        assert store.state(person_id).history == ("i1", "i2")
        assert append(store, person_id, VIEWS[4]).history == ("i1", "i2", "i4")
        store.close()
        later = Store(store.url)
        later.migrate()
        assert later.state(person_id).history == ("i1", "i2", "i4")
        later.close()

    def test_the_log_may_come_back_after_its_file(self, store: Store, tmp_path: Path) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEWS[1])
        move(PARTS, tmp_path, tmp_path / "away")
        with pytest.raises(StoreError):
            store.ping()
        move(PARTS[:1], tmp_path / "away", tmp_path)
        for ask in (store.ping, lambda: append(store, person_id, VIEWS[2])):
            with pytest.raises(StoreError, match=r"people\.db-wal is not there.* Bring it back"):
                ask()
        move(PARTS[1:], tmp_path / "away", tmp_path)
        assert append(store, person_id, VIEWS[2]).history == ("i1", "i2")
        store.close()
        store.ping()  # whoever has let go may begin again
        assert store.state(person_id).history == ("i1", "i2")

    def test_a_log_that_is_taken_away_takes_nothing_along(
        self, store: Store, tmp_path: Path
    ) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEWS[1])
        (tmp_path / "people.db-wal").unlink()
        with pytest.raises(StoreError, match=r"people\.db-wal is not there"):
            append(store, person_id, VIEWS[2])
        store.close()
        later = Store(store.url)
        assert later.state(person_id).history == ("i1",)
        later.close()

    def test_requests_wait_it_out_without_a_new_start(
        self, serve: Callable[..., TestClient], tmp_path: Path
    ) -> None:
        client = serve(database_url=f"sqlite:///{tmp_path / 'people.db'}")
        person_id = client.post("/api/v1/people").json()["person_id"]
        address = f"/api/v1/people/{person_id}"
        client.post(f"{address}/views", json={"item_id": "i1"})
        move(PARTS[:1], tmp_path, tmp_path / "away")
        for path in ("/readyz", address, "/readyz", f"{address}/profile"):
            assert client.get(path).status_code == 503
        assert client.post(f"{address}/undo").status_code == 503
        assert client.get("/healthz").status_code == 200
        assert client.get("/tour").status_code == 200  # it needs no database
        move(PARTS[:1], tmp_path / "away", tmp_path)
        assert client.get("/readyz").text == "ready"
        assert client.get(address).json()["history"] == ["i1"]
        services_of(client).store.close()
        again = serve(database_url=f"sqlite:///{tmp_path / 'people.db'}")
        assert again.get(address).json()["history"] == ["i1"]

    def test_another_file_under_the_name_is_taken_up(self, store: Store, tmp_path: Path) -> None:
        first, _ = store.create_person()
        append(store, first, VIEWS[1])
        with sqlite3.connect(tmp_path / "people.db") as source:
            source.execute(f"VACUUM INTO '{tmp_path / 'copy.db'}'")
        source.close()
        second, _ = store.create_person()
        move(PARTS, tmp_path, tmp_path / "away")
        (tmp_path / "copy.db").rename(tmp_path / "people.db")
        assert store.state(first).history == ("i1",)
        with pytest.raises(LookupError):
            store.state(second)
        append(store, first, VIEWS[2])
        fresh = Store(store.url)
        assert fresh.state(first).history == ("i1", "i2")
        fresh.close()

    def test_what_is_moved_before_the_commit_ends_is_not_acknowledged(self, tmp_path: Path) -> None:
        database = Database(f"sqlite:///{tmp_path / 'people.db'}")
        database.make()

        def write() -> None:
            with database.writing() as connection:
                connection.execute(text("CREATE TABLE kept (number INTEGER)"))
                (tmp_path / "people.db").rename(tmp_path / "moved.db")

        with pytest.raises(StoreError, match="moved in the meantime"):
            write()
        database.close()


UNPRIVILEGED = """
import os, sys
from teaser.app.people.store import Store
from teaser.errors import StoreError, StoreTimeoutError

def ask(file):
    try:
        Store(f"sqlite:///{file}").ping()
        print("taken")
    except StoreError as error:
        print(error)

ask(sys.argv[1] + ".none")  # what is imported late is imported now
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
ask(sys.argv[1])
"""


def test_a_file_that_may_not_be_written_to_is_not_ready() -> None:
    with tempfile.TemporaryDirectory() as folder:  # in a place that everybody can look into
        file = Path(folder) / "people.db"
        store = Store(f"sqlite:///{file}")
        store.migrate()
        store.close()
        file.chmod(0o444)
        Path(folder).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, str(file)], capture_output=True, text=True
        )
    said = done.stdout.splitlines()
    assert len(said) == 2, done.stderr
    assert "readonly database. Let the server's user write to it" in said[1]


class TestMaking:
    def test_only_the_owner_can_read_the_file(self, store: Store, tmp_path: Path) -> None:
        assert (tmp_path / "people.db").stat().st_mode & 0o077 == 0

    def test_nothing_but_a_start_makes_one(self, tmp_path: Path) -> None:
        store = Store(f"sqlite:///{tmp_path / 'people.db'}")
        for ask in (store.ping, store.keys):
            with pytest.raises(StoreError, match="not there"):
                ask()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "missing"])
    def test_a_start_without_the_file_leaves_its_log_alone(
        self, store: Store, tmp_path: Path, is_empty: bool
    ) -> None:
        person_id, _ = store.create_person()
        append(store, person_id, VIEWS[1])
        move(PARTS[:1], tmp_path, tmp_path / "away")
        if is_empty:
            (tmp_path / "people.db").touch()
        late = Store(store.url)
        with pytest.raises(StoreError, match=r"people\.db-wal holds what was done last\. Bring"):
            late.migrate()
        with pytest.raises(StoreError):
            late.ping()
        move(PARTS[:1], tmp_path / "away", tmp_path)
        late.migrate()
        assert late.state(person_id).history == ("i1",)
        late.close()

    @pytest.mark.parametrize("name", ["a b.db", "50%.db", "né#1.db"])
    def test_names_may_hold_what_addresses_may_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        database = Database(f"sqlite:///{name}")
        database.make()
        with database.writing() as connection:
            connection.execute(text("CREATE TABLE kept (number INTEGER)"))
        with database.reading() as connection:
            assert connection.execute(text("SELECT count(*) FROM kept")).scalar_one() == 0
        database.close()
        (file,) = tmp_path.iterdir()
        assert file.stat().st_size > 0

    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
    def test_what_would_be_forgotten_is_refused(self, url: str) -> None:
        with pytest.raises(StoreError, match=r"in memory .* Name a file"):
            Database(url)

    def test_a_place_that_is_none_is_said(self) -> None:
        with pytest.raises(StoreError, match="No such file or directory"):
            Database("sqlite:////nowhere/at/all/people.db").make()


def test_a_database_of_another_kind_is_refused_with_those_that_can_be_used() -> None:
    for url in ("mysql://host/db", "nonsense"):
        with pytest.raises(StoreError, match=r"sqlite:///file or postgresql://"):
            Database(url)


@pytest.mark.parametrize(
    "rest", ["h:abc/x", "h:99999/x", "h:-1/x", "h:/x", "pass@h/x", "[::1/x", "h:5432:1/x"]
)
def test_a_url_that_cannot_be_read_is_said_without_its_password(rest: str) -> None:
    with pytest.raises(StoreError, match=r"URL cannot be used: .*postgresql://") as raised:
        Database(f"postgresql://user:secret-pass@{rest}")
    assert raised.value.__context__ is None
    assert "pass@" not in str(raised.value)


def test_a_host_that_never_answers_is_said_within_seconds() -> None:
    with socket.socket() as silent:  # it listens and accepts nothing that libpq could use
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        store = Store(f"postgresql://user:secret@127.0.0.1:{port}/x", timeout=0.5)
        with pytest.raises(StoreTimeoutError) as raised:
            store.migrate()
    assert "secret" not in str(raised.value)
