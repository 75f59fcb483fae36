"""What clients saw: answers by kind and phase, and how long visitors waited."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

WARM_UP, QUIET, REPLACED, CROWD = "warm-up", "quiet", "a model is replaced", "no pauses"
COMPARED = "comparison"
ANSWERED, REFUSED, FAILED = "2xx/3xx", "503", "5xx"
CLIENT_ERROR, RESET, UNANSWERED = "4xx", "reset", "no answer"
KINDS = (ANSWERED, CLIENT_ERROR, REFUSED, FAILED, RESET, UNANSWERED)


@dataclass
class Record:
    """Counts of answers and times of visitors, by phase; threads share it.

    Attributes
    ----------
    phase
        What happens now. A request belongs to the phase in which it began, or to the one in which
        it ended if that is not a quiet one.
    """

    phase: str = WARM_UP
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Set the phase, and return to the one before at the end; an error leaves it."""
        before, self.phase = self.phase, phase
        yield
        self.phase = before

    def pace(self, pause: float) -> float:
        """Return a pause as it is now: nobody pauses in the warm-up, which fills caches."""
        return 0.0 if self.phase == WARM_UP else pause

    def fill_caches(self, n_requests: float, most_seconds: float) -> None:
        """Wait until so many requests were answered, or for so long; it is quiet afterwards."""
        self.phase, end = WARM_UP, time.monotonic() + most_seconds
        while self.n_requests < n_requests and time.monotonic() < end:
            time.sleep(0.05)
        self.phase = QUIET

    def add(self, kind: str, begun: str, seconds: float | None = None, said: str = "") -> None:
        """Add one answer; `seconds` only for a visitor who waited for it."""
        phase = self.phase if begun == QUIET else begun
        with self._lock:
            self.counts[phase, kind] += 1
            if seconds is not None:
                self.times.setdefault(phase, []).append(seconds)
            if kind in (FAILED, CLIENT_ERROR) and len(self.failures) < 20:
                self.failures.append(f"{phase}: {said}")

    def total(self, kind: str) -> int:
        """Return the number of answers of a kind in all phases."""
        return sum(n for (_, found), n in self.counts.items() if found == kind)

    @property
    def n_requests(self) -> int:
        """The number of requests so far."""
        return sum(self.counts.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each phase: answers by kind, and p50 and p99 of visitors in ms."""
        phases = dict.fromkeys(phase for phase, _ in self.counts)
        return [self._row(phase) for phase in phases]

    def _row(self, phase: str) -> dict[str, Any]:
        counts = {kind: self.counts[phase, kind] for kind in KINDS}
        times = 1000 * np.array(self.times.get(phase) or [np.nan])
        p50, p99 = np.percentile(times, [50, 99]).tolist()
        total = sum(counts.values())
        return {"phase": phase, "requests": total, **counts, "p50 ms": p50, "p99 ms": p99}


def kind_of(status: int) -> str:
    """Return the kind of an answer with a status."""
    if status == 503:
        return REFUSED
    return FAILED if status >= 500 else CLIENT_ERROR if status >= 400 else ANSWERED
