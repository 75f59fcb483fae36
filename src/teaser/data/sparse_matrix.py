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
    try:
        indices = np.array(arrays[f"{name}.indices"])
        data = arrays.get(f"{name}.data")
        values = np.ones(len(indices), np.float32) if data is None else np.array(data)
        matrix = sp.csr_array((values, indices, np.array(arrays[f"{name}.indptr"])), shape=shape)
        matrix.check_format(full_check=True)
    except (KeyError, ValueError) as error:
        raise ArtifactError(
            f"The saved matrix {name} is not whole: {error}. Make it again."
        ) from error
    return matrix


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
