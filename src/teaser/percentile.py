"""The 99th percentile of many rows, for the scale of affinities."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
NthLargest = Callable[[Array, int, int], Array]
# Columns of which the largest value stands for all, to find the largest faster.
_GROUP = 8


def percentile_99(size: Array, n: int, nth_largest: NthLargest | None = None) -> Array:
    """Return the 99th percentile of the first n numbers of each row, to the bit that of numpy.

    The few largest of each row are found among those that reach a bound: of the maxima of groups
    of columns, the n-th largest is at most the n-th largest of the row.
    """
    at = (n - 1) * 0.99
    low = int(at)
    wanted, n_groups = n - low, n // _GROUP
    if nth_largest is not None and wanted > 1:
        found = nth_largest(size, n, wanted)
        return _between(found[:, 0], found[:, 1], at - low)
    size, n_rows = size[:, :n], len(size)
    if n_groups < 4 * wanted:
        return np.asarray(np.percentile(size, 99, axis=1))
    groups = size[:, : n_groups * _GROUP].reshape(n_rows, _GROUP, n_groups).max(axis=1)
    last = n_groups - wanted
    row, column = np.nonzero(size >= np.partition(groups, last, axis=1)[:, last : last + 1])
    counts = np.bincount(row, minlength=n_rows)
    # Equal values, such as zeros, may all reach the bound.
    if counts.sum() > size.size // 4 or (counts < wanted).any():
        return np.asarray(np.percentile(size, 99, axis=1))
    values = size[row, column]
    values = values[np.lexsort((values, row))]
    below = values[np.cumsum(counts) - wanted]
    above = values[np.cumsum(counts) - max(1, wanted - 1)]
    return _between(below, above, at - low)


def _between(below: Array, above: Array, part: float) -> Array:
    """Return the numbers at a part of the way from some to others, rounded as numpy does."""
    step = above - below
    found: Array = below + step * part if part < 0.5 else above - step * (1 - part)
    return found
