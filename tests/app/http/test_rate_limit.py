"""The rate limit holds for every address, whichever process is asked."""

import multiprocessing
from pathlib import Path

from teaser.app.http.rate_limit import RateLimit


def allows(rate: RateLimit, name: str, now: float) -> bool:
    return rate.wait(name, now) == 0


def test_so_many_a_minute_and_no_more() -> None:
    rate = RateLimit(3)
    assert [allows(rate, "a", 0.0) for _ in range(5)] == [True, True, True, False, False]


def test_addresses_do_not_share() -> None:
    rate = RateLimit(1)
    assert allows(rate, "10.0.0.1", 0.0)
    assert not allows(rate, "10.0.0.1", 0.0)
    assert allows(rate, "10.0.0.2", 0.0)


def test_neighbours_of_ipv6_do() -> None:
    rate = RateLimit(1)
    assert allows(rate, "2001:db8:0:1::1", 0.0)
    assert not allows(rate, "2001:db8:0:1:ffff::2", 0.0)
    assert allows(rate, "2001:db8:0:2::1", 0.0)
    assert allows(rate, "::ffff:10.0.0.1", 0.0)
    assert allows(rate, "::ffff:10.0.0.2", 0.0)


def test_it_refills_steadily() -> None:
    rate = RateLimit(60)
    assert all(allows(rate, "a", 0.0) for _ in range(60))
    assert [allows(rate, "a", 2.0) for _ in range(3)] == [True, True, False]


def test_it_holds_no_more_than_a_minute() -> None:
    rate = RateLimit(2)
    assert allows(rate, "a", 0.0)
    assert [allows(rate, "a", 1e6) for _ in range(3)] == [True, True, False]


def test_who_is_refused_pays_nothing() -> None:
    rate = RateLimit(60)
    assert all(allows(rate, "a", 0.0) for _ in range(60))
    assert [allows(rate, "a", t) for t in (0.5, 1.0, 1.5, 2.0)] == [False, True, False, True]


def test_a_clock_that_goes_back_takes_nothing() -> None:
    rate = RateLimit(2)
    assert allows(rate, "a", 100.0)
    assert allows(rate, "a", 0.0)
    assert not allows(rate, "a", 0.0)


def test_nought_is_no_limit() -> None:
    rate = RateLimit(0)
    assert all(allows(rate, "a", 0.0) for _ in range(10_000))


def test_many_addresses_push_out_those_not_seen_for_longest() -> None:
    rate = RateLimit(1)
    for number in range(60_000):
        allows(rate, str(number), float(number) / 1e6)
    assert not allows(rate, "59999", 0.06)
    refused = sum(not allows(rate, str(number), 0.06) for number in range(59_000, 60_000))
    assert refused > 950
    assert allows(rate, "0", 0.06)


def ask(file: Path, times: int, allowed: "multiprocessing.Queue[int]") -> None:
    rate = RateLimit(700, file)
    allowed.put(sum(allows(rate, "a", 0.0) for _ in range(times)))


def test_processes_keep_one_limit(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    allowed: multiprocessing.Queue[int] = context.Queue()
    arguments = (tmp_path / "rate_limit", 500, allowed)
    processes = [context.Process(target=ask, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    total = sum(allowed.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    assert total == 700


def test_it_tells_when_to_come_again() -> None:
    rate = RateLimit(6)
    assert all(allows(rate, "a", 0.0) for _ in range(6))
    assert rate.wait("a", 0.0) == 10.0
    assert abs(rate.wait("a", 4.0) - 6.0) < 1e-9
    assert rate.wait("a", 10.0) == 0


def test_what_is_given_back_can_be_taken_again() -> None:
    rate = RateLimit(2)
    assert all(allows(rate, "a", 0.0) for _ in range(2))
    rate.give_back("a", 0.0)
    assert allows(rate, "a", 0.0)
    assert not allows(rate, "a", 0.0)
    for _ in range(5):
        rate.give_back("b", 0.0)
    assert [allows(rate, "b", 0.0) for _ in range(3)] == [True, True, False]
    nothing = RateLimit(0)
    nothing.give_back("a", 0.0)
    assert allows(nothing, "a", 0.0)
