"""The loops that numba compiles. Each has a plain NumPy or SciPy version in its test.

They release the interpreter's lock and start no threads; callers run them in threads on parts of
their work. Sparse matrices are passed as row starts, columns and values.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[Any]

# How many rows ahead the memory is asked for one, and how many cache lines of it.
_AHEAD, _LINES = 16, 4


def compiled(function: Callable[..., Any], *, reorder: bool = False) -> Callable[..., Any]:
    """Compile a function at its first use; cached on disk where a folder can be written.

    Parameters
    ----------
    reorder
        Whether sums may be added in another order.
    """
    fastmath = {"reassoc", "contract"} if reorder else False
    try:
        return njit(nogil=True, cache=True, fastmath=fastmath)(function)
    except RuntimeError:  # neither this folder nor the user's own can be written to
        return njit(nogil=True, fastmath=fastmath)(function)


def _prefetch(_: Any, array: Any, row: Any) -> Any:
    """Ask the memory for the first cache lines of a row; results do not depend on it.

    Products of sparse with dense matrices read rows in no order: without it they take half as
    long again at the size of ML-20M.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0])
        byte, number, place = ir.IntType(8), ir.IntType(32), ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte.as_pointer()], kind)
        start = builder.mul(arguments[1], builder.extract_value(data.strides, 0))
        first = builder.gep(builder.bitcast(data.data, byte.as_pointer()), [start])
        # To read, to keep in all caches, data.
        how = [ir.Constant(number, value) for value in (0, 3, 1)]
        for line in range(_LINES):
            builder.call(ask, [builder.gep(first, [ir.Constant(place, 64 * line)]), *how])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Callable[..., None] = intrinsic(_prefetch)


def _add_rows(indptr: Array, indices: Array, values: Array, block: Array, out: Array) -> None:
    """Add a sparse matrix times a dense block to `out`."""
    for r in range(indptr.size - 1):
        at, last = indptr[r], indptr[r + 1]
        # Four rows a turn, so that the sum is read and written once for all of them.
        while at + 4 <= last:
            if at + _AHEAD + 4 <= indices.size:
                for k in range(at + _AHEAD, at + _AHEAD + 4):
                    prefetch(block, np.intp(indices[k]))
            a, b, c, d = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            v, w, x, y = values[at], values[at + 1], values[at + 2], values[at + 3]
            for k in range(block.shape[1]):
                out[r, k] += (v * block[a, k] + w * block[b, k]) + (
                    x * block[c, k] + y * block[d, k]
                )
            at += 4
        while at < last:
            a, v = indices[at], values[at]
            for k in range(block.shape[1]):
                out[r, k] += v * block[a, k]
            at += 1


def _add_counts(
    by_item: tuple[Array, ...], by_user: tuple[Array, ...], first: int, out: Array
) -> None:
    """Add X'X to `out`, whose rows are those of X'X from `first` on.

    Each row is summed in double precision, in which counts are exact.

    Parameters
    ----------
    by_item, by_user
        The sparse arrays of X' and of X.
    """
    users_from, users, user_values = by_item
    items_from, items, item_values = by_user
    row = np.zeros(out.shape[1], np.float64)
    for r in range(out.shape[0]):
        row[:] = 0
        # Row i of X'X is the sum of x_ui X_u over the users of i.
        for at in range(users_from[first + r], users_from[first + r + 1]):
            user, weight = users[at], user_values[at]
            for place in range(items_from[user], items_from[user + 1]):
                row[items[place]] += weight * item_values[place]
        for k in range(row.size):
            out[r, k] += row[k]


def _dot_rows(indptr: Array, indices: Array, values: Array, block: Array, out: Array) -> None:
    """Make out[u, i] the product of row u of `block` with sparse row i."""
    for u in range(block.shape[0]):
        for i in range(indptr.size - 1):
            total = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                total += values[at] * block[u, indices[at]]
            out[u, i] = total


def _add_sparse_rows(
    indptr: Array,
    indices: Array,
    values: Array,
    rows_from: Array,
    columns: Array,
    entries: Array,
    out: Array,
) -> None:
    """Add the product of two sparse matrices to a dense array."""
    for r in range(indptr.size - 1):
        row = out[r]
        for at in range(indptr[r], indptr[r + 1]):
            weight = values[at]
            for e in range(rows_from[indices[at]], rows_from[indices[at] + 1]):
                row[columns[e]] += weight * entries[e]


add_rows = compiled(_add_rows, reorder=True)
add_counts = compiled(_add_counts)
dot_rows = compiled(_dot_rows, reorder=True)
add_sparse_rows = compiled(_add_sparse_rows)
