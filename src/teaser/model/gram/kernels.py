"""The loops over interactions, compiled by numba: imported only where numba is installed.

They release the interpreter's lock and start no threads of their own: `operator.py` does. `values`
is None where every interaction counts as one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.compiled.compiler import compiled
from teaser.model.compiled.row_sum import row_sum

Array = NDArray[Any]
# Rows that are multiplied side by side: their factors stay in the cache of a core.
_SIDE = 16
# The largest whole number of two bytes.
_MOST = 32767


_sum16, _sum32, _sum48, _sum64 = (row_sum(width) for width in (16, 32, 48, 64))


def _gather(
    starts: Array, ends: Array, indices: Array, block: Array, out: Array, add: bool
) -> None:
    """Make row r of `out` the sum of the rows of `block` that indices[starts[r]:ends[r]] name.

    With `add`, the sum begins at what is there. There are 16, 32, 48 or 64 columns. They do not
    mix: each is the same sum, in the same order, however they are grouped.
    """
    width = block.shape[1]
    for r in range(starts.size):
        if add and starts[r] == ends[r]:
            continue
        if width == 16:
            _sum16(block, indices, starts[r], ends[r], out, r, add)
        elif width == 32:
            _sum32(block, indices, starts[r], ends[r], out, r, add)
        elif width == 48:
            _sum48(block, indices, starts[r], ends[r], out, r, add)
        else:
            _sum64(block, indices, starts[r], ends[r], out, r, add)


def _gather_weighted(
    starts: Array, ends: Array, indices: Array, values: Array, block: Array, out: Array, add: bool
) -> None:
    """Do what `gather` does, each row times the value beside its index; of any width."""
    width = block.shape[1]
    row = np.zeros(width, block.dtype)
    for r in range(starts.size):
        if add and starts[r] == ends[r]:
            continue
        for k in range(width):
            row[k] = out[r, k] if add else 0
        for at in range(starts[r], ends[r]):
            weight, named = values[at], indices[at]
            for k in range(width):
                row[k] += weight * block[named, k]
        for k in range(width):
            out[r, k] = row[k]


def _round_columns(block: Array, weights: Any, rounded: Array, scale: Array) -> None:
    """Round a block to two bytes, each column relative to its largest entry.

    weights[i] block[i, k] is near rounded[i, k] scale[k]; weights may be None.
    """
    height, width = block.shape
    largest, inverse = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for i in range(height):
        weight = np.float32(1) if weights is None else np.float32(weights[i])
        for k in range(width):
            largest[k] = max(largest[k], abs(weight * np.float32(block[i, k])))
    for k in range(width):
        scale[k] = largest[k] / np.float32(_MOST)
        inverse[k] = np.float32(_MOST) / largest[k] if largest[k] > 0 else np.float32(0)
    for i in range(height):
        weight = np.float32(1) if weights is None else np.float32(weights[i])
        for k in range(width):
            value = weight * np.float32(block[i, k])
            rounded[i, k] = np.int16(np.rint(value * inverse[k]))


def _join_pair(F: Array, DV: Array, eta: Array, beta: Array, first: int, both: Array) -> None:
    """Write columns of [F | W], from `first` on, half of those of `both` each; zeros beyond.

    W = F diag(eta) - diag(beta) DV; of DV, only these columns are given.
    """
    half, n = both.shape[1] // 2, DV.shape[1]
    factors = eta[first : first + n]
    for i in range(F.shape[0]):
        left, right, weight = both[i, :half], both[i, half:], beta[i]
        f, d = F[i, first : first + n], DV[i]
        for k in range(n):
            left[k] = f[k]
        for k in range(n):
            right[k] = f[k] * factors[k] - weight * d[k]
        for k in range(n, half):
            left[k] = 0
            right[k] = 0


def _spread_pair(both: Array, DV: Array, first: int, out: Array, diagonal: Array) -> None:
    """Read [G F | G W]: the latter into columns of `out`, of the former the diagonal with DV'.

    Of DV, only these columns are given.
    """
    half, n = both.shape[1] // 2, DV.shape[1]
    for i in range(both.shape[0]):
        left, right = both[i, :n], both[i, half : half + n]
        d, target = DV[i], out[i, first : first + n]
        total = np.float32(0)
        for k in range(n):
            total += left[k] * d[k]
        diagonal[i] = total
        for k in range(n):
            target[k] = right[k]


def _gather_rounded(
    starts: Array, ends: Array, indices: Array, rounded: Array, sums: Array
) -> None:
    """Make row r of `sums` the sum of whole numbers in 64 columns, as `gather` does."""
    for r in range(starts.size):
        _sum64(rounded, indices, starts[r], ends[r], sums, r, None)


def _add_rounded(
    starts: Array, ends: Array, indices: Array, rounded: Array, scale: Array, out: Array
) -> None:
    """Add to row r of `out` the sum of whole numbers in 64 columns times the scale of each."""
    for r in range(starts.size):
        if starts[r] < ends[r]:
            _sum64(rounded, indices, starts[r], ends[r], out, r, scale)


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


def _add_rows(indptr: Array, indices: Array, values: Array, block: Array, out: Array) -> None:
    """Add to row r of `out` the weighted sum of the rows of `block` that sparse row r names.

    Terms are added one by one, in their order.
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
gather_weighted = compiled(_gather_weighted)
round_columns = compiled(_round_columns)
join_pair = compiled(_join_pair)
spread_pair = compiled(_spread_pair, reorder=True)
gather_rounded = compiled(_gather_rounded)
add_rounded = compiled(_add_rounded)
add_rows = compiled(_add_rows)
dot_rows = compiled(_dot_rows)
add_sparse_rows = compiled(_add_sparse_rows)
pick_entries: Callable[..., int] = compiled(_pick_entries)
count = compiled(_count)
