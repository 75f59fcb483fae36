"""At most a few lines a minute of one kind in the log, with a count of what was left out."""

import logging
import threading
from dataclasses import dataclass

_LOGGERS = ("asyncio", "uvicorn.error", "teaser", "teaser.refused")
_MAX_KINDS = 256


@dataclass
class _Kind:
    """How many lines of one kind were written since a moment, and how many were left out."""

    since: float
    written: int = 0
    left_out: int = 0


class LogLimit(logging.Filter):
    """Leave out lines beyond a number a period, for each kind of line.

    Lines are of one kind if they come from one place in the source with one class of exception.
    A line that follows left out ones says how many there were, and has it as `left_out`.

    Parameters
    ----------
    lines
        Lines of one kind in a period.
    seconds
        The length of a period.
    """

    def __init__(self, lines: int = 5, seconds: float = 60.0) -> None:
        super().__init__()
        self.lines = lines
        self.seconds = seconds
        self._kinds: dict[tuple[object, ...], _Kind] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written."""
        # The text would not tell kinds apart: asyncio's has the number of the socket in it.
        error = record.exc_info[0] if record.exc_info else None
        key = (record.name, record.levelno, record.pathname, record.lineno, error)
        with self._lock:
            left_out = self._count(key, record.created)
        if left_out is None:
            return False
        if left_out:
            record.msg = f"{record.getMessage()} (lines like this left out: {left_out:,})"
            record.args = None
            record.left_out = left_out
        return True

    def _count(self, key: tuple[object, ...], now: float) -> int | None:
        """Return how many lines were left out before this one; None if it is left out too."""
        if key not in self._kinds and len(self._kinds) >= _MAX_KINDS:
            self._kinds.clear()
        kind = self._kinds.setdefault(key, _Kind(now))
        left_out = 0
        if abs(now - kind.since) >= self.seconds:  # the clock may have been set back
            left_out = kind.left_out
            kind.since, kind.written, kind.left_out = now, 0, 0
        if kind.written >= self.lines:
            kind.left_out += 1
            return None
        kind.written += 1
        return left_out


def limit_logs() -> None:
    """Limit the lines of this package, of asyncio and of uvicorn; a second call does nothing."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(found, LogLimit) for found in logger.filters):
            logger.addFilter(LogLimit())
