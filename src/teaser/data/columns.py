"""Guess what columns are for: ids, and ratings, times and counts that nobody named."""

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from teaser.data.interactions import RowReader, as_date, as_ids, as_seconds
from teaser.data.reading import COLUMN_NAMES, EARLIEST, Table, snake_case
from teaser.data.rules import as_numbers
from teaser.errors import TableError, closest

_USERS = COLUMN_NAMES["users"]
_ITEMS = COLUMN_NAMES["items"]
_CODES = COLUMN_NAMES["codes"]
_SAMPLE_ROWS = 100_000
# An id column describes an item a row, up to a few that are described twice.
_DISTINCT = 0.95
_MOST = 0.9
_HALF = 0.5
_RATINGS = COLUMN_NAMES["ratings"]
# Ratings in the upper third of their range are choices: 4 of 5, 7 of 10.
_UPPER = 2 / 3
_TIMES = set(COLUMN_NAMES["times"])
_MOSTLY = 0.5
_SAMPLE = 1000


@dataclass(frozen=True)
class IdColumns:
    """The columns of the ids in the tables, and a note on those that were not given.

    Attributes
    ----------
    user, item
        In the interactions.
    items_id, users_id
        In the tables of items and of users.
    notes
        Which columns were taken, and the options that name them.
    """

    user: str
    item: str
    items_id: str
    users_id: str
    notes: tuple[str, ...] = ()


def find_id_columns(
    interactions: Table,
    items: Table | None = None,
    users: Table | None = None,
    *,
    user: str | None = None,
    item: str | None = None,
    items_id: str | None = None,
    users_id: str | None = None,
) -> IdColumns:
    """Return the columns of the ids; None stands for `user_id`, `item_id`, or a likely column.

    Raises
    ------
    TableError
        If a column is missing; the message names the likely one, and the option to give.
    """
    found_user = _find_user(interactions, user)
    found_item, found_items_id = _find_item(interactions, items, item, items_id, found_user)
    ids = interactions.frame[found_user]
    found_users_id = (
        found_user if users is None else _find_key(users, ids, found_user, users_id, "users")
    )
    taken = {
        "user": (found_user, user or "user_id"),
        "item": (found_item, item or "item_id"),
        "items-id": (found_items_id, items_id or found_item),
        "users-id": (found_users_id, users_id or found_user),
    }
    new = {option: column for option, (column, usual) in taken.items() if column != usual}
    return IdColumns(found_user, found_item, found_items_id, found_users_id, _noted(new))


def _noted(taken: Mapping[str, str]) -> tuple[str, ...]:
    """Return the note on columns that were taken without being given, by option."""
    options = " ".join(f"--{option} {_quoted(column)}" for option, column in taken.items())
    return (f"columns of ids that were not named, taken as likely: {options}",) if taken else ()


def find_key(
    items: Table, ids: pl.Series, item: str, items_id: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return the column of the ids in the items, and a note if it was not given.

    Parameters
    ----------
    items
        The table of items.
    ids
        The ids of the interactions, whose column is called `item`.
    items_id
        The column as given, or None.
    """
    found = _find_key(items, ids, item, items_id, "items")
    taken = {"items-id": found} if found != (items_id or item) else {}
    return found, _noted(taken)


def _find_user(table: Table, given: str | None) -> str:
    columns = table.frame.columns
    likely = _by_name(columns, _names(_USERS))
    if given in columns:
        return str(given)
    if given is None and likely:
        return likely[0]
    raise _missing(table, given or "user_id", "interactions", "user", likely)


def _find_item(
    table: Table, items: Table | None, given: str | None, items_id: str | None, user: str
) -> tuple[str, str]:
    """Return the column of item ids in the interactions, and that of the items."""
    columns = [column for column in table.frame.columns if column != user]
    likely = _by_name(columns, _names(_ITEMS, *_CODES))
    others = [c for c in columns if snake_case(c).endswith("_id") and c not in likely]
    likely += others if len(others) == 1 or not likely else []
    if given is not None and given not in table.frame.columns:
        raise _missing(table, given, "interactions", "item", likely)
    tried = [given] if given is not None else likely
    if not tried:
        raise _missing(table, "item_id", "interactions", "item", likely)
    if items is None:
        return tried[0], items_id or tried[0]
    error: TableError | None = None
    for column in tried:
        try:
            return column, _find_key(items, table.frame[column], column, items_id, "items")
        except TableError as missing:
            error = error or missing
    raise error or _missing(items, tried[0], "items", "items_id", [])


def _find_key(table: Table, ids: pl.Series, name: str, given: str | None, what: str) -> str:
    """Return the column of a described table that has these ids."""
    option = f"{what}_id"
    frame = table.frame
    if given is not None:
        if given in frame.columns:
            return given
        raise _missing(table, given, what, option, _shared(frame, ids))
    shared = _shared(frame, ids)
    if name in frame.columns:
        better = [column for column in shared if _overlap(ids, frame[column]) >= _HALF]
        if better and name not in shared and _overlap(ids, frame[name]) == 0:
            raise TableError(
                f"None of the ids in column {name!r} of the interactions is in column {name!r} of "
                f"{table.name}, but column {better[0]!r} has them. Give "
                f"{_option(option, better[0])}."
            )
        return name
    subjects = _ITEMS if what == "items" else _USERS
    named = _by_name(frame.columns, (*_names(subjects, *_CODES), "id", "key", "code"))
    known = [c for c in named if _overlap(ids, frame[c]) >= _HALF]
    if known:
        return max(known, key=lambda column: _overlap(ids, frame[column]))
    sure = [column for column in shared if _overlap(ids, frame[column]) >= _MOST]
    if len(sure) == 1 and not table.headless:
        return sure[0]
    raise _missing(table, name, what, option, shared or named)


def _names(subjects: Iterable[str], *others: str) -> tuple[str, ...]:
    """Return the names that a column of ids may have, the most telling first."""
    subjects = tuple(subjects)
    endings = ("_id", "id", "_key", "_code", "_no", "_number", "", "_name", "name")
    short = ("uid",) if subjects[0] == "user" else ("iid",)
    return (*(f"{s}{end}" for end in endings for s in subjects), *short, *others)


def _by_name(columns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the columns that have one of these names, in the order of the names."""
    lower = {snake_case(column): column for column in reversed(list(columns))}
    return [lower[name] for name in names if name in lower]


def _shared(frame: pl.DataFrame, ids: pl.Series) -> list[str]:
    """Return the columns with distinct values that have these ids, that of most ids first."""
    overlaps = {}
    for column in frame:
        filled = _as_texts(column)
        if len(filled) and filled.n_unique() >= _DISTINCT * len(filled):
            overlaps[column.name] = _overlap(ids, column)
    good = [name for name, share in overlaps.items() if share > 0.1]
    return sorted(good, key=lambda name: -overlaps[name])


def _overlap(ids: pl.Series, column: pl.Series) -> float:
    """Return the share of these ids that a column has."""
    wanted, known = _as_texts(ids.head(_SAMPLE_ROWS)).unique(), _as_texts(column).unique()
    share: Any = wanted.is_in(known.implode()).mean() if len(wanted) else 0.0
    return float(share)


def _as_texts(column: pl.Series) -> pl.Series:
    """Return the ids of a column as texts; none if it can have no ids, as fractions."""
    try:
        ids = as_ids(column).drop_nulls()
    except TableError:
        ids = pl.Series([], dtype=pl.String)
    if column.dtype.is_float() and ids.dtype == pl.String:
        ids = ids.clear()
    return ids.cast(pl.String)


def _missing(table: Table, name: str, what: str, option: str, likely: list[str]) -> TableError:
    """Return the error for a missing column of ids, with the likely one and its option."""
    columns = table.frame.columns
    of_file = "" if table.name.startswith("the ") else f" of {table.name}"
    text = f"Column {name!r}, needed for the {what}{of_file}, is missing. "
    text += f"Found: {', '.join(columns)}."
    # Names that are data say nothing, and values of a row may be those of another column.
    if table.headless:
        return TableError(f"{text} {table.headless}")
    if likely:
        return TableError(f"{text} Likely: {likely[0]}. Give {_option(option, likely[0])}.")
    # A name that nobody gave resembles others by chance: user_id is close to game_id.
    near = "" if name in ("user_id", "item_id") else closest(name, columns)
    return TableError(f"{text}{near} Name it: {_option(option, 'COLUMN')}.")


def _option(name: str, column: str) -> str:
    return f"{name}={column!r} (--{name.replace('_', '-')} {_quoted(column)})"


def _quoted(column: str) -> str:
    return column if re.fullmatch(r"[\w.:/-]+", column) else f"'{column}'"


def unused_notes(table: Table, reader: RowReader) -> list[str]:
    """Return a note on unused columns of ratings and of times, with the option that uses them."""
    columns = [column for column in table.frame if column.name not in reader.columns]
    strength = reader.strength
    ruled = reader.positive is not None or reader.negative is not None
    weighs = strength is not None and strength.column is not None
    timed = strength is not None and strength.time is not None
    notes = [
        None if ruled or weighs else _rating_note(columns, table.name),
        None if timed else _time_note(columns, table.name),
    ]
    return [note for note in notes if note is not None]


def _rating_note(columns: list[pl.Series], name: str) -> str | None:
    """Return a warning if there is a column of ratings, with the rule to give."""
    for column in columns:
        is_rating = snake_case(column.name).rpartition("_")[2] in _RATINGS
        if not is_rating or not column.dtype.is_numeric():
            continue
        values = as_numbers(column).drop_nulls().to_numpy()
        if len(set(values.tolist())) < 2:
            continue
        low, high = float(values.min()), float(values.max())
        edge = low + _UPPER * (high - low)
        least = round(edge, 2) if high - low <= 1 else math.ceil(edge - 1e-9)
        share = float((values >= least).mean())
        rule = f"{column.name} >= {least:g}"
        return (
            f"warning: column {column.name!r} of {name} goes from {low:g} to {high:g}, and every "
            f"row counts as a choice, however low. To count high ones alone, here {share:.0%} of "
            f'the rows, give --positive "{rule}" (positive={rule!r})'
        )
    return None


def _time_note(columns: list[pl.Series], name: str) -> str | None:
    """Return a note if there is a column of times, by its name."""
    for column in columns:
        if not _TIMES & set(snake_case(column.name).split("_")):
            continue
        times = _sample_times(column)
        if times and min(times) >= EARLIEST:
            return (
                f"column {column.name!r} of {name} has times, such as {as_date(times[0])}. To "
                "keep them, for splits by time and for --half-life, give "
                f"--time {shlex.quote(column.name)} (time={column.name!r})"
            )
    return None


def _sample_times(column: pl.Series) -> list[float]:
    """Return a sample of the times in a column in unix seconds, empty if most cells are none."""
    sample = column.gather_every(max(1, len(column) // _SAMPLE))
    try:
        times = as_seconds(sample).drop_nulls().to_list()
    except TableError:
        return []
    return times if len(times) >= _MOSTLY * len(sample) else []
