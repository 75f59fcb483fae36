"""The inverse of a symmetric positive definite array, in its own memory.

`scipy.linalg.inv(assume_a="pos")` takes three further arrays of the same size.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from teaser.errors import SolverError
from teaser.model.gram import Gram, as_array

Array = NDArray[Any]

_BLOCK = 512
# OpenBLAS' threads crash at 16,000 items in double and at 30,000 in single precision: 2 GB.
_LARGE = 2**30
_PIVOT = 1024


def invert_gram(gram: Gram, ridge: float | Array, *, overwrite: bool = False) -> Array:
    """Return (G + dM(ridge))^-1 as an array, where G lives.

    Parameters
    ----------
    ridge
        A number, or one a row.
    overwrite
        Whether the array of a Gram that has one may be used for its inverse.
    """
    g = gram.diagonal()
    if isinstance(g, np.ndarray):
        A = as_array(gram, overwrite=overwrite)
        A.flat[:: len(A) + 1] += np.asarray(ridge, dtype=A.dtype)
        return invert(A)
    # CuPy has no inverse from a Cholesky factor; that of LU is symmetric but for rounding.
    unit = np.asarray(np.eye(gram.n_items, dtype=gram.dtype), like=g)
    A = as_array(gram)
    # Row i of the identity times ridge_i.
    A += np.asarray(np.reshape(ridge, (-1, 1)), dtype=gram.dtype, like=g) * unit
    del unit
    C = np.linalg.inv(A)
    if not bool(np.isfinite(C).all()) or not bool((C.diagonal() > 0).all()):
        raise SolverError(f"X'X with its penalties is singular in {gram.dtype}. Raise them.")
    C += C.T.copy()
    C *= gram.dtype.type(0.5)
    return np.asarray(C, like=g)


def invert(A: Array) -> Array:
    """Return the inverse of a symmetric positive definite array, in its own memory.

    Raises
    ------
    SolverError
        If the array is not positive definite, or too near to singular for its type.
    """
    size = _norm(A)
    C = _sweep(A) if A.nbytes > _LARGE else _invert_whole(A)
    # The condition number, exactly.
    if C is None or not size * _norm(C) < 1 / np.finfo(A.dtype).eps:
        wider = "" if A.dtype == np.float64 else " or use dtype='float64'"
        raise SolverError(
            f"X'X with its penalty is singular in {A.dtype}. Raise l2{wider}; and see that X'X is "
            "of non-negative counts, none of them wrapped around."
        )
    return C


def _invert_whole(A: Array) -> Array | None:
    """Return the inverse in the memory of A, by LAPACK; nothing if A is not positive definite."""
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (A,))
    # LAPACK counts by columns: the transpose is the same symmetric array, without a copy.
    # Upper triangles: of lower ones OpenBLAS' `trtri` for processors without AVX may crash.
    c, failed = potrf(A.T, lower=False, overwrite_a=True, clean=False)
    if not failed:
        c, failed = potri(c, lower=False, overwrite_c=True)
    return None if failed else _mirror(c).T


def _sweep(A: Array) -> Array | None:
    """Invert a large array in blocks, because OpenBLAS' threaded `potrf` crashes on it.

    Blocks of rows and columns are swept one after the other: with P the inverse of the block on
    the diagonal, B the columns of the block and W = B P, the rest becomes A - W B', the columns W
    and the block -P. What is left in the end is the inverse, negative. Above the diagonal only.
    """
    n = len(A)
    for first in range(0, n, _PIVOT):
        own = slice(first, min(first + _PIVOT, n))
        P = _invert_whole(np.triu(A[own, own]) + np.triu(A[own, own], 1).T)
        if P is None:
            return None
        # Zeros in the block's own rows: A - W B' then leaves its rows and columns as they are.
        B = np.concatenate([A[:first, own], np.zeros_like(P), A[own, own.stop :].T])
        W = B @ P
        for start in range(0, n, _PIVOT):
            rows = slice(start, start + _PIVOT)
            A[rows, start:] -= W[rows] @ B[start:].T
        A[:first, own] = W[:first]
        A[own, own.stop :] = W[own.stop :].T
        A[own, own] = -P
    np.negative(A, out=A)
    return _mirror(A)


def item_weights(C: Array) -> Array:
    """Return B with B_ij = -C_ij / C_jj and a zero diagonal, in the memory of C.

    These are the weights that predict each item best from all others, where C is the inverse of
    X'X and its penalties.
    """
    # Column j is divided by C_jj; copied, because the division overwrites the diagonal.
    C /= -C.diagonal().copy()
    np.fill_diagonal(C, 0.0)
    return C


def _norm(A: Array) -> float:
    """Return the largest absolute row sum, without an array of absolute values."""
    rows = range(0, len(A), _BLOCK)
    return max(float(np.abs(A[r : r + _BLOCK]).sum(axis=1, dtype=np.float64).max()) for r in rows)


def _mirror(C: Array) -> Array:
    """Copy what is above the diagonal below it, a square at a time."""
    n = len(C)
    for first in range(0, n, _BLOCK):
        rows = slice(first, min(first + _BLOCK, n))
        own = C[rows, rows]
        below = np.tril_indices(len(own), -1)
        own[below] = own.T[below]
        for left in range(0, first, _BLOCK):
            C[rows, left : left + _BLOCK] = C[left : left + _BLOCK, rows].T
    return C
