"""G = X'X as an operator: dense, or sparse interactions used twice, with content added if asked.

The solver sees no more of G than `n_items`, `dtype`, `apply(matrix)` and `diagonal()`, so that
any other way of holding it can take the place of these.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Matrix: TypeAlias = Any  # a dense array or a scipy sparse one

_COLUMNS = 64
_EXACT_COUNTS = 2**24


class Gram(Protocol):
    """A symmetric positive semidefinite items x items operator."""

    n_items: int
    dtype: np.dtype[Any]

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return G times a matrix (items x anything), dense."""
        ...

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G), how often each item was chosen."""
        ...


class DenseGram:
    """G held as one items x items array: fast when there are many interactions per item.

    Parameters
    ----------
    G
        Symmetric, items x items.
    """

    def __init__(self, G: NDArray[Any]) -> None:
        self.G = G
        self.n_items = int(G.shape[0])
        self.dtype = G.dtype

    @classmethod
    def from_interactions(cls, X: sp.csr_array, dtype: np.dtype[Any]) -> "DenseGram":
        """Count co-occurrences, a block of items at a time, in a type that cannot wrap around."""
        counting = counting_dtype(X, dtype)
        X = sp.csr_array(X, dtype=counting)
        Xt = X.T.tocsr()
        G = np.empty((X.shape[1], X.shape[1]), dtype=dtype)
        # A block's product is a sparse matrix that may be nearly full: keep it near 50 MB.
        width = max(1, 2**22 // max(1, X.shape[1]))
        for first in range(0, X.shape[1], width):
            block = slice(first, first + width)
            G[block] = (Xt[block] @ X).toarray()
        return cls(G)

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return G times a matrix."""
        if sp.issparse(matrix):
            # G is symmetric, so (M'G)' = G M, with the sparse factor on the left.
            return np.asarray(matrix.T.tocsr() @ self.G).T
        return np.asarray(self.G @ matrix)

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G)."""
        return self.G.diagonal().copy()


class SparseGram:
    """G as X'(X M): no items x items array ever exists.

    Parameters
    ----------
    X
        Interactions, users x items.
    """

    def __init__(self, X: sp.csr_array, dtype: np.dtype[Any]) -> None:
        self.X = sp.csr_array(X, dtype=dtype)
        self.Xt = self.X.T.tocsr()
        self.n_items = int(X.shape[1])
        self.dtype = dtype

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return X'(X M), a few columns at a time in as many threads as there are cores.

        Each column is the same sum in the same order however they are grouped, so the result
        does not depend on the number of threads.
        """
        columns = int(matrix.shape[1])
        out = np.empty((self.n_items, columns), dtype=self.dtype)
        matrix = matrix.tocsc() if sp.issparse(matrix) else matrix

        def work(first: int) -> None:
            block = matrix[:, first : first + _COLUMNS]
            seen = self.X @ (block if sp.issparse(block) else np.ascontiguousarray(block))
            out[:, first : first + _COLUMNS] = self.Xt @ (
                seen.toarray() if sp.issparse(seen) else seen
            )

        with ThreadPoolExecutor(max_workers=n_cores()) as pool:
            list(pool.map(work, range(0, columns, _COLUMNS)))
        return out

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G) = the column sums of X squared."""
        squared = self.X.multiply(self.X).sum(axis=0, dtype=np.float64)
        return np.asarray(squared).ravel().astype(self.dtype)


class ContentGram:
    """G + weight S S': items also count as alike because they share tags (the paper's delta)."""

    def __init__(self, gram: Gram, S: sp.csr_array, weight: float) -> None:
        self.gram = gram
        self.S = sp.csr_array(S, dtype=gram.dtype)
        self.St = self.S.T.tocsr()
        self.weight = gram.dtype.type(weight)
        self.n_items = gram.n_items
        self.dtype = gram.dtype

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return (G + weight S S') times a matrix."""
        content = self.S @ (self.St @ matrix)
        dense = content.toarray() if sp.issparse(content) else np.asarray(content)
        return np.asarray(self.gram.apply(matrix) + self.weight * dense)

    def diagonal(self) -> NDArray[Any]:
        """Return the diagonal of the sum."""
        content = np.asarray(self.S.multiply(self.S).sum(axis=1)).ravel()
        return np.asarray(self.gram.diagonal() + self.weight * content)


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def counting_dtype(X: sp.csr_array, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type in which every count up to the number of users is exact."""
    return (
        np.dtype(np.float64) if X.shape[0] > _EXACT_COUNTS else np.promote_types(dtype, np.float32)
    )
