"""A circuit breaker: while the database hangs, requests fail at once and one at a time tries it."""

import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from teaser.app.database.deadline import time_limit
from teaser.errors import StoreTimeoutError

log = logging.getLogger("teaser")
# A transaction that waited for less of the limit says nothing about the database: its request may
# have spent the rest on other transactions, all of them answered.
_LONG_SHARE = 0.5


class Wait:
    """How long one transaction has waited for the database itself."""

    def __init__(self) -> None:
        self._began = math.inf

    def begin(self) -> None:
        """Begin to count; the wait for other transactions of this process is over."""
        self._began = monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since the beginning; 0 before it."""
        return max(0.0, monotonic() - self._began)


class Breaker:
    """Whether transactions of one kind are answered in time.

    A transaction that is late opens the breaker, if it waited for the database itself for at least
    half of the limit. While it is open, one transaction at a time is let through. The first that is
    answered, with a result or an error, closes it.

    Parameters
    ----------
    kind
        What the transactions do, for the log: `reading` or `writing`.
    seconds
        The limit on the transactions of one request.
    """

    def __init__(self, kind: str, seconds: float) -> None:
        self._kind = kind
        self._long = _LONG_SHARE * seconds
        self._is_open = False
        self._is_tried = False
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the database does not answer in time."""
        return self._is_open

    @property
    def is_refusing(self) -> bool:
        """Whether a transaction would be refused at once, because another one tries."""
        return self._is_open and self._is_tried

    @contextmanager
    def limiting(self, seconds: float) -> Iterator[Wait]:
        """Let a transaction through for at most `seconds`, and note whether it was late.

        Raises
        ------
        StoreTimeoutError
            At once, while the breaker is open and another transaction tries.
        """
        is_trial, wait = self._enter(), Wait()

        def open_if_long() -> None:
            if wait.seconds > self._long:
                self._set(True)

        is_answered = True
        try:
            with time_limit(seconds, open_if_long, is_trial=is_trial):
                yield wait
        except StoreTimeoutError:
            is_answered = False
            open_if_long()
            raise
        finally:
            if is_answered:
                self._set(False)
            if is_trial:
                self._is_tried = False

    def _enter(self) -> bool:
        with self._lock:
            if self._is_open and self._is_tried:
                raise StoreTimeoutError(f"The database does not answer ({self._kind}).")
            self._is_tried = self._is_open
            return self._is_open

    def _set(self, is_open: bool) -> None:
        with self._lock:
            has_changed = self._is_open != is_open
            self._is_open = is_open
        if has_changed:
            said = "does not answer in time" if is_open else "answers again"
            log.warning("the database %s (%s)", said, self._kind)
