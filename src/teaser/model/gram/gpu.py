"""The Gram and the scoring on a GPU, by CuPy; the solver runs on the arrays made here."""

import gc
import re
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.partitions import Interactions
from teaser.errors import ParameterError, ResourceError, install_command
from teaser.files import say_bytes
from teaser.model.cuda.counting import count_pairs
from teaser.model.cuda.gather import SparseRows, pass_width
from teaser.model.cuda.halves import HalfGram, product_bytes
from teaser.model.cuda.neighbours import fits, nearest_columns, solve_each
from teaser.model.cuda.rows import row_products
from teaser.model.gram.blocks import Matrix, blocks, is_sparse, n_cores, rowdot, sparse_like

Array = NDArray[Any]

# What CuPy and the libraries that it calls say where a GPU has no memory left.
_NO_MEMORY = re.compile(r"out of memory|ALLOC_FAILED|MemoryAllocation|OUT_OF_MEMORY", re.I)
# Fewer columns than this are multiplied in single precision: reading G takes as long.
_WIDE = 128

# Larger arrays come to main memory by way of page-locked buffers of this many bytes.
_BUFFER = 2**24

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
    """Return the bytes of the GPU's memory that are free, those that CuPy keeps included.

    A limit that was set for CuPy counts.
    """
    xp = cupy()
    pool = xp.get_default_memory_pool()
    free = int(xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, max(0, limit - int(pool.used_bytes()))) if limit else free


def shortage_of(error: BaseException) -> str | None:
    """Return what to say of an error by which a GPU was out of memory; None of any other.

    What the failed work held there is given back: its frames are cleared, and so is the memory
    that CuPy keeps.
    """
    if not type(error).__module__.startswith("cupy") or not _NO_MEMORY.search(str(error)):
        return None
    asked = re.search(r"allocating ([\d,]+) bytes", str(error))
    xp = cupy()
    pool, total = xp.get_default_memory_pool(), xp.cuda.runtime.memGetInfo()[1]
    had, held = free_memory(), int(pool.used_bytes())
    # The frames of a traceback hold the arrays of the work that failed.
    traceback.clear_frames(error.__traceback__)
    gc.collect()
    pool.free_all_blocks()
    more = say_bytes(int(asked[1].replace(",", ""))) if asked else "some"
    return (
        f"{more} more needed, {say_bytes(held)} held and {say_bytes(had)} free of the GPU's "
        f"{say_bytes(total)}"
    )


def build_device_gram(
    X: sp.csr_array, choice: str, *, n_tags: int, dtype: np.dtype[Any]
) -> "DeviceGram | DeviceSparseGram":
    """Return X'X on the GPU, as one array where that fits unless `choice` says otherwise."""
    n_items, size = X.shape[1], dtype.itemsize
    rest = _ARRAYS * n_items * n_tags * size + 3 * n_tags**2 * 8 + 2 * X.nnz * (size + 8)
    dense = n_items**2 * size + product_bytes(n_items, n_tags)
    sparse = (X.shape[0] + 2 * n_items) * pass_width(X.shape[0], size) * size
    have = free_memory()
    if choice == "auto":
        choice = "dense" if rest + dense <= have else "sparse"
    need = rest + (dense if choice == "dense" else sparse)
    if need > have:
        advice = "gram='sparse', " if choice == "dense" else ""
        raise ResourceError(
            f"A fit of {n_items:,} items and {n_tags:,} tags with a {choice} Gram needs "
            f"{say_bytes(need)} on the GPU, which has {say_bytes(have)} free. "
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
        """Count co-occurrences: whole numbers exactly, weights in double precision."""
        return cls(device_gram(X, dtype))

    @cached_property
    def _halves(self) -> HalfGram:
        return HalfGram(self.G)

    def apply(self, matrix: Matrix) -> Any:
        """Return G times a matrix; of many columns in float32 by halves on the tensor cores."""
        if is_sparse(matrix):
            # G is symmetric, so (M'G)' = G M, with the sparse factor on the left.
            return (matrix.T.tocsr() @ self.G).T
        if self.dtype == np.float32 and matrix.shape[1] >= _WIDE:
            return self._halves.apply(matrix)
        return self.G @ matrix

    def apply_pair(self, F: Any, DV: Any, eta: Any, beta: Any) -> tuple[Any, Any]:
        """Return G W and the diagonal of G F DV', where W = F diag(eta) - diag(beta) DV."""
        if self.dtype == np.float32 and F.shape[1] >= _WIDE:
            return self._halves.apply_pair(F, DV, eta, beta)
        diagonal = rowdot(self.G @ F, DV)
        return self.G @ (F * eta - beta[:, None] * DV), diagonal

    def row_block(self, first: int, last: int) -> Any:
        """Return rows `first` to `last` of G, a view."""
        return self.G[first:last]

    def nearest(self, m: int, n: int) -> sp.csr_array:
        """Return the m nearest neighbours of the first n items, as `pairs.nearest` does."""
        xp = cupy()
        g = self.G.diagonal()[:n].astype(np.float64)
        g[g <= 0] = 1.0  # nobody chose it: it has no cosine above zero anyway
        counts, columns, cosines = nearest_columns(self.G, g, n, m)
        indptr = np.zeros(n + 1, np.int32 if columns.size < 2**31 else np.int64)
        np.cumsum(xp.asnumpy(counts), out=indptr[1:])
        return sp.csr_array((xp.asnumpy(cosines), xp.asnumpy(columns), indptr), shape=(n, n))

    def solve_small(
        self, near: sp.csr_array, ridge: Array, explained: Any
    ) -> tuple[Array, Array] | None:
        """Return the solutions of a ridge problem on the neighbours of each item, and G_Tj x.

        None where one does not fit into the shared memory of the GPU.

        Parameters
        ----------
        explained
            What tags explain, with `HE`, `D` and `beta`: the right-hand side of item j is
            (1 + beta_j) G_Tj - (H E)_T . D_j. It is G_Tj where there is None.
        """
        if not fits(int(np.diff(near.indptr).max(initial=0))):
            return None
        scale, what = np.ones(near.shape[0]), None
        if explained is not None:
            D, scale = explained.D, 1 + explained.beta
            what = (explained.HE, D.indptr, D.indices, D.data)
        found = solve_each(self.G, (near.indptr, near.indices), ridge, scale, what)
        return to_host(found[0]), to_host(found[1])

    def diagonal(self) -> Any:
        """Return diag(G)."""
        return self.G.diagonal().copy()


class DeviceSparseGram:
    """G as X'(X M) on the GPU: no items x items array ever exists."""

    def __init__(self, X: sp.csr_array, dtype: np.dtype[Any]) -> None:
        xp = cupy()
        self.X = sparse_like(sp.csr_array(X, dtype=dtype), xp.zeros(1, dtype=dtype))
        self.Xt = self.X.T.tocsr()
        self.n_items = int(X.shape[1])
        self.dtype = dtype
        ones = bool((X.data == 1).all())
        self._by_user, self._by_item = (SparseRows(M, ones=ones) for M in (self.X, self.Xt))
        self._width = pass_width(int(X.shape[0]), dtype.itemsize)
        squares = xp.square(self.X.data.astype(np.float64))
        self._g = xp.bincount(self.X.indices, squares, self.n_items).astype(dtype)

    def apply(self, matrix: Matrix) -> Any:
        """Return X'(X M), some columns at a time."""
        n_columns = int(matrix.shape[1])
        out = cupy().empty((self.n_items, n_columns), dtype=self.dtype)
        matrix = matrix.tocsc() if is_sparse(matrix) else matrix
        for first in range(0, n_columns, self._width):
            part = matrix[:, first : first + self._width]
            block = self._zeros()
            block[:, : part.shape[1]] = part.toarray() if is_sparse(part) else part
            out[:, first : first + self._width] = self._multiply(block)[:, : part.shape[1]]
        return out

    def apply_pair(self, F: Any, DV: Any, eta: Any, beta: Any) -> tuple[Any, Any]:
        """Return G W and the diagonal of G F DV', where W = F diag(eta) - diag(beta) DV."""
        out, half = cupy().empty_like(F), self._width // 2
        diagonal = cupy().zeros(self.n_items, dtype=np.float64)
        for first in range(0, int(F.shape[1]), half):
            columns = slice(first, first + half)
            here, block = DV[:, columns], self._zeros()
            width = int(here.shape[1])
            # [F | W] side by side: one pass over X computes G F and G W.
            block[:, :width] = F[:, columns]
            block[:, half : half + width] = F[:, columns] * eta[columns] - beta[:, None] * here
            block = self._multiply(block)
            out[:, columns] = block[:, half : half + width]
            diagonal += row_products(block[:, :width], here, np.float64)
        return out, diagonal.astype(self.dtype)

    def _zeros(self) -> Any:
        return cupy().zeros((self.n_items, self._width), dtype=self.dtype)

    def _multiply(self, block: Any) -> Any:
        return self._by_item.multiply(self._by_user.multiply(block))

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
            self.encoder = placed(np.asarray(encoder))
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

    def weighted_sum(self, weights: Array) -> Array:
        """Return the rows of the encoder times their weights, added up in double precision."""
        total, E = cupy().zeros(self.encoder.shape[1]), self.encoder
        weights = cupy().asarray(weights, dtype=np.float64)
        for rows in [slice(None)] if is_sparse(E) else blocks(E):
            total += E[rows].astype(np.float64).T @ weights[rows]
        return to_host(total)

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


def device_gram(X: sp.csr_array, dtype: Any) -> Any:
    """Return X'X of a sparse matrix of main memory as one array of the GPU."""
    xp = cupy()
    values = None if (X.data == 1).all() else xp.asarray(X.data)
    return count_pairs(
        xp.asarray(X.indptr), xp.asarray(X.indices), values, X.shape[1], np.dtype(dtype)
    )


def to_host(array: Any) -> Array:
    """Return an array of the GPU or of main memory as one of main memory."""
    if isinstance(array, np.ndarray):
        return np.asarray(array)
    if array.nbytes > _BUFFER and array.flags.c_contiguous:
        return _copied(array)
    return np.asarray(cupy().asnumpy(array))


def _copied(array: Any) -> Array:
    """Return a large array in main memory, copied from page-locked buffers by several threads.

    A new array's pages are given out at their first use, which takes longer than the way here.
    """
    from cupyx import empty_pinned

    out = np.empty(array.shape, array.dtype)
    source, target = array.reshape(-1).view(np.uint8), out.reshape(-1).view(np.uint8)
    buffers = [empty_pinned(_BUFFER, np.uint8) for _ in range(2)]
    copies: list[list[Any]] = [[], []]
    threads = min(8, n_cores())
    step = -(-_BUFFER // threads)
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for turn, first in enumerate(range(0, len(target), _BUFFER)):
            wait(copies[turn % 2])
            buffer = buffers[turn % 2][: len(target) - first]
            source[first : first + _BUFFER].get(out=buffer)
            part = target[first : first + _BUFFER]
            copies[turn % 2] = [
                pool.submit(np.copyto, part[at : at + step], buffer[at : at + step])
                for at in range(0, len(buffer), step)
            ]
    return out


class _Brought:
    """The array that was brought from the GPU last, and where it lies there."""

    host: Any = None
    there: Any = None

    def bring(self, array: Any) -> Array:
        """Return an array of the GPU in main memory; it stays there while that is in use."""
        host = to_host(array)
        if host is not array and host.base is None:
            self.host, self.there = weakref.ref(host, self._forget), array
        return host

    def find(self, host: Array, like: Any = None) -> Any:
        """Return an array of main memory on the GPU: as it is there already, or copied.

        The array itself where one is given that it should be `like`, and that is in main memory.
        """
        if isinstance(like, np.ndarray):
            return host
        root = host if host.base is None else host.base
        is_same = self.host is not None and self.host() is root
        if is_same and host.ctypes.data == root.ctypes.data and host.strides == root.strides:
            return self.there[: len(host)]
        return cupy().asarray(host)

    def _forget(self, gone: Any) -> None:
        if self.host is gone:
            self.host = self.there = None


_brought = _Brought()
bring = _brought.bring
placed = _brought.find
