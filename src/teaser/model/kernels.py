"""The loops over interactions, compiled by numba: imported only where numba is installed.

They release the interpreter's lock and start no threads of their own: `gram.py` does. `values`
is None where every interaction counts as one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function compiled at its first use, and kept on disk where a place is found."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither this folder nor the user's own can be written to
        return njit(nogil=True)(function)


def _multiply(indptr: Array, indices: Array, values: Any, block: Array, out: Array) -> None:
    """Add X'(X M) to `out`, for a few columns M (`block`, items x columns) that fit in cache.

    A user's row of X M is spread over the user's items as soon as it is there, so that no
    users x columns array exists. Columns do not mix: each is the same sum in every grouping.
    """
    width = block.shape[1]
    row = np.zeros(width, block.dtype)
    one = block.dtype.type(1)
    for user in range(indptr.size - 1):
        first, last = indptr[user], indptr[user + 1]
        row[:] = 0
        at = first
        # Four items a turn, so that the sum is read and written once for all of them.
        while values is None and at + 4 <= last:
            a, b, c, d = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            for k in range(width):
                row[k] += (block[a, k] + block[b, k]) + (block[c, k] + block[d, k])
            at += 4
        while at < last:
            weight = one if values is None else values[at]
            item = indices[at]
            for k in range(width):
                row[k] += weight * block[item, k]
            at += 1
        for place in range(first, last):
            weight = one if values is None else values[place]
            item = indices[place]
            for k in range(width):
                out[item, k] += weight * row[k]


def _multiply_sparse(
    indptr: Array, indices: Array, values: Any, block: Array, is_filled: Array, out: Array
) -> None:
    """Do the same where few rows of `block` hold anything: the others cost next to nothing."""
    width = block.shape[1]
    row = np.zeros(width, block.dtype)
    one = block.dtype.type(1)
    for user in range(indptr.size - 1):
        first, last = indptr[user], indptr[user + 1]
        is_touched = False
        for at in range(first, last):
            item = indices[at]
            if is_filled[item]:
                if not is_touched:
                    row[:] = 0
                    is_touched = True
                weight = one if values is None else values[at]
                for k in range(width):
                    row[k] += weight * block[item, k]
        if is_touched:
            for at in range(first, last):
                weight = one if values is None else values[at]
                item = indices[at]
                for k in range(width):
                    out[item, k] += weight * row[k]


def _count(
    people_from: Array,
    people: Array,
    people_values: Any,
    items_from: Array,
    items: Array,
    item_values: Any,
    sign: float,
    first: int,
    last: int,
    G: Array,
) -> None:
    """Add rows `first` to `last` of sign X'X to G, each of them counted in double precision.

    The first three are the arrays of X by item, the next three those of X by user.
    """
    row = np.zeros(G.shape[1], np.float64)
    for item in range(first, last):
        row[:] = 0
        for at in range(people_from[item], people_from[item + 1]):
            user = people[at]
            weight = sign if people_values is None else sign * people_values[at]
            for place in range(items_from[user], items_from[user + 1]):
                value = 1.0 if item_values is None else item_values[place]
                row[items[place]] += weight * value
        for k in range(row.size):
            G[item, k] += row[k]


multiply = compiled(_multiply)
multiply_sparse = compiled(_multiply_sparse)
count = compiled(_count)
