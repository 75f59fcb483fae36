"""The decoder in the basis of the solver, D V: an array, or computed where it is read."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import Matrix
from teaser.model.gram.cost import COMPUTED_FROM
from teaser.model.gram.operator import Gram, SparseGram, kernels_for

Array = NDArray[Any]


def rotated(D: Matrix, V: Array, gram: Gram) -> "Array | RotatedDecoder":
    """Return D V: computed where it is read, if it is large and the Gram sparse, else an array."""
    size = int(D.shape[0]) * int(D.shape[1]) * V.dtype.itemsize
    if isinstance(gram, SparseGram) and size >= COMPUTED_FROM:
        return RotatedDecoder(D, V)
    return np.asarray(D @ V, order="C", like=V)


class RotatedDecoder:
    """D V in the place of an array, which it is read as: some rows, some columns, or all of it.

    An item has a few tags, so a row of D V is a sum of a few rows of V.

    Parameters
    ----------
    D
        Items x tags, sparse.
    V
        Tags x tags, in C order.
    """

    ndim = 2

    def __init__(self, D: sp.csr_array, V: Array) -> None:
        self.D, self.V = D, V
        self.shape = (int(D.shape[0]), int(V.shape[1]))
        self.size, self.dtype = self.shape[0] * self.shape[1], V.dtype
        self._fast = kernels_for(self.size)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: slice | tuple[slice, slice]) -> Array:
        if isinstance(key, tuple):
            rows, columns = key
            return self._product(rows, np.ascontiguousarray(self.V[:, columns]))
        return self._product(key, self.V)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("D V is computed: it is always a new array.")
        return self[:].astype(dtype or self.dtype, copy=False)

    def _product(self, rows: slice, V: Array) -> Array:
        first, last, step = rows.indices(len(self))
        if self._fast is None or step != 1:
            return np.asarray(self.D[rows] @ V)
        out = np.zeros((max(0, last - first), V.shape[1]), self.dtype)
        D = self.D
        self._fast.add_rows(D.indptr[first : last + 1], D.indices, D.data, V, out)
        return out
