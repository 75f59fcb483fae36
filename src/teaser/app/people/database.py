"""The database below the store: a file of SQLite that is never made by chance, or PostgreSQL."""

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, create_engine
from sqlalchemy import event as hooks
from sqlalchemy.exc import DisconnectionError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from teaser.errors import StoreError

_FILE = "teaser_file"
_Pair = tuple[tuple[int, int] | None, tuple[int, int] | None]  # of the file and of its log


class Database:
    """Transactions on a database; whatever it refuses is a `StoreError`.

    SQLite makes an empty file wherever one is missing, and throws away the log (`-wal`) of what it
    holds no more. So a file is made by `make` alone, and connections to one that was moved are
    let go of; they leave its log as it is, and all goes on once the file is back.

    Parameters
    ----------
    url
        `sqlite:///file` or `postgresql://user:password@host/name`.
    """

    def __init__(self, url: str) -> None:
        self.url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self.engine = _engine(self.url)
        self._file = _file_of(self.engine)
        self._writer = self.engine.execution_options(writes=True)
        self._turn = threading.Lock()

    def make(self) -> None:
        """Make the file of SQLite, which only its owner can read, unless it is there."""
        if self._file is None:
            return
        with _said_plainly():
            self._file.make()

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()
        if self._file is not None:
            self._file.forget()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; in SQLite it waits for nobody."""
        with _said_plainly(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that commits at the end."""
        # SQLite lets one write at a time, and those who wait sleep ever longer: queue here instead.
        alone = self._turn if self._writer.dialect.name == "sqlite" else nullcontext()
        with _said_plainly(), alone:
            with self._writer.begin() as connection:
                info = connection.info
                yield connection
            if self._file is not None and not self._file.is_held(info):
                raise sqlite3.OperationalError("its file was moved in the meantime")


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Turn what the database refuses into a sentence."""
    try:
        yield
    except IntegrityError:
        raise
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        said = f"The database cannot be used now: {reason}."
        if "read-only" in reason or "readonly" in reason:
            said += " Let the server's user write to it and to its folder."
        raise StoreError(said) from error


def _engine(url: str) -> Engine:
    if url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
        raise StoreError(f"{url} would keep people in memory only. Name a file: sqlite:///file.")
    try:
        is_file = url.startswith("sqlite")
        engine = create_engine(url, pool_pre_ping=not is_file, pool_size=10, max_overflow=30)
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(f"The database URL cannot be used: {error}.") from error
    if engine.dialect.name == "sqlite":
        hooks.listen(engine, "connect", _prepare_sqlite)
        hooks.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_sqlite(connection: Connection) -> None:
    # A reader that turns writer would not wait for another: whoever may write says so at once.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by the hook above
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "busy_timeout=10000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # from now on it has a log


def _file_of(engine: Engine) -> "_File | None":
    """Return the file of SQLite; None for an address that says itself how to open it."""
    name = engine.url.database
    if engine.dialect.name != "sqlite" or not name or name.startswith("file:"):
        return None
    file = _File(Path(os.path.abspath(name)))
    hooks.listen(engine, "do_connect", file.open)
    hooks.listen(engine, "connect", file.note)
    hooks.listen(engine, "checkout", file.check)
    return file


class _File:
    """A file of SQLite and its log, to which connections are kept while both stay in place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path.with_name(f"{path.name}-wal")
        self._known: _Pair = (None, None)

    def make(self) -> None:
        """Make the file, unless it is there."""
        self._need_no_orphan()
        if not self.path.exists():
            self.path.touch(mode=0o600)

    def forget(self) -> None:
        """Expect no log any more: whoever lets go of a database last folds it into the file."""
        self._known = (None, None)

    def is_held(self, info: Mapping[str, Any]) -> bool:
        """Tell whether a connection is one to the files that have the names now."""
        held: _Pair = info.get(_FILE, (None, None))
        return held[0] is not None and held == self._now()

    def open(
        self, dialect: Dialect, record: ConnectionPoolEntry, _: object, options: dict[str, Any]
    ) -> Any:
        """Connect to the file, if it is there and whole."""
        found, log = self._now()
        if found is None:
            raise sqlite3.OperationalError(f"{self.path.name} is not there")
        known, known_log = self._known
        if found == known and known_log not in (None, log):
            raise sqlite3.OperationalError(
                f"{self.log.name} is not there, which holds what was done last. Bring it back; if "
                "another program has put it into the file, start the server again"
            )
        self._need_no_orphan()
        record.info[_FILE] = (found, None)
        return dialect.connect(f"{self.path.as_uri()}?mode=rw", **{**options, "uri": True})

    def note(self, _: object, record: ConnectionPoolEntry) -> None:
        """Remember what a connection that was just made is to."""
        now = self._now()
        if now[0] == record.info[_FILE][0]:  # else it was moved meanwhile, and check will see it
            record.info[_FILE] = self._known = now

    def check(self, _: object, record: ConnectionPoolEntry, proxy: object) -> None:
        """Refuse a connection to what has been moved; a new one will be tried."""
        if not self.is_held(record.info):
            raise DisconnectionError(f"{self.path.name} was moved")

    def _now(self) -> _Pair:
        return _identity(self.path), _identity(self.log)

    def _need_no_orphan(self) -> None:
        """Refuse a file without content that has a log: SQLite would throw the log away."""
        # The log first: of a database that is just being made, it is the last to have content.
        if _size(self.log) > 0 and _size(self.path) == 0:
            raise sqlite3.OperationalError(
                f"{self.path.name} is missing or empty, and {self.log.name} holds what was done "
                f"last. Bring the file back, or move {self.log.name} away to begin anew"
            )


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell which file has a name now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
