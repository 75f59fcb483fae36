"""Request counts and times of all processes, in the format that Prometheus reads."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from teaser.app.http.shared_counters import SharedCounters

# Upper bounds of the histogram of response times, in seconds.
BOUNDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0)
_N_STATUSES = 600
_N_BUCKETS = len(BOUNDS) + 1


class Metrics(Collector):
    """Counts and times of the requests that were answered.

    Parameters
    ----------
    file
        The file in which the processes of one server count together.
    is_stale
        Whether the model's folder holds something that cannot be served.
    """

    def __init__(
        self, file: Path | None = None, *, is_stale: Callable[[], bool] = lambda: False
    ) -> None:
        self._counters = SharedCounters(_N_STATUSES + _N_BUCKETS + 1, file)
        counts = np.split(self._counters.values, [_N_STATUSES, _N_STATUSES + _N_BUCKETS])
        self._statuses, self._buckets, self._seconds = counts
        self._is_stale = is_stale
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def record(self, status: int, seconds: float) -> None:
        """Count one answer."""
        with self._counters.locked():
            self._statuses[min(status, _N_STATUSES - 1)] += 1
            self._buckets[np.searchsorted(BOUNDS, seconds)] += 1
            self._seconds += seconds

    def collect(self) -> Iterator[Any]:
        """Return the metrics counted so far."""
        with self._counters.locked():
            statuses, times = self._statuses.copy(), self._buckets.copy()
            seconds = float(self._seconds[0])
        requests = CounterMetricFamily("teaser_requests", "Requests answered.", labels=["status"])
        for status in np.flatnonzero(statuses).tolist():
            requests.add_metric([str(status)], float(statuses[status]))
        yield requests
        names = [*map(str, BOUNDS), "+Inf"]
        buckets = list(zip(names, np.cumsum(times).tolist(), strict=True))
        yield HistogramMetricFamily(
            "teaser_request_seconds", "Time to answer.", buckets=buckets, sum_value=seconds
        )
        yield GaugeMetricFamily(
            "teaser_model_stale",
            "1 while the model's folder cannot be used and the previous model is served.",
            value=float(self._is_stale()),
        )
