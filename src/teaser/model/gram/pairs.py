"""Pairs of items, from rows of G a few at a time: nearest neighbours, and G on sets of items."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import Matrix, in_threads, is_sparse, n_cores
from teaser.model.gram.gpu import DeviceGram, to_host
from teaser.model.gram.operator import ContentGram, DenseGram, Gram, SparseGram, gram_rows

Array = NDArray[Any]
# Some rows of a sparse matrix: how many entries each has, then their columns and values.
_Rows: TypeAlias = tuple[Array, Array, Array]

# Cosines are compared to six decimals, so that rounding does not decide between equal ones.
_DECIMALS = 6
_DENSE_CELLS = 2**22
_SPARSE_CELLS = 2**23
# Blocks of items that threads take: popular items take longer, and small ones even them out.
_PIECES = 256


def nearest(gram: Gram, m: int, *, n_items: int | None = None) -> sp.csr_array:
    """Return the m nearest neighbours of each item by cosine, G_ij / sqrt(g_i g_j) (items x items).

    Row j holds those of item j, with their cosines, in order of position. An item is no neighbour
    of itself, nor of one that nobody chose with it. Of equal cosines the first are kept.

    Parameters
    ----------
    n_items
        How many of the rows of G are items; all when not given. Others are no neighbours.
    """
    n = gram.n_items if n_items is None else n_items
    if isinstance(gram, DeviceGram):
        return gram.nearest(m, n)
    g = to_host(gram.diagonal())[:n].astype(np.float64)
    g[g <= 0] = 1.0  # nobody chose it: it has no cosine above zero anyway

    m, fast = min(m, n), pair_kernels()
    if fast is not None and isinstance(gram, SparseGram):
        return _joined_rows([_nearest_counted(gram, g, m)], (n, n))

    def work(first: int, rows: Matrix) -> _Rows:
        if fast is not None and not hasattr(rows, "get"):  # in main memory
            return _nearest_compiled(first, rows, g, m)
        return (_nearest_sparse if is_sparse(rows) else _nearest_dense)(first, rows, g, m)

    return _joined_rows(_each_rows(gram, n, work), (n, n))


def _nearest_counted(gram: SparseGram, g: Array, m: int) -> _Rows:
    """Return the neighbours of all items, from rows of G that are counted and dropped."""
    by_item, by_user = gram.sides()
    out, scale, fast = _room(len(g), m), 1 / np.sqrt(g), pair_kernels()

    def work(first: int, last: int) -> None:
        part = (each[first:last] for each in out)
        kind = np.zeros(1, gram.dtype)
        fast.nearest_counted(by_item, by_user, first, g, scale, m, kind, *part)

    in_pieces(len(g), work)
    return _filled(*out)


def _nearest_compiled(first: int, rows: Matrix, g: Array, m: int) -> _Rows:
    """Return counts, columns and cosines of the neighbours of some items, of rows of G."""
    out, scale, fast = _room(rows.shape[0], m), 1 / np.sqrt(g), pair_kernels()

    def work(begin: int, end: int) -> None:
        part = (first + begin, g, scale, m, *(each[begin:end] for each in out))
        if is_sparse(rows):
            fast.nearest_sparse((rows.indptr[begin : end + 1], rows.indices, rows.data), *part)
        else:
            fast.nearest_rows(rows[begin:end], *part)

    in_pieces(rows.shape[0], work)
    return _filled(*out)


def _room(n: int, m: int) -> _Rows:
    """Return arrays for counts (n), columns and cosines (n x m)."""
    return np.zeros(n, np.int64), np.zeros((n, m), np.int32), np.zeros((n, m))


def _filled(counts: Array, columns: Array, cosines: Array) -> _Rows:
    """Return the first columns and cosines of each row, as many as it has."""
    is_there = np.arange(columns.shape[1]) < counts[:, None]
    return counts, columns[is_there], cosines[is_there]


def _nearest_dense(first: int, rows: Array, g: Array, m: int) -> _Rows:
    """Return the same by numpy's functions, which arrays of a GPU answer too."""
    n = len(g)
    G = rows[:, :n].astype(np.float64)
    scale = np.asarray(g, like=G)
    place = np.asarray(np.arange(len(G)), like=G)
    own = first + place
    cosine = np.round(G / np.sqrt(scale[own][:, None] * scale), _DECIMALS)
    cosine[G <= 0] = -1.0
    cosine[place, own] = -1.0
    keep = cosine >= 0
    if m < n:
        least = np.partition(cosine, n - m, axis=1)[:, n - m, None]
        above, ties = cosine > least, cosine == least
        room = m - above.sum(axis=1)[:, None]
        keep &= above | (ties & (np.cumsum(ties, axis=1) <= room))
    return (
        to_host(keep.sum(axis=1)),
        to_host(np.nonzero(keep)[1]).astype(np.int32),
        to_host(cosine[keep]),
    )


def _nearest_sparse(first: int, rows: Matrix, g: Array, m: int) -> _Rows:
    """Return the same of sparse rows, one item at a time, where numba is not installed."""
    rows = host_csr(rows)
    found: list[tuple[Array, Array]] = []
    for row in range(rows.shape[0]):
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        columns, values = rows.indices[span], rows.data[span].astype(np.float64)
        some = (values > 0) & (columns != first + row) & (columns < len(g))
        columns, values = columns[some], values[some]
        cosine = np.round(values / np.sqrt(g[first + row] * g[columns]), _DECIMALS)
        if len(columns) > m:
            least = np.partition(cosine, len(cosine) - m)[len(cosine) - m]
            keep = cosine > least
            keep[np.flatnonzero(cosine == least)[: m - int(keep.sum())]] = True
            columns, cosine = columns[keep], cosine[keep]
        found.append((columns, cosine))
    counts = np.array([len(columns) for columns, _ in found])
    columns, cosines = (np.concatenate(part) for part in zip(*found, strict=True))
    return counts, columns.astype(np.int32), cosines


@dataclass(frozen=True, eq=False)
class Sets:
    """Some sets of items, and where each item is among them.

    G on a set is held as a triangle: its entries on and below the diagonal, row by row.

    Attributes
    ----------
    indptr, indices
        The items of each set, in order.
    starts
        Where the triangle of each set begins in the array of all of them.
    owner
        The set of each slot, a slot being a place of `indices`.
    slots_from, slots
        The slots of each item.
    """

    indptr: Array
    indices: Array
    starts: Array
    owner: Array
    slots_from: Array
    slots: Array

    @classmethod
    def build(cls, sets: sp.csr_array) -> "Sets":
        """Return the sets that are the rows of a sparse matrix with sorted columns."""
        sizes = np.diff(sets.indptr).astype(np.int64)
        where = sp.csr_array((np.arange(sets.nnz), sets.indices, sets.indptr), shape=sets.shape)
        by_item = where.tocsc()
        return cls(
            sets.indptr.astype(np.int64),
            sets.indices.astype(np.int64),
            np.concatenate([[0], np.cumsum(sizes * (sizes + 1) // 2)]),
            np.repeat(np.arange(len(sizes)), sizes),
            by_item.indptr.astype(np.int64),
            by_item.data,
        )

    def part(self, first: int, last: int) -> "Sets":
        """Return some of the sets."""
        starts = self.indptr[first : last + 1]
        indices = self.indices[starts[0] : starts[-1]]
        shape = (last - first, self.n_items)
        return Sets.build(
            sp.csr_array((np.ones(len(indices), bool), indices, starts - starts[0]), shape=shape)
        )

    @property
    def n_items(self) -> int:
        """How many items there are, in sets or in none."""
        return len(self.slots_from) - 1

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What the compiled loops take."""
        return self.slots_from, self.slots, self.owner, self.indptr, self.indices, self.starts


def triangles(gram: Gram, sets: Sets) -> Array:
    """Return G on each of the sets, one triangle after the other, in its type; by compiled loops.

    Rows of G are counted or read, each once, and dropped. A Gram whose interactions are elsewhere
    has a method `triangles` of its own.
    """
    if hasattr(gram, "triangles"):
        return np.asarray(gram.triangles(sets))
    if isinstance(gram, ContentGram):
        out = triangles(gram.gram, sets)
        S = gram.S
        parts = ((S.indptr, S.indices, S.data), float(gram.weight))
        products = pair_kernels().take_products
        in_pieces(sets.n_items, lambda *part: products(*parts, *part, sets.arrays, out))
        return out
    out = np.zeros(sets.starts[-1], gram.dtype)
    add_triangles(gram, sets, out)
    return out


def add_triangles(gram: Gram, sets: Sets, out: Array) -> None:
    """Add G on each of the sets to what is in `out`."""
    fast, n, arrays = pair_kernels(), sets.n_items, sets.arrays
    if isinstance(gram, SparseGram):
        sides = gram.sides()
        in_pieces(n, lambda *part: fast.take_counted(*sides, *part, arrays, out))
    elif isinstance(gram, DenseGram):
        G = gram.G
        in_pieces(n, lambda first, last: fast.take_rows(G[first:last], first, arrays, out))
    else:
        height = max(1, _DENSE_CELLS // gram.n_items)
        for first in range(0, n, height):
            rows = gram_rows(gram, first, min(first + height, n))
            dense = rows.toarray() if is_sparse(rows) else rows
            fast.take_rows(np.ascontiguousarray(dense), first, arrays, out)


def add_rows(gram: SparseGram, first: int, out: Array) -> None:
    """Add rows of G, from `first` on, to the rows of an array, by compiled loops."""
    sides, count = gram.sides(), pair_kernels().add_counted
    in_pieces(len(out), lambda *part: count(*sides, first, *part, out))


def in_pieces(n: int, work: Callable[[int, int], None]) -> None:
    """Do work on n items, from a first to a last of them, in threads."""
    height = max(1, n // _PIECES)
    in_threads(lambda first: work(first, min(first + height, n)), range(0, n, height))


def squares(gram: Gram, places: Array) -> Array:
    """Return G on sets of equally many items (sets x items x items), where G lives.

    By numpy's functions, which arrays of a GPU answer too.

    Parameters
    ----------
    places
        The items of each set (sets x items).
    """
    g, n = gram.diagonal(), gram.n_items
    at = np.asarray(places, like=g)
    if isinstance(gram, DenseGram | DeviceGram):
        return np.asarray(gram.G[at[:, :, None], at[:, None, :]], like=g)
    out = np.zeros_like(g, shape=(*places.shape, places.shape[1]))
    height = max(1, _DENSE_CELLS // n)
    for first in range(0, n, height):
        of, k = np.nonzero((places >= first) & (places < first + height))
        if len(of):
            rows = gram_rows(gram, first, min(first + height, n))
            dense = rows.toarray() if is_sparse(rows) else rows
            of, k = np.asarray(of, like=g), np.asarray(k, like=g)
            out[of, k] = dense[(at[of, k] - first)[:, None], at[of]]
    return out


def how_to_find(gram: str, device: str) -> str:
    """Return how to hold a Gram that only neighbours are wanted of.

    Compiled loops count its rows one at a time, so that it is never an array.
    """
    return gram if pair_kernels() is None or device != "cpu" else "sparse"


@cache
def pair_kernels() -> Any:
    """Return the compiled loops over pairs, or None where numba is not installed."""
    try:
        from teaser.model.gram import pair_kernels as fast
    except ImportError:
        return None
    return fast


def host_csr(matrix: Matrix) -> sp.csr_array:
    """Return a sparse matrix of main memory or of a GPU as csr in main memory."""
    return sp.csr_array(matrix if sp.issparse(matrix) else matrix.get())


def _each_rows(gram: Gram, n: int, work: Callable[[int, Matrix], _Rows]) -> list[_Rows]:
    """Do work on some rows of G at a time; return its results in order."""
    cells = _DENSE_CELLS if isinstance(gram, DenseGram | DeviceGram) else _SPARSE_CELLS
    # One that reads all interactions for a block of rows says how large a block should be.
    height = max(1, getattr(gram, "row_cells", cells) // gram.n_items)

    def one(first: int) -> _Rows:
        return work(first, gram_rows(gram, first, min(first + height, n)))

    starts = range(0, n, height)
    is_here = isinstance(gram, DenseGram | SparseGram)
    # Compiled loops have threads of their own; the others read a disk, a cluster or a GPU, which
    # one thread keeps busy.
    if pair_kernels() is not None or not is_here or n_cores() == 1 or len(starts) < 2:
        return [one(first) for first in starts]
    begin = one(0)  # what rows share is made before the threads are
    with ThreadPoolExecutor(max_workers=n_cores()) as pool:
        return [begin, *pool.map(one, starts[1:])]


def _joined_rows(found: list[_Rows], shape: tuple[int, int]) -> sp.csr_array:
    """Return csr of the counts of rows, the columns and the values of its blocks."""
    counts, columns, values = ([part[k] for part in found] for k in range(3))
    found.clear()
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    kind = np.int32 if indptr[-1] < 2**31 else np.int64
    data = np.concatenate(values)
    values.clear()
    indices = np.concatenate(columns).astype(kind)
    return sp.csr_array((data, indices, indptr.astype(kind)), shape=shape)
