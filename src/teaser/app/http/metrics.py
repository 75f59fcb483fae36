"""Counts and times of requests in all processes, in the format that Prometheus reads."""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from teaser.app.http.route_names import OTHER, RouteName
from teaser.app.http.shared_counters import SharedCounters
from teaser.app.telemetry.request_record import PARTS, Part

# Upper bounds of the histograms, in seconds.
BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 2.5, 5.0)
_N_STATUSES = 600
_N_TIMES = len(BOUNDS) + 2  # a count for each bucket, and the sum of seconds


@dataclass(frozen=True)
class ModelStatus:
    """The model that is served.

    Attributes
    ----------
    is_stale
        Whether the model's folder holds something that cannot be served.
    written_at, loaded_at
        When it was written, and when it was taken up; in seconds since 1970.
    """

    is_stale: bool = False
    written_at: float = 0.0
    loaded_at: float = 0.0


class Metrics(Collector):
    """Counts and times of the requests that were answered, by route.

    Parameters
    ----------
    file
        The file in which the processes of one server count together.
    routes
        The routes that there are. Requests for others are counted as one.
    model
        Tells about the model that is served.
    registry
        Where these metrics are registered; one of their own by default.
    """

    def __init__(
        self,
        file: Path | None = None,
        *,
        routes: Sequence[RouteName] = (),
        model: Callable[[], ModelStatus] = ModelStatus,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self.routes = (OTHER, *routes)
        self._rows = {route: row for row, route in enumerate(self.routes)}
        n_statuses, n_times = len(self.routes) * _N_STATUSES, len(self.routes) * _N_TIMES
        self._counters = SharedCounters(n_statuses + n_times + len(PARTS) * _N_TIMES, file)
        values = np.split(self._counters.values, [n_statuses, n_statuses + n_times])
        self._statuses = values[0].reshape(-1, _N_STATUSES)
        self._times, self._parts = (part.reshape(-1, _N_TIMES) for part in values[1:])
        # Single numbers are counted through these: an entry of a mapped array takes longer.
        self._cells = self._counters.values.data.cast("B").cast("d")
        self._times_from, self._parts_from = n_statuses, n_statuses + n_times
        self._model = model
        self.registry = registry or CollectorRegistry()
        self.registry.register(self)

    def record(
        self,
        route: RouteName,
        status: int,
        seconds: float,
        parts: Iterable[tuple[Part, float]] = (),
    ) -> None:
        """Count one answer: its status, its time, and the times of its parts."""
        row = self._rows.get(route, 0)
        with self._counters.locked():
            self._cells[row * _N_STATUSES + min(status, _N_STATUSES - 1)] += 1
            self._add(self._times_from + row * _N_TIMES, seconds)
            for part, taken in parts:
                self._add_part(part, taken)

    def record_part(self, part: Part, seconds: float) -> None:
        """Count a part of a request that was answered before."""
        with self._counters.locked():
            self._add_part(part, seconds)

    def _add_part(self, part: Part, seconds: float) -> None:
        self._add(self._parts_from + PARTS.index(part) * _N_TIMES, seconds)

    def _add(self, first: int, seconds: float) -> None:
        """Count a time in the histogram that begins at a cell."""
        self._cells[first + bisect_left(BOUNDS, seconds)] += 1
        self._cells[first + _N_TIMES - 1] += seconds

    def collect(self) -> Iterator[Any]:
        """Return the metrics counted so far."""
        with self._counters.locked():
            statuses, times = self._statuses.copy(), self._times.copy()
            parts = dict(zip(PARTS, self._parts.copy(), strict=True))
        yield self._requests(statuses)
        took = _histogram("teaser_request_seconds", "Time to answer.", ["method", "route"])
        for row in np.flatnonzero(times[:, :-1].sum(axis=1)).tolist():
            _fill(took, self.routes[row], times[row])
        yield took
        store = _histogram("teaser_store_seconds", "Time of a transaction.", ["operation"])
        _fill(store, ["read"], parts["store_read"])
        _fill(store, ["write"], parts["store_write"])
        yield store
        model = _histogram("teaser_model_seconds", "Time of the model for a profile or list.", [])
        _fill(model, [], parts["model"])
        yield model
        yield from self._model_gauges()

    def _requests(self, statuses: NDArray[Any]) -> CounterMetricFamily:
        labels = ["method", "route", "status"]
        requests = CounterMetricFamily("teaser_requests", "Requests answered.", labels=labels)
        for row, status in np.argwhere(statuses).tolist():
            requests.add_metric([*self.routes[row], str(status)], float(statuses[row, status]))
        return requests

    def _model_gauges(self) -> Iterator[GaugeMetricFamily]:
        model = self._model()
        for name, said, value in (
            (
                "teaser_model_stale",
                "1 while the model's folder cannot be used and the previous model is served.",
                float(model.is_stale),
            ),
            (
                "teaser_model_age_seconds",
                "Time since the served model was written.",
                max(0.0, time.time() - model.written_at),
            ),
            (
                "teaser_model_written_timestamp_seconds",
                "When the served model was written.",
                model.written_at,
            ),
            (
                "teaser_model_loaded_timestamp_seconds",
                "When the process that answers took the served model up.",
                model.loaded_at,
            ),
        ):
            yield GaugeMetricFamily(name, said, value=value)


def _histogram(name: str, said: str, labels: Sequence[str]) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, said, labels=labels)


def _fill(metric: HistogramMetricFamily, labels: Sequence[str], times: NDArray[Any]) -> None:
    names = [*map(str, BOUNDS), "+Inf"]
    buckets = list(zip(names, np.cumsum(times[:-1]).tolist(), strict=True))
    metric.add_metric(labels, buckets, float(times[-1]))
