"""Delimited text: find the delimiter, tell names from data, and read it."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from teaser.data.reading.ragged import (
    Layout,
    Repaired,
    quoted_field,
    read_ragged,
    split_fields,
    swallows_rows,
)
from teaser.data.reading.strength import EARLIEST
from teaser.data.reading.table import Table, check_names, shown
from teaser.errors import ParameterError, TableError, counted

_DELIMITERS = ("\t", "::", ";", ",", "|")
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
_SAMPLE_BYTES = 2**16
_SAMPLE_LINES = 100
# Separators of polars have one byte; a longer delimiter is replaced by one of these.
_UNUSED = "\x1f\x1e\x1d\x1c\x01\x02\x03\x04"
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_OPTIONS = {"items": "--items-columns", "users": "--users-columns"}


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
    whole, text = text, text.lstrip(b"\r\n")
    if not text.strip():
        raise TableError(f"{path} is empty.")
    text, named, notes = _without_preamble(text, path)
    first_line = whole[: len(whole) - len(text)].count(b"\n") + 1
    lines = _sample(text)
    found = as_delimiter(delimiter) or named or guess_delimiter(lines)
    separator = found if len(found.encode()) == 1 else _unused(text, path)
    text = text if separator == found else text.replace(found.encode(), separator.encode())
    fields = [split_fields(line.replace(found, separator), separator) for line in lines]
    names = tuple(_named(fields[0]) if columns is None else columns)
    layout = Layout(path, separator, found, names, columns is None, first_line)
    headless = ""
    if columns is None:
        headless = _headless(fields, path, what)
    else:
        layout, more = _with_columns(layout, fields)
        notes += more
    _check_header(layout, headless)
    read = _read(text, layout)
    frame = read.frame.select(typed(column) for column in read.frame)
    # Excel writes delimiters for columns that were emptied.
    while frame.width > 1 and re.fullmatch(r"(column_\d+)?", frame.columns[-1]):
        if columns is not None or frame[:, -1].null_count() < frame.height:
            break
        frame = frame[:, :-1]
    return Table(frame, str(path), (*notes, *read.notes), read.refused, headless)


def _without_preamble(text: bytes, path: Path) -> tuple[bytes, str | None, list[str]]:
    """Return the text from its first row on, the delimiter that Excel names above it, and a note.

    Lines before it begin with `#`, and have no delimiter as often as the rows; or say `sep=;`.
    """
    first, _, rest = text.partition(b"\n")
    if named := re.fullmatch(rb"sep=(.)\r?", first):
        return rest, named[1].decode("utf-8", "replace"), []
    lines = _sample(text)
    comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    rows = lines[comments:]
    delimiter = guess_delimiter(rows)
    if not comments or len(rows) < 2 or any(delimiter in line for line in lines[:comments]):
        return text, None, []
    for _ in range(comments):
        text = text.partition(b"\n")[2].lstrip(b"\r\n")
    return text, None, [f"{counted(comments, 'line')} of {path} that begin with # passed over"]


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
    with path.open("rb") as handle:
        return _sample(handle.read(_SAMPLE_BYTES).lstrip(b"\r\n"))


def _sample(text: bytes) -> list[str]:
    head = text[:_SAMPLE_BYTES]
    lines = head.decode("utf-8", "replace").splitlines()
    # The last line may be cut off.
    whole = lines if len(head) == len(text) or len(lines) == 1 else lines[:-1]
    return [line for line in whole[:_SAMPLE_LINES] if line]


def _unused(text: bytes, path: Path) -> str:
    for mark in _UNUSED:
        if mark.encode() not in text:
            return mark
    raise TableError(f"{path} has control characters, and is no delimited text.")


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
    alike = [
        i
        for i, cell in enumerate(first)
        if _is_number(cell) and all(_is_number(r[i]) for r in rows)
    ]
    if not alike:
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


def _with_columns(layout: Layout, fields: Sequence[Sequence[str]]) -> tuple[Layout, list[str]]:
    """Check given names against the rows; pass over a first line that has names already."""
    path, names, first = layout.path, layout.names, fields[0]
    usual = Counter(len(row) for row in fields).most_common(1)[0][0]
    trailing = usual > 1 and all(not row[-1] for row in fields if len(row) == usual)
    if len(names) not in (usual, usual - trailing):
        raise TableError(
            f"columns names {len(names)}, {', '.join(names)}, but the rows of {path} have {usual} "
            f"fields, such as {shown(', '.join(first))}. Name each of them."
        )
    rows = fields[1:]
    is_named = bool(rows) and any(
        not _is_number(cell) and all(len(row) > i and _is_number(row[i]) for row in rows)
        for i, cell in enumerate(first)
    )
    if not is_named and not set(map(str.strip, first)) & set(names):
        return layout, []
    note = f"the first line of {path} has names, {shown(', '.join(first))}; columns replaces them"
    header = Layout(path, layout.separator, layout.delimiter, names, True, layout.first_line)
    return header, [note]


def _check_header(layout: Layout, headless: str) -> None:
    check_names(layout.names)
    if twice := [name for name, n in Counter(layout.names).items() if n > 1]:
        raise TableError(
            f"{layout.path} has more than one column {twice[0]!r}. "
            f"{headless or 'Rename all but one.'}"
        )


def _read(text: bytes, layout: Layout) -> Repaired:
    frame = _read_alike(text, layout)
    if frame is None:
        text, ended = _without_last_delimiter(text, layout)
        frame = _read_alike(text, layout) if ended else None
    return read_ragged(text, layout) if frame is None else Repaired(frame, (), ())


def _without_last_delimiter(text: bytes, layout: Layout) -> tuple[bytes, bool]:
    """Return the text without the delimiter that ends every row, and whether there was one."""
    mark = layout.separator.encode()
    rows = text.count(b"\n") + 1 - layout.has_header
    ends = text.count(mark + b"\n") + text.count(mark + b"\r\n") + text.endswith(mark)
    header = text.partition(b"\n")[0].rstrip(b"\r")
    if ends - (layout.has_header and header.endswith(mark)) != rows:
        return text, False
    text = text.removesuffix(mark).replace(mark + b"\r\n", b"\r\n").replace(mark + b"\n", b"\n")
    return text, True


def _read_alike(text: bytes, layout: Layout) -> pl.DataFrame | None:
    """Return the rows if all have as many fields as there are columns, and quotes are in order."""
    mark = layout.separator.encode()
    is_quoted = b'"' in text
    bare = quoted_field(layout.separator).sub(b"", text) if is_quoted else text
    if b'"' in bare:
        return None
    if is_quoted and swallows_rows(text, layout):
        return None
    try:
        frame = pl.read_csv(
            text,
            separator=layout.separator,
            quote_char='"' if is_quoted else None,
            has_header=layout.has_header,
            schema=dict.fromkeys(layout.names, pl.String),
        )
    except pl.exceptions.PolarsError as error:
        if "utf-8" in str(error).lower():
            raise
        return None
    has_blank = b"\n\n" in bare or b"\n\r\n" in bare
    blank = len(re.findall(rb"\n\r?(?=\n)", bare)) if has_blank else 0
    rows = frame.height + layout.has_header - blank
    return frame if bare.count(mark) == rows * (layout.width - 1) else None


def typed(column: pl.Series) -> pl.Series:
    """Return numbers where every cell is one and no information is lost (007 stays text)."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole if (whole.cast(pl.String) == column).all() else column
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count() or numbers.n_unique() < column.n_unique():
        return column
    return column if column.str.contains(r"^[+-]?(0\d|\d{16})").any() else numbers
