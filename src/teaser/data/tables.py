"""Files and frames of interactions and items become checked tables; which rows are positive."""

import csv
import gzip
import io
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from teaser.errors import DataError, ParameterError, TableError, closest

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson")
_EXAMPLES = 3
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "==": operator.eq,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


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

    Examples
    --------
    >>> Positive.parse("rating >= 4").terms
    (('rating', '>=', 4.0),)
    """

    terms: tuple[tuple[str, str, float | str], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a rule such as `rating >= 4` or `action = 'like' and seconds > 30`."""
        terms = []
        for part in re.split(r"\s+and\s+", text.strip()):
            found = re.fullmatch(r"(.+?)\s*(>=|<=|==|!=|=|>|<)\s*(.+)", part)
            if not found:
                raise ParameterError(f"Cannot read {part!r}. Write a rule such as 'rating >= 4'.")
            column, sign, value = found.groups()
            terms.append((column.strip("'\"`"), sign, _constant(value)))
        return cls(tuple(terms))

    def split(self, frame: pl.DataFrame) -> tuple[pl.Series, list[tuple[str, pl.Series, str]]]:
        """Return which rows are positive, and (reason, mask, column) where none can tell."""
        positive = pl.Series([True]).new_from_index(0, frame.height)
        unclear = []
        for column, sign, value in self.terms:
            need_column(frame, column, "the rule for positive rows")
            cells = frame[column]
            if isinstance(value, float):
                if cells.dtype == pl.String:
                    cells = cells.str.strip_chars()
                cells = cells.cast(pl.Float64, strict=False)
                unclear.append(
                    (f"{column} is not a number", ~cells.is_finite().fill_null(False), column)
                )
            else:
                cells = cells.cast(pl.String)
                unclear.append((f"{column} is missing", cells.is_null(), column))
            positive &= _COMPARE[sign](cells, value).fill_null(False)
        return positive, unclear


def read_table(
    source: Any, *, what: str = "table", separator: str | None = None, encoding: str = "utf-8"
) -> pl.DataFrame:
    """Read a file or frame into a polars frame.

    Parameters
    ----------
    source
        A path to csv, tsv, parquet or jsonl (text also gzipped), or a polars, pandas or pyarrow
        frame, or anything else that exports the Arrow C stream.
    what
        What the table holds, for error messages.
    separator
        Between the fields of a text file; guessed from its header when not given.
    encoding
        Of a text file.
    """
    if isinstance(source, str | Path):
        frame = _read_file(Path(source), what, separator, encoding)
    elif isinstance(source, pl.LazyFrame):
        frame = source.collect()
    else:
        frame = _from_frame(source, what)
    if frame.height == 0:
        where = f" in {source}" if isinstance(source, str | Path) else ""
        raise TableError(
            f"The {what}{where} have no rows. Found columns: {', '.join(frame.columns)}."
        )
    return frame


def check_interactions(
    frame: pl.DataFrame, *, user: str, item: str, positive: str | Positive | None = None
) -> tuple[pl.DataFrame, ReadReport]:
    """Return the distinct positive (user, item) pairs, in order of appearance, and a report."""
    for column in (user, item):
        need_column(frame, column, "the interactions")
    if user == item:
        raise ParameterError(f"Users and items cannot both be column {user!r}.")
    rule = Positive.parse(positive) if isinstance(positive, str) else positive
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
    if unique.height == 0:
        asked = f" by the rule {positive!r}" if positive is not None else ""
        raise DataError(
            f"No positive interaction is left{asked}. " + "; ".join(report.lines()) + "."
        )
    return unique, report


def check_items(frame: pl.DataFrame, *, item: str) -> tuple[pl.DataFrame, tuple[Refusal, ...]]:
    """Return the items with clean ids, one row each, and what was refused."""
    need_column(frame, item, "the items")
    frame = frame.with_columns(as_ids(frame[item]).alias(item))
    refused = []
    missing = frame[item].is_null()
    if missing.any():
        refused.append(_refusal(f"{item} is missing", frame, missing, item))
        frame = frame.filter(~missing)
    again = ~frame[item].is_first_distinct()
    if again.any():
        refused.append(
            _refusal("the item is described twice, the first row stands", frame, again, item)
        )
        frame = frame.filter(~again)
    if frame.height == 0:
        raise DataError(f"No item is left: {'; '.join(map(str, refused))}.")
    return frame, tuple(refused)


def as_ids(column: pl.Series) -> pl.Series:
    """Return ids as whole numbers or texts; empty texts and non-finite numbers count as missing."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype.is_float():
        finite = column.is_finite().fill_null(False)
        column = column.set(~finite, None)
        whole = column.drop_nulls()
        return column.cast(pl.Int64 if (whole == whole.round(0)).all() else pl.String)
    text = column.cast(pl.String).str.strip_chars()
    return text.set((text == "").fill_null(False), None)


def need_column(frame: pl.DataFrame, column: str, what: str) -> None:
    """Raise `TableError` unless the frame has the column."""
    if column not in frame.columns:
        raise TableError(
            f"Column {column!r}, needed for {what}, is missing. Found: {', '.join(frame.columns)}."
            + closest(column, frame.columns)
        )


def _refusal(reason: str, frame: pl.DataFrame, mask: pl.Series, column: str) -> Refusal:
    """Count the rows and name the first, from 1, with what they hold."""
    rows = mask.arg_true().head(_EXAMPLES).to_list()
    cells = frame[column].gather(rows).to_list()
    named = tuple(f"row {r + 1} ({c!r})" for r, c in zip(rows, cells, strict=True))
    return Refusal(reason, int(mask.sum()), named)


def _constant(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text.strip("'\"")
    if not math.isfinite(value):
        raise ParameterError(f"{text!r} is not a number that rows can be compared with.")
    return value


def _from_frame(source: Any, what: str) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    try:
        return pl.DataFrame(source)
    except Exception as error:
        raise TableError(
            f"The {what} are a {type(source).__name__}, which is not read as a table: {error}. "
            "Pass a path, or a polars, pandas or pyarrow frame."
        ) from error


def _read_file(path: Path, what: str, separator: str | None, encoding: str) -> pl.DataFrame:
    """Read one file by its suffix, and turn what can go wrong into sentences."""
    suffix = next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "").lower()
    if suffix not in SUFFIXES:
        raise TableError(
            f"{path} is of no known kind. Known: {', '.join(SUFFIXES)} (text also .gz)."
        )
    if not path.is_file():
        raise TableError(f"There is no file {path} to read the {what} from.")
    try:
        if suffix == ".parquet":
            return pl.read_parquet(path)
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw if encoding.lower() in ("utf-8", "utf8") else raw.decode(encoding).encode()
        if suffix in (".jsonl", ".ndjson"):
            return (
                pl.read_ndjson(text, infer_schema_length=None) if text.strip() else pl.DataFrame()
            )
        return _read_csv(text, path, separator)
    except (UnicodeDecodeError, pl.exceptions.ComputeError) as error:
        if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
            raise TableError(
                f"{path} is not written in {encoding}. Say what it is, such as encoding='latin-1'."
            ) from error
        raise TableError(f"{path} could not be read: {error}.") from error
    except (OSError, EOFError, LookupError, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path} could not be read: {error}.") from error


def _read_csv(text: bytes, path: Path, separator: str | None) -> pl.DataFrame:
    """Read separated text; cells stay text unless the whole column is numbers."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    header = text[: text.find(b"\n") if b"\n" in text else len(text)].decode("utf-8", "replace")
    separator = separator or max(",;\t|", key=header.count)
    try:
        frame = pl.read_csv(text, separator=separator, infer_schema=False)
    except pl.exceptions.ComputeError as error:
        if "more fields" in str(error):
            raise TableError(_ragged(text, path, separator)) from error
        raise
    return frame.with_columns(_typed(column) for column in frame)


def _typed(column: pl.Series) -> pl.Series:
    """Return numbers where every cell is one and nothing is lost by it (007 stays text)."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole if (whole.cast(pl.String) == column).all() else column
    numbers = column.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else column


def _ragged(text: bytes, path: Path, separator: str) -> str:
    """Name the first rows of a csv that have more fields than its header."""
    rows = csv.reader(io.StringIO(text.decode("utf-8")), delimiter=separator)
    width = len(next(rows))
    bad = [f"row {i} has {len(row)}" for i, row in enumerate(rows, 1) if len(row) > width]
    return (
        f"{len(bad)} rows of {path} have more fields than its header, which has {width}: "
        f"{', '.join(bad[:_EXAMPLES])}. Quote the fields that hold {separator!r}."
    )
