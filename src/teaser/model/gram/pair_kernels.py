"""Loops over pairs of items, compiled by numba: imported only where numba is installed.

A row of G is counted from the interactions into an array of one core's cache, read, and dropped:
no more of G exists. As in kernels.py they release the interpreter's lock, start no threads of
their own. Values are an empty array where every interaction counts as one: one type for both
halves the time of compilation.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teaser.model.compiled.compiler import compiled

Array = NDArray[Any]
# The arrays of a sparse matrix, or of sets: numba takes a tuple apart as it is compiled.
Parts: TypeAlias = tuple[Array, ...]
# Cosines are compared to six decimals, as in pairs.py.
_UNITS = 1e6


def _count_row(
    by_item: Parts,
    by_user: Parts,
    item: int,
    end: int,
    row: Array,
    touched: Array,
) -> int:
    """Add row `item` of X'X, its columns before `end`, to `row`, which is zero before.

    The arrays are those of X by item and of X by user, sorted. Returns how many columns are not
    zero after, and writes them to `touched`.
    """
    users_from, users, user_values = by_item
    items_from, items, item_values = by_user
    n = n_pairs = 0
    for user in users[users_from[item] : users_from[item + 1]]:
        n_pairs += items_from[user + 1] - items_from[user]
    if n_pairs > end:  # to look through the row costs less than to write down what is new
        add_pairs(by_item, by_user, item, end, row)
        for column in range(end):
            touched[n] = column
            n += row[column] != 0
        return n
    for at in range(users_from[item], users_from[item + 1]):
        user = users[at]
        weight = float(user_values[at]) if user_values.size else 1.0
        for place in range(items_from[user], items_from[user + 1]):
            column = items[place]
            if column >= end:
                break
            value = weight * item_values[place] if item_values.size else weight
            # Without a branch: the place is written again unless this column is a new one.
            touched[n] = column
            n += row[column] == 0
            row[column] += value
    return n


def _add_pairs(by_item: Parts, by_user: Parts, item: int, end: int, row: Array) -> None:
    """Add row `item` of X'X, its columns before `end`, to `row`, in the same order."""
    users_from, users, user_values = by_item
    items_from, items, item_values = by_user
    for at in range(users_from[item], users_from[item + 1]):
        user = users[at]
        here = items[items_from[user] : items_from[user + 1]]
        if item_values.size:
            weight = np.float64(user_values[at])
            values = item_values[items_from[user] : items_from[user + 1]]
            for place in range(here.size):
                if here[place] >= end:
                    break
                row[np.uint64(here[place])] += weight * values[place]
        else:
            for column in here:
                if column >= end:
                    break
                row[np.uint64(column)] += 1.0


def _is_nearer(one: float, place: int, other: float, other_place: int) -> bool:
    """Return whether a cosine is larger; of equal ones the first item counts as nearer."""
    return one > other or (one == other and place < other_place)


def _sink(keys: Array, places: Array, size: int, key: float, place: int) -> None:
    """Put an entry in the place of the first of a heap, the least near of its entries."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and is_nearer(
            keys[child], places[child], keys[child + 1], places[child + 1]
        ):
            child += 1
        if not is_nearer(key, place, keys[child], places[child]):
            break
        keys[at], places[at] = keys[child], places[child]
        at = child
    keys[at], places[at] = key, place


def _select(
    row: Array, some: Array, own: int, g: Array, scale: Array, m: int, keys: Array, out: Array
) -> int:
    """Return how many neighbours an item has; write them to `out`, and cosines to `keys`.

    Parameters
    ----------
    row
        Row `own` of G.
    some
        The columns to look at.
    g, scale
        diag(G), and one divided by its roots.
    """
    size, bound = 0, 0.0
    root = np.sqrt(g[own])
    for column in some:
        value = float(row[column])
        # The bound is a millionth below the least cosine that is kept: what is under it is not
        # rounded at all.
        if value <= 0 or value * scale[column] < bound or column == own:
            continue
        key = np.rint(value / np.sqrt(g[own] * g[column]) * _UNITS)
        if size < m:
            # Sift up: a parent is less near than its children.
            at = size
            size += 1
            while at > 0 and is_nearer(keys[(at - 1) // 2], out[(at - 1) // 2], key, column):
                keys[at], out[at] = keys[(at - 1) // 2], out[(at - 1) // 2]
                at = (at - 1) // 2
            keys[at], out[at] = key, column
        elif is_nearer(key, column, keys[0], out[0]):
            sink(keys, out, size, key, column)
        if size == m:
            bound = (keys[0] - 1) / _UNITS * root
    order = np.argsort(out[:size])
    out[:size] = out[:size][order]
    keys[:size] = keys[:size][order] / _UNITS
    return size


def _nearest_rows(
    rows: Array,
    first: int,
    g: Array,
    scale: Array,
    m: int,
    counts: Array,
    columns: Array,
    cosines: Array,
) -> None:
    """Write the neighbours of the items of some rows of G, the first of which is row `first`."""
    everything = np.arange(g.size)
    for r in range(rows.shape[0]):
        counts[r] = select(rows[r], everything, first + r, g, scale, m, cosines[r], columns[r])


def _nearest_sparse(
    parts: Parts,
    first: int,
    g: Array,
    scale: Array,
    m: int,
    counts: Array,
    columns: Array,
    cosines: Array,
) -> None:
    """Write the same of sparse rows of G with sorted columns."""
    indptr, indices, values = parts
    row = np.zeros(g.size, np.float64)
    for r in range(indptr.size - 1):
        start, end = indptr[r], indptr[r + 1]
        end = start + np.searchsorted(indices[start:end], g.size)
        some = indices[start:end]
        row[some] = values[start:end]
        counts[r] = select(row, some, first + r, g, scale, m, cosines[r], columns[r])


def _nearest_counted(
    by_item: Parts,
    by_user: Parts,
    first: int,
    g: Array,
    scale: Array,
    m: int,
    kind: Array,
    counts: Array,
    columns: Array,
    cosines: Array,
) -> None:
    """Write the same of rows that are counted here.

    Parameters
    ----------
    kind
        One number of the type of G: what is counted in double precision is rounded to it.
    """
    n = g.size
    row, touched = np.zeros(n, np.float64), np.empty(n + 1, np.int64)
    for r in range(counts.size):
        size = count_row(by_item, by_user, first + r, n, row, touched)
        some = touched[:size]
        for column in some:
            kind[0] = row[column]
            row[column] = kind[0]
        counts[r] = select(row, some, first + r, g, scale, m, cosines[r], columns[r])
        row[some] = 0


def _add_counted(
    by_item: Parts,
    by_user: Parts,
    first: int,
    begin: int,
    end: int,
    out: Array,
) -> None:
    """Add row `first` + r of G to row r of `out`, r from `begin` to `end`."""
    n = out.shape[1]
    row, touched = np.zeros(n, np.float64), np.empty(n + 1, np.int64)
    for r in range(begin, end):
        size = count_row(by_item, by_user, first + r, n, row, touched)
        for column in touched[:size]:
            out[r, column] += row[column]
            row[column] = 0


def _take(row: Array, item: int, sets: Parts, out: Array) -> None:
    """Add entries of one row of G to the triangles of the sets that its item is in.

    Parameters
    ----------
    row
        The row; its columns after the item's own are not read.
    sets
        The arrays of `pairs.Sets`.
    """
    slots_from, slots, owner, indptr, indices, starts = sets
    for slot in slots[slots_from[item] : slots_from[item + 1]]:
        of = owner[slot]
        start = indptr[of]
        a = slot - start
        at = starts[of] + a * (a + 1) // 2
        for b in range(a + 1):
            out[at + b] += row[indices[start + b]]


def _take_counted(
    by_item: Parts,
    by_user: Parts,
    begin: int,
    end: int,
    sets: Parts,
    out: Array,
) -> None:
    """Add rows `begin` to `end` of G to the triangles of all sets, each row counted here."""
    row, touched = np.zeros(end, np.float64), np.empty(end + 1, np.int64)
    for item in range(begin, end):
        if sets[0][item] == sets[0][item + 1]:
            continue  # in no set
        size = count_row(by_item, by_user, item, item + 1, row, touched)
        take(row, item, sets, out)
        row[touched[:size]] = 0


def _take_rows(
    rows: Array,
    begin: int,
    sets: Parts,
    out: Array,
) -> None:
    """Add some rows of G, the first of which is row `begin`."""
    for r in range(rows.shape[0]):
        take(rows[r], begin + r, sets, out)


def _take_products(
    S: Parts,
    weight: float,
    begin: int,
    end: int,
    sets: Parts,
    out: Array,
) -> None:
    """Add rows `begin` to `end` of weight S S', S a sparse matrix of items x tags."""
    rows_from, columns, values = S
    slots_from, slots, owner, indptr, indices, starts = sets
    dense = np.zeros(columns.max() + 1 if columns.size else 1, np.float64)
    for item in range(begin, end):
        own = slice(rows_from[item], rows_from[item + 1])
        dense[columns[own]] = values[own]
        for slot in slots[slots_from[item] : slots_from[item + 1]]:
            of = owner[slot]
            start = indptr[of]
            a = slot - start
            at = starts[of] + a * (a + 1) // 2
            for b in range(a + 1):
                other, total = indices[start + b], 0.0
                for k in range(rows_from[other], rows_from[other + 1]):
                    total += values[k] * dense[columns[k]]
                out[at + b] += weight * total
        dense[columns[own]] = 0


def _dot_pairs(
    pairs: Parts,
    rows: Array,
    D: Parts,
    begin: int,
    end: int,
    out: Array,
) -> None:
    """Make out[slot] the product of row i of an array with row j of D, a slot a pair (i, j).

    Parameters
    ----------
    pairs
        Where those of each i begin, the items j, and the slots of the pairs.
    D
        The arrays of D.
    begin, end
        Which i.
    """
    indptr, owners, slots = pairs
    D_from, D_columns, D_values = D
    for i in range(begin, end):
        row = rows[i]
        for at in range(indptr[i], indptr[i + 1]):
            j, total = owners[at], 0.0
            for k in range(D_from[j], D_from[j + 1]):
                total += row[D_columns[k]] * D_values[k]
            out[slots[at]] = total


def _solve_triangles(
    begin: int,
    end: int,
    items: Array,
    sets: Parts,
    triangles: Array,
    ridge: Array,
    scale: Array,
    minus: Array,
    values: Array,
    diagonal: Array,
) -> None:
    """Solve (G + dM(ridge))_TT x = scale_j G_Tj - minus for sets `begin` to `end`, T and j in one.

    Where a matrix is not positive definite, the solution is not a number. For small matrices the
    plain loop is as fast as a library's routine, whose own threads would get in the way.

    Parameters
    ----------
    items
        The item j of each set.
    sets, triangles
        The arrays of `pairs.Sets`, and G on the sets as `_take` makes it.
    ridge, scale
        One for each item.
    minus, values
        One for each of a set's items but j; the solutions go to `values`.
    diagonal
        One for each set: G_Tj times the solution.
    """
    _, _, _, indptr, indices, starts = sets
    for s in range(begin, end):
        size = indptr[s + 1] - indptr[s] - 1
        L, x, own = np.empty((size, size)), np.empty(size), np.empty(size)
        T, j = indices[indptr[s] : indptr[s + 1]], items[s]
        out = values[indptr[s] - s : indptr[s + 1] - s - 1]  # j has no slot there
        less = minus[indptr[s] - s : indptr[s + 1] - s - 1]
        p = np.searchsorted(T, j)
        for i in range(size):
            a = i + (i >= p)
            at = starts[s] + a * (a + 1) // 2
            for k in range(i + 1):
                L[i, k] = triangles[at + k + (k >= p)]
            L[i, i] += ridge[T[a]]
            low, high = min(a, p), max(a, p)
            own[i] = triangles[starts[s] + high * (high + 1) // 2 + low]
            x[i] = own[i] * scale[j] - less[i]
        for i in range(size):
            for k in range(i + 1):
                # L_ik L_kk = A_ik - sum over h < k of L_ih L_kh
                rest = L[i, k]
                for h in range(k):
                    rest -= L[i, h] * L[k, h]
                L[i, k] = rest / L[k, k] if k < i else np.sqrt(rest) if rest > 0 else np.nan
        for i in range(size):  # L y = b
            rest = x[i]
            for k in range(i):
                rest -= L[i, k] * x[k]
            x[i] = rest / L[i, i]
        total = 0.0
        for i in range(size - 1, -1, -1):  # L' x = y
            x[i] /= L[i, i]
            for k in range(i):
                x[k] -= L[i, k] * x[i]
            out[i] = x[i]
            total += own[i] * x[i]
        diagonal[s] = total


add_pairs = compiled(_add_pairs)
count_row = compiled(_count_row)
is_nearer = compiled(_is_nearer)
sink = compiled(_sink)
select = compiled(_select)
nearest_rows = compiled(_nearest_rows)
nearest_sparse = compiled(_nearest_sparse)
nearest_counted = compiled(_nearest_counted)
add_counted = compiled(_add_counted)
take = compiled(_take)
take_counted = compiled(_take_counted)
take_rows = compiled(_take_rows)
take_products = compiled(_take_products)
dot_pairs = compiled(_dot_pairs)
solve_triangles = compiled(_solve_triangles, reorder=True)
