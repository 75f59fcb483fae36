"""Tables of one's own in a folder that fits no reader: which are the interactions and the items."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from teaser.data.reading.likely_ids import names_ids
from teaser.data.sources.folder import read_lines
from teaser.errors import TableError

# The most files whose first lines are read, and the longest first line that may be a header.
_MOST_FILES = 50
_LONGEST = 10_000
_BETWEEN = re.compile(r"\t|::|[,;|]")


def propose_tables(folder: Path) -> str:
    """Return a sentence that proposes tables to prepare; empty where there is no file.

    A table whose first line names users and items has interactions; one that names items alone
    describes these.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        return ""
    named = {path: set(_kinds(_header(path))) for path in files[:_MOST_FILES]}
    interactions = [path for path, kinds in named.items() if kinds == {"users", "items"}]
    items = [path for path, kinds in named.items() if kinds == {"items"}]
    if not interactions:
        return f"Name two tables: {_command([folder / 'INTERACTIONS', folder / 'ITEMS'])}."
    proposed = _command([interactions[0], *items[:1]])
    number = "two tables" if items else "the table of interactions"
    others = ", ".join(path.name for path in interactions[1:])
    more = f" There are interactions in {others} too." if others else ""
    return f"Name {number}: {proposed}.{more}"


def _command(paths: Sequence[Path]) -> str:
    return f"teaser prepare {' '.join(shlex.quote(str(path)) for path in paths)} --out DATA"


def _kinds(columns: Sequence[str]) -> Iterator[str]:
    yield from (kind for kind in ("users", "items") if names_ids(columns, kind))


def _header(path: Path) -> list[str]:
    """Return the names of the columns of a file; none where it cannot be read."""
    try:
        if path.suffix == ".parquet":
            return list(pl.read_parquet_schema(path))
        first = next(iter(read_lines(path)), b"")
    except (TableError, pl.exceptions.PolarsError, OSError):
        return []
    if len(first) > _LONGEST:
        return []
    text = first.decode("utf-8-sig", errors="replace").strip()
    return [name.strip().strip('"') for name in _BETWEEN.split(text)]
