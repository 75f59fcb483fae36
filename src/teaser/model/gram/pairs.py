"""Pairs of items, from rows of G a few at a time: nearest neighbours, and G above its diagonal."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import Matrix, is_sparse, n_cores
from teaser.model.gram.gpu import DeviceGram, to_host
from teaser.model.gram.operator import DenseGram, Gram, SparseGram, gram_rows

Array = NDArray[Any]
# Some rows of a sparse matrix: how many entries each has, then their columns and values.
_Rows: TypeAlias = tuple[Array, Array, Array]

# Cosines are compared to six decimals, so that rounding does not decide between equal ones.
_DECIMALS = 6
_DENSE_CELLS = 2**22
_SPARSE_CELLS = 2**23
_SAMPLES = 8
_SAMPLE_ROWS = 32


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
    g = to_host(gram.diagonal())[:n].astype(np.float64)
    g[g <= 0] = 1.0  # nobody chose it: it has no cosine above zero anyway

    def work(first: int, rows: Matrix) -> _Rows:
        return (_nearest_sparse if is_sparse(rows) else _nearest_dense)(first, rows, g, m)

    return _joined_rows(_each_rows(gram, n, work), (n, n))


def _nearest_dense(first: int, rows: Array, g: Array, m: int) -> _Rows:
    """Return counts, columns and cosines of the neighbours of some items, of rows of G."""
    n = len(g)
    G = rows[:, :n].astype(np.float64)
    scale = np.asarray(g, like=G)
    own = np.arange(first, first + len(G))
    cosine = np.round(G / np.sqrt(scale[own][:, None] * scale), _DECIMALS)
    cosine[G <= 0] = -1.0
    cosine[np.arange(len(G)), own] = -1.0
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
    """Return the same of sparse rows, one item at a time."""
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


def upper_triangle(gram: Gram, n: int) -> sp.csr_array:
    """Return G of the items on and above its diagonal, in main memory."""

    def work(first: int, rows: Matrix) -> _Rows:
        part = host_csr(rows) if is_sparse(rows) else sp.csr_array(to_host(rows))
        owner = np.repeat(np.arange(first, first + part.shape[0]), np.diff(part.indptr))
        keep = (part.indices >= owner) & (part.indices < n)
        counts = np.bincount(owner[keep] - first, minlength=part.shape[0])
        return counts, part.indices[keep], part.data[keep]

    return _joined_rows(_each_rows(gram, n, work), (n, n))


def sample_entries(gram: Gram, n: int) -> int:
    """Return about how many entries G has in the rows of n items, from a few of them."""
    height = min(_SAMPLE_ROWS, n)
    starts = np.unique(np.linspace(0, n - height, _SAMPLES).astype(int)).tolist()
    blocks = (gram_rows(gram, first, first + height) for first in starts)
    count = sum(int(rows.nnz if is_sparse(rows) else (rows != 0).sum()) for rows in blocks)
    return int(count / (height * len(starts)) * n)


def host_csr(matrix: Matrix) -> sp.csr_array:
    """Return a sparse matrix of main memory or of a GPU as csr in main memory."""
    return sp.csr_array(matrix if sp.issparse(matrix) else matrix.get())


def _each_rows(gram: Gram, n: int, work: Callable[[int, Matrix], _Rows]) -> list[_Rows]:
    """Do work on some rows of G at a time; return its results in order."""
    cells = _DENSE_CELLS if isinstance(gram, DenseGram | DeviceGram) else _SPARSE_CELLS
    height = max(1, cells // gram.n_items)

    def one(first: int) -> _Rows:
        return work(first, gram_rows(gram, first, min(first + height, n)))

    starts = range(0, n, height)
    # The others read a disk, a cluster or a GPU, which one thread keeps busy.
    if not isinstance(gram, DenseGram | SparseGram) or n_cores() == 1 or len(starts) < 2:
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
