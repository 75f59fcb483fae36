"""Helpers for arrays in main memory and on a GPU: blocks of rows, threads, sums.

The code calls NumPy's functions. CuPy's arrays answer them too, so it runs on either.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model import _kernels

Array = NDArray[Any]
Matrix: TypeAlias = Any  # a dense array or a sparse one, in main memory or on a GPU

# Bytes of a block of rows: about the cache of a core, and much more on a GPU.
_BLOCK_BYTES = 2**20
_DEVICE_BYTES = 2**29
# Bytes of a cache line.
_LINE = 64
# Loading the compiled loops takes about a second, so smaller sums are left to NumPy.
_WORTH_LOADING = 2**20


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[Any], Any], pieces: Iterable[Any]) -> list[Any]:
    """Return the result of work on each piece, in order, with a thread for each core."""
    pieces = list(pieces)
    if len(pieces) == 1 or n_cores() == 1:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(max_workers=n_cores()) as pool:
        return list(pool.map(work, pieces))


def is_sparse(matrix: Matrix) -> bool:
    """Return whether a matrix is sparse, in main memory or on a GPU."""
    return hasattr(matrix, "tocsr")


def as_dense(matrix: Matrix) -> Array:
    """Return a matrix as an array where it lives."""
    dense: Array = matrix.toarray() if is_sparse(matrix) else matrix
    return dense


def sparse_like(matrix: sp.csr_array, like: Array) -> Matrix:
    """Return a sparse matrix of main memory where the array `like` lives."""
    if isinstance(like, np.ndarray):
        return matrix
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(sp.csr_matrix(matrix))


def host_csr(matrix: Matrix) -> sp.csr_array:
    """Return a sparse matrix as csr in main memory."""
    return sp.csr_array(matrix if sp.issparse(matrix) else matrix.get())


def to_host(array: Any) -> Array:
    """Return an array in main memory."""
    return np.asarray(array if isinstance(array, np.ndarray) else array.get())


def blocks(A: Array, n_bytes: int = _BLOCK_BYTES) -> Iterator[slice]:
    """Cut the rows of an array into blocks of about so many bytes."""
    if not isinstance(A, np.ndarray):
        n_bytes = _DEVICE_BYTES
    height = max(1, n_bytes * len(A) // max(1, A.nbytes))
    for first in range(0, len(A), height):
        yield slice(first, min(first + height, len(A)))


def each_block(work: Callable[[slice], Any], A: Array) -> list[Any]:
    """Return the result of work on each block of rows, in order, by threads on a processor."""
    pieces = blocks(A)
    return in_threads(work, pieces) if isinstance(A, np.ndarray) else [work(r) for r in pieces]


def aligned_zeros(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """Return zeros that begin at a cache line.

    Rows of 64 float32 are then four lines each, not parts of five: gathering them takes a quarter
    less time.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    room = np.zeros(size + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    return room[first : first + size].view(dtype).reshape(shape)


def rowdot(A: Array, B: Array) -> Array:
    """Return the product of each row of A with the same row of B."""
    return np.concatenate(each_block(lambda r: np.einsum("ij,ij->i", A[r], B[r]), A))


def dot(A: Array, B: Array) -> float:
    """Return the sum of products; blocks of rows are added in double precision."""

    def inner(rows: slice) -> float:
        a, b = A[rows], B[rows]
        if isinstance(a, np.ndarray) and a.ndim > 1:
            return float(np.vdot(a, b))
        return float(np.multiply(a, b).sum(dtype=np.float64))

    return float(sum(each_block(inner, A)))


def norm(A: Array) -> float:
    """Return the root of the sum of squares."""
    return float(np.sqrt(dot(A, A)))


def csr_parts(matrix: sp.csr_array) -> tuple[Array, Array, Array]:
    """Return the arrays of a csr matrix for compiled loops: row starts, columns, values.

    They are read-only views, so that numba compiles a loop for one type of array only.
    """
    views = matrix.indptr.view(), matrix.indices.view(), matrix.data.view()
    for view in views:
        view.flags.writeable = False
    return views


def kernels_for(n_terms: int) -> ModuleType | None:
    """Return the compiled loops for a sum of so many terms, or None where NumPy is faster."""
    return _kernels if n_terms >= _WORTH_LOADING else None
