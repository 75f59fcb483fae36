"""The best items by given scores: for one user, and for many at once."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]
# Items of which the largest score stands for all, to find the best faster.
_GROUP = 8


def top_k(scores: Array, k: int, *, exclude: Array, tie: Array) -> Array:
    """Return the positions of the k best items, best first.

    Parameters
    ----------
    scores
        Numbers; -inf where an item may not be returned.
    exclude
        Positions that may not be returned.
    tie
        Decides between equal scores, larger first; then the position does.
    """
    values = np.array(scores, dtype=np.float64)
    values[exclude] = -np.inf
    k = min(k, len(values))
    bound = _lower_bound(values, k) if k else -np.inf
    # Where fewer than k items may be returned, the bound is -inf, which the others reach too.
    candidates = np.flatnonzero(values >= bound if bound > -np.inf else values > bound)
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
    # Linear in the number of items; only those that reach the bound are sorted.
    user, item = np.nonzero((values >= _lower_bounds(values, width)) & (values > -np.inf))
    # lexsort decides by its last key first: user, score, then tie, then position.
    order = np.lexsort((item, -tie[item], -values[user, item], user))
    user, item = user[order], item[order]
    place = np.arange(len(user)) - np.searchsorted(user, user)
    first = place < width
    out[user[first], place[first]] = item[first]
    return out


def _lower_bounds(values: Array, k: int) -> Array:
    """Return for each row a number that its k largest values reach, and few others (rows x 1).

    Of the maxima of groups of items, the k-th largest is at most the k-th largest value.
    """
    n_items = values.shape[1]
    n_groups = n_items // _GROUP
    groups = values
    if n_groups >= 4 * k:
        groups = values[:, : n_groups * _GROUP].reshape(len(values), _GROUP, n_groups).max(axis=1)
    last = groups.shape[1] - k
    return np.asarray(np.partition(groups, last, axis=1)[:, last : last + 1])


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
