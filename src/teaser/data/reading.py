"""Read a table from a file or a frame: delimiters, headers, encodings, ragged rows, long form."""

import codecs
import csv
import glob
import html
import json
import logging
import re
import tomllib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import polars as pl

from teaser.artifact import read_parquet
from teaser.errors import DataError, ParameterError, TableError, TeaserError, closest, counted
from teaser.files import open_unpacked, read_unpacked

EXAMPLES = 3
_LONGEST_EXAMPLE = 60
LOG = logging.getLogger("teaser")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_DELIMITERS = ("\t", "::", ";", ",", "|")
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
_SAMPLE_BYTES = 2**16
_SAMPLE_LINES = 100
# Separators of polars have one byte; this one stands for a longer delimiter.
_UNIT = "\x1f"
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_OPTIONS = {"items": "--items-columns", "users": "--users-columns"}
EARLIEST = 1e8  # 1973, in seconds: no log of interactions ends before
# Unreadable rows are refused one by one up to this share, or this number in a short table.
MAX_BAD_SHARE = 0.01
_MAX_BAD_ROWS = 3
_MAX_BAD_SHARE_OF_FEW = 0.1
# Stand for a line break, a delimiter and a quote inside a quoted field: no text has a zero byte.
_BREAK, _SEPARATOR, _QUOTE = "\0n", "\0s", "\0q"
_ENTITY = r"&#?\w{1,31}"
_AROUND = 20
_MOST_PROPERTIES = 200
# A table with this many rows an item is in long form, or has rows that say the same.
_ROWS_PER_ITEM = 1.5
COLUMN_NAMES: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("column_names.toml").read_text(encoding="utf-8")
)
# Between the words of bookTitle, ImageURL and ratings5.
_BETWEEN = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)")


@dataclass(frozen=True)
class Refusal:
    """Rows that were refused for one reason, with the first of them as examples."""

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return f"{counted(self.count, 'row')} refused, {self.reason}: {', '.join(self.examples)}"

    @classmethod
    def from_dicts(cls, raw: Iterable[Mapping[str, Any]]) -> tuple[Self, ...]:
        """Return the refusals that `dataclasses.asdict` made plain values of."""
        return tuple(cls(r["reason"], r["count"], tuple(r["examples"])) for r in raw)


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Attributes
    ----------
    frame
        The rows that could be read.
    name
        The file, or what the table is about, for messages.
    notes
        What was noticed while it was read, as sentences.
    refused
        Rows that could not be read.
    headless
        What to do if the first row, which gave the names, is a row of data; empty if it looks
        like names.
    """

    frame: pl.DataFrame
    name: str = "the table"
    notes: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    headless: str = ""


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Put the name of a file before the text of errors about its rows; a frame has none."""
    try:
        yield
    except DataError as error:
        if name.startswith("the "):
            raise
        raise type(error)(f"{name}: {error}") from error


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


def first_ids(ids: pl.Series) -> str:
    """Return the first distinct ids, for an error message."""
    return ", ".join(map(repr, ids.unique(maintain_order=True).head(EXAMPLES).to_list()))


def first_line(error: BaseException) -> str:
    """Return the first line of an error, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


def read_table(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    long: str | Sequence[str] | None = None,
    what: str = "data",
) -> pl.DataFrame:
    """Read a file or frame into a polars frame; what was noticed is logged.

    Parameters
    ----------
    source
        A path to delimited text with any extension (also gzipped), parquet or jsonl; a pattern of
        such paths, `logs/*.csv`; an address of object storage that polars reads, `s3://...`; or a
        polars, pandas or pyarrow frame, or anything else that exports the Arrow C stream.
    columns
        The names of the columns of a text file without a header.
    delimiter
        What stands between the fields of a text file, such as `";"`, `"::"` or `"tab"`; found in
        its first lines if not given.
    encoding
        The encoding of a text file.
    long
        The columns of id, property and value of a table in long form, or of id and value. It
        becomes one row an item, with lists where an item has several values of a property.
    what
        What is in the table, for error messages.
    """
    table = read(
        source, columns=columns, delimiter=delimiter, encoding=encoding, long=long, what=what
    )
    for note in (*table.notes, *table.refused):
        LOG.warning("%s", note)
    return table.frame


def read(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    long: str | Sequence[str] | None = None,
    what: str = "data",
) -> Table:
    """Read a file or frame as `read_table` does, with what was noticed and refused."""
    if isinstance(source, Table):
        return source
    names = None if columns is None else column_names(columns, "columns")
    is_path = isinstance(source, str | Path)
    if (names or delimiter) and (not is_path or _suffix(source) in (".parquet", *JSON_SUFFIXES)):
        raise ParameterError(
            "columns and delimiter say how a text file is read, and have no meaning for "
            f"{source if is_path else f'a {type(source).__name__}'}. Leave them out."
        )
    if is_path:
        options: dict[str, Any] = {"columns": names, "delimiter": delimiter, "encoding": encoding}
        table = _read_path(source, what, options)
    else:
        table = Table(_from_frame(source, what), f"the {what}")
    if table.frame.height == 0:
        where = f" in {source}" if isinstance(source, str | Path) else ""
        found = ", ".join(table.frame.columns) or "none"
        raise TableError(f"There are no rows of {what}{where}. Found columns: {found}.")
    return table if long is None else widen(table, long)


def tidy(table: Table, key: str, name: str, *, long: bool = True) -> Table:
    """Return a table with HTML entities decoded, blank texts missing and, of items, one row each.

    A table in long form is refused with the option to give.
    """
    if long:
        check_wide(table, key)
    frame, notes = decode_entities(table.frame, name=name, but=key)
    frame = frame.with_columns(
        column.set((column.str.strip_chars() == "").fill_null(False), None)
        for column in frame
        if column.dtype == pl.String and column.name != key
    )
    return replace(table, frame=frame, notes=(*table.notes, *notes))


def column_names(given: str | Sequence[str], option: str, wanted: Sequence[int] = ()) -> list[str]:
    """Return names of columns that are given as a list or with commas, after checking them.

    Parameters
    ----------
    option
        What they are given as, for the message.
    wanted
        How many names there may be; any number if empty.
    """
    parts = given.split(",") if isinstance(given, str) else list(given)
    names = [part.strip() if isinstance(part, str) else "" for part in parts]
    if not all(names) or len(set(names)) < len(names) or (wanted and len(names) not in wanted):
        example = ("item_id", "property", "value") if wanted else ("user_id", "item_id")
        raise ParameterError(
            f"{option} must be a list of different names of columns, such as "
            f"{option}={list(example)} (--{option} {','.join(example)}); found {given!r}."
        )
    return names


def _from_frame(source: Any, what: str) -> pl.DataFrame:
    """Return a frame of any library as one of polars."""
    if type(source).__module__.startswith("pandas") and hasattr(source, "columns"):
        names = list(source.index.names)
        if None not in names and not set(names) & set(source.columns):
            source = source.reset_index()
    try:
        if isinstance(source, pl.LazyFrame):
            source = source.collect()
        frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    except Exception as error:
        advice = "Pass a path, or a polars, pandas or pyarrow frame, its columns of one type each."
        if type(source).__module__.startswith("pandas") and find_spec("pyarrow") is None:
            advice = "Reading such pandas frames needs pyarrow: pip install pyarrow."
        reason = "; ".join(str(part).partition("\n")[0] for part in error.args) or repr(error)
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


def is_pattern(source: str | Path) -> bool:
    """Whether a source is a pattern of file names, not a file of that name."""
    return bool(set("*?[") & set(str(source))) and not Path(source).exists()


def _read_path(source: str | Path, what: str, options: dict[str, Any]) -> Table:
    """Read a file, the files of a pattern as one table, or an address of object storage."""
    if "://" in str(source):
        return Table(_read_remote(str(source), what), str(source))
    if not is_pattern(source):
        return _read_file(Path(source), what, **options)
    paths = [Path(path) for path in sorted(glob.glob(str(source), recursive=True))]
    if not paths:
        raise TableError(f"No file matches {source} to read the {what} from.")
    tables = [_read_file(path, what, **options) for path in paths]
    first = tables[0].frame.columns
    for table in tables:
        if set(table.frame.columns) != set(first):
            raise TableError(
                f"The columns of {table.name} are {', '.join(table.frame.columns)}; those of "
                f"{tables[0].name} are {', '.join(first)}. Files of one table need the same ones."
            )
    frames = [table.frame.select(first) for table in tables]
    try:
        frame = pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        frame = pl.concat(each.cast(pl.String) for each in frames)
        frame = frame.select(typed(column) for column in frame)
    notes = tuple(note for table in tables for note in table.notes)
    refused = tuple(each for table in tables for each in table.refused)
    how = f"{counted(len(paths), 'file')} of {source} read as one table"
    return Table(frame, str(source), (how, *notes), refused, tables[0].headless)


def _read_remote(address: str, what: str) -> pl.DataFrame:
    """Read a table at an address by its suffix, as polars does."""
    suffix = Path(address).suffix.lower()
    try:
        if suffix in (".jsonl", ".ndjson"):
            return pl.scan_ndjson(address).collect()
        if suffix in TEXT_SUFFIXES:
            separator = "\t" if suffix == ".tsv" else ","
            return pl.scan_csv(address, separator=separator, infer_schema_length=None).collect()
        return pl.scan_parquet(address).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TableError(
            f"The {what} at {address} cannot be read: {first_line(error)}. Files at an address are "
            "parquet, csv with commas, tsv or jsonl."
        ) from error


def _read_lists(text: bytes, path: Path) -> Table | None:
    """Read one list of item ids a line, as of CiteULike; None if the text is another table.

    So it is if lines are whole numbers with spaces between, and differ in length. The line is the
    user. A first number that counts the others in every line is no item.
    """
    sample = [line.split() for line in _sample(text)]
    widths = {len(row) for row in sample}
    if len(widths) < 2 or not all(cell.isdecimal() for row in sample for cell in row):
        return None
    rows = [line.split() for line in text.decode().split("\n")]
    counts = all(int(row[0]) == len(row) - 1 for row in rows if row)
    lists = pl.DataFrame({"item_id": [row[counts:] for row in rows]})
    frame = lists.with_row_index("user_id", offset=1).explode("item_id").drop_nulls()
    how = "; the first number of a line counts the others" if counts else ""
    note = f"{path} has one list of items a line: the number of the line is the user_id{how}"
    return Table(frame.with_columns(typed(frame["item_id"])), str(path), (note,))


def _suffix(path: str | Path) -> str:
    """Return the last suffix of a path in lower case, but for .gz."""
    return next((s for s in reversed(Path(path).suffixes) if s.lower() != ".gz"), "").lower()


def _read_file(
    path: Path, what: str, encoding: str, columns: Sequence[str] | None, delimiter: str | None
) -> Table:
    """Read one file by its suffix; raise `TableError` for whatever goes wrong."""
    if path.is_dir():
        raise TableError(f"{path} is a folder. Name the file with the {what}.")
    if not path.exists():
        raise TableError(f"There is no file {path} to read the {what} from.")
    suffix, is_named = _suffix(path), columns is not None or delimiter is not None
    try:
        if suffix == ".parquet":
            return Table(read_parquet(path), str(path))
        text, notes = read_text(path, encoding)
        if suffix in JSON_SUFFIXES:
            return Table(_read_json_lines(text, path), str(path), notes)
        table = _read_lists(text, path) if what == "interactions" and not is_named else None
        if table is None:
            table = read_delimited(text, path, what=what, columns=columns, delimiter=delimiter)
        return replace(table, notes=(*notes, *table.notes))
    except TeaserError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path} could not be read: {first_line(error)}.") from error


def read_delimited(
    text: bytes,
    path: Path,
    *,
    what: str = "data",
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Table:
    """Read delimited text; a column stays text unless all its cells are numbers.

    Parameters
    ----------
    text
        The file in UTF-8, without trailing blank lines.
    path, what
        The file and what it holds, for messages.
    columns
        The names of the columns, for a file without a header. A first line that looks like names
        is passed over.
    delimiter
        What stands between fields; found in the first lines if not given.
    """
    whole, text, notes = text, text.lstrip(b"\r\n"), []
    if not text.strip():
        raise TableError(f"{path} is empty.")
    first_line = whole[: len(whole) - len(text)].count(b"\n") + 1
    lines = _sample(text)
    found = as_delimiter(delimiter) or guess_delimiter(lines)
    separator = found if len(found.encode()) == 1 else _UNIT
    if separator != found and separator.encode() in text:
        raise TableError(f"{path} has control characters, and is no delimited text.")
    text = text.replace(found.encode(), separator.encode())
    fields = [split_fields(line.replace(found, separator), separator) for line in lines]
    names = tuple(_named(fields[0]) if columns is None else columns)
    has_header, headless = True, ""
    if columns is None:
        headless = _headless(fields, path, what)
    elif has_header := _replace_names(names, fields, path):
        first = shown(", ".join(fields[0]))
        notes.append(f"the first line of {path} has names, {first}; columns replaces them")
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise TableError(
            f"{path} has more than one column {twice[0]!r}. {headless or 'Rename all but one.'}"
        )
    layout = _Layout(path, separator, found, names, has_header, first_line)
    alike = _read_alike(text, layout)
    read = _read_ragged(text, layout) if alike is None else Table(alike)
    frame = read.frame.select(typed(column) for column in read.frame)
    # Excel writes delimiters for columns that were emptied.
    while columns is None and frame.width > 1 and frame[:, -1].null_count() == frame.height:
        if not re.fullmatch(r"(column_\d+)?", frame.columns[-1]):
            break
        frame = frame[:, :-1]
    return Table(frame, str(path), (*notes, *read.notes), read.refused, headless)


def as_delimiter(given: str | None) -> str | None:
    r"""Return a delimiter that is given as such or by its name: tab, `\t`, comma, pipe, ..."""
    if given is None:
        return None
    if not isinstance(given, str) or not given or set(given) & set('"\r\n\0'):
        raise ParameterError(
            f"delimiter must be what stands between fields, such as ';', '::' or 'tab', "
            f"found {given!r}."
        )
    return _WORDS.get(given.lower(), given)


def guess_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter of the first lines: in the first line, and in all as often as can be.

    Of several, the one is taken that gives most rows one width, then that of most fields.
    """
    found = [d for d in _DELIMITERS if lines and d in lines[0]]
    if not found:
        return " " if _is_spaced(lines) else ","

    def score(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(split_fields(line, delimiter)) for line in lines[1:] or lines)
        width, count = widths.most_common(1)[0]
        return (round(count / widths.total(), 1) if width > 1 else 0.0), width

    return max(found, key=score)


def _is_spaced(lines: Sequence[str]) -> bool:
    """Whether rows are numbers with one space between."""
    rows = [line.split(" ") for line in lines[1:] or lines]
    return all(len(row) == len(rows[0]) > 1 and all(map(_is_number, row)) for row in rows)


def sample_lines(path: Path) -> list[str]:
    """Return the first lines of a text file that are not blank."""
    with open_unpacked(path) as handle:
        return _sample(handle.read(_SAMPLE_BYTES).lstrip(b"\r\n"))


def _sample(text: bytes) -> list[str]:
    head = text[:_SAMPLE_BYTES]
    lines = head.decode("utf-8", "replace").splitlines()
    # The last line may be cut off.
    whole = lines if len(head) == len(text) or len(lines) == 1 else lines[:-1]
    return [line for line in whole[:_SAMPLE_LINES] if line]


def _named(fields: Sequence[str]) -> list[str]:
    """Return names of columns without spaces around; if several are empty, they get numbers."""
    names = [field.strip() for field in fields]
    if names.count("") == 1:
        return names
    return [name or f"column_{i}" for i, name in enumerate(names, 1)]


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _headless(fields: Sequence[Sequence[str]], path: Path, what: str) -> str:
    """Return what to do if the first line is data: one of its cells is a number, as those below."""
    first, rows = fields[0], [row for row in fields[1:] if len(row) >= len(fields[0])]
    if not any(
        _is_number(cell) and all(_is_number(row[i]) for row in rows) for i, cell in enumerate(first)
    ):
        return ""
    names = _guess_names(first, what)
    return (
        f"The first line of {path} looks like data, not names: {shown(', '.join(first))}. Name its "
        f"columns: {_OPTIONS.get(what, '--columns')} {','.join(names)} (in Python, "
        f"read_table(path, columns={names}))."
    )


def _guess_names(first: Sequence[str], what: str) -> list[str]:
    """Return names that a file without a header may have, for a message."""
    named = {"items": ["item_id"], "users": ["user_id"]}.get(what, ["user_id", "item_id"])
    for place, cell in enumerate(first[len(named) :], len(named) + 1):
        name = f"column_{place}"
        if what == "items" and "title" not in named and not _is_number(cell):
            name = "title"
        elif what not in _OPTIONS and _is_number(cell):
            name = "timestamp" if float(cell) > EARLIEST else "rating"
        named.append(f"column_{place}" if name in named else name)
    return named[: len(first)]


@dataclass(frozen=True)
class _Layout:
    """How a text is cut: `separator` is one character in place of a longer `delimiter`."""

    path: Path
    separator: str
    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    first_line: int

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def expected(self) -> str:
        """What decides how many fields a row should have, for messages."""
        who = "the header, which has" if self.has_header else "columns, which names"
        return f"{who} {self.width}"

    @property
    def masked(self) -> dict[str, str]:
        """What was inside a quoted field, by what stands for it."""
        return {_BREAK: "\n", _SEPARATOR: self.delimiter, _QUOTE: '"'}


def _replace_names(names: Sequence[str], fields: Sequence[Sequence[str]], path: Path) -> bool:
    """Check given names against the rows; return whether the first line has names already."""
    first, rows = fields[0], fields[1:]
    usual = Counter(len(row) for row in fields).most_common(1)[0][0]
    trailing = usual > 1 and all(not row[-1] for row in fields if len(row) == usual)
    if len(names) not in (usual, usual - trailing):
        raise TableError(
            f"columns names {len(names)}, {', '.join(names)}, but the rows of {path} have {usual} "
            f"fields, such as {shown(', '.join(first))}. Name each of them."
        )
    is_named = bool(rows) and any(
        not _is_number(cell) and all(len(row) > i and _is_number(row[i]) for row in rows)
        for i, cell in enumerate(first)
    )
    return is_named or bool(set(map(str.strip, first)) & set(names))


def _read_alike(text: bytes, layout: _Layout) -> pl.DataFrame | None:
    """Return the rows if all have as many fields as there are columns, and quotes are in order."""
    is_quoted = b'"' in text
    bare = _quoted_field(layout.separator).sub(b"", text) if is_quoted else text
    if b'"' in bare or (is_quoted and _swallows_rows(text, layout)):
        return None
    try:
        frame = pl.read_csv(
            text,
            separator=layout.separator,
            quote_char='"' if is_quoted else None,
            has_header=layout.has_header,
            schema=dict.fromkeys(layout.names, pl.String),
        )
    except pl.exceptions.PolarsError:
        return None
    wanted = (frame.height + layout.has_header) * (layout.width - 1)
    return frame if bare.count(layout.separator.encode()) == wanted else None


def typed(column: pl.Series) -> pl.Series:
    """Return numbers where every cell is one and no information is lost (007 stays text)."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole if (whole.cast(pl.String) == column).all() else column
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count() or numbers.n_unique() < column.n_unique():
        return column
    return column if column.str.contains(r"^[+-]?(0\d|\d{16})").any() else numbers


def _quoted_field(separator: str, inside: bytes = rb'(?:[^"]++|"")*+') -> re.Pattern[bytes]:
    """Return the pattern of a field that is enclosed in quotes, quotes inside it doubled."""
    mark = re.escape(separator.encode())
    # Possessive: an unclosed quote must not be searched for again from every position.
    return re.compile(rb'(?<![^%b\n])"(?:%b)"(?=%b|\r?\n|\r?\Z)' % (mark, inside, mark))


def _swallows_rows(text: bytes, layout: _Layout) -> bool:
    """Whether two stray quotes would enclose the rows between them as if they were one field.

    So it is if every line has as many fields as there are columns, and a field encloses a whole
    line, with no other quote in its first and last.
    """
    for enclosed in _quoted_field(layout.separator).finditer(text):
        if enclosed[0].count(b"\n") < 2:
            continue
        begin, end = text.rfind(b"\n", 0, enclosed.start()) + 1, text.find(b"\n", enclosed.end())
        if text[begin : end if end >= 0 else None].count(b'"') == 2:
            mark = layout.separator.encode()
            return all(line.count(mark) == layout.width - 1 for line in text.split(b"\n"))
    return False


def split_fields(line: str, separator: str) -> list[str]:
    """Return the fields of a line; a quote that encloses no field is a character."""
    if '"' in line:
        escape = "\\" if '\\"' in line else None
        mark = separator if len(separator) == 1 else _UNIT
        marked = line.replace(separator, mark)
        with suppress(csv.Error):
            return next(csv.reader([marked], delimiter=mark, escapechar=escape, strict=True))
    return line.split(separator)


def _read_ragged(text: bytes, layout: _Layout) -> Table:
    """Read rows of which some differ from the others.

    A quote that encloses no field is a character. Empty fields beyond the last column are passed
    over, and fields that were cut at the semicolon of an HTML entity (`&amp`, ` Co`) are joined.
    Cells that a short row lacks are missing. A row that is still too long is refused; `TableError`
    is raised if there are many of those.
    """
    width, separator = layout.width, layout.separator
    text = _mask_quoted(text, layout)
    line = pl.col("line")
    breaks = line.str.count_matches(_BREAK, literal=True).cast(pl.Int64)
    every = (
        pl.DataFrame({"line": [text.decode()]})
        .select(line.str.split("\n").explode().str.strip_chars_end("\r"))
        .with_columns(number=pl.int_range(pl.len()) + breaks.cum_sum() - breaks + layout.first_line)
        .slice(int(layout.has_header))
    )
    is_odd = every["line"].str.count_matches(separator, literal=True) != width - 1
    odd = [(n, each, _trimmed(each, layout)) for each, n in every.filter(is_odd).iter_rows()]
    spaced = every.filter(~is_odd)["line"].str.contains(separator + " ", literal=True).any()
    spaced |= any(f.startswith(" ") for _, _, row in odd if len(row) <= width for f in row)
    # A tab hardly stands inside a field: it has replaced something.
    mark = "" if spaced else ";" if layout.delimiter == "\t" else _SEPARATOR
    lines: list[str | None] = []
    bad: list[tuple[int, int, str]] = []
    short, joined = list[str](), defaultdict[str, list[str]](list)
    for number, each, fields in odd:
        if len(fields) < width and each:
            short.append(f"line {number} has {len(fields)}")
        found, how = _fit(fields, width, mark)
        if len(found) > width:
            for mask, plain in layout.masked.items():
                each = each.replace(mask, plain)
            bad.append((number, len(fields), each))
            lines.append(None)
            continue
        if how:
            joined[how].append(f"line {number}")
        lines.append(separator.join(found + [""] * (width - len(found))))
    stray = every.filter(line.str.contains('"', literal=True))["number"]
    notes = [
        f"{counted(len(rows), 'row')} of {layout.path} with {what}: {', '.join(rows[:EXAMPLES])}"
        + (", ..." if len(rows) > EXAMPLES else "")
        for rows, what in (
            ([f"line {n}" for n in stray], "quotes that enclose no field, read as characters"),
            *((rows, f"too many fields, joined where {how}") for how, rows in joined.items()),
            (short, f"fewer fields than {layout.expected}; the missing cells are empty"),
        )
        if rows
    ]
    rows = every["line"].scatter(is_odd.arg_true(), lines).drop_nulls()
    cells = rows.str.split_exact(separator, width - 1).struct.rename_fields(list(layout.names))
    every_cell = pl.all().replace("", None).str.replace_many(layout.masked)
    frame = cells.struct.unnest().with_columns(every_cell)
    refused = _refuse_long(bad, every.height, layout)
    return Table(frame, str(layout.path), tuple(notes), refused)


def _mask_quoted(text: bytes, layout: _Layout) -> bytes:
    """Return the text without quotes around fields; what they protect is masked."""
    separator = layout.separator.encode()

    def masked(field: re.Match[bytes]) -> bytes:
        inside = field[0][1:-1].replace(b"\r\n", b"\n")
        for plain in (b'""', b'\\"'):
            inside = inside.replace(plain, _QUOTE.encode())
        inside = inside.replace(separator, _SEPARATOR.encode())
        return inside.replace(b"\n", _BREAK.encode())

    # Some exports write \" in place of "".
    inside = rb'(?:[^"]++|"")*+|(?:[^"\\]++|""|\\.)*+'
    if _swallows_rows(text, layout):
        inside = inside.replace(b'[^"', rb'[^\n"')
    return _quoted_field(layout.separator, inside).sub(masked, text)


def _trimmed(line: str, layout: _Layout) -> list[str]:
    """Return the fields of a line, without empty ones beyond the last column."""
    fields = line.split(layout.separator)
    while len(fields) > layout.width and not fields[-1].strip():
        fields.pop()
    return fields


def _fit(fields: list[str], width: int, mark: str) -> tuple[list[str], str]:
    """Return the fields of a long row, joined to `width` ones if that can be, and where they were.

    Parameters
    ----------
    mark
        What stood before a field that begins with a space; empty if such fields are usual.
    """
    surplus, how = len(fields) - width, ""
    found = fields[:1]
    for field in fields[1:]:
        if surplus > 0 and _ends_in_entity(found[-1]):
            found[-1] += f";{field}"
            surplus -= 1
            how = "the semicolon of an HTML entity (&amp;) had cut them"
        else:
            found.append(field)
    if mark and surplus > 0 and sum(field.startswith(" ") for field in found[1:]) == surplus:
        fields, found = found, found[:1]
        for field in fields[1:]:
            if field.startswith(" "):
                found[-1] += mark + field
            else:
                found.append(field)
        how = "a field begins with a space, as no other does"
    return found, how


def _ends_in_entity(field: str) -> bool:
    """Whether a text ends in an HTML entity without its semicolon."""
    end = re.search(f"{_ENTITY}$", field)
    return end is not None and ";" not in html.unescape(f"{end[0]};")


def _refuse_long(
    bad: Sequence[tuple[int, int, str]], total: int, layout: _Layout
) -> tuple[Refusal, ...]:
    """Return the refusal of rows that are too long, or raise `TableError` if they are many."""
    if not bad:
        return ()
    most = max(MAX_BAD_SHARE * total, min(_MAX_BAD_ROWS, _MAX_BAD_SHARE_OF_FEW * total))
    if len(bad) > most:
        lines = ", ".join(f"line {number} has {n}" for number, n, _ in bad[:EXAMPLES])
        (usual, often), *_ = Counter(n for _, n, _ in bad).most_common(1)
        advice = f"Quote the fields that contain {layout.delimiter!r}."
        if often == total:
            advice = f"Every row has {usual}: name as many columns, columns=[...] (--columns)."
        raise TableError(
            f"{len(bad):,} of {counted(total, 'row')} of {layout.path} have more fields than "
            f"{layout.expected}: {lines}. {advice}"
        )
    examples = (f"line {number} has {n} ({shown(line)})" for number, n, line in bad[:EXAMPLES])
    return (Refusal(f"more fields than {layout.expected}", len(bad), tuple(examples)),)


def read_text(path: Path, encoding: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a text file as UTF-8 without trailing blank lines, and notes on its encoding."""
    raw = read_unpacked(path)
    if raw.startswith(b"PK\x03\x04"):
        raise TableError(
            f"{path} is a zip archive or an Excel workbook, which cannot be read as a table. "
            "Unpack it, or save the sheet as csv."
        )
    notes: tuple[str, ...] = ()
    codec = _codec(encoding, path)
    if codec == "utf-8" and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16"
    elif not codec.startswith("utf") and not raw.isascii() and _first_bad(raw) is None:
        # Text of another encoding with such bytes is next to never valid UTF-8.
        codec = "utf-8"
        notes = (f"{path} is encoded in utf-8, and was read so, not as {encoding}",)
    try:
        text = raw.decode(codec).encode()
    except UnicodeError as error:
        raise _wrong_encoding(raw, path, encoding) from error
    if b"\0" in text:
        raise _wrong_encoding(raw, path, encoding)
    text = text.removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n")
    return (text if b"\n" in text else text.replace(b"\r", b"\n")), notes


def _codec(encoding: str, path: Path) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError) as error:
        known = ("utf-8", "utf-16", "latin-1", "cp1252", "cp1251", "shift_jis", "gb18030", "big5")
        raise ParameterError(
            f"There is no encoding {encoding!r} to read {path} in.{closest(str(encoding), known)} "
            f"Usual ones: {', '.join(known)}. Without --encoding (encoding=), an error names the "
            "encoding that a file seems to have."
        ) from error


def _wrong_encoding(raw: bytes, path: Path, encoding: str) -> TableError:
    """Return the error for a file in another encoding; it names one that works."""
    if b"\0" in raw:
        return TableError(
            f"{path} is not text in {encoding}: it has zero bytes. Name a text file, parquet or "
            "jsonl; or its encoding, such as encoding='utf-16-le' (--encoding utf-16-le)."
        )
    start = _first_bad(raw)
    if start is None:
        return TableError(f"{path} is in utf-8, not {encoding}. Leave --encoding (encoding=) out.")
    # Bytes from 0x80 to 0x9f are control characters in latin-1, and quotes or dashes in cp1252.
    guess = "cp1252" if re.search(rb"[\x80-\x9f]", raw) else "latin-1"
    before, number = raw[:start].rpartition(b"\n")[2], raw.count(b"\n", 0, start) + 1
    after = raw[start : start + _AROUND].splitlines()[0]
    around = (before[-_AROUND:] + after).decode(guess, "replace")
    return TableError(
        f"{path} is not encoded in {encoding}: line {number} has the byte "
        f"0x{raw[start]:02x}. Read as {guess}, it has {shown(around)}. If that is "
        f"right, give encoding={guess!r} (--encoding {guess}); otherwise the one it was written in."
    )


def _first_bad(text: bytes) -> int | None:
    """Return the position of the first byte that is not UTF-8; None if all are."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def decode_entities(
    frame: pl.DataFrame, *, name: str, but: str
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return a table with `&amp;` as & and the like, and a note that counts the cells.

    Parameters
    ----------
    frame
        The table; lists of texts are left as they are.
    name
        What the table is called in the note.
    but
        The column of the ids, which stays as it is.
    """
    decoded = {}
    for column in frame:
        if column.dtype != pl.String or column.name == but:
            continue
        rows = column.str.contains(f"{_ENTITY};").fill_null(False)
        if rows.any():
            # Twice: some exports escape what is escaped already, as &amp;amp;
            plain = [html.unescape(html.unescape(c)) for c in column.filter(rows).to_list()]
            decoded[column.name] = column.scatter(rows.arg_true(), plain)
    cells = sum(int((frame[c] != new).sum()) for c, new in decoded.items())
    if not cells:
        return frame, ()
    note = f"{counted(cells, 'cell')} of {name} had HTML entities such as &amp;, now decoded: "
    return frame.with_columns(decoded.values()), (note + ", ".join(decoded),)


def _read_json_lines(text: bytes, path: Path) -> pl.DataFrame:
    """Read one JSON object a line; the error names the first line that is none."""
    if not text.strip():
        raise TableError(f"{path} is empty.")
    try:
        if text.lstrip().startswith(b"["):
            return pl.read_json(BytesIO(text), infer_schema_length=None)
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


def widen(table: Table, long: str | Sequence[str]) -> Table:
    """Return one row an item, with a column for each property.

    A property of which items have several values becomes a column of lists, each value once, in
    order of appearance. Others become plain columns.

    Parameters
    ----------
    table
        A row for each value.
    long
        The columns of id, property and value; or of id and value, where the value's column is the
        one property.
    """
    names = column_names(long, "long", (2, 3))
    with named_errors(table.name):
        need_columns(table.frame, names, "the long form")
    rows = table.frame.select(
        pl.col(names[0]).alias("id"),
        (
            pl.col(names[1]).cast(pl.String).str.strip_chars()
            if len(names) == 3
            else pl.lit(names[1])
        ).alias("property"),
        pl.col(names[-1]).alias("value"),
    )
    filled = rows.filter(pl.col("property") != "").drop_nulls()
    properties = filled["property"].unique(maintain_order=True)
    _check(table, names, properties)
    lists = filled.unique(maintain_order=True).group_by("id", "property", maintain_order=True)
    wide = lists.agg("value").pivot(on="property", index="id", values="value")
    wide = wide.select(pl.col("id").alias(names[0]), *(_plain(wide[p]) for p in properties))
    notes = [
        f"long form of {table.name}: {counted(rows.height, 'row')} of "
        f"{counted(wide.height, 'item')} became the columns {', '.join(properties.to_list()[:9])}"
        + (f" and {len(properties) - 9} more" if len(properties) > 9 else "")
    ]
    if rows.height > filled.height:
        notes.append(
            f"{counted(rows.height - filled.height, 'row')} of {table.name} without id, property "
            "or value left out"
        )
    return Table(wide, table.name, (*table.notes, *notes), table.refused)


def _check(table: Table, names: Sequence[str], properties: pl.Series) -> None:
    if len(properties) == 0:
        raise TableError(f"No row of {table.name} has an id, a property and a value.")
    if len(properties) > _MOST_PROPERTIES or names[0] in properties:
        raise TableError(
            f"Column {names[1]!r} of {table.name} has {len(properties):,} properties, such as "
            f"{shown(properties[0])}; at most {_MOST_PROPERTIES} become columns, and none may be "
            f"called {names[0]!r} as the ids are. Does long name id, property and value in this "
            f"order? For a table of id and value alone give long=({names[0]!r}, {names[-1]!r}) "
            f"(--long {names[0]},{names[-1]})."
        )


def _plain(column: pl.Series) -> pl.Series:
    """Return cells in place of lists where no list has two values."""
    if (column.list.len() > 1).any():
        return column
    cells = column.list.first()
    return typed(cells) if cells.dtype == pl.String else cells


def check_wide(table: Table, item: str) -> None:
    """Raise `TableError` if a table has several rows an item that differ, and propose `long`."""
    frame = table.frame
    if not _repeats(frame, item) or frame.unique().height < _ROWS_PER_ITEM * _ids(frame, item):
        return
    per_item = pl.all().exclude(item).n_unique()
    varied = frame.drop_nulls(item).group_by(item).agg(per_item).drop(item)
    varying = [c for c in varied.columns if (varied[c] > 1).any()]
    texts = [c for c in varying if frame[c].dtype == pl.String]
    few = [c for c in texts if frame[c].n_unique() <= min(50, frame.height / 10)]
    long: tuple[str, ...] = (item, (texts or varying)[0])
    if len(few) == 1 and frame.width == 3:
        long = (item, few[0], *(c for c in frame.columns if c not in (item, few[0])))
    raise TableError(
        f"The {frame.height:,} rows of {table.name} describe {_ids(frame, item):,} items, and rows "
        f"of one item differ in {', '.join(varying)}. Items need one row each. If this is "
        f"long form, a row for each value, name its columns: long={long!r} "
        f"(--long {','.join(long)})."
    )


def _repeats(frame: pl.DataFrame, item: str) -> bool:
    return item in frame.columns and frame.height >= _ROWS_PER_ITEM * max(1, _ids(frame, item))


def _ids(frame: pl.DataFrame, item: str) -> int:
    return frame[item].drop_nulls().n_unique()


def snake_case(name: str) -> str:
    """Return the words of a name in lower case: `Book-Title` and `bookTitle` are book_title."""
    words = re.split(r"[\W_]+", _BETWEEN.sub("_", name))
    return "_".join(word.lower() for word in words if word)
