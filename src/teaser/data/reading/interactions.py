"""Check tables of interactions and items: clean ids, positive rows, a report of the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import polars as pl

from teaser.data.reading.positive import Positive
from teaser.data.reading.strength import WRITE_TIMES, Problems, Strength
from teaser.data.reading.table import EXAMPLES, Refusal, few, need_columns, shown
from teaser.errors import DataError, ParameterError, TableError, counted

_NO_ID = r"(?i)^(nan|none|null|n/?a|\\N)$"
_EXACT = 2**53  # float64 represents every smaller integer exactly


@dataclass(frozen=True)
class ReadReport:
    """Counts of the rows of a table of interactions.

    `rows = interactions + duplicates + not_positive + zero_strength + the refused rows`, always.
    `strength` says how strengths are made, or is empty.
    """

    rows: int
    interactions: int
    users: int
    items: int
    duplicates: int
    not_positive: int
    refused: tuple[Refusal, ...]
    zero_strength: int = 0
    strength: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, in the form of earlier versions where it can be."""
        new = () if self.strength else ("zero_strength", "strength")
        return {name: value for name, value in asdict(self).items() if name not in new}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Return the report that `as_dict` made plain values of."""
        return cls(**{**raw, "refused": Refusal.from_dicts(raw["refused"])})

    def with_refused(self, refused: Sequence[Refusal]) -> Self:
        """Return the report with rows that were refused before, such as unreadable lines."""
        rows = self.rows + sum(refusal.count for refusal in refused)
        return replace(self, rows=rows, refused=(*refused, *self.refused))

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        zero = f"{counted(self.zero_strength, 'row')} of strength zero left out"
        return [
            f"{counted(self.rows, 'row')} read: {counted(self.interactions, 'interaction')} of "
            f"{counted(self.users, 'user')} with {counted(self.items, 'item')}",
            f"{counted(self.not_positive, 'row')} not positive, "
            f"{counted(self.duplicates, 'duplicate')} merged",
            *([f"strength of an interaction: {self.strength}"] if self.strength else []),
            *([zero] if self.zero_strength else []),
            *(str(refusal) for refusal in self.refused),
        ]


def check_interactions(
    frame: pl.DataFrame,
    *,
    user: str,
    item: str,
    positive: str | Positive | None = None,
    strength: Strength | None = None,
    negative: Positive | None = None,
) -> tuple[pl.DataFrame, ReadReport]:
    """Return the distinct positive pairs, in order of appearance, and a report.

    The pairs have columns user and item; strength if a rule for it is given; and time, in unix
    seconds, if the rule names its column. Rows that are `negative` are not positive.
    """
    need_columns(frame, (user, item), "the interactions")
    check_id_columns(user, item)
    rule = Positive.of(positive)
    unique, report = take_pairs(
        frame, user=user, item=item, rule=rule, strength=strength, negative=negative
    )
    if unique.height == 0:
        asked = f" by the rule {rule}" if rule else ""
        untimed = any(refusal.reason.endswith("is not a time") for refusal in report.refused)
        raise DataError(
            f"No positive interaction is left{asked}. {'; '.join(report.lines())}."
            f"{f' {WRITE_TIMES}' if untimed else ''}"
        )
    if strength is not None and strength.time is not None and unique["time"].is_null().all():
        raise DataError(f"No row that counts has a time in column {strength.time!r}. {WRITE_TIMES}")
    return unique, report


def check_id_columns(user: str, item: str) -> None:
    """Raise `ParameterError` if users and items are to be read from one column."""
    if user == item:
        raise ParameterError(f"Users and items cannot both be in column {user!r}.")


def take_pairs(
    frame: pl.DataFrame,
    *,
    user: str,
    item: str,
    rule: Positive | None,
    strength: Strength | None = None,
    negative: Positive | None = None,
) -> tuple[pl.DataFrame, ReadReport]:
    """Return the distinct positive pairs, possibly none, and a report."""
    rows, counts = take_rows(
        frame, user=user, item=item, rule=rule, strength=strength, negative=negative
    )
    if strength is None:
        unique, zero = rows.unique(maintain_order=True), 0
    else:
        strength = strength.aged(rows)
        unique, zero = strength.merge(rows)
    report = ReadReport(
        rows=frame.height,
        interactions=unique.height,
        users=unique["user"].n_unique(),
        items=unique["item"].n_unique(),
        duplicates=rows.height - unique.height - zero,
        zero_strength=zero,
        strength="" if strength is None or strength.is_one else str(strength),
        **counts,
    )
    return unique, report


def take_rows(
    frame: pl.DataFrame,
    *,
    user: str,
    item: str,
    rule: Positive | None,
    strength: Strength | None = None,
    negative: Positive | None = None,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the positive rows (user, item, strength and time), and what was left out."""
    is_positive, unclear = _apply_rules(frame, rule, negative)
    ids = pl.DataFrame({"user": as_ids(frame[user]), "item": as_ids(frame[item])})
    problems = [
        (f"{user} is missing", ids["user"].is_null(), user),
        (f"{item} is missing", ids["item"].is_null(), item),
        *unclear,
    ]
    every = pl.Series([True]).new_from_index(0, frame.height)
    open_rows, refused = _refuse(frame, every, problems)
    taken = open_rows if is_positive is None else open_rows & is_positive
    not_positive = int(open_rows.sum()) - int(taken.sum())
    if strength is not None:
        need_columns(frame, [strength.column or user], "the strength of interactions")
        need_columns(frame, [strength.time or user], "the time of interactions")
        read, problems = strength.read(frame)
        taken, more = _refuse(frame, taken, problems)
        ids, refused = ids.hstack(read), [*refused, *more]
    return ids.filter(taken), {"not_positive": not_positive, "refused": tuple(refused)}


def _apply_rules(
    frame: pl.DataFrame, rule: Positive | None, negative: Positive | None
) -> tuple[pl.Series | None, Problems]:
    """Return which rows are positive, None for all, and the undecidable ones."""
    is_positive, unclear = (None, []) if rule is None else rule.split(frame)
    if negative is None:
        return is_positive, unclear
    is_negative, more = negative.split(frame, what="disliked")
    both = None if is_positive is None else is_positive & is_negative
    if both is not None and both.any():
        first = int(both.arg_true()[0])
        column = negative.terms[0][0]
        n = int(both.sum())
        raise ParameterError(
            f"{counted(n, 'row')} {'is' if n == 1 else 'are'} positive by {rule} and disliked by "
            f"{negative}, such as row {first + 1} ({column} {shown(frame[column][first])}). "
            "Give rules that no row meets both of."
        )
    return ~is_negative if is_positive is None else is_positive, [*unclear, *more]


def _refuse(
    frame: pl.DataFrame, open_rows: pl.Series, problems: Problems
) -> tuple[pl.Series, list[Refusal]]:
    """Return the rows without a problem, and a refusal for each of the others."""
    refused = []
    for reason, mask, column in problems:
        if (bad := mask & open_rows).any():
            refused.append(_refusal(reason, frame, bad, column))
            open_rows = open_rows & ~bad
    return open_rows, refused


def check_items(
    frame: pl.DataFrame, *, item: str, what: str = "item"
) -> tuple[pl.DataFrame, tuple[Refusal, ...]]:
    """Return the rows with clean, distinct ids, and the refused rows."""
    need_columns(frame, (item,), f"the {what}s")
    ids = as_ids(frame[item])
    missing = ids.is_null()
    again = ~missing & ~ids.is_first_distinct()
    refused = tuple(
        _refusal(reason, frame, mask, item)
        for reason, mask in (
            (f"{item} is missing", missing),
            (f"the {what} is described twice, the first row is kept", again),
        )
        if mask.any()
    )
    if missing.all():
        raise DataError(f"No {what} is left: {'; '.join(map(str, refused))}.")
    return frame.with_columns(ids.alias(item)).filter(~missing & ~again), refused


def as_ids(column: pl.Series) -> pl.Series:
    """Return ids as integers or texts; empty texts and non-finite numbers are missing."""
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.String)
    if column.dtype.is_float() or column.dtype.is_decimal():
        return _decimal_ids(column)
    if column.dtype.is_nested():
        raise _no_ids(column)
    try:
        text = column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise _no_ids(column) from error
    # Bytes such as of a UUID are no text, though some of them can be read as one.
    if column.dtype == pl.Binary and text.str.contains(r"[\x00-\x1f]").any():
        raise _no_ids(column)
    text = text.str.strip_chars()
    missing = (text == "").fill_null(False)
    words = text.str.contains(_NO_ID).fill_null(False)
    # Among numbers such a word is no name.
    if words.any() and text.filter(~words & ~missing).str.contains(r"^\d+$").all():
        missing |= words
    return text.set(missing, None)


def doubtful_ids(column: pl.Series, name: str) -> str | None:
    """Return a warning if words such as NULL are taken as ids, as they may be names.

    Parameters
    ----------
    column
        The ids.
    name
        The table, for the message.
    """
    if column.dtype != pl.String:
        return None
    ids = as_ids(column).drop_nulls()
    words = ids.filter(ids.str.contains(_NO_ID))
    if not len(words):
        return None
    return (
        f"warning: {counted(len(words), 'row')} of {name} with {few(words)} in column "
        f"{column.name!r}, taken as an id like others. If it means that there is none, empty these "
        "cells"
    )


def _decimal_ids(column: pl.Series) -> pl.Series:
    """Return ids that are stored as floats, as pandas does if some are missing."""
    numbers = column.cast(pl.Float64)
    column = column.set(~numbers.is_finite().fill_null(False), None)
    known = numbers.filter(column.is_not_null())
    if (known.abs() >= _EXACT).any():
        raise TableError(
            f"Column {column.name!r} has ids as decimals that are too large to be exact, such as "
            f"{known.filter(known.abs() >= _EXACT)[0]:.17g}. Store them as integers or texts."
        )
    return column.cast(pl.Int64 if (known == known.round(0)).all() else pl.String)


def _no_ids(column: pl.Series) -> TableError:
    return TableError(
        f"Column {column.name!r} has type {column.dtype}, which cannot be an id. "
        "Ids are integers or texts: convert them, in pandas with .astype(str)."
    )


def _refusal(reason: str, frame: pl.DataFrame, mask: pl.Series, column: str) -> Refusal:
    """Count the rows and show the first of them, numbered from 1, with their cells."""
    rows = mask.arg_true().head(EXAMPLES).to_list()
    cells = frame[column].gather(rows).to_list()
    named = tuple(f"row {r + 1} ({shown(c)})" for r, c in zip(rows, cells, strict=True))
    return Refusal(reason, int(mask.sum()), named)
