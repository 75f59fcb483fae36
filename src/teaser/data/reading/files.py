"""Read a file or frame into a polars frame, and the tables of a data set together."""

import logging
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from teaser.data.reading.delimited import read_delimited
from teaser.data.reading.likely_ids import IdColumns, find_id_columns
from teaser.data.reading.long_table import check_wide, find_long, widen
from teaser.data.reading.table import Table, check_names, first_line, shown
from teaser.data.reading.text_file import (
    decode_entities,
    read_json_lines,
    read_text,
    wrong_encoding,
)
from teaser.errors import ParameterError, TableError
from teaser.files.parquet import read_parquet

Read = TypeVar("Read", bound=Table | None)

LOG = logging.getLogger("teaser")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


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
        A path to delimited text with any extension (also gzipped), parquet or jsonl; or a polars,
        pandas or pyarrow frame, or anything else that exports the Arrow C stream.
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
    names = _check_columns(columns)
    if isinstance(source, str | Path):
        table = _read_file(Path(source), what, encoding, names, delimiter)
    else:
        if names is not None or delimiter is not None:
            raise ParameterError(
                "columns and delimiter say how a text file is read, and have no meaning for a "
                f"{type(source).__name__}. Leave them out."
            )
        frame = _collect(source, what) if isinstance(source, pl.LazyFrame) else None
        table = Table(_from_frame(source, what) if frame is None else frame, f"the {what}")
    if table.frame.height == 0:
        where = f" in {source}" if isinstance(source, str | Path) else ""
        found = ", ".join(table.frame.columns) or "none"
        raise TableError(f"There are no rows of {what}{where}. Found columns: {found}.")
    check_names(table.frame.columns)
    return table if long is None else widen(table, long)


def read_each(*readers: Callable[[], Read]) -> list[Read]:
    """Read tables; one error says what is wrong with all that cannot be read.

    Parameters
    ----------
    *readers
        Functions that read a table each, or return None for one that is not given.
    """
    found: list[Read] = []
    errors: list[TableError] = []
    for reader in readers:
        try:
            found.append(reader())
        except TableError as error:
            errors.append(error)
    if not errors:
        return found
    headless = [table.headless for table in found if table is not None and table.headless]
    if len(errors) == 1 and not headless:
        raise errors[0]
    raise TableError(" ".join([*map(str, errors), *headless])) from errors[0]


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of a data set as they were read, and the columns of their ids.

    `notes` are sentences on what was noticed.
    """

    interactions: Table
    items: Table | None
    users: Table | None
    ids: IdColumns
    notes: tuple[str, ...]


def read_tables(
    interactions: Any, items: Any, users: Any, *, encoding: str, **ids: str | None
) -> Tables:
    """Read the tables of a data set, and find the columns of their ids.

    Parameters
    ----------
    interactions, items, users
        Files, frames or `Table`s; items and users may be None.
    encoding
        The encoding of text files.
    **ids
        `user`, `item`, `items_id` and `users_id`, each the name of a column or None.
    """
    others = {"items": items, "users": users}
    sources = {"interactions": interactions} | {w: s for w, s in others.items() if s is not None}
    tables = read_each(
        *(partial(read, each, what=what, encoding=encoding) for what, each in sources.items())
    )
    named = dict(zip(sources, tables, strict=True))
    known, described, about = named["interactions"], named.get("items"), named.get("users")
    found = find_id_columns(known, described, about, **ids)
    if described is not None:
        described = tidy(described, found.items_id, "the items")
    if about is not None:
        about = tidy(about, found.users_id, "the users", long=False)
    each = (table for table in (known, described, about) if table is not None)
    notes = (*(note for table in each for note in table.notes), *found.notes)
    return Tables(known, described, about, found, notes)


def tidy(table: Table, key: str, name: str, *, long: bool = True) -> Table:
    """Return a table with HTML entities decoded, blank texts missing and, of items, one row each.

    A table in long form whose columns are called property and value, or similarly, is made wide;
    another one is refused with the option to give.
    """
    columns = find_long(table, key) if long else None
    if columns is not None:
        table = widen(table, columns)
    elif long:
        check_wide(table, key)
    frame, notes = decode_entities(table.frame, name=name, but=key)
    frame = frame.with_columns(
        column.set((column.str.strip_chars() == "").fill_null(False), None)
        for column in frame
        if column.dtype == pl.String and column.name != key
    )
    return replace(table, frame=frame, notes=(*table.notes, *notes))


def _check_columns(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    names = tuple(columns)
    is_named = bool(names) and all(isinstance(name, str) and name.strip() for name in names)
    if isinstance(columns, str) or not is_named or len(set(names)) < len(names):
        raise ParameterError(
            "columns must be a list of different names, such as ['user_id', 'item_id'] "
            f"(--columns user_id,item_id); found {columns!r}."
        )
    return tuple(name.strip() for name in names)


def _collect(source: pl.LazyFrame, what: str) -> pl.DataFrame:
    try:
        return source.collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(f"The {what} could not be read: {first_line(error)}.") from error


def _from_frame(source: Any, what: str) -> pl.DataFrame:
    source = _with_index(source)
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


def _with_index(source: Any) -> Any:
    """Return a pandas frame with its index as columns, where that has names."""
    if not type(source).__module__.startswith("pandas") or not hasattr(source, "columns"):
        return source
    names = list(source.index.names)
    if None in names or set(names) & set(source.columns):
        return source
    return source.reset_index()


def _read_file(
    path: Path,
    what: str,
    encoding: str,
    columns: Sequence[str] | None,
    delimiter: str | None,
) -> Table:
    """Read one file by its suffix; raise `TableError` for whatever goes wrong."""
    suffix = next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "").lower()
    text = b""
    try:
        if path.is_dir():
            raise TableError(f"{path} is a folder. Name the file with the {what}.")
        if not path.exists():
            raise TableError(f"There is no file {path} to read the {what} from.")
        is_delimited = suffix != ".parquet" and suffix not in JSON_SUFFIXES
        if not is_delimited and (columns is not None or delimiter is not None):
            raise ParameterError(
                f"columns and delimiter have no meaning for {path}, which has names. Leave them "
                "out."
            )
        if suffix == ".parquet":
            return Table(read_parquet(path), str(path))
        text, notes = read_text(path, encoding)
        if not is_delimited:
            return Table(read_json_lines(text, path), str(path), notes)
        table = read_delimited(text, path, what=what, columns=columns, delimiter=delimiter)
        return replace(table, notes=(*notes, *table.notes))
    except (UnicodeDecodeError, pl.exceptions.ComputeError) as error:
        if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
            raise wrong_encoding(text, path, encoding) from error
        raise TableError(f"{path} could not be read: {first_line(error)}.") from error
    except (OSError, EOFError, LookupError, zlib.error, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path} could not be read: {first_line(error)}.") from error
