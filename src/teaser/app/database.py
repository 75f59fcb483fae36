"""The database below the store: a file of SQLite that is never made by chance, or PostgreSQL."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, create_engine
from sqlalchemy import event as hooks
from sqlalchemy.exc import DisconnectionError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from teaser.errors import TeaserError

_FILE = "teaser_file"


class StoreError(TeaserError):
    """The database cannot be reached, or refuses to write."""


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
        if self._file is not None:
            _bind(self.engine, self._file)
        self._writer = self.engine.execution_options(writes=True)
        self._turn = threading.Lock()

    def make(self) -> None:
        """Make the file of SQLite, which only its owner can read, unless it is there."""
        if self._file is None:
            return
        with _said_plainly():
            _need_no_orphan(self._file)
            self._file.touch(mode=0o600)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

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
                held = connection.info.get(_FILE)
                yield connection
            if self._file is not None and _identity(self._file) != held:
                raise sqlite3.OperationalError(f"{self._file.name} was moved in the meantime")


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


def _file_of(engine: Engine) -> Path | None:
    """Return the file of SQLite; None for an address that says itself how to open it."""
    name = engine.url.database
    if engine.dialect.name != "sqlite" or not name or name.startswith("file:"):
        return None
    return Path(os.path.abspath(name))


def _bind(engine: Engine, path: Path) -> None:
    """Let an engine open a file that is there, and keep connections only while it stays there."""
    address = f"{path.as_uri()}?mode=rw"

    def connect(
        dialect: Dialect, record: ConnectionPoolEntry, _: list[Any], options: dict[str, Any]
    ) -> Any:
        found = _identity(path)
        if found is None:
            raise sqlite3.OperationalError(f"{path.name} is not there")
        _need_no_orphan(path)
        made = dialect.connect(address, **{**options, "uri": True})
        record.info[_FILE] = found
        return made

    def check(_: object, record: ConnectionPoolEntry, proxy: object) -> None:
        if record.info.get(_FILE) != _identity(path):
            raise DisconnectionError(f"{path.name} was moved")

    hooks.listen(engine, "do_connect", connect)
    hooks.listen(engine, "checkout", check)


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell which file has a name now."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _need_no_orphan(path: Path) -> None:
    """Refuse a file without content that has a log: SQLite would take the log for an old one."""
    log = path.with_name(f"{path.name}-wal")
    # The log first: of a database that is just being made, it is the last to have content.
    if _size(log) > 0 and _size(path) == 0:
        raise sqlite3.OperationalError(
            f"{path.name} is missing or empty, and {log.name} holds what was done last. Bring the "
            f"file back, or move {log.name} away to begin anew"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
