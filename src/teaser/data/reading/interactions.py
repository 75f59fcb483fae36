"""Files and frames of interactions and items become checked tables; which rows are positive."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from teaser.data.reading.files import EXAMPLES, SUFFIXES, read_table, shown
from teaser.errors import DataError, ParameterError, TableError, closest

__all__ = [
    "EXAMPLES",
    "SUFFIXES",
    "Positive",
    "ReadReport",
    "Refusal",
    "as_ids",
    "check_interactions",
    "check_items",
    "need_column",
    "read_table",
    "take_pairs",
]

_EXACT = 2**53  # from here on, neighbouring whole numbers share one decimal number
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
class Refusal:
    """Rows that were not taken, for one reason, with the first of them named."""

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.count:,} rows refused, {self.reason}: {', '.join(self.examples)}"


@dataclass(frozen=True)
class ReadReport:
    """What was read of a table of interactions and what became of its rows.

    `rows = interactions + duplicates + not_positive + the refused rows`, always.
    """

    rows: int
    interactions: int
    users: int
    items: int
    duplicates: int
    not_positive: int
    refused: tuple[Refusal, ...]

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        return [
            f"{self.rows:,} rows read: {self.interactions:,} interactions of {self.users:,} users "
            f"with {self.items:,} items",
            f"{self.not_positive:,} rows not positive, {self.duplicates:,} duplicates merged",
            *(str(refusal) for refusal in self.refused),
        ]


@dataclass(frozen=True)
class Positive:
    """A rule that says which rows count: comparisons of columns with values, joined by `and`.

    Names and texts that hold spaces or signs go in quotes: `'my rating' >= 4`.

    Examples
    --------
    >>> Positive.parse("rating >= 4").terms
    (('rating', '>=', 4.0),)
    """

    terms: tuple[tuple[str, str, float | str], ...]

    def __post_init__(self) -> None:
        for column, sign, value in self.terms:
            if sign not in _COMPARE:
                raise ParameterError(
                    f"Rows cannot be compared by {sign!r}. Known: {' '.join(_COMPARE)}."
                )
            if not isinstance(value, str) and not math.isfinite(value):
                raise ParameterError(f"{column} cannot be compared with {value}.")

    def __str__(self) -> str:
        return " and ".join(
            f"{column} {sign} {value!r}" if isinstance(value, str) else f"{column} {sign} {value:g}"
            for column, sign, value in self.terms
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a rule such as `rating >= 4` or `action = 'like' and seconds > 30`."""
        terms: list[tuple[str, str, float | str]] = []
        place, end = 0, "and"
        while end:
            found = _TERM.match(text, place)
            if not found:
                raise ParameterError(
                    f"Cannot read {text[place:]!r} in the rule {text!r}. Write comparisons joined "
                    "by 'and', such as: rating >= 4 and action = 'like'."
                )
            column = found["quoted"] or found["column"]
            value = found["text"] if found["mark"] else _constant(found["bare"])
            terms.append((column, found["sign"], value))
            place, end = found.end(), found["end"]
        return cls(tuple(terms))

    def split(self, frame: pl.DataFrame) -> tuple[pl.Series, list[tuple[str, pl.Series, str]]]:
        """Return which rows are positive, and (reason, mask, column) where none can tell."""
        positive = pl.Series([True]).new_from_index(0, frame.height)
        unclear = []
        for column, sign, value in self.terms:
            need_column(frame, column, "the rule for positive rows")
            cells, value = _comparable(frame[column], sign, value)
            if isinstance(value, str):
                unclear.append((f"{column} is missing", cells.is_null(), column))
            else:
                unclear.append(
                    (f"{column} is not a number", ~cells.is_finite().fill_null(False), column)
                )
            positive &= _COMPARE[sign](cells, value).fill_null(False)
        return positive, unclear


def check_interactions(
    frame: pl.DataFrame, *, user: str, item: str, positive: str | Positive | None = None
) -> tuple[pl.DataFrame, ReadReport]:
    """Return the distinct positive (user, item) pairs, in order of appearance, and a report."""
    for column in (user, item):
        need_column(frame, column, "the interactions")
    if user == item:
        raise ParameterError(f"Users and items cannot both be column {user!r}.")
    rule = Positive.parse(positive) if isinstance(positive, str) else positive
    if not isinstance(rule, Positive | None):
        raise ParameterError(f"positive must be a rule such as 'rating >= 4', found {positive!r}.")
    unique, report = take_pairs(frame, user=user, item=item, rule=rule)
    if unique.height == 0:
        asked = f" by the rule {rule}" if rule else ""
        raise DataError(
            f"No positive interaction is left{asked}. " + "; ".join(report.lines()) + "."
        )
    return unique, report


def take_pairs(
    frame: pl.DataFrame, *, user: str, item: str, rule: Positive | None
) -> tuple[pl.DataFrame, ReadReport]:
    """Return the distinct positive (user, item) pairs, which may be none, and a report."""
    is_positive, unclear = (None, []) if rule is None else rule.split(frame)
    ids = pl.DataFrame({"user": as_ids(frame[user]), "item": as_ids(frame[item])})
    problems = [
        (f"{user} is missing", ids["user"].is_null(), user),
        (f"{item} is missing", ids["item"].is_null(), item),
        *unclear,
    ]
    open_rows = pl.Series([True]).new_from_index(0, frame.height)
    refused = []
    for reason, mask, column in problems:
        if (bad := mask & open_rows).any():
            refused.append(_refusal(reason, frame, bad, column))
            open_rows &= ~bad
    taken = open_rows if is_positive is None else open_rows & is_positive
    pairs = ids.filter(taken)
    unique = pairs.unique(maintain_order=True)
    report = ReadReport(
        rows=frame.height,
        interactions=unique.height,
        users=unique["user"].n_unique(),
        items=unique["item"].n_unique(),
        duplicates=pairs.height - unique.height,
        not_positive=int(open_rows.sum()) - pairs.height,
        refused=tuple(refused),
    )
    return unique, report


def check_items(
    frame: pl.DataFrame, *, item: str, what: str = "item"
) -> tuple[pl.DataFrame, tuple[Refusal, ...]]:
    """Return the items, or whatever they are, with clean ids, one row each, and the refused."""
    need_column(frame, item, f"the {what}s")
    ids = as_ids(frame[item])
    missing = ids.is_null()
    again = ~missing & ~ids.is_first_distinct()
    refused = tuple(
        _refusal(reason, frame, mask, item)
        for reason, mask in (
            (f"{item} is missing", missing),
            (f"the {what} is described twice, the first row stands", again),
        )
        if mask.any()
    )
    if missing.all():
        raise DataError(f"No {what} is left: {'; '.join(map(str, refused))}.")
    return frame.with_columns(ids.alias(item)).filter(~missing & ~again), refused


def as_ids(column: pl.Series) -> pl.Series:
    """Return ids as whole numbers or texts; empty texts and non-finite numbers count as missing."""
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
    if column.dtype.is_float() or column.dtype.is_decimal():
        return _decimal_ids(column)
    if column.dtype.is_nested():
        raise _no_ids(column)
    try:
        text = column.cast(pl.String).str.strip_chars()
    except pl.exceptions.PolarsError as error:
        raise _no_ids(column) from error
    return text.set((text == "").fill_null(False), None)


def _decimal_ids(column: pl.Series) -> pl.Series:
    """Return ids that were kept as decimals, as frames do where some are missing."""
    numbers = column.cast(pl.Float64)
    column = column.set(~numbers.is_finite().fill_null(False), None)
    known = numbers.filter(column.is_not_null())
    if (known.abs() >= _EXACT).any():
        raise TableError(
            f"Column {column.name!r} keeps ids as decimals, too large to be told apart, such as "
            f"{known.filter(known.abs() >= _EXACT)[0]:.17g}. Keep them as whole numbers or texts."
        )
    return column.cast(pl.Int64 if (known == known.round(0)).all() else pl.String)


def _no_ids(column: pl.Series) -> TableError:
    return TableError(
        f"Column {column.name!r} holds {column.dtype}, which are no ids. "
        "Ids are whole numbers or texts."
    )


def need_column(frame: pl.DataFrame, column: str, what: str) -> None:
    """Raise `TableError` unless the frame has the column."""
    if column not in frame.columns:
        raise TableError(
            f"Column {column!r}, needed for {what}, is missing. Found: {', '.join(frame.columns)}."
            + closest(str(column), frame.columns)
        )


def _refusal(reason: str, frame: pl.DataFrame, mask: pl.Series, column: str) -> Refusal:
    """Count the rows and name the first, from 1, with what they hold."""
    rows = mask.arg_true().head(EXAMPLES).to_list()
    cells = frame[column].gather(rows).to_list()
    named = tuple(f"row {r + 1} ({shown(c)})" for r, c in zip(rows, cells, strict=True))
    return Refusal(reason, int(mask.sum()), named)


def _constant(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _comparable(cells: pl.Series, sign: str, value: float | str) -> tuple[pl.Series, float | str]:
    """Return cells and the value they are compared with, both as numbers or both as texts.

    Texts have no order that means anything, but for dates written year first.
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
        f"Column {cells.name!r} holds {cells.dtype} and cannot be compared with {value!r}. "
        "Compare numbers with numbers, texts with texts and dates with such as 2024-12-31."
    )
