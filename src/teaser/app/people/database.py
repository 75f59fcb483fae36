"""Transactions on SQLite or PostgreSQL; a file of SQLite is created only on request."""

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
_Pair = tuple[tuple[int, int] | None, tuple[int, int] | None]  # identities: file, WAL


class Database:
    """Transactions on a database; its errors become `StoreError`.

    SQLite creates an empty file where one is missing, and deletes a write-ahead log (`-wal`) that
    does not belong to it. So only `make` creates a file, and connections to a file that was moved
    are closed without touching its log. Requests succeed again once the file is back.

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
        """Create the file of SQLite, readable by its owner only, unless it exists."""
        if self._file is None:
            return
        with _store_errors():
            self._file.make()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        if self._file is not None:
            self._file.forget()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; in SQLite it never waits for a lock."""
        with _store_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that commits at the end."""
        # SQLite has one writer, and its waiters poll with growing pauses: a lock is fairer.
        alone = self._turn if self._writer.dialect.name == "sqlite" else nullcontext()
        with _store_errors(), alone:
            with self._writer.begin() as connection:
                info = connection.info
                yield connection
            if self._file is not None and not self._file.is_held(info):
                raise sqlite3.OperationalError("its file was moved in the meantime")


@contextmanager
def _store_errors() -> Iterator[None]:
    """Turn errors of the database into `StoreError`."""
    try:
        yield
    except IntegrityError:
        raise
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        message = f"The database cannot be used now: {reason}."
        if "read-only" in reason or "readonly" in reason:
            message += " Let the server's user write to it and to its folder."
        raise StoreError(message) from error


def _engine(url: str) -> Engine:
    if url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
        raise StoreError(f"{url} would keep persons in memory only. Name a file: sqlite:///file.")
    try:
        is_file = url.startswith("sqlite")
        engine = create_engine(url, pool_pre_ping=not is_file, pool_size=10, max_overflow=30)
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(
            f"The database URL cannot be used: {error}. Use sqlite:///file or postgresql://..."
        ) from error
    if engine.dialect.name == "sqlite":
        hooks.listen(engine, "connect", _prepare_sqlite)
        hooks.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_sqlite(connection: Connection) -> None:
    # BEGIN IMMEDIATE takes the write lock now: a reader that writes later would fail, not wait.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the hook above begins transactions
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "busy_timeout=10000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # this creates the log


def _file_of(engine: Engine) -> "_File | None":
    """Return the file of SQLite; None for another database or a `file:` URI."""
    name = engine.url.database
    if engine.dialect.name != "sqlite" or not name or name.startswith("file:"):
        return None
    file = _File(Path(os.path.abspath(name)))
    hooks.listen(engine, "do_connect", file.open)
    hooks.listen(engine, "connect", file.note)
    hooks.listen(engine, "checkout", file.check)
    return file


class _File:
    """A file of SQLite and its log; connections are kept while both stay in place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path.with_name(f"{path.name}-wal")
        self._known: _Pair = (None, None)

    def make(self) -> None:
        """Create the file, unless it exists."""
        self._refuse_orphaned_log()
        if not self.path.exists():
            self.path.touch(mode=0o600)

    def forget(self) -> None:
        """Forget the known files: closing the last connection deletes the log."""
        self._known = (None, None)

    def is_held(self, info: Mapping[str, Any]) -> bool:
        """Return whether a connection belongs to the files that are there now."""
        held: _Pair = info.get(_FILE, (None, None))
        return held[0] is not None and held == self._now()

    def open(
        self, dialect: Dialect, record: ConnectionPoolEntry, _: object, options: dict[str, Any]
    ) -> Any:
        """Connect to the file, if it is there with its log."""
        found, log = self._now()
        if found is None:
            raise sqlite3.OperationalError(f"{self.path.name} is not there")
        known, known_log = self._known
        if found == known and known_log not in (None, log):
            raise sqlite3.OperationalError(
                f"{self.log.name} is not there, which holds what was done last. Bring it back; if "
                "another program has put it into the file, start the server again"
            )
        self._refuse_orphaned_log()
        record.info[_FILE] = (found, None)
        return dialect.connect(f"{self.path.as_uri()}?mode=rw", **{**options, "uri": True})

    def note(self, _: object, record: ConnectionPoolEntry) -> None:
        """Remember the files of a new connection."""
        now = self._now()
        if now[0] == record.info[_FILE][0]:  # else it was moved meanwhile, which `check` finds
            record.info[_FILE] = self._known = now

    def check(self, _: object, record: ConnectionPoolEntry, proxy: object) -> None:
        """Refuse a connection to files that were moved; the pool then makes a new one."""
        if not self.is_held(record.info):
            raise DisconnectionError(f"{self.path.name} was moved")

    def _now(self) -> _Pair:
        return _identity(self.path), _identity(self.log)

    def _refuse_orphaned_log(self) -> None:
        """Refuse an empty file that has a log: SQLite would delete the log."""
        # Look at the log first: in a new database it is the last to have content.
        if _size(self.log) > 0 and _size(self.path) == 0:
            raise sqlite3.OperationalError(
                f"{self.path.name} is missing or empty, and {self.log.name} holds what was done "
                f"last. Bring the file back, or move {self.log.name} away to start empty"
            )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is none."""
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
