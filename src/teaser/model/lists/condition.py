"""Conditions on items as text, such as `year >= 1990` or `players in 2,3`."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

import polars as pl

from teaser.errors import ParameterError, closest

# What a condition with an order compares by.
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_WRITTEN = re.compile(r"\s*(.+?)\s*(>=|<=|!=|==|=|>|<|\sin\s)\s*(?!=)(.+?)\s*")
_QUOTED = r"\"[^\"]*\"|'[^']*'"
# Two conditions in one text; a sign tells them from a value such as "Tom and Jerry".
_JOINED = re.compile(rf"((?:{_QUOTED}|[^\"'])*?)\s+(and|or|&+|\|+)\s+(\S.*?[=<>].*)", re.IGNORECASE)
# Signs as they are also written, and how they are read.
_TURNED = {"=>": ">=", "=<": "<=", "<>": "!="}


@dataclass(frozen=True)
class Condition:
    """A column or a feature, a sign, and the values to compare with.

    Examples
    --------
    >>> Condition.parse("town in Ghent, Bruges")
    Condition(name='town', sign='=', values=('Ghent', 'Bruges'))
    """

    name: str
    sign: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `column=value`, with `!=`, `>=`, `<=`, `>` or `<`, or `column in value,value`.

        Quotes around a value keep its signs and commas.
        """
        _check_single(text)
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise ParameterError(
                f"where cannot read {text!r}. Write column=value, column>=value, or "
                "column in value,value; signs: = != >= <= > <."
            )
        name, sign, value = found.groups()
        right = _TURNED.get(f"{sign}{value[0]}")
        if right is not None:
            raise ParameterError(
                f"where cannot read {text!r}. Write {name}{right}{value[1:].strip()}, or quotes "
                f"around a value that begins with {value[0]}: {name}{sign}{value!r}."
            )
        if sign.strip() == "in":
            parts = re.findall(rf"\s*((?:{_QUOTED}|[^,])+)", value)
            return cls(name, "=", tuple(_unquoted(part.strip()) for part in parts if part.strip()))
        return cls(name, "=" if sign == "==" else sign, (_unquoted(value),))

    @property
    def by_order(self) -> bool:
        """Whether the condition compares by order."""
        return self.sign in _ORDER

    def compare(self, metadata: pl.DataFrame) -> pl.Series:
        """Return which items a condition by order holds for; a missing cell does not pass."""
        if self.name not in metadata.columns:
            raise ParameterError(
                f"where names the column {self.name!r}, which the items' table does not have."
                f"{closest(self.name, metadata.columns)} "
                f"Its columns: {', '.join(metadata.columns)}."
            )
        cells, (value,) = metadata[self.name], self.values
        try:
            if cells.dtype.is_numeric():
                found = _ORDER[self.sign](cells, float(value))
            elif cells.dtype == pl.Date:
                found = _ORDER[self.sign](cells, datetime.fromisoformat(value).date())
            elif isinstance(cells.dtype, pl.Datetime):
                found = _ORDER[self.sign](*on_one_clock(cells, datetime.fromisoformat(value)))
            elif cells.dtype == pl.String and re.match(r"\d{4}-\d\d-\d\d", value):
                found = _ORDER[self.sign](cells, value)
            else:
                raise TypeError(cells.dtype)
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            raise ParameterError(
                f"where cannot compare {self.name!r}, a column of {cells.dtype}, with {value!r} "
                "by order. Compare numbers with numbers, and dates with dates like 2024-12-31."
            ) from None
        passes: pl.Series = found.fill_null(False)
        return passes


def on_one_clock(cells: pl.Series, moment: datetime) -> tuple[pl.Series, datetime]:
    """Return times and a moment without a zone, both as clocks show them in the zone of the times.

    A moment without a zone is one of that zone already.
    """
    zone = getattr(cells.dtype, "time_zone", None)
    if moment.tzinfo is not None:
        moment = moment.astimezone(ZoneInfo(zone or "UTC")).replace(tzinfo=None)
    return cells.dt.replace_time_zone(None), moment


def _check_single(text: str) -> None:
    """Raise for several conditions in one text."""
    found = _JOINED.fullmatch(text)
    if found is None:
        return
    first, word, second = (part.strip() for part in found.groups())
    if word.lower() == "or" or "|" in word:
        advice = "Alternatives of one column are written as 'column in value,value'."
    else:
        advice = f"Give a list, [{first!r}, {second!r}]; on the command line, repeat --where."
    raise ParameterError(
        f"where takes one condition in a text, found two in {text!r}. {advice} "
        "Quotes keep a value that has signs in it."
    )


def _unquoted(text: str) -> str:
    found = re.fullmatch(r"(['\"])(.*)\1", text)
    return found[2] if found else text
