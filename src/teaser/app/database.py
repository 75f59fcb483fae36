"""Connections to SQLite or PostgreSQL that never wait for long, also if the database hangs."""

import math
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy import event as hooks
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from teaser.app.monitoring import measured
from teaser.errors import StoreError

T = TypeVar("T")
LATE = "The database did not answer in time."
# Connections of one process; as many requests use the store at once, see `StoreThreads`.
CONNECTIONS = 16
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# PostgreSQL: a statement was ended by its time limit; a lock was not free in time.
_LATE_STATES = ("57014", "55P03")
_REPAIR = (
    "Put a copy from before in its place, or save what can be read: "
    "sqlite3 FILE .recover | sqlite3 NEW_FILE."
)


class Database:
    """Transactions on a database; its errors become `StoreError`.

    Parameters
    ----------
    url
        `sqlite:///file` or `postgresql://user:password@host/name`.
    timeout
        The seconds to wait for a connection and for an answer; half as long for a lock.
    """

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        self.url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self.timeout = timeout
        self._engine = _engine(self.url, timeout)
        self._writer = self._engine.execution_options(writes=True)
        self._writing = threading.Lock()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite."""
        return self._engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @measured("store_read")
    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what work returns, which only reads.

        It is done again if a connection of the pool was lost: the database may have been restarted.
        """
        with _store_errors():
            try:
                with self._engine.connect() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not error.connection_invalidated or _is_late(error.orig):
                    raise
            with self._engine.connect() as connection:
                return work(connection)

    @measured("store_write")
    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what work returns, in one transaction that commits at the end."""
        # SQLite has one writer, and waiters poll with growing pauses: a lock is fairer.
        if self.is_sqlite and not self._writing.acquire(timeout=self.timeout / 2):
            raise StoreError(LATE, problem="late")
        try:
            with _store_errors(), self._writer.begin() as connection:
                return work(connection)
        finally:
            if self.is_sqlite:
                self._writing.release()

    def empty_log(self) -> None:
        """Move SQLite's log into the file, so that deleted rows are in neither.

        A reader may be in the way; the next call does it.
        """
        if self.is_sqlite:
            ignored = suppress(SQLAlchemyError, sqlite3.Error)
            with ignored, closing(self._engine.raw_connection()) as lent:
                lent.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def check_file(self) -> None:
        """Raise `StoreError` if pages of SQLite's file are damaged; it reads the whole file."""
        if self.is_sqlite:
            with _store_errors(), closing(self._engine.raw_connection()) as lent:
                found = lent.cursor().execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                reason = " ".join(str(found).split())
                raise StoreError(f"The database is damaged: {reason}. {_REPAIR}")

    def make_file(self) -> None:
        """Create the file of SQLite, readable by its owner only, unless it exists."""
        path = _file_of(self._engine.url)
        with _store_errors():
            if path is not None and not path.exists():
                path.touch(mode=0o600)


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
            raise StoreError(f"{LATE} {reason}.", problem="late") from error
        message = f"The database cannot be used now: {reason}."
        if "read-only" in reason or "readonly" in reason:
            message += " Let the server's user write to it and to its folder."
        if "malformed" in reason or "not a database" in reason:
            message += f" {_REPAIR}"
        raise StoreError(message) from error


def _is_late(cause: BaseException | None) -> bool:
    """Return whether an error says that a lock, a connection or an answer took too long."""
    if isinstance(cause, sqlite3.Error):
        return (getattr(cause, "sqlite_errorcode", 0) & 0xFF) in _BUSY
    state = getattr(cause, "sqlstate", None)
    return isinstance(cause, PoolTimeoutError) or state in _LATE_STATES or LATE in str(cause)


def _engine(url: str, timeout: float) -> Engine:
    if url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
        raise StoreError(f"{url} would keep persons in memory only. Name a file: sqlite:///file.")
    address = _parsed(url)
    try:
        engine = create_engine(
            address,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=timeout,
            pool_use_lifo=True,
            hide_parameters=True,  # ids of persons are no part of a message
        )
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(
            f"The database URL cannot be used: {error}. Use sqlite:///file or postgresql://..."
        ) from error
    if engine.dialect.name == "sqlite":
        path = _file_of(address)
        hooks.listen(engine, "do_connect", partial(_need_file, path))
        hooks.listen(engine, "connect", partial(_prepare_sqlite, timeout))
        hooks.listen(engine, "begin", _begin_sqlite)
    elif engine.dialect.driver == "psycopg":
        hooks.listen(engine, "do_connect", _connector(timeout))
    return engine


def _parsed(url: str) -> URL:
    """Return the parts of a URL; an error repeats none of them, as one may be a password."""
    with suppress(SQLAlchemyError, ValueError):
        address = make_url(url)
        if "@" not in (address.host or ""):
            return address
    raise StoreError(
        "The database URL cannot be used. Use sqlite:///file or "
        "postgresql://user:password@host:port/name, and write : / ? # [ ] @ in a password as "
        "%3A %2F %3F %23 %5B %5D %40."
    )


def _file_of(url: URL) -> Path | None:
    """Return the file of SQLite; None for another database or a `file:` URI."""
    name = url.database if url.get_backend_name() == "sqlite" else None
    return None if not name or name.startswith("file:") else Path(name).absolute()


def _need_file(path: Path | None, *_: object) -> None:
    """Refuse to connect where there is no file: SQLite would make an empty one."""
    if path is not None and not path.exists():
        raise sqlite3.OperationalError(f"{path.name} is not there")


def _prepare_sqlite(timeout: float, connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the hook below begins transactions
    for pragma in (
        f"busy_timeout={math.ceil(500 * timeout)}",  # first: the others may have to wait
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # BEGIN IMMEDIATE takes the write lock now: a reader that writes later would fail, not wait.
    is_writing = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def _connector(timeout: float) -> Callable[..., Any]:
    """Return a function that connects to PostgreSQL within the time limit.

    The server's own limits do not help if it is stopped, or if the network is cut: nothing comes
    then. So every wait has a limit here too, after which the connection is closed.
    """
    import psycopg  # only for PostgreSQL

    class TimedConnection(psycopg.Connection[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = timeout) -> Any:
            try:
                return super().wait(gen, interval, timeout)
            except psycopg.errors._WaitTimeout:
                self.close()
                raise psycopg.OperationalError(LATE) from None

    milliseconds = math.ceil(1000 * timeout)
    usual = {
        "connect_timeout": max(2, math.ceil(timeout)),  # the driver waits at least two seconds
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    }
    limits = (
        f"SET statement_timeout = {milliseconds}; SET lock_timeout = {math.ceil(milliseconds / 2)};"
        "SET idle_in_transaction_session_timeout = 60000"
    )
    threads = ThreadPoolExecutor(CONNECTIONS, "connecting")

    def open_connection(given: Any, options: dict[str, Any]) -> TimedConnection:
        connection = TimedConnection.connect(*given, **{**usual, **options, "autocommit": True})
        connection.execute(limits)
        connection.autocommit = False
        return connection

    def close_late(future: Future[TimedConnection]) -> None:
        if not future.cancelled() and future.exception() is None:
            future.result().close()

    def connect(dialect: object, record: object, given: Any, options: dict[str, Any]) -> Any:
        future = threads.submit(open_connection, given, options)
        try:
            return future.result(timeout)
        except FutureTimeoutError:
            future.add_done_callback(close_late)
            raise psycopg.OperationalError(LATE) from None

    return connect


class StoreThreads:
    """Threads for requests that use the store, apart from those of all other requests.

    As many work at once as there are connections. While the database hangs or is locked, each
    waits for it no longer than `Database` lets it. The next ones wait for a thread for a shorter
    time, and then fail too. So everybody has an answer in time, and requests that need no store
    find their own threads free.

    Parameters
    ----------
    seconds
        The time limit of the store; the wait for a thread is half of it.
    """

    def __init__(self, seconds: float) -> None:
        self.patience = 0.5 * seconds
        self._turns = anyio.CapacityLimiter(CONNECTIONS)
        self._threads = anyio.CapacityLimiter(math.inf)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the work returns.

        Raises
        ------
        StoreError
            If no thread is free in time.
        """
        turn = object()
        try:
            with anyio.fail_after(self.patience):
                await self._turns.acquire_on_behalf_of(turn)
        except TimeoutError:
            raise StoreError(LATE, problem="late") from None
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._threads)
        finally:
            self._turns.release_on_behalf_of(turn)
