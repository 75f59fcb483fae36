"""Files of a downloaded folder: find them by name, read them, count and report bad lines."""

import logging
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from teaser.data.reading.files import read_table
from teaser.data.reading.ragged import MAX_BAD_SHARE, split_rows
from teaser.data.reading.table import need_columns
from teaser.data.reading.text_file import is_packed, read_text
from teaser.errors import TableError
from teaser.files.named import open_unpacked

LOG = logging.getLogger("teaser")
_NAMED = 5
_LISTED = 20
_LONGEST = 2**26


@dataclass(frozen=True)
class Folder:
    """A folder whose files are looked for by name, gzipped or not."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            what = "is a file, not a folder" if self.path.exists() else "does not exist"
            raise TableError(f"{self.path} {what}. Give the folder that the data were unpacked to.")

    @property
    def names(self) -> list[str]:
        """The names of the files, sorted."""
        return sorted(p.name for p in self.path.iterdir() if p.is_file())

    def find(self, *names: str) -> Path | None:
        """Return the first of the files that is there, or None."""
        for name in names:
            for path in (self.path / name, self.path / f"{name}.gz"):
                if path.is_file():
                    return path
        return None

    def need(self, what: str, *names: str) -> Path:
        """Return the first of the files that is there, or raise `TableError`."""
        path = self.find(*names)
        if path is None:
            raise TableError(
                f"The {what} are missing: looked for {' or '.join(names)} (also .gz) "
                f"in {self.path}. Found: {self.listing()}."
            )
        return path

    def listing(self) -> str:
        """Return the names of the files as one phrase."""
        names = self.names
        more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
        return ", ".join(names[:_LISTED]) + more if names else "no file at all"


def read_csv(path: Path, what: str, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read a csv file with these columns; a column with a cell of another type stays text."""
    try:
        # polars reads large files in place; it would unpack them however far they expand.
        source = read_text(path, "utf-8")[0] if is_packed(path) else path
        frame = pl.read_csv(source, schema_overrides=dict(types))
    except (pl.exceptions.PolarsError, OSError):
        frame = read_table(path, what=what)
    need_columns(frame, types, f"the {what} of {path}")
    if frame.height == 0:
        raise TableError(f"The {what} in {path} have no rows.")
    return frame


def read_dat(path: Path, columns: Sequence[str], *, wide: str) -> pl.DataFrame:
    """Read lines of fields separated by `::`, all as text.

    Parameters
    ----------
    path
        A file in UTF-8 or Latin-1.
    columns
        The names of the fields.
    wide
        The one field whose text may contain `::`.
    """
    raw = b"".join(read_lines(path))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    frame = split_rows(text, "::")
    if frame.height == 0:
        raise TableError(f"{path} is empty.")
    short = pl.col("fields").list.len() < len(columns)
    bad = frame.filter(short)["number"].to_list()
    report_bad(path, bad, frame.height, f"have fewer than {len(columns)} fields separated by '::'")
    before = columns.index(wide)
    after = len(columns) - before - 1
    parts, width = pl.col("fields"), pl.col("fields").list.len().cast(pl.Int64)
    cells = {name: parts.list.get(i) for i, name in enumerate(columns[:before])}
    cells[wide] = parts.list.slice(before, width - before - after).list.join("::")
    cells |= {name: parts.list.get(i - after) for i, name in enumerate(columns[before + 1 :])}
    return frame.filter(~short).select(cell.str.strip_chars().alias(n) for n, cell in cells.items())


def as_numbers(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Turn text columns into integers, where every cell is one."""
    for column in columns:
        whole = frame[column].cast(pl.Int64, strict=False)
        if whole.null_count() == frame[column].null_count():
            frame = frame.with_columns(whole)
    return frame


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, gzipped or not, one at a time."""
    try:
        with open_unpacked(path) as file:
            while line := file.readline(_LONGEST):
                if len(line) == _LONGEST:
                    raise TableError(f"A line of {path} has more than {_LONGEST:,} bytes.")
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} could not be read: {error}. Is the download complete?") from error


def report_bad(path: Path, bad: Sequence[int], total: int, why: str) -> None:
    """Log the lines that were left out, or refuse the file when more than 1 % of them are bad."""
    if not bad:
        return
    named = ", ".join(f"line {number}" for number in bad[:_NAMED])
    found = f"{len(bad):,} of {total:,} lines of {path} {why}: {named}"
    if len(bad) > MAX_BAD_SHARE * total:
        raise TableError(f"{found}. At most {MAX_BAD_SHARE:.0%} may be. Is this the right file?")
    LOG.warning(f"{found}; they were left out.")


def add_list(items: pl.DataFrame, pairs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Add a column with the list of distinct values of each item.

    Parameters
    ----------
    pairs
        Two columns: the key, which the items have too, and a value.
    """
    key, value = pairs.columns
    lists = (
        pairs.unique(maintain_order=True)
        .group_by(key, maintain_order=True)
        .agg(pl.col(value).alias(column))
    )
    return items.join(lists, on=key, how="left", maintain_order="left")
