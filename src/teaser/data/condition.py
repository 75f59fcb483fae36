"""Conditions on rows, such as `rating >= 4`."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from teaser.data.reading import need_columns
from teaser.errors import ParameterError

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "==": operator.eq,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_TERM = re.compile(
    r"""\s*(?: (?P<quote>['"`]) (?P<quoted>.+?) (?P=quote) | (?P<column>[^<>=!'"`]*[^<>=!'"`\s]) )
    \s* (?P<sign>>=|<=|==|!=|=|>|<)
    \s* (?: (?P<mark>['"]) (?P<text>.*?) (?P=mark) | (?P<bare>[^\s<>=!'"`]+) )
    \s* (?P<end>$|\band\s+)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Positive:
    """Which rows count as positive: comparisons of columns with values, joined by `and`.

    Quote names and texts that contain spaces or signs: `'my rating' >= 4`.

    Examples
    --------
    >>> Positive.parse("rating >= 4").terms
    (('rating', '>=', 4.0),)
    """

    terms: tuple[tuple[str, str, float | str], ...]

    def __post_init__(self) -> None:
        for column, sign, value in self.terms:
            if sign not in _COMPARE:
                raise ParameterError(f"Unknown comparison {sign!r}. Known: {' '.join(_COMPARE)}.")
            if not isinstance(value, str) and not math.isfinite(value):
                raise ParameterError(f"{column} cannot be compared with {value}.")

    def __str__(self) -> str:
        return " and ".join(
            f"{column} {sign} {value!r}" if isinstance(value, str) else f"{column} {sign} {value:g}"
            for column, sign, value in self.terms
        )

    @classmethod
    def of(cls, rule: "str | Positive | None") -> "Positive | None":
        """Return a rule that is given as text or as `Positive`; None stays None."""
        if isinstance(rule, str):
            return cls.parse(rule)
        if not isinstance(rule, Positive | None):
            raise ParameterError(f"positive must be a rule such as 'rating >= 4', found {rule!r}.")
        return rule

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a rule such as `rating >= 4` or `action = 'like' and seconds > 30`."""
        terms: list[tuple[str, str, float | str]] = []
        position, end = 0, "and"
        while end:
            found = _TERM.match(text, position)
            if not found:
                raise ParameterError(
                    f"Cannot read {text[position:]!r} in the rule {text!r}. Join comparisons "
                    "by 'and', such as: rating >= 4 and action = 'like'."
                )
            column = found["quoted"] or found["column"]
            value = found["text"] if found["mark"] else _constant(found["bare"])
            terms.append((column, found["sign"], value))
            position, end = found.end(), found["end"]
        return cls(tuple(terms))

    def split(
        self, frame: pl.DataFrame, *, what: str = "positive"
    ) -> tuple[pl.Series, list[tuple[str, pl.Series, str]]]:
        """Return which rows are positive, and (reason, mask, column) for undecidable rows.

        `what` names the rows in errors.
        """
        positive = pl.Series([True]).new_from_index(0, frame.height)
        unclear = []
        for column, sign, value in self.terms:
            need_columns(frame, (column,), f"the rule for {what} rows")
            cells, value = _comparable(frame[column], sign, value)
            if isinstance(value, str):
                unclear.append((f"{column} is missing", cells.is_null(), column))
            else:
                no_number = ~cells.is_finite().fill_null(False)
                unclear.append((f"{column} {_no_number(frame[column])}", no_number, column))
            positive &= _COMPARE[sign](cells, value).fill_null(False)
        return positive, unclear


def _no_number(cells: pl.Series) -> str:
    """Return why cells are no numbers; decimals with a comma are a usual reason."""
    is_text = cells.dtype == pl.String
    has_comma = is_text and cells.str.contains(r"^\s*[+-]?\d+,\d+\s*$").any()
    return "is not a number (write 4.5, not 4,5)" if has_comma else "is not a number"


def _constant(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _comparable(cells: pl.Series, sign: str, value: float | str) -> tuple[pl.Series, float | str]:
    """Return the cells and the value, both as numbers or both as texts.

    Texts are compared by order only if they are dates, year first.
    """
    kind = cells.dtype
    if kind == pl.Boolean and str(value).lower() in ("true", "false"):
        value = float(str(value).lower() == "true")
    if kind.is_numeric() or kind == pl.Boolean:
        try:
            return cells.cast(pl.Float64), float(value)
        except ValueError:
            raise _incomparable(cells, value) from None
    is_date = re.match(r"\d{4}-\d\d-\d\d", str(value)) is not None
    by_order = isinstance(value, str) and sign in (">=", "<=", ">", "<")
    if kind.is_nested() or ((by_order or kind in (pl.Date, pl.Datetime)) and not is_date):
        raise _incomparable(cells, value)
    try:
        cells = cells.cast(pl.String).str.strip_chars()
    except pl.exceptions.PolarsError as error:
        raise _incomparable(cells, value) from error
    return cells if isinstance(value, str) else cells.cast(pl.Float64, strict=False), value


def _incomparable(cells: pl.Series, value: float | str) -> ParameterError:
    return ParameterError(
        f"Column {cells.name!r} has type {cells.dtype} and cannot be compared with {value!r}. "
        "Compare numbers with numbers, texts with texts, and dates with dates like 2024-12-31."
    )
