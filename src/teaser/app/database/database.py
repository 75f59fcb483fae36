"""Transactions on SQLite or PostgreSQL; a file of SQLite is created only on request."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Dialect, Engine, Insert, create_engine, make_url
from sqlalchemy import event as hooks
from sqlalchemy.exc import DisconnectionError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from teaser.app.database.breaker import Breaker
from teaser.app.database.deadline import LATE, begin_commit, need_time, seconds_left
from teaser.app.database.driver_statement import DriverStatement
from teaser.app.telemetry.request_record import measured, measuring
from teaser.errors import StoreError, StoreTimeoutError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MAX_PORT = 65_535
_LONGEST_WAIT = 60.0  # seconds for a lock of SQLite
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
    timeout
        The seconds that a transaction may take; inside `teaser.app.database.threads`, all
        transactions of a request together.
    """

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        self.url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self.timeout = timeout
        self.engine = _engine(self.url, timeout)
        self._file = _file_of(self.engine)
        self._reader, self._looker = self.engine, self.engine.execution_options(single=True)
        if self.engine.dialect.name == "postgresql":
            # At its usual isolation every statement sees its own moment, so that BEGIN and COMMIT
            # would be two round trips for nothing.
            self._reader = self._looker = self.engine.execution_options(
                isolation_level="AUTOCOMMIT"
            )
        self._writer = self.engine.execution_options(writes=True)
        self._single = self.engine.execution_options(writes=True, single=True)
        self._turn = threading.Lock()
        self._reads, self._writes = Breaker("reading", timeout), Breaker("writing", timeout)

    @property
    def is_hanging(self) -> bool:
        """Whether the last transaction was not answered in time."""
        return self._reads.is_open or self._writes.is_open

    @property
    def is_refusing_writes(self) -> bool:
        """Whether a transaction that writes would be refused at once."""
        return self._writes.is_refusing

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

    @measuring("store_read")
    @contextmanager
    def reading(self, *, single: bool = False) -> Iterator[Connection]:
        """Open a transaction that only reads; in SQLite it never waits for a lock.

        `single` says that it is one statement.
        """
        engine = self._looker if single else self._reader
        with self._reads.limiting(self.timeout) as wait, _store_errors():
            wait.begin()
            need_time()
            with engine.begin() as connection:
                yield connection

    @measuring("store_write")
    @contextmanager
    def writing(
        self, *, single: bool = False, timeout: float | None = None
    ) -> Iterator[Connection]:
        """Open a transaction that commits at the end, unless it is late or nobody waits for it.

        Parameters
        ----------
        single
            Whether it is one statement in SQLite. SQLite then commits within the statement, and
            never holds its one write lock while this thread waits for others of the process.
        timeout
            The seconds that it may take, if other than usual.
        """
        seconds = self.timeout if timeout is None else timeout
        single = single and self.engine.dialect.name == "sqlite"
        engine = self._single if single else self._writer
        with self._write_limits(seconds):
            with engine.begin() as connection:
                info = connection.info
                if single:  # it waits for locks until the deadline only, which is set by now
                    begin_commit()
                yield connection
                if not single:
                    begin_commit()
            self._need_file(info)

    def single_write(self, statement: Insert) -> Callable[[Mapping[str, Any]], int]:
        """Return a function that runs an insertion as a transaction of its own.

        It takes the values by name and returns the number of rows. SQLite is used through its
        driver: the layers above it take longer than SQLite itself.
        """
        if self.engine.dialect.name != "sqlite":
            return partial(self._write, statement.execution_options(preserve_rowcount=True))
        return partial(self._write_on_driver, DriverStatement(statement, self.engine.dialect))

    def _write(self, statement: Insert, values: Mapping[str, Any]) -> int:
        with self.writing() as connection:
            return connection.execute(statement, dict(values)).rowcount

    @measured("store_write")
    def _write_on_driver(self, statement: DriverStatement, values: Mapping[str, Any]) -> int:
        with (
            self._write_limits(self.timeout),
            closing(self.engine.raw_connection()) as connection,
        ):
            driver: Any = connection.driver_connection
            driver.execute(_busy_timeout())
            begin_commit()
            n_rows = statement.run(driver, values)
            self._need_file(connection.info)
            return n_rows

    def _need_file(self, info: Mapping[str, Any]) -> None:
        """Raise an error if the file of a connection was moved since it was checked."""
        if self._file is not None and not self._file.is_held(info):
            raise sqlite3.OperationalError("its file was moved in the meantime")

    @contextmanager
    def _write_limits(self, seconds: float) -> Iterator[None]:
        """Wait until a transaction may write, for so many seconds with the transaction."""
        with self._writes.limiting(seconds) as wait, _store_errors(), self._queue():
            wait.begin()
            need_time()
            yield

    @contextmanager
    def _queue(self) -> Iterator[None]:
        """Wait for the other writers of this process, before those of others.

        SQLite has one writer, and its waiters poll with growing pauses: a lock is fairer.
        """
        if self.engine.dialect.name != "sqlite":
            yield
            return
        if not self._turn.acquire(timeout=min(seconds_left(), threading.TIMEOUT_MAX)):
            raise StoreTimeoutError(LATE)
        try:
            yield
        finally:
            self._turn.release()


@contextmanager
def _store_errors() -> Iterator[None]:
    """Turn errors of the database into `StoreError`."""
    try:
        yield
    except IntegrityError:
        raise
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        cause = getattr(error, "orig", None) or error
        reason = (str(cause).splitlines() or [type(cause).__name__])[0]
        if _is_late(cause):
            raise StoreTimeoutError(f"{LATE} {reason}.") from error
        message = f"The database cannot be used now: {reason}."
        if "read-only" in reason or "readonly" in reason:
            message += " Let the server's user write to it and to its folder."
        raise StoreError(message) from error


def _is_late(cause: BaseException) -> bool:
    """Return whether an error says that a lock, a connection or an answer took too long."""
    if isinstance(cause, sqlite3.Error):
        return (getattr(cause, "sqlite_errorcode", 0) & 0xFF) in _BUSY
    if isinstance(cause, OSError | PoolTimeoutError):
        return isinstance(cause, PoolTimeoutError)
    from teaser.app.database import postgres

    return postgres.is_late(cause)


def _engine(url: str, timeout: float) -> Engine:
    if url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
        raise StoreError(f"{url} would keep persons in memory only. Name a file: sqlite:///file.")
    address = _parsed(url)
    try:
        engine = create_engine(
            address,
            pool_use_lifo=True,  # the same few connections, which have prepared their statements
            pool_size=10,
            max_overflow=30,
            pool_timeout=timeout,
            hide_parameters=True,  # ids of persons are no part of a message
        )
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(
            f"The database URL cannot be used: {error}. Use sqlite:///file or postgresql://..."
        ) from error
    if engine.dialect.name == "sqlite":
        hooks.listen(engine, "connect", _prepare_sqlite)
        hooks.listen(engine, "begin", _begin_sqlite)
    elif engine.dialect.driver == "psycopg":
        # Only here: its driver is a tenth of the imports of a server.
        from teaser.app.database import postgres

        hooks.listen(engine, "do_connect", postgres.Connector(timeout).connect)
        check = postgres.IdleCheck(engine.dialect)
        hooks.listen(engine, "checkin", check.leave)
        hooks.listen(engine, "checkout", check.take)
    return engine


def _parsed(url: str) -> URL:
    """Return the parts of a URL; an error repeats none of them, as one may be a password."""
    wrong = None
    try:
        address = make_url(url)
    except ValueError:
        wrong = "its port is not a number"
    except SQLAlchemyError:
        wrong = "it is not written as one"
    else:
        if address.port is not None and not 0 < address.port <= _MAX_PORT:
            wrong = f"its port is not from 1 to {_MAX_PORT}"
        elif "@" in (address.host or ""):
            wrong = "it has two signs @"
    if wrong is None:
        return address
    raise StoreError(
        f"The database URL cannot be used: {wrong}. Use sqlite:///file or "
        "postgresql://user:password@host:port/name, and write : / ? # [ ] @ in a password as "
        "%3A %2F %3F %23 %5B %5D %40."
    )


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    connection.connection.execute(_busy_timeout())
    if options.get("single"):
        return  # the one statement begins and commits
    # BEGIN IMMEDIATE takes the write lock now: a reader that writes later would fail, not wait.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")


def _busy_timeout() -> str:
    """Return the statement that lets SQLite wait for locks until the deadline."""
    return f"PRAGMA busy_timeout={int(1000 * min(seconds_left(), _LONGEST_WAIT))}"


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the hook above begins transactions
    connection.execute(_busy_timeout())  # first: the others may have to wait
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",
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
        self._names = str(self.path), str(self.log)
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
        return _identity(self._names[0]), _identity(self._names[1])

    def _refuse_orphaned_log(self) -> None:
        """Refuse an empty file that has a log: SQLite would delete the log."""
        # Look at the log first: in a new database it is the last to have content.
        if _size(self.log) > 0 and _size(self.path) == 0:
            raise sqlite3.OperationalError(
                f"{self.path.name} is missing or empty, and {self.log.name} holds what was done "
                f"last. Bring the file back, or move {self.log.name} away to start empty"
            )


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
