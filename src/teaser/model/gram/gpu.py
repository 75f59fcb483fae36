"""The Gram and the scoring on a GPU, by CuPy; the solver runs on the arrays made here."""

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.reading.partitions import Interactions
from teaser.errors import ParameterError, ResourceError, install_command
from teaser.model.gram.blocks import Matrix, is_sparse, sparse_like

Array = NDArray[Any]

# float16 holds the counts of this many users exactly.
_USERS = 2048
_TILE_BYTES = 2**30
_COLUMNS = 512

# Arrays of items x tags that exist at once, as in cost.py.
_ARRAYS = 9


@cache
def cupy() -> Any:
    """Return the module CuPy, or raise `ResourceError` where it or a GPU is missing."""
    try:
        import cupy as module

        n_devices = module.cuda.runtime.getDeviceCount()
    except ImportError as error:
        raise ResourceError(
            "device='cuda' needs CuPy, which is not installed. Install the package for your "
            f"version of CUDA: {install_command('cuda')}, or use device='cpu'."
        ) from error
    except Exception as error:
        raise ResourceError(
            f"device='cuda' needs a GPU, and CuPy finds none: {error}. Use device='cpu'."
        ) from error
    if n_devices == 0:
        raise ResourceError("device='cuda' needs a GPU, and CuPy finds none. Use device='cpu'.")
    return module


def check_device(device: str, X: Any) -> None:
    """Raise where a GPU was asked for and there is none, or none for interactions held like X."""
    if device != "cuda":
        return
    if isinstance(X, Interactions):
        raise ParameterError(
            "Interactions in partitions are fitted on processors, found device='cuda'. Use "
            "device='cpu', or a data set made with Dataset.from_tables."
        )
    cupy()


def free_memory() -> int:
    """Return the bytes of the GPU's memory that are free, those that CuPy keeps included."""
    xp = cupy()
    pool = xp.get_default_memory_pool()
    return int(xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())


def build_device_gram(
    X: sp.csr_array, choice: str, *, n_tags: int, dtype: np.dtype[Any]
) -> "DeviceGram | DeviceSparseGram":
    """Return X'X on the GPU, as one array where that fits unless `choice` says otherwise."""
    n_items, size = X.shape[1], dtype.itemsize
    rest = _ARRAYS * n_items * n_tags * size + 3 * n_tags**2 * 8 + 2 * X.nnz * (size + 8)
    dense = n_items**2 * size + _TILE_BYTES
    have = free_memory()
    if choice == "auto":
        choice = "dense" if rest + dense <= have else "sparse"
    need = rest + (dense if choice == "dense" else 0)
    if need > have:
        advice = "gram='sparse', " if choice == "dense" else ""
        raise ResourceError(
            f"A fit of {n_items:,} items and {n_tags:,} tags with a {choice} Gram needs "
            f"{need / 1e9:.1f} GB on the GPU, which has {have / 1e9:.1f} GB free. "
            f"Use {advice}fewer tags or device='cpu'."
        )
    if choice == "dense":
        return DeviceGram.from_interactions(X, dtype)
    return DeviceSparseGram(X, dtype)


class DeviceGram:
    """G held as one items x items array on the GPU."""

    def __init__(self, G: Any) -> None:
        self.G = G
        self.n_items = int(G.shape[0])
        self.dtype = np.dtype(str(G.dtype))

    @classmethod
    def from_interactions(cls, X: sp.csr_array, dtype: np.dtype[Any]) -> "DeviceGram":
        """Count co-occurrences exactly, some users at a time, by products of dense blocks."""
        xp = cupy()
        n_users, n_items = X.shape
        G = xp.zeros((n_items, n_items), dtype=dtype)
        kind = np.float16 if (X.data == 1).all() else dtype
        width = max(256, _TILE_BYTES // (n_items * np.dtype(kind).itemsize))
        indices = xp.asarray(X.indices)
        values = xp.asarray(X.data.astype(kind))
        user = xp.asarray(np.repeat(np.arange(n_users), np.diff(X.indptr)))
        for first in range(0, n_users, _USERS):
            height = min(_USERS, n_users - first)
            some = slice(int(X.indptr[first]), int(X.indptr[first + height]))
            block = xp.zeros((height, n_items), dtype=kind)
            block[user[some] - first, indices[some]] = values[some]
            for left in range(0, n_items, width):
                tile = slice(left, left + width)
                # X'X summed over blocks of users; a block of ones has no count above _USERS.
                G[:, tile] += block.T @ block[:, tile]
        return cls(G)

    def apply(self, matrix: Matrix) -> Any:
        """Return G times a matrix."""
        if is_sparse(matrix):
            # G is symmetric, so (M'G)' = G M, with the sparse factor on the left.
            return (matrix.T.tocsr() @ self.G).T
        return self.G @ matrix

    def row_block(self, first: int, last: int) -> Any:
        """Return rows `first` to `last` of G, a view."""
        return self.G[first:last]

    def diagonal(self) -> Any:
        """Return diag(G)."""
        return self.G.diagonal().copy()


class DeviceSparseGram:
    """G as X'(X M) on the GPU: no items x items array ever exists."""

    def __init__(self, X: sp.csr_array, dtype: np.dtype[Any]) -> None:
        like = cupy().zeros(1, dtype=dtype)
        X = sp.csr_array(X, dtype=dtype)
        self.X = sparse_like(X, like)
        self.Xt = sparse_like(sp.csr_array(X.T.tocsr()), like)
        self.n_items = int(X.shape[1])
        self.dtype = dtype
        self._g = cupy().asarray(
            np.asarray(X.multiply(X).sum(axis=0, dtype=np.float64)).ravel().astype(dtype)
        )

    def apply(self, matrix: Matrix) -> Any:
        """Return X'(X M), some columns at a time."""
        xp = cupy()
        columns = int(matrix.shape[1])
        out = xp.empty((self.n_items, columns), dtype=self.dtype)
        matrix = matrix.tocsc() if is_sparse(matrix) else matrix
        for first in range(0, columns, _COLUMNS):
            block = matrix[:, first : first + _COLUMNS]
            block = block.toarray() if is_sparse(block) else xp.ascontiguousarray(block)
            # X M is users x columns: few columns bound its memory.
            out[:, first : first + _COLUMNS] = self.Xt @ (self.X @ block)
        return out

    def row_block(self, first: int, last: int) -> Any:
        """Return rows `first` to `last` of G, sparse: only pairs that somebody chose."""
        rows = self.Xt[first:last] @ self.X
        rows.sort_indices()
        return rows

    def diagonal(self) -> Any:
        """Return diag(G)."""
        return self._g.copy()


class DeviceScorer:
    """Encoder and decoder on the GPU, for the scores of many users at once."""

    def __init__(self, encoder: Matrix, decoder: sp.csr_array, remainder: Any = None) -> None:
        xp = cupy()
        like = xp.zeros(1, dtype=encoder.dtype)
        self.like = like
        self.encoder: Any
        if sp.issparse(encoder):
            self.encoder = sparse_like(sp.csr_array(encoder), like)
        else:
            self.encoder = xp.asarray(np.asarray(encoder))
        self.decoder = sparse_like(sp.csr_array(decoder, dtype=self.encoder.dtype), like)
        if sp.issparse(remainder):
            self.remainder = sparse_like(sp.csr_array(remainder), like)
        elif remainder is not None:
            self.remainder = xp.asarray(np.asarray(remainder))

    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores of users (users x tags), in double precision."""
        known = sp.csr_array(rows[:, : self.encoder.shape[0]], dtype=self.encoder.dtype)
        raw = sparse_like(known, self.like) @ self.encoder
        raw = raw.toarray() if is_sparse(raw) else raw
        return np.asarray(cupy().asnumpy(raw), dtype=np.float64)

    def decode(self, affinities: Array) -> Array:
        """Return the scores of all items (users x items)."""
        values = cupy().asarray(affinities.T.astype(self.encoder.dtype))
        return np.asarray(cupy().asnumpy((self.decoder @ values).T))

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to all items by the remainder (users x items)."""
        n_items, n_learned = rows.shape[1], self.remainder.shape[0]
        known = sp.csr_array(rows[:, :n_learned], dtype=self.encoder.dtype)
        added = sparse_like(known, self.like) @ self.remainder
        added = added.toarray() if is_sparse(added) else added
        return np.pad(cupy().asnumpy(added), ((0, 0), (0, n_items - n_learned)))


def to_host(array: Any) -> Array:
    """Return an array of the GPU or of main memory as one of main memory."""
    return np.asarray(array) if isinstance(array, np.ndarray) else np.asarray(cupy().asnumpy(array))
