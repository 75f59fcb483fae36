"""Work on arrays a block of rows at a time, in threads on a processor, at once on a GPU.

Written against numpy's functions alone, which arrays of a GPU answer too.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.cuda.rows import row_products

Array = NDArray[Any]
Matrix: TypeAlias = Any  # a dense array or a sparse one, in main memory or on a GPU

# 256 rows of 1,000 tags are 1 MB in float32, near the cache of one core.
_ROWS = 256
# A GPU wants long blocks; they bound what is held beside the arrays.
_DEVICE_BYTES = 2**29
_CHUNK_BYTES = 2**26
# Pivots below this part of the largest: the square of a basis is then too near to singular.
_NEAR_SINGULAR = 1e-5
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
    if not isinstance(A, np.ndarray):
        return _slices(len(A), max(1, _DEVICE_BYTES * len(A) // max(1, A.nbytes)))
    return _slices(len(A), _ROWS if A.ndim > 1 else _ROWS * _VECTOR)


def chunks(A: Array, size: int = _CHUNK_BYTES) -> Iterator[slice]:
    """Cut rows into larger blocks of so many bytes: few calls of the algebra library."""
    return _slices(len(A), max(_ROWS, size // int(A.shape[1] * A.dtype.itemsize)))


def each_block(work: Callable[[slice], Any], A: Array) -> list[Any]:
    """Do work on every block of rows, in threads on a processor; return its results in order."""
    pieces = list(blocks(A))
    if not isinstance(A, np.ndarray) or len(pieces) == 1 or n_cores() == 1:
        return [work(rows) for rows in pieces]
    # `map` keeps the order: sums over blocks do not depend on the number of threads.
    with ThreadPoolExecutor(max_workers=n_cores()) as pool:
        return list(pool.map(work, pieces))


def rowdot(A: Array, B: Any) -> Array:
    """Return the product of each row of A with the same row of B."""
    if not isinstance(A, np.ndarray):
        return np.asarray(row_products(A, B), like=A)
    return np.concatenate(each_block(lambda rows: np.einsum("ij,ij->i", A[rows], B[rows]), A))


def dot(A: Array, B: Array) -> float:
    """Return the sum of products, blocks of rows added in double precision."""
    if not isinstance(A, np.ndarray) and A.ndim == 2:
        return float(row_products(A, B, np.float64).sum())
    return float(sum(each_block(lambda rows: inner(A[rows], B[rows]), A)))


def inner(A: Array, B: Array) -> float:
    """Return the sum of products of a block; of vectors, whose blocks are long, in double."""
    if A.ndim > 1:
        return float(np.vdot(A, B)) if isinstance(A, np.ndarray) else dot(A, B)
    return float((A.astype(np.float64) * B).sum())


def norm(A: Array) -> float:
    """Return the root of the sum of squares."""
    return float(np.sqrt(dot(A, A)))


def unit_basis(A: Array) -> Array:
    """Return orthonormal columns that span those of A."""
    # From the Cholesky factor of A'A, in double precision, where that is exact: a few products.
    wide = (A[rows].astype(np.float64) for rows in chunks(A))
    with suppress(np.linalg.LinAlgError):
        L = np.linalg.cholesky(sum(part.T @ part for part in wide))
        pivots = L.diagonal()
        if bool((pivots > _NEAR_SINGULAR * pivots.max()).all()):
            out, turned = np.empty_like(A), np.linalg.inv(L).T
            for rows in chunks(A):
                out[rows] = A[rows].astype(np.float64) @ turned
            return out
    return np.asarray(np.linalg.qr(A)[0], like=A)


def _slices(n_rows: int, height: int) -> Iterator[slice]:
    for first in range(0, n_rows, height):
        yield slice(first, first + height)
