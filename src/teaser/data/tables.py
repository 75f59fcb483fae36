"""Files and frames of interactions and items become checked tables; which rows are positive."""

import csv
import gzip
import io
import json
import math
import operator
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import polars as pl

from teaser.errors import DataError, ParameterError, TableError, closest

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson")
_EXAMPLES = 3
_LONGEST_EXAMPLE = 60
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
            cells, value = _comparable(frame[column], value)
            if isinstance(value, str):
                unclear.append((f"{column} is missing", cells.is_null(), column))
            else:
                unclear.append(
                    (f"{column} is not a number", ~cells.is_finite().fill_null(False), column)
                )
            positive &= _COMPARE[sign](cells, value).fill_null(False)
        return positive, unclear


def read_table(
    source: Any, *, what: str = "data", separator: str | None = None, encoding: str = "utf-8"
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
        frame = _collect(source, what)
    else:
        frame = _from_frame(source, what)
    if frame.height == 0:
        where = f" in {source}" if isinstance(source, str | Path) else ""
        found = ", ".join(frame.columns) or "none"
        raise TableError(f"There are no rows of {what}{where}. Found columns: {found}.")
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
    if not isinstance(rule, Positive | None):
        raise ParameterError(f"positive must be a rule such as 'rating >= 4', found {positive!r}.")
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
        asked = f" by the rule {rule}" if rule else ""
        raise DataError(
            f"No positive interaction is left{asked}. " + "; ".join(report.lines()) + "."
        )
    return unique, report


def check_items(frame: pl.DataFrame, *, item: str) -> tuple[pl.DataFrame, tuple[Refusal, ...]]:
    """Return the items with clean ids, one row each, and what was refused."""
    need_column(frame, item, "the items")
    ids = as_ids(frame[item])
    missing = ids.is_null()
    again = ~missing & ~ids.is_first_distinct()
    refused = tuple(
        _refusal(reason, frame, mask, item)
        for reason, mask in (
            (f"{item} is missing", missing),
            ("the item is described twice, the first row stands", again),
        )
        if mask.any()
    )
    if missing.all():
        raise DataError(f"No item is left: {'; '.join(map(str, refused))}.")
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
    rows = mask.arg_true().head(_EXAMPLES).to_list()
    cells = frame[column].gather(rows).to_list()
    named = tuple(f"row {r + 1} ({_shown(c)})" for r, c in zip(rows, cells, strict=True))
    return Refusal(reason, int(mask.sum()), named)


def _shown(cell: object) -> str:
    text = repr(cell)
    return text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"


def _constant(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _comparable(cells: pl.Series, value: float | str) -> tuple[pl.Series, float | str]:
    """Return cells and the value they are compared with, both as numbers or both as texts."""
    kind = cells.dtype
    if kind == pl.Boolean and str(value).lower() in ("true", "false"):
        value = float(str(value).lower() == "true")
    if kind.is_numeric() or kind == pl.Boolean:
        try:
            return cells.cast(pl.Float64), float(value)
        except ValueError:
            raise _incomparable(cells, value) from None
    is_date = re.match(r"\d{4}-\d\d-\d\d", str(value)) is not None
    if kind.is_nested() or (kind in (pl.Date, pl.Datetime) and not is_date):
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


def _collect(source: pl.LazyFrame, what: str) -> pl.DataFrame:
    try:
        return source.collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(f"The {what} could not be read: {_first_line(error)}.") from error


def _from_frame(source: Any, what: str) -> pl.DataFrame:
    try:
        frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    except Exception as error:
        advice = "Pass a path, or a polars, pandas or pyarrow frame, its columns of one type each."
        if type(source).__module__.startswith("pandas") and find_spec("pyarrow") is None:
            advice = "Such pandas frames are read by pyarrow: pip install pyarrow."
        said = "; ".join(str(part) for part in error.args) or repr(error)
        raise TableError(
            f"A {type(source).__name__} cannot be read as {what}: {said}. {advice}"
        ) from error
    for column in frame:
        if column.dtype == pl.Object:
            raise TableError(
                f"Column {column.name!r} of the {what} holds Python objects, such as "
                f"{_shown(column[0])}. Turn them into texts or numbers."
            )
    return frame


def _read_file(path: Path, what: str, separator: str | None, encoding: str) -> pl.DataFrame:
    """Read one file by its suffix, and turn what can go wrong into sentences."""
    suffix = next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "").lower()
    try:
        if path.is_dir():
            raise TableError(f"{path} is a folder; name the file in it that holds the {what}.")
        if suffix not in SUFFIXES:
            raise TableError(
                f"{path} is of no known kind. Known: {', '.join(SUFFIXES)} (text also .gz)."
            )
        if not path.is_file():
            raise TableError(f"There is no file {path} to read the {what} from.")
        if suffix == ".parquet":
            return pl.read_parquet(path)
        text = _read_text(path, encoding)
        if suffix in (".jsonl", ".ndjson"):
            return _read_jsonl(text, path)
        return _read_csv(text, path, separator)
    except (UnicodeDecodeError, pl.exceptions.ComputeError) as error:
        if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
            raise _not_in(encoding, path) from error
        raise TableError(f"{path} could not be read: {_first_line(error)}.") from error
    except (OSError, EOFError, LookupError, zlib.error, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path} could not be read: {_first_line(error)}.") from error


def _read_text(path: Path, encoding: str) -> bytes:
    """Return a text file as UTF-8, unzipped, without blank lines at its end."""
    text = path.read_bytes()
    if text.startswith(b"\x1f\x8b"):
        text = gzip.decompress(text)
    if encoding.lower() not in ("utf-8", "utf8"):
        text = text.decode(encoding).encode()
    if b"\0" in text:
        raise _not_in(encoding, path)
    text = text.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    return text if b"\n" in text else text.replace(b"\r", b"\n")


def _not_in(encoding: str, path: Path) -> TableError:
    return TableError(
        f"{path} is not written in {encoding}. Say what it is, such as encoding='latin-1' or "
        "encoding='utf-16'."
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def _read_jsonl(text: bytes, path: Path) -> pl.DataFrame:
    """Read one JSON object a line, and name the first line that is none."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    try:
        return pl.read_ndjson(text, infer_schema_length=None)
    except pl.exceptions.ComputeError as error:
        for number, line in enumerate(text.decode().split("\n"), 1):
            if line.strip() and not _is_object(line):
                raise TableError(
                    f"Line {number} of {path} is not a JSON object: {_shown(line)}. "
                    "Write one object a line."
                ) from error
        raise


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line, parse_constant=int), dict)
    except (ValueError, RecursionError):
        return False


def _read_csv(text: bytes, path: Path, separator: str | None) -> pl.DataFrame:
    """Read separated text; cells stay text unless the whole column is numbers."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    first = text.lstrip(b"\r\n").partition(b"\n")[0].decode()
    separator = separator or max(",;\t|", key=first.count)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise ParameterError(f"A separator must be one ASCII character, found {separator!r}.")
    header = next(csv.reader([first], delimiter=separator))
    if twice := [name for name, n in Counter(header).items() if n > 1]:
        raise TableError(f"{path} has more than one column {twice[0]!r}. Rename all but one.")
    try:
        frame = pl.read_csv(text, separator=separator, infer_schema=False)
    except pl.exceptions.ComputeError as error:
        if "more fields" in str(error):
            raise TableError(_ragged(text, path, separator)) from error
        if "not properly escaped" in str(error):
            raise TableError(
                f"A quoted field of {path} is not closed, or holds a quote."
            ) from error
        raise
    return frame.with_columns(_typed(column) for column in frame)


def _typed(column: pl.Series) -> pl.Series:
    """Return numbers where every cell is one and nothing is lost by it (007 stays text)."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole if (whole.cast(pl.String) == column).all() else column
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count() or numbers.n_unique() < column.n_unique():
        return column
    return column if column.str.contains(r"^[+-]?(0\d|\d{16})").any() else numbers


def _ragged(text: bytes, path: Path, separator: str) -> str:
    """Name the first rows of a csv that have more fields than its header."""
    rows = csv.reader(io.StringIO(text.decode("utf-8")), delimiter=separator)
    width = len(next(rows))
    bad = [f"row {i} has {len(row)}" for i, row in enumerate(rows, 1) if len(row) > width]
    return (
        f"{len(bad)} rows of {path} have more fields than its header, which has {width}: "
        f"{', '.join(bad[:_EXAMPLES])}. Quote the fields that hold {separator!r}."
    )
