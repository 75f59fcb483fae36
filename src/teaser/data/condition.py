"""Conditions on rows as text, such as `rating >= 4 and town in Ghent, Bruges`.

This is the grammar of `positive`, `negative` and `where`:

    condition   = comparison, {"and", comparison}
    comparison  = column, ("=" | "==" | "!=" | ">=" | "<=" | ">" | "<"), value
                | column, "in", value, {",", value}

Quotes around a column or a value keep its signs, commas and the word "and".
"""

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from teaser.data.reading import need_columns
from teaser.errors import ParameterError

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_QUOTED = r"'[^']*'|\"[^\"]*\"|`[^`]*`"
_TERM = re.compile(
    rf"\s*((?:{_QUOTED})|[^<>=!]*?[^<>=!\s])\s*(>=|<=|!=|==|=>|=<|<>|=|>|<|\sin\s)\s*(?!=)(\S.*?)\s*",
    re.DOTALL | re.IGNORECASE,
)
_JOINT = re.compile(rf"{_QUOTED}|\s+(and|or|&+|\|+)\s+", re.IGNORECASE)
_PART_OF_LIST = re.compile(rf"\s*((?:{_QUOTED}|[^,])+)")
# Other ways to write a sign.
_SIGNS = {"=>": ">=", "=<": "<=", "<>": "!=", "==": "=", "in": "="}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True)
class Condition:
    """A column or a feature, a sign, and the values to compare with.

    `=` holds for any of the values, `!=` for none of them; the other signs take one value.
    """

    name: str
    sign: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        values = ", ".join(map(_written, self.values))
        sign = "in" if self.sign == "=" and len(self.values) > 1 else self.sign
        return f"{_written(self.name)} {sign} {values}"

    @property
    def by_order(self) -> bool:
        """Whether the condition compares by order."""
        return self.sign in _ORDER

    def compare(self, cells: pl.Series) -> pl.Series:
        """Return which cells pass. A missing cell passes `!=` alone.

        Raises
        ------
        ParameterError
            If cells of this type cannot be compared with the value.
        """
        try:
            if self.by_order:
                ordered: pl.Series = _ORDER[self.sign](*_in_order(cells, self.values[0]))
                return ordered.fill_null(False)
            found = pl.Series([False]).new_from_index(0, len(cells))
            for value in self.values:
                found |= equal(cells, value)
            return ~found if self.sign == "!=" else found
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            how = " by order" if self.by_order else ""
            raise ParameterError(
                f"Column {cells.name!r} has type {cells.dtype} and cannot be compared with "
                f"{', '.join(map(repr, self.values))}{how}. Compare numbers with numbers, texts "
                "with texts, and dates with dates like 2024-12-31."
            ) from None

    def unclear(self, cells: pl.Series) -> tuple[str, pl.Series]:
        """Return which cells the condition says nothing about, and why."""
        kind = cells.dtype
        as_numbers = self.by_order and kind == pl.String and not _DATE.match(self.values[0])
        if not kind.is_numeric() and not as_numbers:
            return f"{self.name} is missing", cells.is_null()
        numbers = cells.str.strip_chars() if kind == pl.String else cells
        known = numbers.cast(pl.Float64, strict=False).is_finite().fill_null(False)
        has_comma = as_numbers and cells.str.contains(r"^\s*[+-]?\d+,\d+\s*$").any()
        hint = " (write 4.5, not 4,5)" if has_comma else ""
        return f"{self.name} is not a number{hint}", ~known


@dataclass(frozen=True)
class Conditions:
    """Conditions that must all hold.

    Examples
    --------
    >>> str(Conditions.parse("rating>=4 and action == like"))
    'rating >= 4 and action = like'
    """

    terms: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.terms))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(dict.fromkeys(term.name for term in self.terms))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read conditions; raise `ParameterError` with what to write where that fails."""
        return cls(tuple(_parse_term(part, text) for part in _split(text)))

    @classmethod
    def coerce(cls, given: "str | Conditions | None") -> "Conditions | None":
        """Return conditions that are given as text or as they are; None stays None."""
        if isinstance(given, str):
            return cls.parse(given)
        if not isinstance(given, Conditions | None):
            raise ParameterError(f"A rule must be a text such as 'rating >= 4', found {given!r}.")
        return given

    def split(
        self, frame: pl.DataFrame, *, what: str = "positive"
    ) -> tuple[pl.Series, list[tuple[str, pl.Series, str]]]:
        """Return which rows pass, and (reason, mask, column) for rows that cannot be decided.

        `what` names the rows in errors.
        """
        found = pl.Series([True]).new_from_index(0, frame.height)
        unclear = []
        for term in self.terms:
            need_columns(frame, (term.name,), f"the rule for {what} rows")
            cells = frame[term.name]
            found &= term.compare(cells)
            reason, mask = term.unclear(cells)
            unclear.append((reason, mask, term.name))
        return found, unclear


def equal(cells: pl.Series, value: Any) -> pl.Series:
    """Return which cells equal a value, or have it among theirs; None equals missing cells.

    A text stands for a value of any type that it writes: "2" for 2, "yes" for true. A day equals
    all times of that day.
    """
    if value is None:
        return cells.is_null()
    if isinstance(cells.dtype, pl.Array):
        return equal(cells.arr.to_list(), value)
    if isinstance(cells.dtype, pl.List):
        flat = equal(cells.explode(empty_as_null=True), value).to_numpy()
        lengths = np.maximum(cells.list.len().fill_null(0).to_numpy(), 1)
        owner = np.repeat(np.arange(len(cells)), lengths)
        return pl.Series(np.bincount(owner[flat], minlength=len(cells)) > 0)
    return _equal_plain(cells, value).fill_null(False)


def _equal_plain(cells: pl.Series, value: Any) -> pl.Series:
    found: Any
    if cells.dtype == pl.Boolean:
        text = str(value).strip().lower()
        if text not in (*_TRUE, *_FALSE):
            raise ValueError(value)
        return cells == (text in _TRUE)
    if cells.dtype.is_numeric():
        found = cells == (float(value) if isinstance(value, str) else value)
    elif isinstance(cells.dtype, pl.Datetime):
        text = value.isoformat() if isinstance(value, date) else str(value).strip()
        times, moment = _on_one_clock(cells, datetime.fromisoformat(text))
        is_day = len(text) <= len("2024-12-31")
        found = times.dt.date() == moment.date() if is_day else times == moment
    elif cells.dtype.is_nested():
        raise TypeError(cells.dtype)
    elif cells.dtype == pl.String or isinstance(value, str):
        found = cells.cast(pl.String).str.strip_chars() == str(value).strip()
    else:
        found = cells == value
    return pl.Series(found)


def _in_order(cells: pl.Series, value: str) -> tuple[pl.Series, Any]:
    """Return cells and a value that can be compared by order."""
    kind = cells.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return cells.cast(pl.Float64).fill_nan(None), float(value)
    if kind == pl.Date:
        return cells, datetime.fromisoformat(value).date()
    if isinstance(kind, pl.Datetime):
        return _on_one_clock(cells, datetime.fromisoformat(value))
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise TypeError(kind)
    texts = cells.cast(pl.String).str.strip_chars()
    if _DATE.match(value):
        return texts, value
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() == len(numbers):
        raise TypeError(kind)
    return numbers, float(value)


def _on_one_clock(cells: pl.Series, moment: datetime) -> tuple[pl.Series, datetime]:
    """Return times and a moment without a zone, both as clocks in the zone of the times show them.

    A moment without a zone is one of that zone already.
    """
    zone = getattr(cells.dtype, "time_zone", None)
    if moment.tzinfo is not None:
        moment = moment.astimezone(ZoneInfo(zone or "UTC")).replace(tzinfo=None)
    return cells.dt.replace_time_zone(None), moment


def _split(text: str) -> Iterator[str]:
    """Yield the comparisons between "and"; a value such as Tom and Jerry stays whole."""
    begin = 0
    for joint in _JOINT.finditer(text):
        word = (joint[1] or "").lower()
        if not word or not _TERM.fullmatch(text, joint.end()):
            continue
        if word == "or" or "|" in word:
            raise ParameterError(
                f"Cannot read {text!r}: conditions cannot be joined by {joint[1]!r}. Write "
                "alternatives of one column as: column in value, value. Quotes keep a value that "
                "has signs in it."
            )
        yield text[begin : joint.start()]
        begin = joint.end()
    yield text[begin:]


def _parse_term(part: str, whole: str) -> Condition:
    found = _TERM.fullmatch(part)
    # A quote that opens and does not close; lists have several quoted values.
    is_open = found is not None and re.match(r"(?:'[^']*|\"[^\"]*)$", found[3]) is not None
    if found is None or is_open:
        raise ParameterError(
            f"Cannot read {part!r} in the condition {whole!r}. Write column=value, column>=value "
            "or column in value, value, joined by 'and'; signs: = != >= <= > <."
        )
    name, said, value = _unquoted(found[1]), found[2].strip().lower(), found[3]
    sign = _SIGNS.get(said, said)
    if said == "in":
        parts = (each.strip() for each in _PART_OF_LIST.findall(value))
        return Condition(name, sign, tuple(_unquoted(each) for each in parts if each))
    value = _unquoted(value)
    if sign in _ORDER and not _DATE.match(value) and not _is_finite(value):
        raise ParameterError(
            f"{name} cannot be compared with {value!r} by order. Compare with a number such as "
            "4.5, or a date such as 2024-12-31; join conditions by 'and'."
        )
    return Condition(name, sign, (value,))


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _unquoted(text: str) -> str:
    return text[1:-1] if re.fullmatch(_QUOTED, text) else text


def _written(text: str) -> str:
    """Return a name or a value, in quotes where it needs them."""
    if re.fullmatch(r"[\w.:/+-]+( [\w.:/+-]+)*", text) and not re.search(
        r"\b(and|or|in)\b", text, re.IGNORECASE
    ):
        return text
    return f'"{text}"' if "'" in text else f"'{text}'"
