"""Rows that are not all alike: too long, too short, or with quotes that enclose nothing."""

import html.entities
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from teaser.data.reading.table import EXAMPLES, Refusal, shown
from teaser.errors import TableError, counted

# Unreadable rows are refused one by one up to this share, or this number in a short table.
MAX_BAD_SHARE = 0.01
_MAX_BAD_ROWS = 3
_MAX_BAD_SHARE_OF_FEW = 0.1
_CUT_ENTITY = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30})$")
# Stands for a line break inside a quoted field: no text has a zero byte.
_BREAK = "\0"


@dataclass(frozen=True)
class Layout:
    """How a text is cut into rows and fields.

    Attributes
    ----------
    path
        The file, for messages.
    separator
        The one character between fields.
    delimiter
        The same as it stands in the file, which may be longer.
    names
        The names of the columns.
    has_header
        Whether the first line is no row.
    first_line
        The number of the first line in the file, from 1.
    """

    path: Path
    separator: str
    delimiter: str
    names: tuple[str, ...]
    has_header: bool = True
    first_line: int = 1

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def expected(self) -> str:
        """What decides how many fields a row should have, for messages."""
        who = "the header, which has" if self.has_header else "columns, which names"
        return f"{who} {self.width}"


@dataclass(frozen=True)
class Repaired:
    """Rows as columns of texts, with what was done to them and what could not be read."""

    frame: pl.DataFrame
    notes: tuple[str, ...]
    refused: tuple[Refusal, ...]


def quoted_field(separator: str) -> re.Pattern[bytes]:
    """Return the pattern of a field that is enclosed in quotes, quotes inside it doubled."""
    mark = re.escape(separator.encode())
    # Possessive: an unclosed quote must not be searched for again from every position.
    return re.compile(
        rb'(?<![^%b\n])"(?:[^"]++|"")*+"(?=%b|\r?\n|\r?\Z)' % (mark, mark),
    )


def swallows_rows(text: bytes, layout: Layout) -> bool:
    """Whether two stray quotes would enclose the rows between them as if they were one field.

    So it is if every line has as many fields as there are columns, and a field encloses a whole
    line, with no other quote in its first and last.
    """
    for field in quoted_field(layout.separator).finditer(text):
        if field[0].count(b"\n") < 2:
            continue
        begin, end = text.rfind(b"\n", 0, field.start()) + 1, text.find(b"\n", field.end())
        if text[begin : end if end >= 0 else None].count(b'"') == 2:
            counts = _split_lines(text.decode()).str.count_matches(layout.separator, literal=True)
            return bool((counts == layout.width - 1).all())
    return False


def split_fields(line: str, separator: str) -> list[str]:
    """Return the fields of a line; a quote that encloses no field is a character."""
    if '"' not in line:
        return line.split(separator)
    enclosed = _enclosed(separator)
    fields: list[str] = []
    place = 0
    while True:
        found = next((m for p in enclosed if (m := p.match(line, place))), None)
        if found is None:
            end = line.find(separator, place)
            end = len(line) if end < 0 else end
            fields.append(line[place:end])
        else:
            end = found.end()
            fields.append(re.sub(r'\\"|""', '"', found[1]))
        if end == len(line):
            return fields
        place = end + len(separator)


@cache
def _enclosed(separator: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns of enclosed fields: quotes inside doubled, after backslashes, or plain."""
    end = rf'"(?={re.escape(separator)}|$)'
    inside = (r'(?:[^"]|"")*+', r'(?:[^"\\]|\\.|"")*+', r".*?")
    return tuple(re.compile(rf'"({body}){end}') for body in inside)


def read_ragged(text: bytes, layout: Layout) -> Repaired:
    """Read rows one by one where they differ from the others.

    A quote that encloses no field is a character. Empty fields beyond the last column are passed
    over, and fields that were cut at the semicolon of an HTML entity (`&amp`, ` Co`) are joined.
    Cells that a short row lacks are missing. A row that is still too long is refused; `TableError`
    is raised if there are many of those.
    """
    rows = _lines(text, layout)
    notes: list[str] = []
    rows, stray = _with_fields(rows, layout)
    if stray:
        notes.append(
            f"{counted(len(stray), 'row')} of {layout.path} with quotes that enclose no field, "
            f"read as characters: {_few_lines(stray)}"
        )
    rows, joined, bad = _shorten(rows, layout)
    for how, numbers in joined.items():
        notes.append(
            f"{counted(len(numbers), 'row')} of {layout.path} with too many fields, joined where "
            f"{how}: {_few_lines(numbers)}"
        )
    refused = _refuse(bad, rows.height + len(bad), layout)
    lengths = rows["fields"].list.len()
    short = rows.filter((lengths < layout.width) & (rows["line"] != ""))
    if short.height:
        examples = short.head(EXAMPLES).select("number", pl.col("fields").list.len()).rows()
        notes.append(
            f"{counted(short.height, 'row')} of {layout.path} with fewer fields than "
            f"{layout.expected}; the missing cells are empty: "
            + ", ".join(f"line {number} has {n}" for number, n in examples)
        )
    cells = [
        pl.col("fields").list.get(i, null_on_oob=True).replace("", None).alias(name)
        for i, name in enumerate(layout.names)
    ]
    frame = rows.select(cells).with_columns(pl.all().str.replace_all(_BREAK, "\n", literal=True))
    return Repaired(frame, tuple(notes), refused)


def split_rows(text: str, separator: str) -> pl.DataFrame:
    """Return the number, text and fields of each line that is not blank; no field is quoted."""
    lines = _split_lines(text).to_frame("line").with_row_index("number", offset=1)
    return lines.filter(pl.col("line") != "").with_columns(
        fields=pl.col("line").str.split(separator)
    )


def _split_lines(text: str) -> pl.Series:
    return pl.Series("line", [text]).str.split("\n").explode().str.strip_chars_end("\r")


def _lines(text: bytes, layout: Layout) -> pl.DataFrame:
    """Return number and text of each line after the header; enclosed line breaks are protected."""
    if b'"' in text and not swallows_rows(text, layout):
        text = quoted_field(layout.separator).sub(
            lambda field: field[0].replace(b"\r\n", b"\n").replace(b"\n", _BREAK.encode()), text
        )
    lines = _split_lines(text.decode()).to_frame("line")
    breaks = pl.col("line").str.count_matches(_BREAK, literal=True).cast(pl.Int64)
    number = pl.int_range(pl.len()) + breaks.cum_sum() - breaks + layout.first_line
    return lines.with_columns(number=number).slice(int(layout.has_header))


def _with_fields(rows: pl.DataFrame, layout: Layout) -> tuple[pl.DataFrame, list[int]]:
    """Add the fields of each line, and return the numbers of lines with stray quotes."""
    separator = layout.separator
    rows = rows.with_columns(fields=pl.col("line").str.split(separator))
    has_quote = rows["line"].str.contains('"', literal=True)
    places = has_quote.arg_true()
    if len(places) == 0:
        return rows, []
    stray, cut = [], []
    quoted = rows.filter(has_quote)
    for number, line in zip(quoted["number"].to_list(), quoted["line"].to_list(), strict=True):
        fields = split_fields(line, separator)
        plain = line.split(separator)
        if len(fields) != layout.width and len(plain) == layout.width:
            fields = plain
        if any('"' in field for field in fields):
            without = quoted_field(separator).sub(b"", line.encode())
            stray += [number] if b'"' in without else []
        cut.append(fields)
    split = pl.DataFrame({"number": quoted["number"], "cut": cut})
    joined = rows.join(split, on="number", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("cut", "fields").alias("fields")).drop("cut"), stray


def _shorten(
    rows: pl.DataFrame, layout: Layout
) -> tuple[pl.DataFrame, dict[str, list[int]], list[tuple[int, int, str]]]:
    """Return rows that are not too long, lines that were joined, and (line, fields, text) left."""
    fields = pl.col("fields")
    has_end = (fields.list.len() == layout.width + 1) & (fields.list.last() == "")
    rows = rows.with_columns(
        pl.when(has_end).then(fields.list.head(layout.width)).otherwise(fields)
    )
    long = rows["fields"].list.len() > layout.width
    joined: dict[str, list[int]] = {}
    if not long.any():
        return rows, joined, []
    starts = rows.filter(~long)["fields"].list.eval(pl.element().str.starts_with(" ")).list.any()
    # A tab hardly stands inside a field: it has replaced something.
    mark = {"\t": ";"}.get(layout.delimiter, layout.delimiter)
    numbers, fitted, bad = [], [], []
    for number, line, cut in rows.filter(long).select("number", "line", "fields").iter_rows():
        found, how = _fit(cut, layout.width, "" if starts.any() else mark)
        if len(found) > layout.width:
            bad.append((number, len(cut), line))
            continue
        numbers.append(number)
        fitted.append(found)
        if how:
            joined.setdefault(how, []).append(number)
    repaired = pl.DataFrame(
        {"number": numbers, "new": fitted},
        schema={"number": rows.schema["number"], "new": pl.List(pl.String)},
    )
    left = pl.Series("number", [number for number, _, _ in bad], rows.schema["number"])
    rows = rows.filter(~pl.col("number").is_in(left.implode()))
    rows = rows.join(repaired, on="number", how="left", maintain_order="left")
    return rows.with_columns(pl.coalesce("new", "fields").alias("fields")), joined, bad


def _fit(fields: list[str], width: int, mark: str) -> tuple[list[str], str]:
    """Return the fields of a long row, joined to `width` ones if that can be, and where they were.

    Parameters
    ----------
    mark
        What stood before a field that begins with a space; empty if such fields are usual.
    """
    while len(fields) > width and not fields[-1].strip():
        fields = fields[:-1]
    surplus, how = len(fields) - width, ""
    found = fields[:1]
    for field in fields[1:]:
        if surplus and _ends_in_entity(found[-1]):
            found[-1] += f";{field}"
            surplus -= 1
            how = "the semicolon of an HTML entity (&amp;) had cut them"
        else:
            found.append(field)
    if mark and surplus and sum(field.startswith(" ") for field in found[1:]) == surplus:
        fields, found = found, found[:1]
        for field in fields[1:]:
            if field.startswith(" "):
                found[-1] += mark + field
            else:
                found.append(field)
        how = "a field begins with a space, as no other does"
    return found, how


def _ends_in_entity(field: str) -> bool:
    end = _CUT_ENTITY.search(field)
    return end is not None and (end[1].startswith("#") or f"{end[1]};" in html.entities.html5)


def _refuse(bad: Sequence[tuple[int, int, str]], total: int, layout: Layout) -> tuple[Refusal, ...]:
    """Return the refusal of rows that are too long, or raise `TableError` if they are many."""
    if not bad:
        return ()
    most = max(MAX_BAD_SHARE * total, min(_MAX_BAD_ROWS, _MAX_BAD_SHARE_OF_FEW * total))
    lines = ", ".join(f"line {number} has {n}" for number, n, _ in bad[:EXAMPLES])
    if len(bad) > most:
        (usual, often), *_ = Counter(n for _, n, _ in bad).most_common(1)
        advice = f"Quote the fields that contain {layout.delimiter!r}."
        if often == total:
            advice = f"Every row has {usual}: name as many columns, columns=[...] (--columns)."
        raise TableError(
            f"{len(bad):,} of {counted(total, 'row')} of {layout.path} have more fields than "
            f"{layout.expected}: {lines}. {advice}"
        )
    reason = f"more fields than {layout.expected}"
    examples = (f"line {number} has {n} ({shown(line)})" for number, n, line in bad[:EXAMPLES])
    return (Refusal(reason, len(bad), tuple(examples)),)


def _few_lines(numbers: Sequence[int]) -> str:
    more = ", ..." if len(numbers) > EXAMPLES else ""
    return ", ".join(f"line {number}" for number in numbers[:EXAMPLES]) + more
