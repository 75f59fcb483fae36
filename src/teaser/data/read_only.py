"""Sparse matrices that cannot be changed."""

from typing import Any

import scipy.sparse as sp


class _Fixed(sp.csr_array):  # type: ignore[misc]
    """A matrix that takes no new entries while its arrays are read-only; its copies do."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_writeable()
        super().__setitem__(key, value)

    def setdiag(self, values: Any, k: int = 0) -> None:
        self._check_writeable()
        super().setdiag(values, k)

    def _check_writeable(self) -> None:
        if not self.data.flags.writeable:
            raise ValueError("The matrices of a data set are read-only; change a copy.")


def fixed(matrix: Any) -> sp.csr_array:
    """Return a matrix of the same arrays, which are read-only from now on."""
    out = _Fixed(matrix)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out
