"""Numbers that the processes of one server share: requests counted, and what each address used.

They lie in a file that is mapped by all, written out in full before: a full disk cannot take a
page of it away later.
"""

import hashlib
import ipaddress
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

if sys.platform != "win32":
    import fcntl

BOUNDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0)
_STATUSES = 600
# Addresses share a set of eight places each; who was not seen for longest makes way.
_SETS, _WAYS, _PARTS = 2_048, 8, 3
_TABLE = _SETS * _WAYS * _PARTS
_SIZE = _STATUSES + len(BOUNDS) + 2 + _TABLE


class Tally:
    """A block of numbers, changed by one thread of one process at a time.

    Parameters
    ----------
    file
        Where the processes that share it find it; without, it is of this process alone.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._handle = None if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        numbers: NDArray[Any] = np.zeros(_SIZE)
        if file is not None and self._handle is not None:
            weakref.finalize(self, os.close, self._handle)
            with self.alone():
                _fill(self._handle, numbers.nbytes)
            numbers = np.memmap(file, np.float64, "r+", shape=(_SIZE,))
        self.statuses, rest = numbers[:_STATUSES], numbers[_STATUSES:]
        self.times, rest = rest[: len(BOUNDS) + 1], rest[len(BOUNDS) + 1 :]
        self.seconds, table = rest[:1], rest[1:]
        self.table = table.reshape(_SETS, _WAYS, _PARTS)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others away; the lock of a process that dies goes with it."""
        with self._lock:
            if self._handle is None or sys.platform == "win32":
                yield
                return
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._handle, fcntl.LOCK_UN)


class Metrics(Collector):
    """Counts and times of requests of all processes, in the form that Prometheus reads.

    Parameters
    ----------
    tally
        Where they are counted.
    is_stale
        Tells whether the model's folder holds something that cannot be served.
    """

    def __init__(
        self, tally: Tally | None = None, *, is_stale: Callable[[], bool] = lambda: False
    ) -> None:
        self._tally = tally or Tally()
        self._is_stale = is_stale
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def record(self, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._tally.alone():
            self._tally.statuses[min(status, _STATUSES - 1)] += 1
            self._tally.times[np.searchsorted(BOUNDS, seconds)] += 1
            self._tally.seconds += seconds

    def collect(self) -> Iterator[Any]:
        """Return what was counted so far."""
        with self._tally.alone():
            statuses, times = self._tally.statuses.copy(), self._tally.times.copy()
            seconds = float(self._tally.seconds[0])
        requests = CounterMetricFamily("teaser_requests", "Requests answered.", labels=["status"])
        for status in np.flatnonzero(statuses).tolist():
            requests.add_metric([str(status)], float(statuses[status]))
        yield requests
        sums = np.cumsum(times).tolist()
        names = [*map(str, BOUNDS), "+Inf"]
        buckets = list(zip(names, sums, strict=True))
        yield HistogramMetricFamily(
            "teaser_request_seconds", "Time to answer.", buckets=buckets, sum_value=seconds
        )
        yield GaugeMetricFamily(
            "teaser_model_stale",
            "1 while the model's folder cannot be used and the model before it is served.",
            value=float(self._is_stale()),
        )


class Rate:
    """So many requests a minute from one address, whichever process they reach.

    Every address has a bucket that refills steadily. Of IPv6 the first 64 bits count: whoever has
    one address has all that begin like it.
    """

    def __init__(self, per_minute: int, tally: Tally | None = None) -> None:
        self.per_minute = per_minute
        self._tally = tally or Tally()

    def allows(self, address: str, now: float) -> bool:
        """Take one request from an address's bucket, if there is one left."""
        if not self.per_minute:
            return True
        row, name = _place_of(address)
        with self._tally.alone():
            ways = self._tally.table[row]
            known = np.flatnonzero(ways[:, 0] == name)
            way = int(known[0]) if len(known) else int(np.argmin(ways[:, 2]))
            level, last = ways[way, 1:].tolist() if len(known) else (self.per_minute, now)
            level = min(self.per_minute, level + max(0.0, now - last) * self.per_minute / 60)
            ways[way] = name, level - 1 if level >= 1 else level, now
        return bool(level >= 1)


def _fill(handle: int, size: int) -> None:
    """Write noughts to the end of a file of that size, so that none of it is a hole."""
    end = os.lseek(handle, 0, os.SEEK_END)
    while end < size:
        end += os.write(handle, bytes(size - end))


def _place_of(address: str) -> tuple[int, float]:
    """Return the set of an address and a number that tells it from others there."""
    try:
        parsed = ipaddress.ip_address(address)
        if parsed.version == 6 and parsed.ipv4_mapped is None:
            address = str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    except ValueError:
        pass
    digest = int.from_bytes(hashlib.blake2b(address.encode(), digest_size=8).digest())
    return digest % _SETS, float((digest >> 11) + 1)
