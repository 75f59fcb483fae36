"""What a fit will take, in memory and time, before anything large is allocated."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser.model.gram import n_cores
from teaser.model.system import RANK

# Nominal speeds in operations a second, for the choice between dense and sparse only: fixed, so
# that the same data take the same path, and give the same numbers, on every machine.
_DENSE_RATE = 100e9
_SPARSE_RATE = 10e9
_COUNT_RATE = 0.3e9

# Arrays of items x tags alive at once, counted in solver.py: for conjugate gradients F, R, Z,
# P, AP, DV and the operator's temporaries.
_CG_ARRAYS = 8
_ADMM_ARRAYS = 10
_DENSE_SHARE_OF_MEMORY = 0.6


@dataclass(frozen=True)
class Estimate:
    """What a fit is expected to take.

    Attributes
    ----------
    gram
        `"dense"` or `"sparse"`.
    memory
        Bytes by part, at the peak.
    seconds
        Expected time on this machine, from speeds measured in a fraction of a second.
    iterations
        How many iterations were assumed for it.
    """

    gram: str
    memory: dict[str, int]
    seconds: float
    iterations: int

    @property
    def total_memory(self) -> int:
        """Bytes in all."""
        return sum(self.memory.values())

    def lines(self) -> list[str]:
        """Return the estimate as sentences."""
        parts = ", ".join(f"{name} {say_bytes(size)}" for name, size in self.memory.items())
        have = memory_of_machine()
        return [
            f"memory {say_bytes(self.total_memory)} of {say_bytes(have)}: {parts}",
            f"time {say_seconds(self.seconds)}: {self.gram} Gram, {self.iterations} iterations",
        ]


def choose_gram(X: sp.csr_array, n_tags: int, dtype: np.dtype[Any]) -> str:
    """Return `"dense"` where that is expected to be faster and fits, else `"sparse"`."""
    n_items = X.shape[1]
    if n_items**2 * dtype.itemsize > _DENSE_SHARE_OF_MEMORY * memory_of_machine():
        return "sparse"
    iterations = 12
    dense = _pair_count(X) / _COUNT_RATE + iterations * 2 * n_items**2 * n_tags / _DENSE_RATE
    sparse = iterations * 6 * X.nnz * n_tags / _SPARSE_RATE
    return "dense" if dense <= sparse else "sparse"


def estimate(
    X: sp.csr_array, n_tags: int, *, solver: str, gram: Any, tol: float, dtype: np.dtype[Any]
) -> Estimate:
    """Return what fitting X (users x items) with `n_tags` columns in the decoder will take."""
    n_items = int(X.shape[1])
    size = dtype.itemsize
    choice = gram if isinstance(gram, str) else "dense"
    if solver == "admm":
        choice = "dense"
    elif choice == "auto":
        choice = choose_gram(X, n_tags, dtype)
    iterations = max(4, math.ceil(-3 * math.log10(tol) - 2))
    arrays = _ADMM_ARRAYS if solver == "admm" else _CG_ARRAYS
    memory = {
        "interactions": 2 * X.nnz * (size + 4),
        "items x tags": arrays * n_items * n_tags * size,
        "tags x tags": n_tags**2 * size,
    }
    if solver == "cg":
        # The small matrices of every tag, those of a block of tags thrice more in double precision.
        memory["preconditioner"] = RANK**2 * (n_tags * (size + 8) + 3 * 256 * 8)
    # The eigenvectors of D'D are found before the rest is there, in double precision.
    early = n_tags**2 * 40 - memory["items x tags"] - memory.get("preconditioner", 0)
    memory["tags x tags"] += max(0, early)
    if choice == "dense":
        memory["items x items"] = (4 if solver == "admm" else 1) * n_items**2 * size
    flops, eigen = _work(X, n_tags, choice, solver, iterations * (3 if solver == "admm" else 1))
    dense_rate, sparse_rate = _measured_rates(dtype.name)
    seconds = (
        flops["dense"] / dense_rate
        + flops["sparse"] / sparse_rate
        + flops["count"] / (_COUNT_RATE * sparse_rate / _SPARSE_RATE)
        + 2 * eigen / dense_rate
    )
    return Estimate(choice, memory, seconds, iterations * (3 if solver == "admm" else 1))


def say_bytes(size: float) -> str:
    """Write a number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def say_seconds(seconds: float) -> str:
    """Write a duration for people."""
    if seconds < 1:
        return "1 s or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def memory_of_machine() -> int:
    """Return the bytes of main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _work(
    X: sp.csr_array, n_tags: int, gram: str, solver: str, iterations: int
) -> tuple[dict[str, float], float]:
    """Return operations by kind, and those of eigendecompositions."""
    n_items = X.shape[1]
    basis = 2 * n_items * n_tags**2
    flops: dict[str, float] = {"dense": basis * (iterations + 4), "sparse": 0.0, "count": 0.0}
    # An eigendecomposition of n x n takes about 11 n^3 operations at the speed of products.
    eigen = 11.0 * n_tags**3
    if gram == "dense":
        per_iteration = 6 if solver == "admm" else 2
        flops["dense"] += per_iteration * n_items**2 * n_tags * (iterations + 2)
        flops["count"] = float(_pair_count(X))
    else:
        flops["sparse"] = 6.0 * X.nnz * n_tags * (iterations + 2)
    if solver == "admm":
        eigen += 11.0 * n_items**3
    return flops, eigen


def _pair_count(X: sp.csr_array) -> float:
    """Return how many co-occurrences the Gram counts: the sum of squared history lengths."""
    return float(np.square(np.diff(X.indptr).astype(np.float64)).sum())


@cache
def _measured_rates(dtype: str) -> tuple[float, float]:
    """Return this machine's operations a second for dense and for sparse products."""
    rng = np.random.default_rng(0)
    square = rng.random((768, 768)).astype(dtype)
    dense = _best_time(lambda: square @ square)
    sparse = sp.random_array(
        (4000, 4000), density=0.005, format="csr", rng=rng, dtype=np.dtype(dtype)
    )
    block = rng.random((4000, 64)).astype(dtype)
    apply = _best_time(lambda: sparse @ block)
    return 2 * 768**3 / dense, n_cores() * 2 * sparse.nnz * 64 / apply


def _best_time(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
