"""Connections to PostgreSQL that keep the deadline of their transaction, also if it hangs."""

import math
from time import monotonic
from typing import Any

import psycopg
from psycopg.errors import ConnectionTimeout, LockNotAvailable, QueryCanceled
from sqlalchemy import Dialect
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from teaser.app.database.deadline import LATE, seconds_left

_LONGEST_CONNECT = 5.0  # seconds
# A transaction whose process is stopped frees its locks after a minute.
_LIMITS = (
    "SELECT set_config('statement_timeout', %s, false), "
    "set_config('idle_in_transaction_session_timeout', '60000', false)"
)
_IDLE_SECONDS = 0.5
_USED = "teaser_used"
_LEAST_WAIT = 0.05  # for the rollback of a transaction that is late


class _Late(psycopg.OperationalError):
    """The server did not answer before the deadline."""


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection whose every wait ends at the deadline of the transaction.

    A server that is stopped, or a network that is cut, sends no error. The connection is closed
    then: the server rolls back what was not committed.
    """

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server until the deadline."""
        left = max(_LEAST_WAIT, seconds_left())
        if timeout is None and not math.isinf(left):
            timeout = left
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.OperationalError as error:
            if seconds_left() > 0 or self.closed:
                raise
            self.close()
            raise _Late(LATE) from error


class Connector:
    """Makes connections that keep deadlines.

    Parameters
    ----------
    seconds
        After this time the server itself ends a statement.
    """

    def __init__(self, seconds: float) -> None:
        self._milliseconds = math.ceil(1000 * seconds)

    def connect(self, dialect: Dialect, record: object, given: Any, options: dict[str, Any]) -> Any:
        """Connect within the deadline; options in the URL take precedence."""
        # The driver waits at least two seconds for a connection.
        usual = {
            "connect_timeout": max(2, math.ceil(min(_LONGEST_CONNECT, seconds_left()))),
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        }
        connection = DeadlineConnection.connect(*given, **{**usual, **options})
        try:
            connection.autocommit = True
            connection.execute(_LIMITS, (str(self._milliseconds),))
            connection.autocommit = False
        except psycopg.Error:
            connection.close()
            raise
        return connection


class IdleCheck:
    """Asks the server whether a connection still holds, if it was not used for a while.

    To ask at every use would be one round trip more for each transaction.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def leave(self, connection: object, record: ConnectionPoolEntry) -> None:
        """Note when a connection was used last."""
        record.info[_USED] = monotonic()

    def take(self, connection: Any, record: ConnectionPoolEntry, proxy: object) -> None:
        """Refuse a connection that does not hold; the pool then makes a new one."""
        if monotonic() - record.info.get(_USED, math.inf) < _IDLE_SECONDS:
            return
        try:
            self._dialect.do_ping(connection)
        except psycopg.Error as error:
            raise DisconnectionError("the connection to the database was lost") from error


def is_late(error: BaseException) -> bool:
    """Return whether an error of the driver says that something took too long."""
    return isinstance(error, _Late | ConnectionTimeout | LockNotAvailable | QueryCanceled)
