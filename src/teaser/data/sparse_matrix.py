"""Sparse matrices: build, make read-only, and pack them as named arrays to be saved."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ArtifactError

Array = NDArray[Any]


def binary_matrix(
    rows: pl.Series | Array, columns: pl.Series | Array, shape: tuple[int, int]
) -> sp.csr_array:
    """Return the float32 matrix with ones at these distinct positions, indices sorted."""
    return value_matrix(rows, columns, np.ones(len(rows), np.float32), shape)


def value_matrix(
    rows: pl.Series | Array,
    columns: pl.Series | Array,
    values: pl.Series | Array,
    shape: tuple[int, int],
) -> sp.csr_array:
    """Return the float32 matrix with values at these distinct positions, indices sorted."""
    positions = (np.asarray(rows), np.asarray(columns))
    matrix = sp.csr_array((np.asarray(values, np.float32), positions), shape=shape)
    matrix.sort_indices()
    return matrix


def fixed(matrix: Any) -> sp.csr_array:
    """Return a matrix of the same arrays, which are made read-only."""
    out = ReadOnlyMatrix(matrix)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


def pack(name: str, matrix: sp.csr_array) -> dict[str, Array]:
    """Return the parts of a sparse matrix as named arrays; values that are all 1 are left out."""
    parts = {f"{name}.indices": matrix.indices, f"{name}.indptr": matrix.indptr}
    if not (matrix.data == 1).all():
        parts[f"{name}.data"] = matrix.data
    return parts


def unpack(name: str, arrays: Mapping[str, Array], shape: tuple[int, int]) -> sp.csr_array:
    """Return the sparse matrix that `pack` took apart."""
    values, indices, indptr = saved_parts(name, arrays, shape)
    return sp.csr_array((np.array(values), np.array(indices), np.array(indptr)), shape=shape)


def saved_parts(
    name: str, arrays: Mapping[str, Array], shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return values, indices and row pointers of a saved matrix, after checking that they fit.

    scipy does not look at all of it, and reads beyond the arrays where they do not fit.
    """
    try:
        indices, indptr = arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
    except KeyError as error:
        raise ArtifactError(
            f"The saved matrix {name} is not whole: {error} is missing. Make it again."
        ) from error
    values = arrays.get(f"{name}.data")
    if values is None:
        values = np.ones(indices.size, np.float32)
    wrong = _find_wrong(values, indices, indptr, shape)
    if wrong:
        raise ArtifactError(f"The saved matrix {name} is not whole: {wrong}. Make it again.")
    return values, indices, indptr


def _find_wrong(values: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> str:
    """Return what does not fit in the parts of a matrix; nothing if all does."""
    n_rows, n_columns = shape
    if {values.ndim, indices.ndim, indptr.ndim} != {1}:
        return "its parts must have one dimension"
    if {indices.dtype.kind, indptr.dtype.kind} != {"i"} or values.dtype.kind not in "fib":
        return f"its parts are of the types {values.dtype}, {indices.dtype} and {indptr.dtype}"
    if len(values) != len(indices) or len(indptr) != n_rows + 1:
        return f"its parts have {len(values):,}, {len(indices):,} and {len(indptr):,} entries"
    if indptr[0] != 0 or indptr[-1] > len(indices) or (np.diff(indptr) < 0).any():
        return "its rows begin in places where there is no entry"
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        return f"its columns must be from 0 to {n_columns - 1:,}"
    return ""


class ReadOnlyMatrix(sp.csr_array):  # type: ignore[misc]  # scipy has no types
    """A matrix that refuses new entries while its arrays are read-only; its copies accept them."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_writeable()
        super().__setitem__(key, value)

    def setdiag(self, values: Any, k: int = 0) -> None:
        self._check_writeable()
        super().setdiag(values, k)

    def _check_writeable(self) -> None:
        if not self.data.flags.writeable:
            raise ValueError("The matrices of a data set are read-only. Change a copy.")
