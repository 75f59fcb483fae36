"""A period of days: a name that moves with today, or fixed days with open ends."""

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

from teaser.errors import PeriodError

_DAYS = re.compile(r"(\d{4}-\d{2}-\d{2})?(\.\.)?(\d{4}-\d{2}-\d{2})?", re.ASCII)
_SATURDAY = 5
_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Period:
    """A period of whole days.

    Parameters
    ----------
    name
        `today`, `tomorrow`, `weekend`, `next_weekend`, `week`, `next_week`, `month` or
        `next_month`; empty for fixed days.
    first, last
        The fixed days, both included; None for an open end.

    Examples
    --------
    >>> Period.parse("weekend").days(date(2026, 11, 16))
    (datetime.date(2026, 11, 21), datetime.date(2026, 11, 22))
    >>> str(Period.parse("..2026-12-24"))
    '..2026-12-24'
    """

    name: str = ""
    first: date | None = None
    last: date | None = None

    def __post_init__(self) -> None:
        fixed = self.first is not None or self.last is not None
        known = self.name in NAMES if self.name else fixed
        if not known or (self.name and fixed):
            raise PeriodError(str(self))
        if self.first is not None and self.last is not None and self.last < self.first:
            raise PeriodError(str(self))

    def __str__(self) -> str:
        return self.name or f"{self.first or ''}..{self.last or ''}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the period that a text names; a day alone is a period of one day.

        Raises
        ------
        PeriodError
            If it is neither a name of a period nor `2026-11-20..2026-11-22` with one or both days.
        """
        if text in NAMES:
            return cls(text)
        found = _DAYS.fullmatch(text)
        if not found:
            raise PeriodError(text)
        try:
            first, last = (date.fromisoformat(day) if day else None for day in found.group(1, 3))
        except ValueError:
            raise PeriodError(text) from None
        if found[2] is None:
            if first is None or last is not None:
                raise PeriodError(text)
            last = first
        return cls("", first, last)

    def days(self, today: date) -> tuple[date | None, date | None]:
        """Return the first and the last day, given today; None for an open end.

        A period that has begun starts today: on a Sunday, the weekend is that Sunday.
        """
        return NAMES[self.name](today) if self.name else (self.first, self.last)


def _today(today: date) -> tuple[date, date]:
    return today, today


def _tomorrow(today: date) -> tuple[date, date]:
    day = today + timedelta(days=1)
    return day, day


def _weekend(today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday())
    return max(today, monday + timedelta(days=_SATURDAY)), monday + timedelta(days=6)


def _next_weekend(today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday()) + _WEEK
    return monday + timedelta(days=_SATURDAY), monday + timedelta(days=6)


def _week(today: date) -> tuple[date, date]:
    return today, today + timedelta(days=6 - today.weekday())


def _next_week(today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday()) + _WEEK
    return monday, monday + timedelta(days=6)


def _month(today: date) -> tuple[date, date]:
    return today, month_days(today.year, today.month)[1]


def _next_month(today: date) -> tuple[date, date]:
    return month_days(today.year + today.month // 12, today.month % 12 + 1)


def month_days(year: int, month: int) -> tuple[date, date]:
    """Return the first and the last day of a month."""
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


# The names of periods, and the days of each given today.
NAMES = {
    "today": _today,
    "tomorrow": _tomorrow,
    "weekend": _weekend,
    "next_weekend": _next_weekend,
    "week": _week,
    "next_week": _next_week,
    "month": _month,
    "next_month": _next_month,
}
