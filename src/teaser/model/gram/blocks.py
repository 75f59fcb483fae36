"""Work on arrays a block of rows at a time, in threads on a processor, at once on a GPU.

Written against numpy's functions alone, which arrays of a GPU answer too.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]
Matrix: TypeAlias = Any  # a dense array or a sparse one, in main memory or on a GPU

# 256 rows of 1,000 tags are 1 MB in float32, near the cache of one core.
_ROWS = 256
_DEVICE_ROWS = 8192
_CHUNK_BYTES = 2**26
# How many times longer the blocks of a vector are than those of a matrix.
_VECTOR = 1024


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[int], None], pieces: Iterable[int]) -> None:
    """Do the pieces of work in as many threads as there are cores; the first error is raised."""
    with ThreadPoolExecutor(max_workers=n_cores()) as pool:
        for done in [pool.submit(work, piece) for piece in pieces]:
            done.result()


def is_sparse(matrix: Matrix) -> bool:
    """Return whether a matrix is sparse, in main memory or on a GPU."""
    return hasattr(matrix, "tocsr")


def sparse_like(matrix: sp.csr_array, like: Array) -> Matrix:
    """Return a sparse matrix where the array `like` lives."""
    if isinstance(like, np.ndarray):
        return matrix
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(sp.csr_matrix(matrix))


def blocks(A: Array) -> Iterator[slice]:
    """Cut rows into blocks that stay in the processor's cache from one step to the next."""
    height = _ROWS if isinstance(A, np.ndarray) else _DEVICE_ROWS
    return _slices(len(A), height if A.ndim > 1 else height * _VECTOR)


def chunks(A: Array) -> Iterator[slice]:
    """Cut rows into larger blocks: few calls of the algebra library, little memory."""
    return _slices(len(A), max(_ROWS, _CHUNK_BYTES // int(A.shape[1] * A.dtype.itemsize)))


def each_block(work: Callable[[slice], Any], A: Array) -> list[Any]:
    """Do work on every block of rows, in threads on a processor; return its results in order."""
    pieces = list(blocks(A))
    if not isinstance(A, np.ndarray) or len(pieces) == 1 or n_cores() == 1:
        return [work(rows) for rows in pieces]
    # `map` keeps the order: sums over blocks do not depend on the number of threads.
    with ThreadPoolExecutor(max_workers=n_cores()) as pool:
        return list(pool.map(work, pieces))


def rowdot(A: Array, B: Array) -> Array:
    """Return the product of each row of A with the same row of B."""
    return np.concatenate(each_block(lambda rows: np.einsum("ij,ij->i", A[rows], B[rows]), A))


def dot(A: Array, B: Array) -> float:
    """Return the sum of products, blocks of rows added in double precision."""
    return float(sum(each_block(lambda rows: inner(A[rows], B[rows]), A)))


def inner(A: Array, B: Array) -> float:
    """Return the sum of products of a block; of vectors, whose blocks are long, in double."""
    if A.ndim > 1:
        return float(np.vdot(A, B))
    return float((A.astype(np.float64) * B).sum())


def norm(A: Array) -> float:
    """Return the root of the sum of squares."""
    return float(np.sqrt(dot(A, A)))


def _slices(n_rows: int, height: int) -> Iterator[slice]:
    for first in range(0, n_rows, height):
        yield slice(first, first + height)
