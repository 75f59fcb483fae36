"""Deleted rows leave the files of SQLite: the log is emptied, and what remains is looked for.

SQLite overwrites deleted rows with zeros (`secure_delete`), but two things can keep their text. The
write-ahead log holds earlier versions of pages until a checkpoint truncates it. And when SQLite
moves rows between pages, it may leave a copy in the unused part of one. Every row about a person
holds the person's id, so a copy is found by the id; VACUUM then writes the file anew.

The transaction that deletes a person also stores a mark, which goes when nothing is left. A process
that ended in between leaves its mark: the next one writes the file anew. The mark does not name the
person, for then it would itself be what is looked for.
"""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import cast

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from teaser.app.database.database import Database
from teaser.app.people.tables import setting
from teaser.errors import StoreError

log = logging.getLogger("teaser")

# VACUUM lets nobody write while it runs: some tenths of a second for a file of this size.
_MOST_VACUUMED = 16 * 2**20
_CHUNK = 2**20
_BUSY_MS = 100
_FIRST_WAIT, _LONGEST_WAIT, _LAST_SECONDS = 0.05, 1.0, 2.0
_MARK = "erasing "
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
        self._marks: set[str] = set()
        self._has_unknown = False
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def mark(self, connection: Connection) -> str | None:
        """Store that there is something to erase, in the transaction that deletes a person."""
        if not self._is_sqlite:
            return None
        name = _MARK + token_hex(8)
        connection.execute(insert(setting).values(name=name, value=""))
        return name

    def begin(self, person_id: str, mark: str | None = None) -> None:
        """Erase what is left of a deleted person, soon; a reader can delay it."""
        if self._is_sqlite:
            self._start([person_id], [mark] if mark else [])

    def resume(self) -> None:
        """Empty the log, and erase what a process that ended has left."""
        if not self._is_sqlite:
            return
        self.empty_log()
        marks = select(setting.c.name).where(setting.c.name.startswith(_MARK))
        with self._database.reading() as connection:
            found = connection.execute(marks).scalars().all()
        if found:
            self._start([], found)

    def _start(self, ids: Iterable[str], marks: Iterable[str]) -> None:
        with self._lock:
            self._ids.update(ids)
            self._marks.update(marks)
            self._has_unknown |= not ids
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
            with self._lock:
                start, ids, marks = time.monotonic(), set(self._ids), set(self._marks)
                has_unknown = self._has_unknown
            is_done = self._erase(ids, has_unknown=has_unknown) and self._forget(marks)
            with self._lock:
                if is_done:
                    self._ids -= ids
                    self._marks -= marks
                    self._has_unknown &= bool(self._marks)
                if not (self._ids or self._marks) or is_last:
                    self._thread = None
                    return
            wait = _FIRST_WAIT if is_done else min(2 * wait, _LONGEST_WAIT)
            self._stop.wait(max(wait, _REST * (time.monotonic() - start)))

    def _erase(self, ids: set[str], *, has_unknown: bool) -> bool:
        """Return whether nothing more can be done about these persons, and unknown ones."""
        try:
            if not self.empty_log():
                return False
            if not has_unknown and not self._is_found(ids):
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

    def _forget(self, marks: set[str]) -> bool:
        """Remove marks; return whether that is stored."""
        if not marks:
            return True
        try:
            with self._database.writing() as connection:
                connection.execute(delete(setting).where(setting.c.name.in_(marks)))
        except (SQLAlchemyError, StoreError):
            return False
        return True

    def _is_found(self, ids: set[str]) -> bool:
        if self._path is None or not ids:
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
