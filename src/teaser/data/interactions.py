"""Interactions: ids, strengths, times, which rows count, and the matrix of them."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.condition import Conditions
from teaser.data.matrix import ItemId, value_matrix
from teaser.data.reading import EARLIEST, EXAMPLES, Refusal, first_ids, need_columns, shown
from teaser.errors import DataError, ParameterError, TableError, counted
from teaser.parameters import check_number

_NO_ID = r"(?i)^(nan|none|null|n/?a|\\N)$"
_EXACT = 2**53  # float64 represents every smaller integer exactly
Problems = list[tuple[str, pl.Series, str]]
Counts = Literal["once", "log"]
DAY = 86_400.0
# Seconds reach 1e11 in the year 5138, milliseconds in 1973; likewise for smaller units.
_LATEST = 1e11
_UNITS = ((_LATEST, 1e3), (1e14, 1e6), (1e17, 1e9))
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
Id = TypeVar("Id", bound=ItemId)
# A strength above so many times the mean is said to drown the others.
_DROWNING = 1000.0
# No strength becomes zero by being divided.
_SMALLEST = float(np.finfo(np.float32).tiny)
# Of a choice of strength 1: more against it makes lists less accurate; see benchmarks/README.md.
STRENGTH = -0.125


@dataclass(frozen=True)
class ReadReport:
    """Counts of the rows of a table of interactions.

    `rows = interactions + duplicates + not_positive + zero_strength + the refused rows`, always.
    `strength` says how strengths are made, or is empty.
    """

    rows: int
    interactions: int
    users: int
    items: int
    duplicates: int
    not_positive: int
    refused: tuple[Refusal, ...]
    zero_strength: int = 0
    strength: str = ""

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Return the report that `asdict` made plain values of."""
        return cls(**{**raw, "refused": Refusal.from_dicts(raw["refused"])})

    def with_refused(self, refused: Sequence[Refusal]) -> Self:
        """Return the report with rows that were refused before, such as unreadable lines."""
        rows = self.rows + sum(refusal.count for refusal in refused)
        return replace(self, rows=rows, refused=(*refused, *self.refused))

    def divided_by(self, mean: float | None) -> Self:
        """Return the report with the mean by which strengths are divided, where there is one."""
        if mean is None:
            return self
        return replace(self, strength=f"{self.strength}; divided by their mean, {mean:.4g}")

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        zero = f"{counted(self.zero_strength, 'row')} of strength zero left out"
        return [
            f"{counted(self.rows, 'row')} read: {counted(self.interactions, 'interaction')} of "
            f"{counted(self.users, 'user')} with {counted(self.items, 'item')}",
            f"{counted(self.not_positive, 'row')} not positive, "
            f"{counted(self.duplicates, 'duplicate')} merged",
            *([f"strength of an interaction: {self.strength}"] if self.strength else []),
            *([zero] if self.zero_strength else []),
            *(str(refusal) for refusal in self.refused),
        ]


@dataclass(frozen=True)
class Strength:
    """How rows of a user and an item become the strength of their interaction.

    The strength of a row is its cell of `column` (1 without a column) times
    2^(-age / half_life) (1 without a half-life). Rows of the same user and item are merged into
    the largest of their strengths with `counts="once"`, and into log(1 + their sum) with
    `counts="log"`: without a column and a half-life, log(1 + number of rows). Strengths are then
    divided by their mean: penalties mean the same in any unit.

    Attributes
    ----------
    column
        The column of numbers of at least 0, or None.
    kinds
        The strength of each text of the column, such as 1 of view and 5 of purchase, or None.
    counts
        How repeated rows are merged: `"once"` or `"log"`.
    time
        The column of times: dates, datetimes, ISO texts, or unix seconds or milliseconds. A row
        without a time is refused only with a half-life.
    half_life
        After how many days a row counts half, or None.
    newest
        The time that ages are counted from, in unix seconds: the newest of the rows that count.
    mean
        The mean of all strengths, by which they are divided, once it is known.
    """

    column: str | None = None
    counts: str = "once"
    time: str | None = None
    half_life: float | None = None
    newest: float | None = None
    mean: float | None = None
    kinds: Mapping[str, float] | None = None

    @classmethod
    def from_options(
        cls,
        column: str | None,
        counts: str,
        time: str | None,
        half_life: float | None,
        kinds: str | Mapping[str, float] | None = None,
    ) -> Self | None:
        """Return the checked rule, or None if every interaction has strength 1."""
        rule = cls(column, counts, time, half_life, kinds=parse_kinds(kinds))
        rule.check()
        return None if rule == cls() else rule

    @property
    def is_one(self) -> bool:
        """Whether every interaction has strength 1: only its time is read."""
        return self.column is None and self.counts == "once" and self.half_life is None

    def check(self) -> None:
        """Raise `ParameterError` if a setting is invalid, or has no effect."""
        if self.counts not in ("once", "log"):
            raise ParameterError(f"counts must be 'once' or 'log', found {self.counts!r}.")
        if self.kinds is not None and self.column is None:
            raise ParameterError(
                "The strengths of kinds need the column of the kinds: strength='event' "
                "(--strength event)."
            )
        if self.half_life is None:
            return
        check_number("half_life", self.half_life)
        if self.time is None:
            raise ParameterError(
                f"A half-life of {self.half_life:g} days needs the time of each interaction. "
                "Name its column: time='timestamp' (--time timestamp)."
            )

    def __str__(self) -> str:
        row = self.column or "1"
        if self.kinds is not None:
            row += f" ({', '.join(f'{kind} {n:g}' for kind, n in self.kinds.items())})"
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

    def with_newest(self, newest: float) -> "Strength":
        """Return the rule with the time that ages are counted from, in unix seconds."""
        if newest < EARLIEST:
            raise DataError(
                f"The newest time in column {self.time!r} is {as_date(newest)}. Numbers are read "
                "as unix seconds or milliseconds. Convert other times to these, or to dates."
            )
        return replace(self, newest=newest)

    def with_newest_of(self, rows: pl.DataFrame) -> "Strength":
        """Return the rule with the newest time of these rows, unless it has one or needs none."""
        if self.time is None or self.newest is not None:
            return self
        times = rows["time"].drop_nulls().to_numpy()
        if not len(times):
            return self
        dated = self.with_newest(float(times.max()))
        return self if self.half_life is None else dated

    def with_mean(self, total: float, n_pairs: int) -> "Strength":
        """Return the rule with the mean of all strengths; digits that rounding decides are cut."""
        return replace(self, mean=float(f"{total / n_pairs:.9g}"))

    def scaled(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the pairs with their strengths divided by the mean, where it is known."""
        if self.mean is None:
            return pairs
        ratio = (pl.col("strength").cast(pl.Float64) / self.mean).clip(_SMALLEST)
        return pairs.with_columns(ratio.cast(pl.Float32))

    def read(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Problems]:
        """Return strength and time of each row, and (reason, mask, column) for unusable rows."""
        read = pl.DataFrame({"strength": np.ones(frame.height)})
        problems: Problems = []
        if self.column is not None and self.kinds is not None:
            texts, known = frame[self.column].cast(pl.String).str.strip_chars(), dict(self.kinds)
            strengths = texts.replace_strict(known, default=None, return_dtype=pl.Float64)
            if strengths.is_null().all():
                raise ParameterError(
                    f"Column {self.column!r} has none of the kinds {', '.join(known)}. Found: "
                    f"{first_ids(texts)}."
                )
            others = f"{self.column} is none of {', '.join(known)}"
            problems.append((others, strengths.is_null(), self.column))
            read = strengths.alias("strength").to_frame()
        elif self.column is not None:
            numbers = _as_numbers(frame[self.column])
            # X is stored in single precision.
            finite = numbers.cast(pl.Float32).is_finite().fill_null(False)
            problems.append((f"{self.column} is not a finite number", ~finite, self.column))
            negative = (numbers < 0).fill_null(False)
            problems.append((f"{self.column} is negative", negative, self.column))
            read = numbers.alias("strength").to_frame()
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
            decay = _decay(self.newest - rows["time"].to_numpy(), self.half_life)
            rows = rows.with_columns(strength=rows["strength"].to_numpy() * decay)
        # A row that single precision rounds to zero is zero.
        kept = rows.filter(pl.col("strength").cast(pl.Float32) > 0)
        one = pl.col("strength")
        merged = one.sum().log1p() if self.counts == "log" else one.max()
        latest = [pl.col("time").max()] if self.time is not None else []
        pairs = kept.group_by("user", "item", maintain_order=True).agg(
            merged.cast(pl.Float32), *latest
        )
        return self.scaled(pairs), rows.height - kept.height


def parse_kinds(given: str | Mapping[str, float] | None) -> dict[str, float] | None:
    """Return the strength of each kind, from a mapping or from `view=1,purchase=5`."""
    if given is None:
        return None
    pairs = (
        [part.rpartition("=")[::2] for part in given.split(",")]
        if isinstance(given, str)
        else list(given.items())
    )
    try:
        kinds = {str(kind).strip(): float(strength) for kind, strength in pairs}
    except (TypeError, ValueError):
        kinds = {}
    if not kinds or not all(k and 0 <= n < math.inf for k, n in kinds.items()):
        raise ParameterError(
            "kinds must give each kind a strength of at least 0, such as {'view': 1, 'cart': 3} "
            f"(--kinds view=1,cart=3); found {given!r}."
        )
    return kinds


@dataclass(frozen=True)
class RowReader:
    """Which columns of a table of interactions are read, and which rows count.

    Attributes
    ----------
    user, item
        The columns of the ids.
    positive, negative
        Which rows count, all of them if None, and which ones say that a user disliked the item.
    strength
        How strong an interaction is, and when it was; 1 if None.
    """

    user: str
    item: str
    positive: Conditions | None = None
    strength: Strength | None = None
    negative: Conditions | None = None

    def __post_init__(self) -> None:
        if self.user == self.item:
            raise ParameterError(f"Users and items cannot both be in column {self.user!r}.")

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        rules = (self.positive, self.negative, self.strength)
        others = [column for rule in rules if rule is not None for column in rule.columns]
        return list(dict.fromkeys([self.user, self.item, *others]))

    def check(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, ReadReport, str | None]:
        """Return `pairs` with strengths of mean 1, and a note where strengths are odd.

        Raises
        ------
        DataError
            If no pair is left.
        """
        need_columns(frame, (self.user, self.item), "the interactions")
        unique, report = self.pairs(frame)
        if unique.height == 0:
            asked = f" by the rule {self.positive}" if self.positive else ""
            untimed = any(refusal.reason.endswith("is not a time") for refusal in report.refused)
            raise DataError(
                f"No positive interaction is left{asked}. {'; '.join(report.lines())}."
                f"{f' {WRITE_TIMES}' if untimed else ''}"
            )
        time = None if self.strength is None else self.strength.time
        if time is not None and unique["time"].is_null().all():
            raise DataError(f"No row that counts has a time in column {time!r}. {WRITE_TIMES}")
        rule = self.strength
        if rule is None or rule.is_one:
            return unique, report, None
        own = unique["strength"].cast(pl.Float64)
        rule = rule.with_mean(float(own.sum()), unique.height)
        unique = rule.scaled(unique)
        note = _strength_note(unique["strength"].to_numpy())
        return unique, report.divided_by(rule.mean), note

    def pairs(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, ReadReport]:
        """Return the distinct positive pairs, in order of appearance, and a report.

        The pairs have columns user and item; strength if a rule for it is given; and time, in unix
        seconds, if the rule names its column. Rows that are `negative` are not positive.
        """
        rows, counts = self.rows(frame)
        strength = self.strength
        if strength is None:
            unique, zero = rows.unique(maintain_order=True), 0
        else:
            strength = strength.with_newest_of(rows)
            unique, zero = strength.merge(rows)
        report = ReadReport(
            rows=frame.height,
            interactions=unique.height,
            users=unique["user"].n_unique(),
            items=unique["item"].n_unique(),
            duplicates=rows.height - unique.height - zero,
            zero_strength=zero,
            strength="" if strength is None or strength.is_one else str(strength),
            **counts,
        )
        return unique, report

    def rows(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return the positive rows (user, item, strength and time), and what was left out."""
        is_positive, unclear = self._positive(frame)
        ids = self._ids(frame)
        refused: list[Refusal] = []

        def without(open_rows: pl.Series, problems: Problems) -> pl.Series:
            for reason, mask, column in problems:
                if (bad := mask & open_rows).any():
                    refused.append(_refusal(reason, frame, bad, column))
                    open_rows = open_rows & ~bad
            return open_rows

        columns = (("user", self.user), ("item", self.item))
        missing = [(f"{column} is missing", ids[n].is_null(), column) for n, column in columns]
        open_rows = without(pl.Series([True]).new_from_index(0, frame.height), missing + unclear)
        taken = open_rows if is_positive is None else open_rows & is_positive
        not_positive = int(open_rows.sum()) - int(taken.sum())
        if self.strength is not None:
            need_columns(frame, self.strength.columns, "the strength and time of interactions")
            read, problems = self.strength.read(frame)
            taken, ids = without(taken, problems), ids.hstack(read)
        return ids.filter(taken), {"not_positive": not_positive, "refused": tuple(refused)}

    def disliked(
        self, frame: pl.DataFrame, pairs: pl.DataFrame, users: pl.Series, items: pl.Series
    ) -> tuple[sp.csr_array | None, str | None]:
        """Return what users disliked and did not choose (users x items), as strengths below 0.

        The second value is a note on dislikes of users or items that have no place in the matrix.
        A dislike is an eighth of the mean strength of interactions, and decays as they do.

        Parameters
        ----------
        frame
            The interactions as they were read.
        pairs
            The interactions that count; a pair that is among them is not disliked.
        users, items
            The ids of the rows and columns; rows of others are left out.
        """
        if self.negative is None:
            return None, None
        is_disliked, _ = self.negative.split(frame, what="disliked")
        rows = self._ids(frame).with_columns(_strengths(frame, pairs, self.strength))
        rows = rows.filter(is_disliked).drop_nulls()
        # Of two dislikes of one item, the one that counts more is the later one.
        merged = rows.group_by("user", "item", maintain_order=True).agg(pl.col("strength").min())
        merged = merged.filter(pl.col("strength") < 0)
        merged = merged.with_columns(pl.col("item").cast(items.dtype))
        only = merged.join(pairs.select("user", "item"), on=["user", "item"], how="anti")
        found = interaction_matrix(only, users, items)
        missed = only.height - found.nnz
        if not missed:
            return found, None
        new = only["user"].n_unique() - int((np.diff(found.indptr) > 0).sum())
        return found, (
            f"{counted(missed, 'disliked item')} left out, of {counted(new, 'user')} who chose "
            "nothing, or of items that nobody chose and no table describes"
        )

    def _ids(self, frame: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame({"user": as_ids(frame[self.user]), "item": as_ids(frame[self.item])})

    def _positive(self, frame: pl.DataFrame) -> tuple[pl.Series | None, Problems]:
        """Return which rows are positive, None for all, and the undecidable ones."""
        is_positive, unclear = (None, []) if self.positive is None else self.positive.split(frame)
        if self.negative is None:
            return is_positive, unclear
        is_negative, more = self.negative.split(frame, what="disliked")
        if is_positive is None:
            return ~is_negative, more
        both = is_positive & is_negative
        if both.any():
            first, n, column = int(both.arg_true()[0]), int(both.sum()), self.negative.columns[0]
            raise ParameterError(
                f"{counted(n, 'row')} {'is' if n == 1 else 'are'} positive by {self.positive} and "
                f"disliked by {self.negative}, such as row {first + 1} ({column} "
                f"{shown(frame[column][first])}). Give rules that no row meets both of."
            )
        return is_positive, [*unclear, *more]


def check_items(
    frame: pl.DataFrame, *, item: str, what: str = "item"
) -> tuple[pl.DataFrame, tuple[Refusal, ...]]:
    """Return the rows with clean, distinct ids, and the refused rows."""
    need_columns(frame, (item,), f"the {what}s")
    ids = as_ids(frame[item])
    missing = ids.is_null()
    again = ~missing & ~ids.is_first_distinct()
    refused = tuple(
        _refusal(reason, frame, mask, item)
        for reason, mask in (
            (f"{item} is missing", missing),
            (f"the {what} is described twice, the first row is kept", again),
        )
        if mask.any()
    )
    if missing.all():
        raise DataError(f"No {what} is left: {'; '.join(map(str, refused))}.")
    return frame.with_columns(ids.alias(item)).filter(~missing & ~again), refused


def as_ids(column: pl.Series) -> pl.Series:
    """Return ids as integers or texts; empty texts and non-finite numbers are missing."""
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
    if column.dtype.is_float() or column.dtype.is_decimal():
        return _decimal_ids(column)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
        raise TableError(
            f"Column {column.name!r} has type {column.dtype}, which cannot be an id. "
            "Ids are integers or texts: convert them, in pandas with .astype(str)."
        )
    text = column.cast(pl.String)
    text = text.str.strip_chars()
    missing = (text == "").fill_null(False)
    words = text.str.contains(_NO_ID).fill_null(False)
    # Among numbers such a word is no name.
    if words.any() and text.filter(~words & ~missing).str.contains(r"^\d+$").all():
        missing |= words
    return text.set(missing, None)


def _decimal_ids(column: pl.Series) -> pl.Series:
    """Return ids that are stored as floats, as pandas does if some are missing."""
    numbers = column.cast(pl.Float64)
    column = column.set(~numbers.is_finite().fill_null(False), None)
    known = numbers.filter(column.is_not_null())
    if (known.abs() >= _EXACT).any():
        raise TableError(
            f"Column {column.name!r} has ids as decimals that are too large to be exact, such as "
            f"{known.filter(known.abs() >= _EXACT)[0]:.17g}. Store them as integers or texts."
        )
    return column.cast(pl.Int64 if (known == known.round(0)).all() else pl.String)


def _refusal(reason: str, frame: pl.DataFrame, mask: pl.Series, column: str) -> Refusal:
    """Count the rows and show the first of them, numbered from 1, with their cells."""
    rows = mask.arg_true().head(EXAMPLES).to_list()
    cells = frame[column].gather(rows).to_list()
    named = tuple(f"row {r + 1} ({shown(c)})" for r, c in zip(rows, cells, strict=True))
    return Refusal(reason, int(mask.sum()), named)


def interaction_matrix(pairs: pl.DataFrame, users: pl.Series, items: pl.Series) -> sp.csr_array:
    """Return the users x items matrix of the pairs: their strengths, or ones."""
    placed = _place(pairs, users, items)
    ones = np.ones(placed.height, np.float32)
    strengths = placed["strength"] if "strength" in placed.columns else ones
    return value_matrix(placed["row"], placed["column"], strengths, (len(users), len(items)))


def interaction_times(
    pairs: pl.DataFrame, users: pl.Series, items: pl.Series
) -> NDArray[np.float64] | None:
    """Return the times of the pairs in the order of the entries of their matrix, or None."""
    if "time" not in pairs.columns:
        return None
    placed = _place(pairs, users, items).sort("row", "column")
    return placed["time"].cast(pl.Float64).to_numpy()


def _place(pairs: pl.DataFrame, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    """Return the pairs with their rows and columns in the matrix of these users and items."""
    rows = users.to_frame("user").with_row_index("row")
    columns = items.to_frame("item").with_row_index("column")
    return pairs.join(rows, on="user").join(columns, on="item")


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
    texts = column.cast(pl.String).str.strip_chars()
    return texts.str.contains(_MISSING).fill_null(True)


def _year_first(texts: pl.Series) -> pl.Series:
    """Return dates as 2024-12-31, if all of them show whether days or months come first.

    One that ends with the year shows it by a number above 12, for all dates of the column.
    """
    # 2024/12/31 can mean one day only.
    texts = texts.str.replace(r"^(\d{4})[/.](\d\d)[/.](\d\d)", "$1-$2-$3")
    groups = texts.to_frame("text").select(pl.col("text").str.extract_groups(_YEAR_LAST))
    one, other, year, clock = groups.unnest("text")
    if one.null_count() == len(one):
        return texts
    days_first, months_first = ((each.cast(pl.Int64) > _MONTHS).any() for each in (one, other))
    if days_first == months_first:
        row = int(one.is_not_null().arg_true()[0])
        raise TableError(
            f"Column {texts.name!r} has dates in which day and month cannot be told apart, such as "
            f"row {row + 1} ({shown(texts[row])}): "
            f"{'both come first' if days_first else 'no number is above 12'}. {WRITE_TIMES}"
        )
    day, month = (one, other) if days_first else (other, one)
    parts = pl.DataFrame([year, month.str.zfill(2), day.str.zfill(2), clock])
    written = parts.select(pl.format("{}-{}-{}{}", *(pl.nth(i) for i in range(4)))).to_series()
    return texts.zip_with(one.is_null(), written)


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
        f"{f', such as {shown(example[0])}' if example else ''}. Name another column, or give each "
        "text a strength: --kinds 'view=1,cart=3' (kinds={'view': 1, 'cart': 3})."
    )


def as_date(seconds: float) -> str:
    """Return the day of a time in unix seconds, as 2024-12-31, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def decayed(
    times: Mapping[Id, Any],
    *,
    half_life: float,
    strengths: Mapping[Id, float] | None = None,
) -> dict[Id, float]:
    """Return a history in which older items count less, as `recommend` takes it.

    The strength of an item is 2^(-age / half_life), times its own where that is given. Age is
    counted from the latest time of the history: a factor that all items share changes no list.

    Parameters
    ----------
    times
        When the user chose each item: dates, datetimes, ISO texts, or unix seconds or
        milliseconds.
    half_life
        After how many days an item counts half.
    strengths
        Strengths of items where they are not 1; below 0 for disliked items.

    Examples
    --------
    >>> decayed({"a": "2026-01-01", "b": "2026-01-31"}, half_life=30)
    {'a': 0.5, 'b': 1.0}
    """
    check_number("half_life", half_life)
    if not isinstance(times, Mapping):
        raise ParameterError(f"A history with times maps item ids to times, found {times!r}.")
    unknown = [item for item in strengths or {} if item not in times]
    if unknown:
        raise ParameterError(f"There is a strength but no time for {unknown[0]!r}. Give both.")
    seconds = np.array([_seconds(item, when) for item, when in times.items()])
    factors = _decay(seconds.max(initial=-np.inf) - seconds, half_life).tolist()
    own = strengths or {}
    return {item: own.get(item, 1.0) * x for item, x in zip(times, factors, strict=True)}


def _seconds(item: ItemId, when: Any) -> float:
    """Return one time as unix seconds."""
    found = None
    with suppress(TypeError, ValueError, pl.exceptions.PolarsError):
        found = as_seconds(pl.Series("time", [when], strict=False))[0]
    if found is None:
        raise ParameterError(
            f"The time of {item!r} must be a date, a datetime, an ISO text, or unix seconds or "
            f"milliseconds, found {when!r}."
        )
    return float(found)


def _strengths(frame: pl.DataFrame, pairs: pl.DataFrame, rule: Strength | None) -> pl.Series:
    """Return the strength that each row has as a dislike, below 0; null without a time."""
    if rule is None or rule.is_one:
        return pl.Series("strength", np.full(frame.height, STRENGTH, np.float32))
    level, decay = pairs["strength"].to_numpy().astype(np.float64), np.ones(frame.height)
    total = float(len(level))
    if rule.half_life is not None and rule.time is not None:
        times = pairs["time"].to_numpy()
        newest = times.max(initial=-np.inf)
        total = float(_decay(newest - times, rule.half_life).sum())
        seconds = as_seconds(frame[rule.time]).to_numpy()
        # A dislike that is newer than every choice counts as the newest of them.
        decay = _decay(np.maximum(0.0, newest - seconds), rule.half_life)
    # The mean strength of an interaction before it decays; 1 where there is none.
    mean = level.sum() / total if len(level) else 1.0
    found = STRENGTH * mean * decay
    return pl.Series("strength", found.astype(np.float32)).fill_nan(None)


def _strength_note(strengths: NDArray[Any]) -> str | None:
    """Return a note if strengths of mean 1 are all equal, or one of them drowns the others."""
    largest = float(strengths.max())
    if largest == float(strengths.min()):
        return "all interactions have the same strength, so that strengths make no difference"
    if largest > _DROWNING:
        return (
            f"warning: the largest strength is {largest:,.0f} times the mean, and drowns others. "
            "To hold large ones back, give --counts log (counts='log')"
        )
    return None


def _decay(age: Any, half_life: float) -> Any:
    """Return 2^(-age / half_life) for ages in seconds."""
    with np.errstate(over="ignore"):
        return np.exp2(-age / DAY / half_life)


def with_disliked(X: sp.csr_array, disliked: sp.csr_array | None) -> sp.csr_array:
    """Return histories (users x items): choices X, and disliked items where there are any."""
    return X if disliked is None else sp.csr_array(X + disliked)


def disliked_line(disliked: sp.csr_array) -> str:
    """Return the number of disliked items and what they are for, as a sentence."""
    n_users = int((np.diff(disliked.indptr) > 0).sum())
    said = f"{counted(disliked.nnz, 'disliked item')} of {counted(n_users, 'user')}"
    if not disliked.nnz:
        return said
    low, high = (f"{n:.3g}" for n in (disliked.data.min(), disliked.data.max()))
    range_ = low if low == high else f"from {low} to {high}"
    return f"{said}: each has a strength of {range_} in a history, and none in the fit"


def checked_times(times: NDArray[Any], n_interactions: int) -> NDArray[np.float64]:
    """Return a read-only copy of the times, one for each interaction."""
    copy = np.array(times, np.float64)
    if copy.shape != (n_interactions,):
        raise DataError(
            f"There are {n_interactions:,} interactions and {copy.size:,} times. Give one for "
            "each entry of X, or times=None."
        )
    copy.flags.writeable = False
    return copy


def entries_in_rows(X: sp.csr_array, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions in `X.data` of the entries of some rows, in the order of the rows."""
    places = sp.csr_array((np.arange(X.nnz), X.indices, X.indptr), shape=X.shape)
    return np.asarray(places[rows].data)


def time_span(times: NDArray[np.float64]) -> str:
    """Return a sentence on the first and the last day of the times, and on missing ones."""
    known = times[~np.isnan(times)]
    missing = len(times) - len(known)
    if not len(known):
        return "no interaction has a time"
    said = f"times from {as_date(float(known.min()))} to {as_date(float(known.max()))}"
    if not missing:
        return said
    return f"{said}; {counted(missing, 'interaction')} without a time, left out by splits by time"
