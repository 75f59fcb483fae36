"""One connection to a server that notes every answer, and what all clients saw."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soak.servers import HOST

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


_TIMEOUT = 30.0
_UNREACHED = 0


@dataclass(frozen=True)
class Answer:
    """An answer; its status is 0 if none came."""

    status: int
    text: str = ""
    cookie: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the server did what it was asked."""
        return 200 <= self.status < 400

    @property
    def is_unsure(self) -> bool:
        """Whether the server may have done it, although it did not say so."""
        return self.status == _UNREACHED or self.status >= 500


class Client:
    """A browser or program: keeps its connection while it works, and opens another if not.

    Parameters
    ----------
    port
        Of the server.
    record
        Where answers are counted.
    is_visitor
        Whether the times are those of a person who waits.
    """

    def __init__(self, port: int, record: Record, *, is_visitor: bool) -> None:
        self.host = f"{HOST}:{port}"
        self.record, self.is_visitor = record, is_visitor
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
        self._is_used = False

    def ask(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        """Send a request and note its answer.

        As browsers do, a request on a kept connection that the server closed meanwhile is sent
        again on a new one, if it changes nothing.
        """
        phase, begun = self.record.phase, time.perf_counter()
        was_used = self._is_used
        try:
            answer = self._send(method, path, body, headers)
        except TimeoutError:
            self.close()
            self.record.add(UNANSWERED, phase)
            return Answer(_UNREACHED)
        except (OSError, http.client.HTTPException):
            self.close()
            if was_used and method == "GET":
                return self.ask(method, path, body, headers)
            self.record.add(RESET, phase)
            return Answer(_UNREACHED)
        seconds = time.perf_counter() - begun if self.is_visitor else None
        kind = kind_of(answer.status)
        if kind == FAILED or answer.status >= 400:
            said = f"{method} {path}: {answer.status} {answer.text[:200]}"
            self.record.add(kind, phase, seconds, said)
        else:
            self.record.add(kind, phase, seconds)
        return answer

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()
        self._is_used = False

    def _send(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Answer:
        self._connection.request(method, path, body, dict(headers))
        found = self._connection.getresponse()
        text = found.read().decode()
        self._is_used = True
        values = found.headers.get_all("Set-Cookie") or []
        return Answer(found.status, text, next(iter(values), None))
