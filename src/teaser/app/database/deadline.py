"""The time that one request may spend in the store, and whether its caller still waits."""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from teaser.errors import StoreTimeoutError

# A thread ends its own transaction at the deadline; its caller waits this much longer for it.
_GRACE = 0.1
# A commit that has begun may end this much after the deadline; its caller waits for it, and for
# what comes after it, a little longer still: what is stored should be answered as stored.
_COMMIT_SECONDS = 0.4
_COMMIT_GRACE = 0.6
# A request that has waited already tries a database that hangs for at least this time.
_SHORTEST_TRIAL = 0.2
LATE = "The database did not answer in time."


class StoreUse:
    """The use of the store by one request: all its transactions together have one limit.

    Two threads share it: one works, and one waits for the result. The one that waits may give up;
    the other then commits nothing any more.

    Parameters
    ----------
    seconds
        The time that the transactions of the request may take. What the request computes between
        them does not count.
    """

    def __init__(self, seconds: float) -> None:
        self.has_started = False
        self._asked = monotonic()
        self._seconds = self._left = seconds
        self._began: float | None = None
        self._on_late: Callable[[], None] = lambda: None
        self._is_abandoned = False
        self._grace = _GRACE
        self._lock = threading.Lock()

    def begin(self, on_late: Callable[[], None], *, is_trial: bool) -> float:
        """Begin a transaction; return the seconds that are left for it.

        `on_late` is called if the one who waits gives up during the transaction. The time that a
        request waited for a thread counts only if it is the one to try a database that hangs.
        """
        with self._lock:
            self._began, self._on_late = monotonic(), on_late
            if is_trial:
                unused = self._seconds - (self._began - self._asked)
                self._left = min(self._left, max(_SHORTEST_TRIAL, unused))
            return 0.0 if self._is_abandoned else max(0.0, self._left)

    def commit(self) -> None:
        """Begin to commit, unless nobody waits for it any more.

        Raises
        ------
        StoreTimeoutError
            If nobody does.
        """
        with self._lock:
            if self._is_abandoned:
                raise StoreTimeoutError(LATE)
            self._grace = _COMMIT_GRACE

    def end(self) -> None:
        """End the transaction."""
        with self._lock:
            if self._began is not None:
                self._left -= monotonic() - self._began
            self._began = None

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody waits for the result any more."""
        return self._is_abandoned

    def start(self) -> None:
        """Note that a thread works on the request.

        Raises
        ------
        StoreTimeoutError
            If nobody waits for it any more.
        """
        with self._lock:
            if self._is_abandoned:
                raise StoreTimeoutError(LATE)
            self.has_started = True

    def abandon_unstarted(self) -> bool:
        """Give up unless a thread has started; return whether it is given up."""
        with self._lock:
            self._is_abandoned |= not self.has_started
            return not self.has_started

    def abandon_if_late(self) -> bool:
        """Give up if a transaction is overdue; return whether it is."""
        with self._lock:
            if self._began is None or monotonic() - self._began <= self._left + self._grace:
                return False
            self._is_abandoned = True
        self._on_late()
        return True


_use: ContextVar[StoreUse | None] = ContextVar("store_use", default=None)
_end: ContextVar[float] = ContextVar("end_of_transaction", default=math.inf)


@contextmanager
def using(use: StoreUse) -> Iterator[None]:
    """Count the transactions inside towards the use of the store by one request."""
    token = _use.set(use)
    try:
        yield
    finally:
        _use.reset(token)


@contextmanager
def time_limit(
    seconds: float, on_late: Callable[[], None] = lambda: None, *, is_trial: bool = False
) -> Iterator[None]:
    """Limit the transaction inside: to `seconds`, and to what its request has left."""
    use = _use.get()
    left = math.inf if use is None else use.begin(on_late, is_trial=is_trial)
    token = _end.set(monotonic() + min(seconds, left))
    try:
        yield
    finally:
        _end.reset(token)
        if use is not None:
            use.end()


def seconds_left() -> float:
    """Return the seconds that are left for the present transaction; infinite without one."""
    return max(0.0, _end.get() - monotonic())


def need_time() -> None:
    """Raise `StoreTimeoutError` if the transaction is late, or nobody waits for it any more."""
    use = _use.get()
    if seconds_left() == 0 or (use is not None and use.is_abandoned):
        raise StoreTimeoutError(LATE)


def begin_commit() -> None:
    """Raise `StoreTimeoutError` if the transaction is late; else give it time to commit.

    From now on the one who waits gives up only if the database does not answer to the commit.
    """
    need_time()
    use = _use.get()
    if use is not None:
        use.commit()
    _end.set(max(_end.get(), monotonic() + _COMMIT_SECONDS))
