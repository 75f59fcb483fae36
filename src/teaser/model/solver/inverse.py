"""Arrays of items x items: whether they fit, the Gram as one, and its inverse in place."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from teaser.errors import ParameterError, ResourceError, SolverError
from teaser.model.gram.cost import memory_of_machine, say_bytes
from teaser.model.gram.operator import DenseGram, Gram, SparseGram
from teaser.model.solver.solve import DTYPES, build_gram

Array = NDArray[Any]

_BLOCK = 512
# Threads of OpenBLAS fell at 16,000 items in double and at 30,000 in single precision: 2 GB.
_LARGE = 2**30
_PIVOT = 1024


def check_dense_settings(gram: Any, dtype: Any) -> None:
    """Raise `ParameterError` for a Gram or a type that makes no sense, before any work is done."""
    if gram is None or (isinstance(gram, str) and gram != "auto"):
        raise ParameterError(f"gram must be 'auto', an array or an operator, found {gram!r}.")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ParameterError(f"dtype must be 'float32' or 'float64', found {dtype!r}.")


def check_room(model: str, n_items: int, dtype: str, *, arrays: int = 1) -> int:
    """Return the bytes of some items x items arrays, or raise before they are allocated."""
    need = arrays * n_items**2 * np.dtype(dtype).itemsize
    have = memory_of_machine()
    if need > have:
        smaller = "Use dtype='float32', or f" if dtype == "float64" else "F"
        raise ResourceError(
            f"{model} of {n_items:,} items needs {say_bytes(need)} for {arrays} items x items "
            f"array{'s' if arrays > 1 else ''} of {dtype}, and this machine has {say_bytes(have)}. "
            f"{smaller}it a model that needs no such array: Teaser, ItemKNN, WMF."
        )
    return need


def dense_gram(X: sp.csr_array, gram: Any, dtype: str) -> Array:
    """Return X'X as an array of its own (items x items), which the caller may overwrite.

    Parameters
    ----------
    gram
        `"auto"` to count; or a precomputed array or operator, which is left as it is.
    """
    kind = np.dtype(dtype)
    if isinstance(gram, str):
        return DenseGram.from_interactions(X, kind).G
    return as_array(build_gram(X, gram, n_tags=1, dtype=kind))


def as_array(operator: Gram) -> Array:
    """Return a Gram as an array of its own (items x items), which the caller may overwrite."""
    if isinstance(operator, DenseGram):
        # What was given as an array may be held as it is.
        return np.array(operator.G, order="C", copy=True)
    n, kind = operator.n_items, operator.dtype
    if isinstance(operator, SparseGram):
        return operator.rows(0, n)
    G = np.empty((n, n), dtype=kind)
    for first in range(0, n, _BLOCK):
        unit = np.zeros((n, min(_BLOCK, n - first)), dtype=kind)
        unit[np.arange(unit.shape[1]) + first, np.arange(unit.shape[1])] = 1
        # G is symmetric: its columns are its rows.
        G[first : first + _BLOCK] = operator.apply(unit).T
    return G


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
    """Return the same for large arrays, of which the threads of OpenBLAS' `potrf` lose hold.

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
