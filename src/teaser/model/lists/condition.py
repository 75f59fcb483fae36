"""Conditions on items as text, such as `year >= 1990` or `players in 2,3`."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

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
        """Read `column=value`, with `!=`, `>=`, `<=`, `>` or `<`, or `column in value,value`."""
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise ParameterError(
                f"where cannot read {text!r}. Write column=value, column>=value, or "
                "column in value,value; signs: = != >= <= > <."
            )
        name, sign, value = found.groups()
        if sign.strip() == "in":
            return cls(name, "=", tuple(part.strip() for part in value.split(",") if part.strip()))
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
        is_day = cells.dtype == pl.Date
        try:
            if cells.dtype.is_numeric():
                found = _ORDER[self.sign](cells, float(value))
            elif cells.dtype in (pl.Date, pl.Datetime):
                moment = datetime.fromisoformat(value)
                found = _ORDER[self.sign](cells, moment.date() if is_day else moment)
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


def _unquoted(text: str) -> str:
    found = re.fullmatch(r"(['\"])(.*)\1", text)
    return found[2] if found else text
