"""Numbers that processes share: no count is lost, and a limit holds whoever is asked."""

import multiprocessing
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from teaser.app.http.metrics import Metrics, Rate, Tally


def text_of(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


class TestRate:
    def test_so_many_a_minute_and_no_more(self) -> None:
        rate = Rate(3)
        assert [rate.allows("a", 0.0) for _ in range(5)] == [True, True, True, False, False]

    def test_addresses_do_not_share(self) -> None:
        rate = Rate(1)
        assert rate.allows("10.0.0.1", 0.0)
        assert not rate.allows("10.0.0.1", 0.0)
        assert rate.allows("10.0.0.2", 0.0)

    def test_neighbours_of_ipv6_do(self) -> None:
        rate = Rate(1)
        assert rate.allows("2001:db8:0:1::1", 0.0)
        assert not rate.allows("2001:db8:0:1:ffff::2", 0.0)
        assert rate.allows("2001:db8:0:2::1", 0.0)
        assert rate.allows("::ffff:10.0.0.1", 0.0)
        assert rate.allows("::ffff:10.0.0.2", 0.0)

    def test_it_refills_steadily(self) -> None:
        rate = Rate(60)
        assert all(rate.allows("a", 0.0) for _ in range(60))
        assert [rate.allows("a", 2.0) for _ in range(3)] == [True, True, False]

    def test_it_holds_no_more_than_a_minute(self) -> None:
        rate = Rate(2)
        assert rate.allows("a", 0.0)
        assert [rate.allows("a", 1e6) for _ in range(3)] == [True, True, False]

    def test_who_is_refused_pays_nothing(self) -> None:
        rate = Rate(60)
        assert all(rate.allows("a", 0.0) for _ in range(60))
        assert [rate.allows("a", t) for t in (0.5, 1.0, 1.5, 2.0)] == [False, True, False, True]

    def test_a_clock_that_goes_back_takes_nothing(self) -> None:
        rate = Rate(2)
        assert rate.allows("a", 100.0)
        assert rate.allows("a", 0.0)
        assert not rate.allows("a", 0.0)

    def test_nought_is_no_limit(self) -> None:
        rate = Rate(0)
        assert all(rate.allows("a", 0.0) for _ in range(10_000))

    def test_many_addresses_push_out_those_not_seen_for_longest(self) -> None:
        rate = Rate(1)
        for number in range(60_000):
            rate.allows(str(number), float(number) / 1e6)
        assert not rate.allows("59999", 0.06)
        refused = sum(not rate.allows(str(number), 0.06) for number in range(59_000, 60_000))
        assert refused > 950
        assert rate.allows("0", 0.06)


class TestMetrics:
    def test_requests_are_counted_by_status_and_time(self) -> None:
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

    def test_a_model_that_could_not_be_taken_up_is_seen(self) -> None:
        stale = [False]
        metrics = Metrics(is_stale=lambda: stale[0])
        assert "teaser_model_stale 0.0" in text_of(metrics)
        stale[0] = True
        assert "teaser_model_stale 1.0" in text_of(metrics)

    def test_a_status_that_is_none_harms_nothing(self) -> None:
        metrics = Metrics()
        metrics.record(999, 0.1)
        assert "teaser_request_seconds_count 1.0" in text_of(metrics)


def count(file: Path, times: int, allowed: "multiprocessing.Queue[int]") -> None:
    tally = Tally(file)
    metrics, rate = Metrics(tally), Rate(700, tally)
    found = 0
    for _ in range(times):
        metrics.record(200, 0.001)
        found += rate.allows("a", 0.0)
    allowed.put(found)


def test_processes_count_together_and_keep_one_limit(tmp_path: Path) -> None:
    file = tmp_path / "tally"
    context = multiprocessing.get_context("spawn")
    allowed: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=count, args=(file, 500, allowed)) for _ in range(3)]
    for process in processes:
        process.start()
    total = sum(allowed.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    assert total == 700
    assert 'teaser_requests_total{status="200"} 1500.0' in text_of(Metrics(Tally(file)))


def test_whoever_comes_later_finds_what_was_counted(tmp_path: Path) -> None:
    file = tmp_path / "tally"
    Metrics(Tally(file)).record(200, 0.1)
    size = file.stat().st_size
    later = Metrics(Tally(file))
    later.record(200, 0.1)
    assert 'teaser_requests_total{status="200"} 2.0' in text_of(later)
    assert file.stat().st_size == size


def test_no_page_of_it_is_a_hole(tmp_path: Path) -> None:
    file = tmp_path / "tally"
    Tally(file)
    found = file.stat()
    assert found.st_size > 100_000
    if found.st_blocks == 0:
        pytest.fail("the file takes no space, so a full disk could end the process")
    assert found.st_blocks * 512 >= found.st_size
