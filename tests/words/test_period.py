"""Periods of days, named or fixed."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.errors import PeriodError
from teaser.words.wishes import NAMES, Period, month_days

MONDAY = date(2026, 11, 16)
days = st.dates(date(1900, 1, 1), date(2200, 1, 1))


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("today", "2026-11-16", "2026-11-16"),
        ("tomorrow", "2026-11-17", "2026-11-17"),
        ("weekend", "2026-11-21", "2026-11-22"),
        ("next_weekend", "2026-11-28", "2026-11-29"),
        ("week", "2026-11-16", "2026-11-22"),
        ("next_week", "2026-11-23", "2026-11-29"),
        ("month", "2026-11-16", "2026-11-30"),
        ("next_month", "2026-12-01", "2026-12-31"),
    ],
)
def test_names_on_a_monday(name: str, first: str, last: str) -> None:
    expected = (date.fromisoformat(first), date.fromisoformat(last))
    assert Period.parse(name).days(MONDAY) == expected


def test_a_period_that_has_begun_starts_today() -> None:
    sunday = date(2026, 11, 22)
    assert Period("weekend").days(sunday) == (sunday, sunday)
    assert Period("week").days(sunday) == (sunday, sunday)
    assert Period("next_weekend").days(sunday) == (date(2026, 11, 28), date(2026, 11, 29))
    assert Period("next_month").days(date(2026, 12, 31)) == (date(2027, 1, 1), date(2027, 1, 31))


@given(days, st.sampled_from(sorted(NAMES)))
def test_named_periods_are_never_past_and_never_empty(today: date, name: str) -> None:
    first, last = Period(name).days(today)
    assert first is not None
    assert last is not None
    assert today <= first <= last <= today + timedelta(days=62)
    if "weekend" in name:
        assert {first.weekday(), last.weekday()} <= {5, 6}
    if name.startswith("next_w"):
        assert (first - timedelta(days=7)).isocalendar()[:2] == today.isocalendar()[:2]


@given(days | st.none(), days | st.none())
def test_fixed_days_are_read_as_written(first: date | None, last: date | None) -> None:
    text = f"{first or ''}..{last or ''}"
    if (first is None and last is None) or (first and last and last < first):
        with pytest.raises(PeriodError):
            Period.parse(text)
    else:
        period = Period.parse(text)
        assert str(period) == text
        assert period.days(MONDAY) == (first, last)


def test_a_day_alone_is_a_period_of_one_day() -> None:
    assert str(Period.parse("2026-12-05")) == "2026-12-05..2026-12-05"


@pytest.mark.parametrize(
    "text", ["", "..", "Weekend", "2026-13-01..", "2026-02-30", "20261105", "1..2", "2026-12-05.."
             "2026-12-04", "२०२६-12-05", "2026-12-052026-12-06"],
)  # fmt: skip
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(PeriodError, match="is no period"):
        Period.parse(text)


def test_a_name_with_days_is_refused() -> None:
    with pytest.raises(PeriodError):
        Period("week", MONDAY)


def test_the_days_of_a_month() -> None:
    assert month_days(2028, 2) == (date(2028, 2, 1), date(2028, 2, 29))
