"""Requests are counted by status and time, over several processes and restarts."""

from pathlib import Path

from prometheus_client import generate_latest

from teaser.app.http.metrics import Metrics


def text_of(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def test_requests_are_counted_by_status_and_time() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.001), (200, 0.03), (404, 0.002), (500, 9.0)):
        metrics.record(status, seconds)
    text = text_of(metrics)
    assert 'teaser_requests_total{status="200"} 2.0' in text
    assert 'teaser_requests_total{status="500"} 1.0' in text
    assert 'teaser_request_seconds_bucket{le="0.002"} 2.0' in text
    assert 'teaser_request_seconds_bucket{le="0.05"} 3.0' in text
    assert 'teaser_request_seconds_bucket{le="+Inf"} 4.0' in text
    assert "teaser_request_seconds_count 4.0" in text
    assert "teaser_request_seconds_sum 9.033" in text


def test_a_model_that_could_not_be_taken_up_is_seen() -> None:
    stale = [False]
    metrics = Metrics(is_stale=lambda: stale[0])
    assert "teaser_model_stale 0.0" in text_of(metrics)
    stale[0] = True
    assert "teaser_model_stale 1.0" in text_of(metrics)


def test_a_status_that_is_none_harms_nothing() -> None:
    metrics = Metrics()
    metrics.record(999, 0.1)
    assert "teaser_request_seconds_count 1.0" in text_of(metrics)


def test_whoever_comes_later_finds_what_was_counted(tmp_path: Path) -> None:
    file = tmp_path / "metrics"
    Metrics(file).record(200, 0.1)
    size = file.stat().st_size
    later = Metrics(file)
    later.record(200, 0.1)
    assert 'teaser_requests_total{status="200"} 2.0' in text_of(later)
    assert file.stat().st_size == size
