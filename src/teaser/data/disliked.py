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
from teaser.data.sparse_matrix import fixed
from teaser.errors import DataError, counted

# An eighth of a choice: more against it makes lists less accurate; see benchmarks/README.md.
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
) -> sp.csr_array | None:
    """Return what users disliked and did not choose (users x items), as strengths below 0.

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
    """
    if rule is None:
        return None
    is_disliked, _ = rule.split(frame, what="disliked")
    ids = pl.DataFrame({"user": as_ids(frame[user]), "item": as_ids(frame[item])})
    ids = ids.filter(is_disliked).drop_nulls().unique(maintain_order=True)
    ids = ids.with_columns(pl.col("item").cast(items.dtype))
    only = ids.join(pairs.select("user", "item"), on=["user", "item"], how="anti")
    strengths = pl.lit(STRENGTH, pl.Float32).alias("strength")
    return interaction_matrix(only.with_columns(strengths), users, items)


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
    return (
        f"{counted(disliked.nnz, 'disliked item')} of {counted(n_users, 'user')}: each has the "
        f"strength {STRENGTH:g} in a history, and none in the fit"
    )
