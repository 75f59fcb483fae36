"""Whether the database takes a write: tried for real, at most once a second."""

import threading
from datetime import UTC, datetime
from time import monotonic

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from teaser.app.database.database import Database
from teaser.app.database.deadline import LATE
from teaser.app.people.tables import setting
from teaser.errors import StoreError, StoreTimeoutError

_NAME = "last_write_check"
_SECONDS = 1.0
_PATIENCE = 0.3  # seconds for the write of another call
_READ = select(setting.c.value).where(setting.c.name == _NAME)
_UPDATE = update(setting).where(setting.c.name == _NAME).values(value=bindparam("time"))
_INSERT = insert(setting).values(name=_NAME, value=bindparam("time"))


class WriteCheck:
    """Writes one row and commits it; calls at the same time share one write.

    A full disk refuses it, although the database can be read and its lock be taken.

    Parameters
    ----------
    database
        The database to write to.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = threading.Lock()
        self._ended = -_SECONDS
        self._error: StoreError | None = None

    def run(self) -> None:
        """Raise `StoreError` unless the database answers and takes a write."""
        asked = monotonic()
        if not self._turn.acquire(timeout=_PATIENCE):  # another call has tried it for long
            raise StoreTimeoutError(LATE)
        try:
            if self._error is not None and self._ended > asked:
                raise StoreError(str(self._error)) from self._error
            if self._error is not None or asked - self._ended >= _SECONDS:
                self._try()
                return
            with self._database.reading() as connection:
                connection.execute(_READ)
        finally:
            self._turn.release()

    def _try(self) -> None:
        self._error = None
        try:
            time = {"time": datetime.now(UTC).isoformat()}
            with self._database.writing() as connection:
                if connection.execute(_UPDATE, time).rowcount == 0:
                    connection.execute(_INSERT, time)
        except IntegrityError:
            pass  # another process has just written the row for the first time
        except StoreError as error:
            self._error = error
            raise
        finally:
            self._ended = monotonic()
