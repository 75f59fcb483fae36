"""The best items by given scores: for one user, and for many at once."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]
_NOTHING = np.zeros(0, dtype=np.int64)


def top_k(scores: Array, k: int, *, exclude: Array, tie: Array) -> Array:
    """Return the positions of the k best items, best first.

    Parameters
    ----------
    exclude
        Positions that may not be returned.
    tie
        Decides between equal scores, larger first; then the position does.
    """
    values = np.array(scores, dtype=np.float64)
    values[exclude] = -np.inf
    k = min(k, int(np.count_nonzero(values > -np.inf)))
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    candidates = np.flatnonzero(values >= _lower_bound(values, k))
    order = np.lexsort((candidates, -tie[candidates], -values[candidates]))
    return candidates[order[:k]]


def top_k_rows(
    scores: Array, k: int, *, exclude: sp.csr_array | None, tie: Array, allowed: Array | None = None
) -> Array:
    """Return the k best items of every row, as `top_k` does for one; -1 fills up (users x k).

    Parameters
    ----------
    scores
        Users x items, finite.
    exclude
        Items that may not be returned (users x items), or None.
    tie
        Decides between equal scores, larger first; then the position does.
    allowed
        Which items may be returned, true or false for each; None for all.
    """
    values = np.array(scores, order="C")
    if allowed is not None:
        values[:, ~allowed] = -np.inf
    if exclude is not None:
        user = np.repeat(np.arange(exclude.shape[0]), np.diff(exclude.indptr))
        values[user, exclude.indices] = -np.inf
    n_items = values.shape[1]
    out = np.full((len(values), k), -1, dtype=np.int64)
    width = min(k, n_items)
    if width == 0 or len(values) == 0:
        return out
    # Linear in the number of items; only the k best are sorted.
    best = np.argpartition(values, n_items - width, axis=1)[:, n_items - width :]
    found = np.take_along_axis(values, best, axis=1)
    # lexsort decides by its last key first: score, then tie, then position.
    order = np.lexsort((best, -tie[best], -found), axis=1)
    out[:, :width] = np.take_along_axis(best, order, axis=1)
    # The partition picks at random among items that tie at the last place, and picks excluded
    # ones when too few are left.
    unclear = (values >= found.min(axis=1, keepdims=True)).sum(axis=1) > width
    unclear |= np.isneginf(found).any(axis=1)
    for row in np.flatnonzero(unclear).tolist():
        chosen = top_k(values[row], k, exclude=_NOTHING, tie=tie)
        out[row] = -1
        out[row, : len(chosen)] = chosen
    return out


def _lower_bound(values: Array, k: int) -> float:
    """Return a number that the k largest values reach, and few others.

    Each of the k largest block maxima is a value of its own, so that the k-th largest of them is
    at most the k-th largest value. It takes one pass over the values.
    """
    blocks = 64 * k
    if len(values) < 8 * blocks:
        return float(np.partition(values, len(values) - k)[len(values) - k])
    length = len(values) // blocks
    highest = values[: length * blocks].reshape(blocks, length).max(axis=1)
    return float(np.partition(highest, blocks - k)[blocks - k])
