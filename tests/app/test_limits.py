"""Limits on requests a minute, and which addresses a setting names."""

import pytest

from teaser.app import http
from teaser.app.http import RateLimit, is_among


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(http, "time", found)
    return found


def allowed(rate: RateLimit, name: str, times: int) -> list[bool]:
    return [rate.take(name) == 0 for _ in range(times)]


def test_so_many_a_minute_for_each_and_no_more(clock: Clock) -> None:
    rate = RateLimit(3)
    assert allowed(rate, "10.0.0.1", 5) == [True, True, True, False, False]
    assert allowed(rate, "10.0.0.2", 1) == [True]


def test_it_refills_steadily_up_to_a_minute(clock: Clock) -> None:
    rate = RateLimit(60)
    assert all(allowed(rate, "a", 60))
    clock.now = 2.0
    assert allowed(rate, "a", 3) == [True, True, False]
    clock.now = 1_000.0
    assert allowed(rate, "a", 61) == [True] * 60 + [False]


def test_it_tells_when_to_come_again_and_who_is_refused_pays_nothing(clock: Clock) -> None:
    rate = RateLimit(2)
    rate.take("a", 2)
    assert [rate.take("a") for _ in range(3)] == [30, 30, 30]
    clock.now = 29.0
    assert rate.take("a") == 1
    clock.now = 30.0
    assert rate.take("a") == 0


def test_neighbours_of_ipv6_share_a_limit(clock: Clock) -> None:
    rate = RateLimit(1)
    assert allowed(rate, "2001:db8:0:1::1", 1) == [True]
    assert allowed(rate, "2001:db8:0:1:ffff::2", 1) == [False]
    assert allowed(rate, "2001:db8:0:2::1", 1) == [True]
    assert allowed(rate, "::ffff:10.0.0.1", 1) == allowed(rate, "::ffff:10.0.0.2", 1) == [True]


def test_many_addresses_take_bounded_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_BUCKETS", 10)
    rate = RateLimit(1)
    assert all(rate.take(str(n)) == 0 for n in range(50))
    assert rate.take("49") > 0
    assert rate.take("0") == 0


@pytest.mark.parametrize(
    ("address", "names", "is_in"),
    [
        ("127.0.0.9", "loopback", True),
        ("::1", "loopback, key", True),
        ("::ffff:127.0.0.1", "loopback", True),
        ("10.1.2.3", "loopback, 10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8, key", False),
        ("unknown", "10.0.0.0/8", False),
        ("unknown", "all", True),
        ("10.0.0.1", "", False),
    ],
)
def test_a_setting_names_addresses_and_networks(address: str, names: str, is_in: bool) -> None:
    assert is_among(address, names) == is_in
