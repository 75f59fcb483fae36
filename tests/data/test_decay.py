"""Histories with times."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

import teaser
from teaser import decayed
from teaser.errors import ParameterError


def test_an_item_counts_half_after_the_half_life() -> None:
    found = decayed({"a": "2026-01-01", "b": "2026-01-31", "c": "2025-12-02"}, half_life=30)
    assert found == {"a": 0.5, "b": 1.0, "c": 0.25}
    assert teaser.decayed is decayed


def test_times_may_be_written_in_any_way() -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    times: dict[str, Any] = {
        "a": day,
        "b": date(2026, 1, 31),
        "c": day.timestamp(),
        "d": 1000 * day.timestamp(),
    }
    assert decayed(times, half_life=30) == {"a": 0.5, "b": 1.0, "c": 0.5, "d": 0.5}


def test_strengths_are_multiplied() -> None:
    times = {"a": "2026-01-01", "b": "2026-01-31"}
    found = decayed(times, half_life=30, strengths={"a": -0.25})
    assert found == {"a": -0.125, "b": 1.0}


def test_no_history_is_none() -> None:
    assert decayed({}, half_life=1) == {}


@pytest.mark.parametrize("when", ["soon", None, float("nan"), object(), [1, 2]])
def test_what_is_no_time_is_named(when: Any) -> None:
    with pytest.raises(ParameterError, match="The time of 'a' must be a date"):
        decayed({"a": when}, half_life=30)


def test_impossible_settings_are_refused() -> None:
    wrong: list[Any] = [0, -1, float("nan"), "30", True]
    for half_life in wrong:
        with pytest.raises(ParameterError, match="half_life must be a number of days above 0"):
            decayed({"a": "2026-01-01"}, half_life=half_life)
    with pytest.raises(ParameterError, match="no time for 'b'"):
        decayed({"a": "2026-01-01"}, half_life=30, strengths={"b": 2.0})
    no_times: Any = ["a"]
    with pytest.raises(ParameterError, match="maps item ids to times"):
        decayed(no_times, half_life=30)
