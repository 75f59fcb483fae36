"""Deleted rows leave the files of SQLite: the log is emptied, and what remains is looked for.

SQLite overwrites deleted rows with zeros (`secure_delete`), but two things can keep their text. The
write-ahead log holds earlier versions of pages until a checkpoint truncates it. And when SQLite
moves rows between pages, it may leave a copy in the unused part of one. Every row about a person
holds the person's id, so a copy is found by the id; VACUUM then writes the file anew.
"""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from sqlalchemy.exc import SQLAlchemyError

from teaser.app.database.database import Database
from teaser.errors import StoreError

log = logging.getLogger("teaser")

# VACUUM lets nobody write while it runs: some tenths of a second for a file of this size.
_MOST_VACUUMED = 16 * 2**20
_CHUNK = 2**20
_BUSY_MS = 100
_FIRST_WAIT, _LONGEST_WAIT, _LAST_SECONDS = 0.05, 1.0, 2.0
# Erasing takes at most one part in this many of the time, however often people delete.
_REST = 20
# Files by device and inode. They are never closed: that would drop the locks that SQLite holds on
# them in this process, and another process would take the database for unused.
_FILES: dict[tuple[int, int], int] = {}


class Erasure:
    """Removes the bytes of deleted persons from the files of SQLite, in a thread of its own.

    It does nothing for PostgreSQL, which has its own VACUUM.

    Parameters
    ----------
    database
        Where the persons were deleted.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        name = database.engine.url.database or ""
        self._is_sqlite = database.engine.dialect.name == "sqlite"
        self._path = None if name.startswith("file:") else Path(name)
        self._lock = threading.Lock()
        self._ids: set[str] = set()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def begin(self, person_id: str) -> None:
        """Erase what is left of a deleted person, soon; a reader can delay it."""
        if not self._is_sqlite:
            return
        with self._lock:
            self._ids.add(person_id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="erasure")
                self._thread.start()

    def close(self) -> None:
        """Try once more and end the thread."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(_LAST_SECONDS)

    def empty_log(self) -> bool:
        """Move the log into the file and truncate it; return whether nobody was in the way."""
        if not self._is_sqlite:
            return True
        try:
            with self._connection() as connection:
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except (SQLAlchemyError, sqlite3.Error, OSError, StoreError):
            return False
        return not busy

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while True:
            is_last = self._stop.is_set()
            start, ids = time.monotonic(), set(self._ids)
            is_done = self._erase(ids)
            with self._lock:
                self._ids -= ids if is_done else set()
                if not self._ids or is_last:
                    self._thread = None
                    return
            wait = _FIRST_WAIT if is_done else min(2 * wait, _LONGEST_WAIT)
            self._stop.wait(max(wait, _REST * (time.monotonic() - start)))

    def _erase(self, ids: set[str]) -> bool:
        """Return whether nothing more can be done about these persons."""
        try:
            if not self.empty_log():
                return False
            if not self._is_found(ids):
                return True
            if self._path is None or self._path.stat().st_size > _MOST_VACUUMED:
                log.warning(
                    "Copies of deleted rows are left in unused parts of the database, which is "
                    "too large to be written anew now. Run VACUUM on it at a quiet hour."
                )
                return True
            with self._connection() as connection:
                connection.execute("VACUUM")
        except (SQLAlchemyError, sqlite3.Error, OSError, StoreError):
            return False
        return self.empty_log()

    def _is_found(self, ids: set[str]) -> bool:
        if self._path is None:
            return False
        wanted = [person_id.encode() for person_id in ids]
        longest = max(map(len, wanted))
        file, offset = _opened(self._path), 0
        while chunk := os.pread(file, _CHUNK + longest, offset):
            if any(one in chunk for one in wanted):
                return True
            offset += _CHUNK
        return False

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection outside any transaction, which waits for others only shortly."""
        lent = self._database.engine.raw_connection()
        try:
            connection = cast("sqlite3.Connection", lent.driver_connection)
            (usual,) = connection.execute("PRAGMA busy_timeout").fetchone()
            connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
            try:
                yield connection
            finally:
                connection.execute(f"PRAGMA busy_timeout={usual}")
        finally:
            lent.close()


def _opened(path: Path) -> int:
    found = path.stat()
    key = found.st_dev, found.st_ino
    if key not in _FILES:
        _FILES[key] = os.open(path, os.O_RDONLY)
    return _FILES[key]
