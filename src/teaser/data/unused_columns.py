"""Columns of the interactions that stand unused: ratings, times, and how much or how often.

A person who does not know the options finds them in these notes.
"""

import math
import re
import shlex

import polars as pl

from teaser.data.reading.likely_ids import IdColumns, snake_case
from teaser.data.reading.positive import Positive
from teaser.data.reading.strength import EARLIEST, Strength, as_date, as_seconds
from teaser.data.reading.table import Table
from teaser.errors import TableError

_RATINGS = ("rating", "ratings", "stars", "star", "score", "rate", "overall", "grade", "vote")
_MAX_RATINGS = 101
# Ratings in the upper third of their range are choices: 4 of 5, 7 of 10.
_UPPER = 2 / 3
_TIMES = {"time", "timestamp", "date", "datetime", "day", "ts", "when"}
# Numbers in a column of any other name are times if all lie between 1995 and 2040.
_FROM, _UNTIL = 8e8, 2.2e9
_ID = re.compile("(^|_)(id|key|code|no|number)$")
_MOSTLY = 0.5
_SAMPLE = 1000
_AMOUNTS = {
    "weight", "plays", "playcount", "count", "counts", "listens", "listencount", "scrobbles",
    "hours", "minutes", "playtime", "duration", "frequency", "freq", "views", "clicks", "visits",
    "quantity", "qty", "amount", "purchases", "orders", "strength", "play", "listen", "watch",
}  # fmt: skip


def unused_notes(
    table: Table,
    ids: IdColumns,
    *,
    positive: Positive | None,
    negative: Positive | None,
    strength: Strength | None,
) -> list[str]:
    """Return a note for each kind of column that is not used, with the option that uses it.

    Parameters
    ----------
    table
        The interactions.
    ids
        The columns of their ids.
    positive, negative
        The rules for rows that count, and for disliked ones.
    strength
        The rule for strengths and times.
    """
    rules = [rule for rule in (positive, negative) if rule is not None]
    used = {ids.user, ids.item, *(term[0] for rule in rules for term in rule.terms)}
    used |= set() if strength is None else set(strength.columns)
    columns = [column for column in table.frame if column.name not in used]
    weighs = strength is not None and strength.column is not None
    timed = strength is not None and strength.time is not None
    notes = [
        None if rules or weighs else _rating_note(columns, table.name),
        None if timed else _time_note(columns, table.name),
        None if weighs else _amount_note(columns, table.name),
    ]
    return [note for note in notes if note is not None]


def _rating_note(columns: list[pl.Series], name: str) -> str | None:
    """Return a warning if there is a column of ratings, with the rule to give."""
    for column in columns:
        if snake_case(column.name).rpartition("_")[2] not in _RATINGS:
            continue
        values = _numbers(column).to_numpy()
        if not 2 < len(set(values.tolist())) <= _MAX_RATINGS:
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
    """Return a note if there is a column of times: by its name, else by its values."""
    named = [c for c in columns if _TIMES & set(snake_case(c.name).split("_"))]
    for column, earliest, latest in (
        *((column, EARLIEST, math.inf) for column in named),
        *((column, _FROM, _UNTIL) for column in columns if not _ID.search(snake_case(column.name))),
    ):
        times = _sample_times(column)
        if times and earliest <= min(times) and max(times) <= latest:
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


def _amount_note(columns: list[pl.Series], name: str) -> str | None:
    """Return a note if there is a column of how much or how often, with the options to give."""
    for column in columns:
        if not _AMOUNTS & set(snake_case(column.name).split("_")):
            continue
        values = _numbers(column).to_numpy()
        low, high = float(values.min(initial=math.inf)), float(values.max(initial=0))
        # Numbers that begin so high are times, such as of a last visit.
        if len(set(values.tolist())) < 3 or not 0 <= low < EARLIEST:
            continue
        return (
            f"column {column.name!r} of {name} goes from {low:,.6g} to {high:,.6g}, and every row "
            "counts alike. To let larger ones count more, give --strength "
            f"{shlex.quote(column.name)} --counts log (strength={column.name!r}, counts='log')"
        )
    return None


def _numbers(column: pl.Series) -> pl.Series:
    """Return the finite numbers of a column; none if its type is another."""
    if not column.dtype.is_numeric():
        return pl.Series([], dtype=pl.Float64)
    numbers = column.cast(pl.Float64)
    return numbers.filter(numbers.is_finite().fill_null(False))
