"""What needs a GPU by name: whether there is one, its memory, G and scores there, by CuPy."""

import gc
import re
import traceback
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.partitions import Interactions
from teaser.errors import ParameterError, ResourceError, install_command
from teaser.files import say_bytes
from teaser.model._arrays import Matrix, as_dense, sparse_like, to_host
from teaser.model.gram import DenseGram, ProductGram, count_product, product_width

Array = NDArray[Any]

# What CuPy and the libraries that it calls say where a GPU has no memory left.
_NO_MEMORY = re.compile(r"out of memory|ALLOC_FAILED|MemoryAllocation|OUT_OF_MEMORY", re.I)
# Arrays of items x tags that the solver holds at once there.
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
    """Return the free bytes of the GPU's memory, with those that CuPy has in reserve.

    A limit that was set for CuPy counts.
    """
    xp = cupy()
    pool = xp.get_default_memory_pool()
    free = int(xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, max(0, limit - int(pool.used_bytes()))) if limit else free


def shortage_of(error: BaseException) -> str | None:
    """Return what to say of an error by which a GPU was out of memory; None for any other.

    What the failed work held there is freed.
    """
    if not type(error).__module__.startswith("cupy") or not _NO_MEMORY.search(str(error)):
        return None
    # The frames of a traceback hold the arrays of the work that failed.
    traceback.clear_frames(error.__traceback__)
    gc.collect()
    cupy().get_default_memory_pool().free_all_blocks()
    return str(error).rstrip(".")


def build_device_gram(
    X: sp.csr_array, choice: str, *, n_tags: int, dtype: np.dtype[Any]
) -> DenseGram | ProductGram:
    """Return X'X on the GPU, as one array where that fits unless `choice` says otherwise."""
    n_items, size = X.shape[1], dtype.itemsize
    rest = _ARRAYS * n_items * n_tags * size + 3 * n_tags**2 * 8 + 2 * X.nnz * (size + 8)
    block = (X.shape[0] + 2 * n_items) * product_width(X.shape[0], dtype) * size
    need = {"dense": rest + n_items**2 * size + block, "sparse": rest + block}
    have = free_memory()
    if choice == "auto":
        choice = "dense" if need["dense"] <= have else "sparse"
    if need[choice] > have:
        raise ResourceError(
            f"A fit of {n_items:,} items and {n_tags:,} tags with a {choice} Gram needs "
            f"{say_bytes(need[choice])} on the GPU, which has {say_bytes(have)} free. "
            "Use gram='sparse', fewer tags or device='cpu'."
        )
    there = sparse_like(sp.csr_array(X, dtype=dtype), cupy().zeros(1, dtype=dtype))
    return DenseGram(count_product(there, dtype)) if choice == "dense" else ProductGram(there)


class DeviceScorer:
    """Encoder, decoder and remainder on the device of an array, for the scores of many users.

    Parameters
    ----------
    like
        An array of the device: CuPy's, or NumPy's in main memory.
    """

    def __init__(
        self, encoder: Matrix, decoder: sp.csr_array, remainder: Any, *, like: Array
    ) -> None:
        self.like, self.dtype = like, encoder.dtype
        self.encoder, self.decoder = self._move(encoder), self._move(sp.csr_array(decoder))
        self.remainder = None if remainder is None else self._move(remainder)

    def encode(self, rows: sp.csr_array) -> Array:
        """Return the raw tag scores of users (users x tags), in double precision."""
        raw = self._move(rows[:, : self.encoder.shape[0]]) @ self.encoder
        return to_host(as_dense(raw)).astype(np.float64)

    def decode(self, affinities: Array) -> Array:
        """Return the scores of all items (users x items)."""
        return to_host((self.decoder @ self._move(affinities.T)).T)

    def decode_viewed(self, rows: sp.csr_array) -> Array:
        """Return what histories add to all items by the remainder (users x items)."""
        if self.remainder is None:
            return np.zeros(rows.shape)
        n_learned, width = self.remainder.shape
        added = to_host(as_dense(self._move(rows[:, :n_learned]) @ self.remainder))
        return np.pad(added, ((0, 0), (0, rows.shape[1] - width)))

    def _move(self, matrix: Matrix) -> Any:
        if sp.issparse(matrix):
            return sparse_like(sp.csr_array(matrix, dtype=self.dtype), self.like)
        return np.asarray(np.asarray(matrix, dtype=self.dtype), like=self.like)
