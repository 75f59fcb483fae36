"""The strength of an interaction: from a column, from repeated rows, and from age."""

import math
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self

import numpy as np
import polars as pl

from teaser.data.reading.table import shown
from teaser.errors import DataError, ParameterError, TableError

Counts = Literal["once", "log"]
Problems = list[tuple[str, pl.Series, str]]

DAY = 86_400.0
# Seconds reach 1e11 in the year 5138, milliseconds in 1973; likewise for smaller units.
_LATEST = 1e11
_UNITS = ((_LATEST, 1e3), (1e14, 1e6), (1e17, 1e9))
EARLIEST = 1e8  # 1973, in seconds: no log of interactions ends before
_ISO = (
    r"^(\d{4}-\d\d-\d\d)(?:[T ]+(\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?"
    r"\s*([AaPp][Mm])?\s*(?:Z|UTC|([+-])(\d\d):?(\d\d)?)?)?$"
)
_YEAR_LAST = r"^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})\b(.*)$"
_MONTHS = 12
_MISSING = r"(?i)^(|nan|nat|none|null|n/?a|\\N|-)$"
WRITE_TIMES = (
    "Write times as dates, year first, such as 2024-12-31 or 2024-12-31T18:30:00, or as unix "
    "seconds or milliseconds."
)


@dataclass(frozen=True)
class Strength:
    """How rows of a user and an item become the strength of their interaction.

    The strength of a row is its cell of `column` (1 without a column) times
    2^(-age / half_life) (1 without a half-life). Rows of the same user and item are merged into
    the largest of their strengths with `counts="once"`, and into log(1 + their sum) with
    `counts="log"`: without a column and a half-life, log(1 + number of rows).

    Attributes
    ----------
    column
        The column of numbers of at least 0, or None.
    counts
        How repeated rows are merged: `"once"` or `"log"`.
    time
        The column of times: dates, datetimes, ISO texts, or unix seconds or milliseconds. A row
        without a time is refused only with a half-life.
    half_life
        After how many days a row counts half, or None.
    newest
        The time that ages are counted from, in unix seconds: the newest of the rows that count.
    """

    column: str | None = None
    counts: str = "once"
    time: str | None = None
    half_life: float | None = None
    newest: float | None = None

    @classmethod
    def of(
        cls, column: str | None, counts: str, time: str | None, half_life: float | None
    ) -> Self | None:
        """Return the checked rule, or None if every interaction has strength 1."""
        rule = cls(column, counts, time, half_life)
        rule.check()
        if half_life is not None:
            rule = replace(rule, half_life=float(half_life))
        return None if rule == cls() else rule

    def decays(self) -> "Strength":
        """Return the rule, or raise `ParameterError` if its time is for no decay.

        Interactions in partitions keep no times, so that a time alone would have no effect.
        """
        if self.time is not None and self.half_life is None:
            raise ParameterError(
                f"The time in column {self.time!r} has no effect without a half-life: times of "
                "interactions in partitions are not kept. Give a half-life in days, half_life=30 "
                "(--half-life 30), or leave out the time."
            )
        return self

    @property
    def is_one(self) -> bool:
        """Whether every interaction has strength 1: only its time is read."""
        return self.column is None and self.counts == "once" and self.half_life is None

    def check(self) -> None:
        """Raise `ParameterError` if a setting is invalid, or has no effect."""
        if self.counts not in ("once", "log"):
            raise ParameterError(f"counts must be 'once' or 'log', found {self.counts!r}.")
        for name, column in (("strength", self.column), ("time", self.time)):
            if column is not None and (not isinstance(column, str) or not column):
                raise ParameterError(f"{name} must be the name of a column, found {column!r}.")
        if self.half_life is None:
            return
        check_half_life(self.half_life)
        if self.time is None:
            raise ParameterError(
                f"A half-life of {self.half_life:g} days needs the time of each interaction. "
                "Name its column: time='timestamp' (--time timestamp)."
            )

    def __str__(self) -> str:
        row = self.column or "1"
        if self.half_life is not None:
            row += f" x 2^(-age / {self.half_life:g} days)"
        if self.newest is not None:
            row += f", age counted from {as_date(self.newest)}"
        merged = "log(1 + their sum)" if self.counts == "log" else "the largest of them"
        return f"{row}; rows of one user and item: {merged}"

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [column for column in (self.column, self.time) if column is not None]

    def settings(self) -> dict[str, Any]:
        """Return the rule as plain values, which the constructor takes."""
        return asdict(self)

    def at(self, newest: float) -> "Strength":
        """Return the rule with the time that ages are counted from, in unix seconds."""
        if newest < EARLIEST:
            raise DataError(
                f"The newest time in column {self.time!r} is {as_date(newest)}. Numbers are read "
                "as unix seconds or milliseconds. Convert other times to these, or to dates."
            )
        return replace(self, newest=newest)

    def aged(self, rows: pl.DataFrame) -> "Strength":
        """Return the rule with the newest time of these rows, unless it has one or needs none."""
        if self.time is None or self.newest is not None or rows.height == 0:
            return self
        times = rows["time"].drop_nulls().to_numpy()
        if not len(times):
            return self
        dated = self.at(float(times.max()))
        return self if self.half_life is None else dated

    def read(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Problems]:
        """Return strength and time of each row, and (reason, mask, column) for unusable rows."""
        read = pl.DataFrame({"strength": np.ones(frame.height)})
        problems: Problems = []
        if self.column is not None:
            numbers = _as_numbers(frame[self.column])
            # X is stored in single precision.
            finite = numbers.cast(pl.Float32).is_finite().fill_null(False)
            problems.append((f"{self.column} is not a finite number", ~finite, self.column))
            negative = (numbers < 0).fill_null(False)
            problems.append((f"{self.column} is negative", negative, self.column))
            read = read.with_columns(numbers.alias("strength"))
        if self.time is not None:
            cells = frame[self.time]
            seconds = as_seconds(cells)
            no_time = seconds.is_null()
            if self.half_life is None:
                no_time &= ~_is_missing(cells)
            problems.append((f"{self.time} is not a time", no_time, self.time))
            read = read.with_columns(seconds.alias("time"))
        return read, problems

    def merge(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """Return the pairs with strengths and times in order of appearance, and a count of zeros.

        Parameters
        ----------
        rows
            user, item, strength and, if the rule has a column of times, time of each row.

        Returns
        -------
        pairs
            user, item, strength and, where rows have times, the latest time of those above 0.
        zero
            The number of rows of strength 0.
        """
        if self.half_life is not None and self.newest is not None:
            age = (self.newest - rows["time"].to_numpy()) / DAY
            with np.errstate(over="ignore"):
                # strength x 2^(-age / half_life), age in days
                decayed = rows["strength"].to_numpy() * np.exp2(-age / self.half_life)
            rows = rows.with_columns(pl.Series("strength", decayed))
        # A row that single precision rounds to zero is zero.
        kept = rows.filter(pl.col("strength").cast(pl.Float32) > 0)
        one = pl.col("strength")
        merged = one.sum().log1p() if self.counts == "log" else one.max()
        latest = [pl.col("time").max()] if self.time is not None else []
        pairs = kept.group_by("user", "item", maintain_order=True).agg(
            merged.cast(pl.Float32), *latest
        )
        return pairs, rows.height - kept.height


def check_half_life(half_life: Any) -> None:
    """Raise `ParameterError` unless this is a number of days above 0."""
    is_number = isinstance(half_life, int | float | np.integer | np.floating)
    if isinstance(half_life, bool) or not is_number or not 0 < half_life < math.inf:
        raise ParameterError(f"half_life must be a number of days above 0, found {half_life!r}.")


def as_seconds(column: pl.Series) -> pl.Series:
    """Return times as unix seconds, null where a cell has none; times without a zone are UTC.

    Numbers are seconds, milliseconds, microseconds or nanoseconds, by their size. Dates that end
    with the year have the day first or the month first, whichever fits the whole column.
    """
    kind = column.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    if kind.is_numeric():
        return _scaled(column.cast(pl.Float64))
    if kind not in (pl.String, pl.Categorical, pl.Enum):
        raise TableError(
            f"Column {column.name!r} has type {kind}, which cannot be read as times. {WRITE_TIMES}"
        )
    texts = column.cast(pl.String).str.strip_chars()
    found = _iso_seconds(_year_first(texts))
    return found.zip_with(found.is_not_null(), _scaled(texts.cast(pl.Float64, strict=False)))


def _is_missing(column: pl.Series) -> pl.Series:
    """Return which cells are empty, or say that there is no value."""
    if column.dtype == pl.String:
        return column.str.strip_chars().str.contains(_MISSING).fill_null(True)
    if column.dtype.is_float():
        return column.is_nan().fill_null(True)
    return column.is_null()


def _year_first(texts: pl.Series) -> pl.Series:
    """Return dates as 2024-12-31, if all of them show whether days or months come first.

    One that ends with the year shows it by a number above 12, for all dates of the column.
    """
    # 2024/12/31 can mean one day only.
    texts = texts.str.replace(r"^(\d{4})[/.](\d\d)[/.](\d\d)", "$1-$2-$3")
    groups = texts.to_frame("text").select(pl.col("text").str.extract_groups(_YEAR_LAST))
    one, other, year, clock = groups.unnest("text")
    above = [(each.cast(pl.Int64) > _MONTHS).fill_null(False) for each in (one, other)]
    if one.null_count() == len(one):
        return texts
    if above[0].any() == above[1].any():
        raise _unclear_dates(texts, one.is_not_null(), above)
    day, month = (one, other) if above[0].any() else (other, one)
    parts = pl.DataFrame([year, month.str.zfill(2), day.str.zfill(2), clock])
    written = parts.select(pl.format("{}-{}-{}{}", *(pl.nth(i) for i in range(4)))).to_series()
    return texts.zip_with(one.is_null(), written)


def _unclear_dates(texts: pl.Series, dates: pl.Series, above: list[pl.Series]) -> TableError:
    """Return the error for dates in which a day may be a month."""
    mixed = above[0].any()
    rows = [int(mask.arg_true()[0]) for mask in (above if mixed else [dates])]
    named = [f"row {row + 1} ({shown(texts[row])})" for row in rows]
    why = (
        f"days first in {named[0]} and months first in {named[-1]}"
        if mixed
        else f"dates in which day and month cannot be told apart, such as {named[0]}: none of "
        "their numbers is above 12"
    )
    return TableError(f"Column {texts.name!r} has {why}. {WRITE_TIMES}")


def _iso_seconds(texts: pl.Series) -> pl.Series:
    """Return unix seconds of ISO texts, null where a text is none."""
    part = pl.col("parts").struct.field
    day = part("1").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    hours, minutes, seconds, zone_hours, zone_minutes = (
        part(name).cast(pl.Float64).fill_null(0.0) for name in ("2", "3", "4", "7", "8")
    )
    # 12 am is midnight, and 12 pm is noon.
    half = part("5").str.to_lowercase()
    hours = pl.when(half.is_null()).then(hours).otherwise(hours % 12)
    hours += pl.when(half == "pm").then(12.0).otherwise(0.0)
    sign = pl.when(part("6") == "-").then(-1.0).otherwise(1.0)
    clock = 3600 * (hours - sign * zone_hours) + 60 * (minutes - sign * zone_minutes) + seconds
    parts = texts.to_frame("text").select(parts=pl.col("text").str.extract_groups(_ISO))
    return parts.select(day * DAY + clock).to_series()


def _scaled(numbers: pl.Series) -> pl.Series:
    """Return numbers in seconds; those that can be no time become null."""
    unit = pl.lit(1.0)
    for least, per_second in _UNITS:
        unit = pl.when(pl.col("t").abs() >= least).then(per_second).otherwise(unit)
    seconds = numbers.to_frame("t").select(pl.col("t") / unit).to_series()
    return seconds.set(~(seconds.abs() < _LATEST).fill_null(False), None)


def _as_numbers(column: pl.Series) -> pl.Series:
    """Return strengths as numbers, null where a cell has none."""
    kind = column.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return column.cast(pl.Float64)
    if kind in (pl.String, pl.Categorical, pl.Enum):
        numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        if numbers.null_count() < len(numbers):
            return numbers
    example = column.drop_nulls().head(1).to_list()
    raise TableError(
        f"Strengths must be numbers, and column {column.name!r} has type {kind}"
        f"{f', such as {shown(example[0])}' if example else ''}. Name another column."
    )


def as_date(seconds: float) -> str:
    """Return the day of a time in unix seconds, as 2024-12-31, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
