"""Requests are counted by route, status and time, over several processes and restarts."""

import re
import time
from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from teaser.app.http.metrics import Metrics, ModelStatus
from teaser.app.http.route_names import OTHER, RouteName
from teaser.app.telemetry.request_record import Part

HOME, ITEM = RouteName("GET", "/"), RouteName("GET", "/item/{item_id}")


def samples_of(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return all values, by name and labels, as a parser of others reads them."""
    text = generate_latest(metrics.registry).decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_status_and_time() -> None:
    metrics = Metrics(routes=[HOME, ITEM])
    for route, status, seconds in (
        (HOME, 200, 0.001),
        (HOME, 200, 0.03),
        (ITEM, 404, 0.002),
        (HOME, 500, 9.0),
    ):
        metrics.record(route, status, seconds)
    found = samples_of(metrics)
    assert found["teaser_requests_total", "GET", "/", "200"] == 2
    assert found["teaser_requests_total", "GET", "/", "500"] == 1
    assert found["teaser_requests_total", "GET", "/item/{item_id}", "404"] == 1
    bounds = ("0.0005", "0.001", "0.05", "5.0", "+Inf")
    counted = [found["teaser_request_seconds_bucket", le, "GET", "/"] for le in bounds]
    assert counted == [0, 1, 2, 2, 3]
    assert found["teaser_request_seconds_count", "GET", "/"] == 3
    assert abs(found["teaser_request_seconds_sum", "GET", "/"] - 9.031) < 1e-9
    assert ("teaser_request_seconds_count", *OTHER) not in found  # nothing was asked there


def test_whatever_is_asked_the_number_of_series_is_bounded() -> None:
    metrics = Metrics(routes=[HOME])
    for number in range(1000):
        metrics.record(RouteName("GET", f"/item/{number}"), 404, 0.1)
        metrics.record(RouteName(f"X{number}", "/"), 404, 0.1)
    found = samples_of(metrics)
    assert found["teaser_requests_total", *OTHER, "404"] == 2000
    assert len([name for name in found if name[0] == "teaser_requests_total"]) == 1


def test_parts_of_requests_are_timed() -> None:
    metrics = Metrics(routes=[HOME])
    parts: list[tuple[Part, float]] = [
        ("store_read", 0.002),
        ("store_read", 0.3),
        ("store_write", 0.004),
        ("model", 0.04),
    ]
    metrics.record(HOME, 200, 0.4, parts)
    found = samples_of(metrics)
    assert found["teaser_store_seconds_count", "read"] == 2
    assert found["teaser_store_seconds_bucket", "0.002", "read"] == 1
    assert abs(found["teaser_store_seconds_sum", "read"] - 0.302) < 1e-9
    assert found["teaser_store_seconds_count", "write"] == 1
    assert found["teaser_model_seconds_count",] == 1
    assert found["teaser_model_seconds_bucket", "0.02"] == 0
    assert found["teaser_model_seconds_bucket", "0.05"] == 1
    metrics.record_part("store_write", 30.0)  # it ended after the answer
    assert samples_of(metrics)["teaser_store_seconds_count", "write"] == 2


def test_the_model_is_seen_with_its_age() -> None:
    now = time.time()
    status = [ModelStatus(written_at=now - 500, loaded_at=now - 100)]
    metrics = Metrics(model=lambda: status[0])
    found = samples_of(metrics)
    assert found["teaser_model_stale",] == 0
    assert 500 <= found["teaser_model_age_seconds",] < 1000
    assert found["teaser_model_written_timestamp_seconds",] == now - 500
    assert found["teaser_model_loaded_timestamp_seconds",] == now - 100
    status[0] = ModelStatus(is_stale=True)
    assert samples_of(metrics)["teaser_model_stale",] == 1


def test_all_of_them_are_documented() -> None:
    page = Path(__file__).parents[3] / "docs" / "users" / "operation.md"
    written = set(re.findall(r"\bteaser_\w+", page.read_text()))
    named = {re.sub(r"_(bucket|sum|count)$", "", name) for name in written}
    metrics = Metrics()
    metrics.record(OTHER, 200, 0.1)
    found = {re.sub(r"_(bucket|sum|count)$", "", name[0]) for name in samples_of(metrics)}
    assert named == found


def test_a_status_that_is_none_harms_nothing() -> None:
    metrics = Metrics()
    metrics.record(OTHER, 999, 0.1)
    assert samples_of(metrics)["teaser_request_seconds_count", *OTHER] == 1


def test_whoever_comes_later_finds_what_was_counted(tmp_path: Path) -> None:
    file = tmp_path / "metrics"
    Metrics(file, routes=[HOME]).record(HOME, 200, 0.1, [("model", 0.1)])
    size = file.stat().st_size
    later = Metrics(file, routes=[HOME])
    later.record(HOME, 200, 0.1, [("model", 0.1)])
    found = samples_of(later)
    assert found["teaser_requests_total", "GET", "/", "200"] == 2
    assert found["teaser_model_seconds_count",] == 2
    assert file.stat().st_size == size
