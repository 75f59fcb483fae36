"""One file or frame becomes a polars frame, or a sentence that says why it does not."""

import csv
import gzip
import io
import json
import zlib
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from teaser.errors import ParameterError, TableError

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson")
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
    _check_names(frame.columns)
    return frame


def _check_names(names: list[str]) -> None:
    for name in names:
        if name.startswith("^") and name.endswith("$"):  # which polars takes for a pattern
            raise TableError(f"A column cannot be called {name!r}. Rename it.")


def shown(cell: object) -> str:
    """Return what a cell holds, for an error message."""
    text = repr(cell)
    return text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"


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
                f"{shown(column[0])}. Turn them into texts or numbers."
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
    """Read separated text; cells stay text unless the whole column is numbers."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    first = text.lstrip(b"\r\n").partition(b"\n")[0].decode()
    separator = separator or max(",;\t|", key=first.count)
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
        f"{', '.join(bad[:EXAMPLES])}. Quote the fields that hold {separator!r}."
    )
