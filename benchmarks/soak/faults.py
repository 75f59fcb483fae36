"""What breaks during a soak: workers, the database, the disk, connections."""

import os
import resource
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from soak.postgres import Postgres
from soak.servers import HOST, Server

N_HALF_OPEN = 200
_RECOVERY_SECONDS = 60.0


@dataclass(frozen=True)
class Fault:
    """A name for the table, and what makes the fault for so many seconds."""

    name: str
    make: Callable[[Server, float], None]


def faults_of(database: Postgres | str) -> list[Fault]:
    """Return the faults of a server on a database: PostgreSQL, or a file of SQLite."""
    common = [
        Fault("a worker is killed", kill_worker),
        Fault("the disk is full", fill_disk),
        Fault("half-open connections", leave_half_open),
    ]
    if isinstance(database, str):
        return [Fault("the database is locked", lambda _, s: lock_file(database, s)), *common]
    return [
        Fault("the database hangs", lambda _, s: stop_postgres(database, s)),
        Fault("the database is killed", lambda _, s: kill_postgres(database, s)),
        *common,
    ]


def kill_worker(server: Server, seconds: float) -> None:
    """Kill the youngest worker and wait until there is another."""
    os.kill(server.workers[-1].pid, signal.SIGKILL)
    time.sleep(seconds)
    server.wait_until_ready(_RECOVERY_SECONDS)


def fill_disk(server: Server, seconds: float) -> None:
    """Let writes to files fail as on a full disk: no file of the workers may grow."""
    with ExitStack() as stack:
        for worker in server.workers:
            stack.enter_context(_limited(worker.pid))
        time.sleep(seconds)


@contextmanager
def _limited(pid: int) -> Iterator[None]:
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def leave_half_open(server: Server, seconds: float) -> None:
    """Open connections that send half of a head and wait."""
    with ExitStack() as stack:
        for _ in range(N_HALF_OPEN):
            with suppress(OSError):  # the server may refuse some of so many
                connection = socket.create_connection((HOST, server.port), timeout=5)
                stack.enter_context(connection)
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half")
        time.sleep(seconds)


def lock_file(path: str, seconds: float) -> None:
    """Hold the write lock of a file of SQLite, as another program might."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def stop_postgres(database: Postgres, seconds: float) -> None:
    """Stop PostgreSQL where it is: its connections stay open, and nothing answers."""
    database.stop()
    try:
        time.sleep(seconds)
    finally:
        database.resume()


def kill_postgres(database: Postgres, seconds: float) -> None:
    """Kill PostgreSQL, and start it again."""
    database.kill()
    time.sleep(seconds)
    database.start()
