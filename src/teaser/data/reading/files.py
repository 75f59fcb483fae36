"""Read a file or frame into a polars frame."""

import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from teaser.errors import ParameterError, TableError, closest

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet", *JSON_SUFFIXES)
EXAMPLES = 3
_LONGEST_EXAMPLE = 60


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
        What is in the table, for error messages.
    separator
        Separates the fields of a text file; guessed from its header when not given.
    encoding
        The encoding of a text file.
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
    _check_names(frame.columns)
    return frame


def _check_names(names: list[str]) -> None:
    for name in names:
        if name.startswith("^") and name.endswith("$"):  # polars reads it as a pattern
            raise TableError(f"A column cannot be called {name!r}. Rename it.")


def need_columns(frame: pl.DataFrame, columns: Iterable[str], what: str) -> None:
    """Raise `TableError` unless the frame has the columns."""
    for column in columns:
        if column not in frame.columns:
            found = ", ".join(frame.columns)
            near = closest(str(column), frame.columns)
            raise TableError(
                f"Column {column!r}, needed for {what}, is missing. Found: {found}.{near}"
            )


def shown(cell: object) -> str:
    """Return the value of a cell, for an error message."""
    text = repr(cell)
    return text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"


def few(ids: pl.Series) -> str:
    """Return the first distinct ids, for an error message."""
    return ", ".join(map(repr, ids.unique(maintain_order=True).head(EXAMPLES).to_list()))


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def guess_separator(header: str) -> str:
    """Return the most frequent separator of a header line."""
    return max(",;\t|", key=header.count)


def _collect(source: pl.LazyFrame, what: str) -> pl.DataFrame:
    try:
        return source.collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(f"The {what} could not be read: {first_line(error)}.") from error


def _from_frame(source: Any, what: str) -> pl.DataFrame:
    try:
        frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    except Exception as error:
        advice = "Pass a path, or a polars, pandas or pyarrow frame, its columns of one type each."
        if type(source).__module__.startswith("pandas") and find_spec("pyarrow") is None:
            advice = "Reading such pandas frames needs pyarrow: pip install pyarrow."
        reason = "; ".join(str(part) for part in error.args) or repr(error)
        raise TableError(
            f"A {type(source).__name__} cannot be read as {what}: {reason}. {advice}"
        ) from error
    for column in frame:
        if column.dtype == pl.Object:
            raise TableError(
                f"Column {column.name!r} of the {what} contains Python objects, such as "
                f"{shown(column[0])}. Convert them to strings or numbers."
            )
    return frame


def _read_file(path: Path, what: str, separator: str | None, encoding: str) -> pl.DataFrame:
    """Read one file by its suffix; raise `TableError` for whatever goes wrong."""
    suffix = next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "").lower()
    try:
        if path.is_dir():
            raise TableError(f"{path} is a folder. Name the file with the {what}.")
        if suffix not in SUFFIXES:
            raise TableError(
                f"{path} has an unknown suffix. Known: {', '.join(SUFFIXES)} (text also .gz)."
            )
        if not path.is_file():
            raise TableError(f"There is no file {path} to read the {what} from.")
        if suffix == ".parquet":
            return pl.read_parquet(path)
        text = _read_text(path, encoding)
        if suffix in JSON_SUFFIXES:
            return _read_jsonl(text, path)
        return _read_csv(text, path, separator)
    except (UnicodeDecodeError, pl.exceptions.ComputeError) as error:
        if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
            raise _wrong_encoding(encoding, path) from error
        raise TableError(f"{path} could not be read: {first_line(error)}.") from error
    except (OSError, EOFError, LookupError, zlib.error, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path} could not be read: {first_line(error)}.") from error


def _read_text(path: Path, encoding: str) -> bytes:
    """Return a text file as UTF-8, unzipped, without trailing blank lines."""
    text = path.read_bytes()
    if text.startswith(b"\x1f\x8b"):
        text = gzip.decompress(text)
    if encoding.lower() not in ("utf-8", "utf8"):
        text = text.decode(encoding).encode()
    if b"\0" in text:
        raise _wrong_encoding(encoding, path)
    text = text.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    return text if b"\n" in text else text.replace(b"\r", b"\n")


def _wrong_encoding(encoding: str, path: Path) -> TableError:
    return TableError(
        f"{path} is not encoded in {encoding}. Give its encoding, such as encoding='latin-1' or "
        "encoding='utf-16'."
    )


def _read_jsonl(text: bytes, path: Path) -> pl.DataFrame:
    """Read one JSON object a line; the error names the first line that is none."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    try:
        return pl.read_ndjson(text, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for number, line in enumerate(text.decode().split("\n"), 1):
            if line.strip() and not _is_object(line):
                raise TableError(
                    f"Line {number} of {path} is not a JSON object: {shown(line)}. "
                    "Write one object a line."
                ) from error
        raise


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line, parse_constant=int), dict)
    except (ValueError, RecursionError):
        return False


def _read_csv(text: bytes, path: Path, separator: str | None) -> pl.DataFrame:
    """Read separated text; a column stays text unless all its cells are numbers."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    first = text.lstrip(b"\r\n").partition(b"\n")[0].decode()
    separator = separator or guess_separator(first)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise ParameterError(f"A separator must be one ASCII character, found {separator!r}.")
    header = next(csv.reader([first], delimiter=separator))
    _check_names(header)
    if twice := [name for name, n in Counter(header).items() if n > 1]:
        raise TableError(f"{path} has more than one column {twice[0]!r}. Rename all but one.")
    try:
        frame = pl.read_csv(text, separator=separator, infer_schema=False)
    except pl.exceptions.ComputeError as error:
        if "more fields" in str(error):
            raise TableError(_ragged(text, path, separator)) from error
        if "not properly escaped" in str(error):
            raise TableError(
                f"A quoted field of {path} is not closed, or contains a quote."
            ) from error
        raise
    return frame.with_columns(_typed(column) for column in frame)


def _typed(column: pl.Series) -> pl.Series:
    """Return numbers where every cell is one and no information is lost (007 stays text)."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole if (whole.cast(pl.String) == column).all() else column
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count() or numbers.n_unique() < column.n_unique():
        return column
    return column if column.str.contains(r"^[+-]?(0\d|\d{16})").any() else numbers


def _ragged(text: bytes, path: Path, separator: str) -> str:
    """Return the error text for rows with more fields than the header."""
    rows = csv.reader(io.StringIO(text.decode("utf-8")), delimiter=separator)
    width = len(next(rows))
    bad = [f"row {i} has {len(row)}" for i, row in enumerate(rows, 1) if len(row) > width]
    return (
        f"{len(bad)} rows of {path} have more fields than its header, which has {width}: "
        f"{', '.join(bad[:EXAMPLES])}. Quote the fields that contain {separator!r}."
    )
