"""Disliked items: what users rated low, beside what they chose.

They are no part of X, from which models learn. In the history of a user they have a strength below
0, and they are left out of lists as chosen items are. benchmarks/dislikes.py says what that gains.
"""

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.reading.interactions import as_ids
from teaser.data.reading.part import interaction_matrix
from teaser.data.reading.positive import Positive
from teaser.data.reading.strength import DAY, Strength, as_seconds
from teaser.data.sparse_matrix import fixed
from teaser.errors import DataError, counted

# Of a choice of strength 1: more against it makes lists less accurate; see benchmarks/README.md.
STRENGTH = -0.125


def disliked_matrix(
    frame: pl.DataFrame,
    pairs: pl.DataFrame,
    rule: Positive | None,
    *,
    user: str,
    item: str,
    users: pl.Series,
    items: pl.Series,
    strength: Strength | None = None,
) -> tuple[sp.csr_array | None, str | None]:
    """Return what users disliked and did not choose (users x items), as strengths below 0.

    The second value is a note on dislikes of users or items that have no place in the matrix.

    Parameters
    ----------
    frame
        The interactions as they were read.
    pairs
        user and item of the interactions that count; a pair that is among them is not disliked.
    rule
        Which rows are disliked; None without dislikes.
    user, item
        The columns of the ids in `frame`.
    users, items
        The ids of the rows and columns; rows of others are left out.
    strength
        The rule for the strength of interactions. A dislike is an eighth of their mean strength,
        and decays as they do.
    """
    if rule is None:
        return None, None
    is_disliked, _ = rule.split(frame, what="disliked")
    ids = pl.DataFrame({"user": as_ids(frame[user]), "item": as_ids(frame[item])})
    rows = ids.with_columns(_strengths(frame, pairs, strength)).filter(is_disliked).drop_nulls()
    # Of two dislikes of one item, the one that counts more is the later one.
    merged = rows.group_by("user", "item", maintain_order=True).agg(pl.col("strength").min())
    merged = merged.filter(pl.col("strength") < 0)
    merged = merged.with_columns(pl.col("item").cast(items.dtype))
    only = merged.join(pairs.select("user", "item"), on=["user", "item"], how="anti")
    found = interaction_matrix(only, users, items)
    missed = only.height - found.nnz
    if not missed:
        return found, None
    new = only["user"].n_unique() - int((np.diff(found.indptr) > 0).sum())
    return found, (
        f"{counted(missed, 'disliked item')} left out, of {counted(new, 'user')} who chose "
        "nothing, or of items that nobody chose and no table describes"
    )


def _strengths(frame: pl.DataFrame, pairs: pl.DataFrame, rule: Strength | None) -> pl.Series:
    """Return the strength that each row has as a dislike, below 0; null without a time."""
    if rule is None or rule.is_one:
        return pl.Series("strength", np.full(frame.height, STRENGTH, np.float32))
    level, decay = pairs["strength"].to_numpy().astype(np.float64), np.ones(frame.height)
    total = float(len(level))
    if rule.half_life is not None and rule.time is not None:
        times = pairs["time"].to_numpy()
        newest = times.max(initial=-np.inf)
        total = float(_decay(newest - times, rule.half_life).sum())
        seconds = as_seconds(frame[rule.time]).to_numpy()
        # A dislike that is newer than every choice counts as the newest of them.
        decay = _decay(np.maximum(0.0, newest - seconds), rule.half_life)
    # The mean strength of an interaction before it decays; 1 where there is none.
    mean = level.sum() / total if len(level) else 1.0
    found = STRENGTH * mean * decay
    return pl.Series("strength", found.astype(np.float32)).fill_nan(None)


def _decay(age: Any, half_life: float) -> Any:
    """Return 2^(-age / half_life) for ages in seconds."""
    with np.errstate(over="ignore"):
        return np.exp2(-age / DAY / half_life)


def fixed_disliked(matrix: Any, X: sp.csr_array) -> sp.csr_array:
    """Return disliked items as a read-only matrix that fits the interactions X."""
    rows = sp.csr_array(matrix, dtype=np.float32)
    rows.sort_indices()
    if rows.shape != X.shape:
        raise DataError(
            f"The disliked items are {rows.shape[0]:,} x {rows.shape[1]:,}, and the interactions "
            f"{X.shape[0]:,} x {X.shape[1]:,}. Select the same users of both."
        )
    if not (np.isfinite(rows.data) & (rows.data < 0)).all():
        raise DataError("The strengths of disliked items must be finite numbers below 0.")
    return fixed(rows)


def with_disliked(X: sp.csr_array, disliked: sp.csr_array | None) -> sp.csr_array:
    """Return histories (users x items): choices X, and disliked items where there are any."""
    return X if disliked is None else sp.csr_array(X + disliked)


def disliked_line(disliked: sp.csr_array) -> str:
    """Return the number of disliked items and what they are for, as a sentence."""
    n_users = int((np.diff(disliked.indptr) > 0).sum())
    said = f"{counted(disliked.nnz, 'disliked item')} of {counted(n_users, 'user')}"
    if not disliked.nnz:
        return said
    low, high = float(disliked.data.min()), float(disliked.data.max())
    range_ = f"{low:.3g}" if low == high else f"from {low:.3g} to {high:.3g}"
    return f"{said}: each has a strength of {range_} in a history, and none in the fit"
