"""The loops over interactions, compiled by numba: imported only where numba is installed.

They release the interpreter's lock and start no threads of their own: `operator.py` does. `values`
is None where every interaction counts as one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]
# Rows that are multiplied side by side: their factors stay in the cache of a core.
_SIDE = 16


def compiled(function: Callable[..., Any], *, reorder: bool = False) -> Callable[..., Any]:
    """Compile a function at its first use; it is cached on disk if a writable folder exists.

    Parameters
    ----------
    reorder
        Whether sums may be added in another order, several terms at once.
    """
    free = {"reassoc", "contract"} if reorder else False
    try:
        return njit(nogil=True, cache=True, fastmath=free)(function)
    except RuntimeError:  # neither this folder nor the user's own can be written to
        return njit(nogil=True, fastmath=free)(function)


def _gather(
    indptr: Array, indices: Array, values: Any, block: Array, out: Array, add: bool
) -> None:
    """Make row r of `out` the sum of the rows of `block` that sparse row r names.

    With `add`, the sum begins at what is there. Columns do not mix: each is the same sum, in the
    same order, however they are grouped.
    """
    width = block.shape[1]
    row = np.zeros(width, block.dtype)
    one = block.dtype.type(1)
    for r in range(indptr.size - 1):
        at, last = indptr[r], indptr[r + 1]
        if add and at == last:
            continue
        for k in range(width):
            row[k] = out[r, k] if add else 0
        # Four rows a turn, so that the sum is read and written once for all of them.
        while values is None and at + 4 <= last:
            a, b, c, d = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            for k in range(width):
                row[k] += (block[a, k] + block[b, k]) + (block[c, k] + block[d, k])
            at += 4
        while at < last:
            weight = one if values is None else values[at]
            named = indices[at]
            for k in range(width):
                row[k] += weight * block[named, k]
            at += 1
        for k in range(width):
            out[r, k] = row[k]


def _count(
    users_from: Array,
    users: Array,
    user_values: Any,
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
    # float64 holds counts exactly below 2**53, whatever the type of G.
    row = np.zeros(G.shape[1], np.float64)
    for item in range(first, last):
        row[:] = 0
        # Row i of X'X = sum of x_ui X_u over the users of i; in all, one addition for each
        # ordered pair of items in a history: the sum of h^2 over users.
        for at in range(users_from[item], users_from[item + 1]):
            user = users[at]
            weight = sign if user_values is None else sign * user_values[at]
            for place in range(items_from[user], items_from[user + 1]):
                value = 1.0 if item_values is None else item_values[place]
                row[items[place]] += weight * value
        for k in range(row.size):
            G[item, k] += row[k]


def _squares(indptr: Array, indices: Array, values: Array, places: Array, out: Array) -> None:
    """Make out[b] the rows and columns places[b] of a symmetric matrix, which is zero before.

    The first three arrays are those of its upper triangle, the columns of each row sorted.
    """
    where = np.full(indptr.size - 1, -1, np.int64)
    size = places.shape[1]
    for b in range(places.shape[0]):
        for k in range(size):
            where[places[b, k]] = k
        for k in range(size):
            first, last = indptr[places[b, k]], indptr[places[b, k] + 1]
            if last - first < 16 * size:
                for at in range(first, last):
                    other = where[indices[at]]
                    if other >= 0:
                        out[b, k, other] = out[b, other, k] = values[at]
                continue
            # A long row: each of the few columns is looked up by bisection.
            for other in range(size):
                column = places[b, other]
                at = first + np.searchsorted(indices[first:last], column)
                if at < last and indices[at] == column:
                    out[b, k, other] = out[b, other, k] = values[at]
        for k in range(size):
            where[places[b, k]] = -1


def _solve(A: Array, b: Array) -> None:
    """Replace each row of b by the solution of A[k] x = b[k], and A by its Cholesky factors.

    A holds symmetric positive definite matrices, of which the lower halves are read; where one is
    not, the solution is not a number. For small matrices this is as fast as a library's routine,
    whose own threads would get in the way of those that call it.
    """
    size = b.shape[1]
    for n in range(b.shape[0]):
        L, x = A[n], b[n]
        for i in range(size):
            for j in range(i + 1):
                # L_ij L_jj = A_ij - sum over k < j of L_ik L_jk
                rest = L[i, j]
                for k in range(j):
                    rest -= L[i, k] * L[j, k]
                L[i, j] = rest / L[j, j] if j < i else np.sqrt(rest) if rest > 0 else np.nan
        for i in range(size):  # L y = b
            rest = x[i]
            for k in range(i):
                rest -= L[i, k] * x[k]
            x[i] = rest / L[i, i]
        for i in range(size - 1, -1, -1):  # L' x = y
            x[i] /= L[i, i]
            for k in range(i):
                x[k] -= L[i, k] * x[i]


def _add_rows(indptr: Array, indices: Array, values: Array, block: Array, out: Array) -> None:
    """Add to row r of `out` the weighted sum of the rows of `block` that sparse row r names.

    The terms are added one by one, in their order, in the type of `out`.
    """
    width = block.shape[1]
    for r in range(indptr.size - 1):
        row, at, last = out[r], indptr[r], indptr[r + 1]
        # Eight rows a turn, so that the sum is read and written once for all of them.
        while at + 8 <= last:
            a, b, c, d = (
                block[indices[at]],
                block[indices[at + 1]],
                block[indices[at + 2]],
                block[indices[at + 3]],
            )
            e, f, g, h = (
                block[indices[at + 4]],
                block[indices[at + 5]],
                block[indices[at + 6]],
                block[indices[at + 7]],
            )
            v, w, x, y = values[at], values[at + 1], values[at + 2], values[at + 3]
            p, q, s, t = values[at + 4], values[at + 5], values[at + 6], values[at + 7]
            for k in range(width):
                half = (((row[k] + v * a[k]) + w * b[k]) + x * c[k]) + y * d[k]
                row[k] = (((half + p * e[k]) + q * f[k]) + s * g[k]) + t * h[k]
            at += 8
        while at < last:
            named, weight = block[indices[at]], values[at]
            for k in range(width):
                row[k] += weight * named[k]
            at += 1


def _dot_rows(indptr: Array, indices: Array, values: Array, block: Array, out: Array) -> None:
    """Make out[u, i] the product of row u of `block` with sparse row i."""
    # Some rows of the block at a time, turned so that an entry's factors lie side by side.
    turned = np.zeros((block.shape[1], _SIDE), out.dtype)
    total = np.zeros(_SIDE, out.dtype)
    for first in range(0, block.shape[0], _SIDE):
        n = min(_SIDE, block.shape[0] - first)
        for k in range(n):
            for j in range(block.shape[1]):
                turned[j, k] = block[first + k, j]
        for i in range(indptr.size - 1):
            total[:] = 0
            for at in range(indptr[i], indptr[i + 1]):
                value, factors = values[at], turned[indices[at]]
                for k in range(_SIDE):
                    total[k] += value * factors[k]
            for k in range(n):
                out[first + k, i] = total[k]


def _add_sparse_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    rows_from: Array,
    columns: Array,
    entries: Array,
    out: Array,
) -> None:
    """Add to row r of `out` the weighted sum of sparse rows that row r of another names.

    The first three are the arrays of the sparse matrix that names them.
    """
    for r in range(indptr.size - 1):
        row = out[r]
        for at in range(indptr[r], indptr[r + 1]):
            weight = values[at]
            for e in range(rows_from[indices[at]], rows_from[indices[at] + 1]):
                row[columns[e]] += weight * entries[e]


def _pick_entries(
    indptr: Array,
    indices: Array,
    rows_from: Array,
    columns: Array,
    slots: Array,
    n_columns: int,
    found: Array,
) -> int:
    """Return how many entries of sparse rows lie in wanted columns, and write where.

    Parameters
    ----------
    indptr, indices
        Which rows of the matrix each user names.
    rows_from, columns
        The arrays of the matrix.
    slots
        The wanted columns of each user (users x k), -1 where there is none.
    found
        Three rows: the place of the naming entry, the slot (of all users), the place in the
        matrix; at least as long as there are entries.
    """
    width = slots.shape[1]
    slot = np.full(n_columns, -1, np.int64)
    n = 0
    for u in range(indptr.size - 1):
        for k in range(width):
            if 0 <= slots[u, k] < n_columns:
                slot[slots[u, k]] = u * width + k
        for at in range(indptr[u], indptr[u + 1]):
            for e in range(rows_from[indices[at]], rows_from[indices[at] + 1]):
                if slot[columns[e]] >= 0:
                    found[0, n], found[1, n], found[2, n] = at, slot[columns[e]], e
                    n += 1
        for k in range(width):
            if 0 <= slots[u, k] < n_columns:
                slot[slots[u, k]] = -1
    return n


gather = compiled(_gather)
add_rows = compiled(_add_rows)
dot_rows = compiled(_dot_rows)
add_sparse_rows = compiled(_add_sparse_rows)
pick_entries: Callable[..., int] = compiled(_pick_entries)
solve = compiled(_solve, reorder=True)
squares = compiled(_squares)
count = compiled(_count)
