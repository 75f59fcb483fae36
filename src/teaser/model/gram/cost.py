"""What a fit will take, in memory and time, before anything large is allocated."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser.errors import ResourceError
from teaser.files import memory_of_machine, say_bytes
from teaser.model.gram.bands import product_bytes
from teaser.model.gram.gpu import shortage_of
from teaser.model.gram.operator import SparseGram, kernels, leading_rank

# Nominal speeds of a core, which only decide between dense and sparse. They are fixed, so that the
# same data give the same numbers on every machine. A second: operations of dense products, entries
# of sparse ones (with numba, without), pairs counted.
_DENSE_RATE = 100e9
_SPARSE_RATE = 8e9
_SCIPY_RATE = 1.4e9
_COUNT_RATE = 0.2e9

# Arrays of items x tags that exist at once in the solver: F, R, P, D V and the operator's
# result or the preconditioner's; the dense Gram's product with a sparse matrix is one more.
_CG_ARRAYS = 5
# Where D V takes so many bytes or more and the Gram is sparse, it is computed where it is read.
COMPUTED_FROM = 2**28
_ADMM_ARRAYS = 10
# Eigenvalues of D'D from 1e-6 of the largest, in steps of 10 %: at most so many are told apart.
_SMALL_MATRICES = 150
_CHUNK = 2**26

# Seconds of a fit of hardly any data.
_FIXED_SECONDS = 0.05
_STEP = 1500.0
# The length of a history, for measurements.
_HISTORY = 40


@dataclass(frozen=True)
class FitSize:
    """What memory and time of a fit depend on beside the interactions.

    Attributes
    ----------
    n_tags
        Columns of the decoder.
    dtype
        The type to compute in.
    solver
        `"cg"` or `"admm"`.
    has_content
        Whether content is added to G.
    """

    n_tags: int
    dtype: np.dtype[Any]
    solver: str = "cg"
    has_content: bool = False


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

    @property
    def parts(self) -> str:
        """The memory of each part, as a text."""
        return ", ".join(f"{name} {say_bytes(size)}" for name, size in self.memory.items())

    def shortage(self) -> str | None:
        """Return what is needed and what there is where the fit needs too much memory, or None."""
        need, have = self.total_memory, memory_of_machine()
        if need <= have:
            return None
        return f"it needs {say_bytes(need)} ({self.parts}), and this machine has {say_bytes(have)}"

    def lines(self, limit: int | None = None) -> list[str]:
        """Return the estimate as sentences, beside the machine's memory or a limit."""
        have = memory_of_machine() if limit is None else limit
        return [
            f"memory {say_bytes(self.total_memory)} of {say_bytes(have)}: {self.parts}",
            f"time {say_seconds(self.seconds)}: {self.gram} Gram, {self.iterations} iterations",
        ]


def choose_gram(X: sp.csr_array, n_tags: int, dtype: np.dtype[Any]) -> str:
    """Return `"dense"` where that is expected to be faster and fits, else `"sparse"`."""
    size = FitSize(n_tags, dtype)
    if sum(memory_of_fit(X, "dense", size).values()) > memory_of_machine():
        return "sparse"
    seconds = {}
    for gram in ("dense", "sparse"):
        work = _work(X, gram, size, iterations=8, pairs=9.0)
        seconds[gram] = _seconds(work, _DENSE_RATE, _sparse_rate())
    return "dense" if seconds["dense"] <= seconds["sparse"] else "sparse"


def estimate(
    X: Any, gram: Any, size: FitSize, *, tol: float | str, in_parts: bool = False
) -> Estimate:
    """Return what fitting X (users x items) will take.

    Parameters
    ----------
    in_parts
        Whether interactions are read in partitions.
    """
    choice = gram if isinstance(gram, str) else "dense"
    if size.solver == "admm":
        choice = "dense"
    elif choice == "auto":
        choice = choose_gram(X, size.n_tags, size.dtype)
    # Assumed: three iterations for each digit of the residual, and twelve of ADMM's; the last
    # residual is computed once more. Scores are settled near a residual of 1e-2, after four
    # iterations of which the last has no product; the right-hand side takes half a pair.
    is_settled = isinstance(tol, str) and size.solver == "cg"
    digits = 2.0 if isinstance(tol, str) else -math.log10(tol)
    iterations = max(3, math.ceil((12 if size.solver == "admm" else 3) * digits - 1))
    iterations, pairs = (4, 3.5) if is_settled else (iterations, iterations + 1.0)
    sparse_rate = _measured_sparse_rate(size.dtype.name, *_sample_size(X))
    work = _work(X, choice, size, iterations, pairs)
    seconds = _FIXED_SECONDS + _seconds(work, dense_rate(size.dtype.name), sparse_rate)
    memory = memory_of_fit(X, choice, size, in_parts=in_parts)
    return Estimate(choice, memory, seconds, iterations)


def check_memory(
    X: Any,
    gram: str,
    size: FitSize,
    *,
    interactions: int | None = None,
    limit: int | None = None,
) -> None:
    """Raise `ResourceError`, with the numbers and advice, for a fit that needs too much memory.

    Parameters
    ----------
    interactions
        The bytes of them that have to be in memory, where that is not all.
    limit
        What there is, where that is less than the machine's memory.
    """
    held = {} if interactions is None else {"interactions": interactions}
    in_parts = interactions is not None
    memory = memory_of_fit(X, gram, size, in_parts=in_parts) | held
    need, have = sum(memory.values()), memory_of_machine() if limit is None else limit
    if need <= have:
        return
    by_cg = replace(size, solver="cg")
    other = sum((memory_of_fit(X, "sparse", by_cg, in_parts=in_parts) | held).values())
    ways = ["fewer tags"]
    if gram == "dense" and other <= have:
        settings = "solver='cg' and gram='sparse'" if size.solver == "admm" else "gram='sparse'"
        ways.insert(0, f"{settings} ({say_bytes(other)})")
    elif size.dtype == np.float64:
        ways.insert(0, "dtype='float32'")
    parts = ", ".join(f"{name} {say_bytes(part)}" for name, part in memory.items())
    there = f"this machine has {say_bytes(have)}"
    raise ResourceError(
        f"A fit of {X.shape[1]:,} items and {size.n_tags:,} tags with a {gram} Gram needs "
        f"{say_bytes(need)} ({parts}), and "
        f"{there if limit is None else f'the memory limit is {say_bytes(have)}'}. "
        f"Use {', '.join(ways)} or {'a larger machine' if limit is None else 'a higher limit'}."
    )


def check_room(
    what: str,
    n_items: int,
    dtype: str,
    *,
    arrays: int = 1,
    rest: int = 0,
    free_on_gpu: int | None = None,
    instead: str = "fit a model that needs no such array: Teaser, ItemKNN, WMF",
) -> None:
    """Raise `ResourceError` where items x items arrays do not fit, before they are allocated.

    Parameters
    ----------
    rest
        Bytes that are needed beside the arrays.
    free_on_gpu
        Bytes that a GPU has, where the arrays are there.
    instead
        What can be done, for the message.
    """
    need = arrays * n_items**2 * np.dtype(dtype).itemsize
    have = memory_of_machine() if free_on_gpu is None else free_on_gpu
    if need + rest > have:
        beside = f" and {say_bytes(rest)} for the rest" if rest else ""
        smaller = "Use dtype='float32', or " if dtype == "float64" else ""
        advice = f"{smaller}{instead}"
        raise ResourceError(
            f"{what} of {n_items:,} items needs {say_bytes(need)} for {arrays} items x items "
            f"array{'s' if arrays > 1 else ''} of {dtype}{beside}, and this "
            f"{'machine' if free_on_gpu is None else 'GPU'} has {say_bytes(have)}. "
            f"{advice[0].upper()}{advice[1:]}."
        )


@contextmanager
def explained_memory_error(what: str) -> Iterator[None]:
    """Raise `ResourceError` where memory runs out, in main memory or on a GPU.

    What the work inside held on the GPU is given back, but for what the caller itself holds.
    """
    try:
        yield
    except Exception as error:
        on_gpu = shortage_of(error)
        if on_gpu is None and not isinstance(error, MemoryError):
            raise
        where = "the memory of the GPU" if on_gpu else "memory"
        ways = ["gram='sparse'", "dtype='float32'", "fewer tags"]
        ways += ["device='cpu'"] if on_gpu else ["a larger machine"]
        raise ResourceError(
            f"{what} ran out of {where} ({on_gpu or error or 'none is left'}); other processes may "
            f"use some. `estimate` says what a fit takes. Use {', '.join(ways[:-1])} or {ways[-1]}."
        ) from error


@cache
def dense_rate(dtype: str) -> float:
    """Return this machine's operations a second in products of arrays, as measured."""
    square = np.random.default_rng(0).random((768, 768)).astype(dtype)
    # A product of n x n arrays takes n^3 multiplications and as many additions.
    return 2 * 768**3 / _best_time(lambda: square @ square)


def say_seconds(seconds: float) -> str:
    """Return a duration as a short text."""
    if seconds < 1:
        return "1 s or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def memory_of_fit(X: Any, gram: str, size: FitSize, *, in_parts: bool = False) -> dict[str, int]:
    """Return the bytes at the peak, by part; of X only the shape and `nnz` are read.

    Parameters
    ----------
    in_parts
        Whether interactions are read in partitions. To compute D V for each would take too long.
    """
    n_items, n_tags, solver = int(X.shape[1]), size.n_tags, size.solver
    itemsize = size.dtype.itemsize
    # X by user and by item; without numba, SparseGram also holds X with values of its dtype.
    copies = 3 if gram == "sparse" and kernels() is None else 2
    array = n_items * n_tags * itemsize
    memory = {
        "interactions": copies * int(X.nnz) * (itemsize + 4),
        "items x tags": _CG_ARRAYS * array + min(array, _CHUNK),
        "tags x tags": n_tags**2 * itemsize,
    }
    if solver == "admm":
        memory["items x tags"] = _ADMM_ARRAYS * array
    else:
        rank = leading_rank(X.nnz / max(1, n_items), n_tags)
        # The leading eigenvectors, twice more while it is built, and its small matrices.
        small = min(n_tags, _SMALL_MATRICES) * rank**2
        memory["preconditioner"] = itemsize * (3 * rank * n_items + small)
    if gram == "dense":
        # ADMM: G, its eigenvectors, and 2 n^2 of work space for LAPACK's syevd.
        memory["items x items"] = (4 if solver == "admm" else 1) * n_items**2 * itemsize
        memory["items x tags"] += array if solver == "cg" else 0
    else:
        memory["blocks"] = product_bytes(int(X.shape[0]), n_items, 2 * n_tags, itemsize)
        is_held = in_parts or size.has_content or array < COMPUTED_FROM
        memory["items x tags"] -= 0 if is_held else array
    if size.has_content and solver == "cg":
        # What content adds to a product; and the product with a sparse matrix, where that is not
        # counted yet.
        memory["items x tags"] += array if gram == "dense" else 2 * array
    # The eigenvectors of D'D are found before the rest is there, in double precision.
    early = n_tags**2 * 40 - memory["items x tags"] - memory.get("preconditioner", 0)
    memory["tags x tags"] += max(0, early)
    return memory


def _work(X: Any, gram: str, size: FitSize, iterations: int, pairs: float) -> dict[str, float]:
    """Return the operations of a fit by kind: dense, sparse, and co-occurrences counted.

    `pairs` are products of G with two items x tags arrays, as an iteration makes them.
    """
    n_items, n_tags, solver = float(X.shape[1]), size.n_tags, size.solver
    basis = 2 * n_items * n_tags**2
    # An eigendecomposition of n x n takes about 22 n^3 operations, at half the speed in double.
    work = {"dense": 4 * basis + 22.0 * n_tags**3, "sparse": 0.0, "count": 0.0}
    # Steps that read items x tags arrays: as long as so many operations for each number.
    rank = leading_rank(X.nnz / max(1, n_items), n_tags) if solver == "cg" else 0
    work["dense"] += (_STEP + 4 * rank) * n_items * n_tags * iterations
    if solver == "admm":
        # Three products of U with items x tags an iteration.
        work["dense"] += 22.0 * n_items**3 + 6 * n_items**2 * n_tags * iterations
    if gram == "dense":
        # G F, and an items x tags array times V.
        work["dense"] += (2 * n_items**2 * n_tags + basis) * iterations
        work["count"] = pair_count(X)
    else:
        # Both products of a pair are one with X and one with X'.
        work["sparse"] = 4.0 * X.nnz * n_tags * pairs
    return work


def _seconds(work: dict[str, float], dense_rate: float, sparse_rate: float) -> float:
    counting = _COUNT_RATE * sparse_rate / _sparse_rate()
    return work["dense"] / dense_rate + work["sparse"] / sparse_rate + work["count"] / counting


def _sparse_rate() -> float:
    return _SCIPY_RATE if kernels() is None else _SPARSE_RATE


def pair_count(X: Any) -> float:
    """Return how many co-occurrences the Gram counts: the sum of squared history lengths."""
    if hasattr(X, "squares"):  # interactions in partitions
        return float(X.squares)
    return float(np.square(np.diff(X.indptr).astype(np.float64)).sum())


def _sample_size(X: Any) -> tuple[int, int]:
    """Return the size to measure sparse products at: items, and interactions of each."""
    n_items = int(min(2**16, 2 ** math.ceil(math.log2(max(4000, X.shape[1])))))
    each = 2 ** round(math.log2(max(1.0, X.nnz / max(1, X.shape[1]))))
    return n_items, int(min(2**21 // n_items, max(8, each)))


@cache
def _measured_sparse_rate(dtype: str, n_items: int, each: int) -> float:
    """Return this machine's entries a second in sparse products, as an iteration makes them.

    They are slower where items are many, which do not fit in the cache, and where each has few
    interactions.
    """
    rng = np.random.default_rng(0)
    # Popular items occur more often, and so are more often in the cache.
    count = each * n_items
    items = (n_items * rng.random(count) ** 2).astype(np.int32)
    n_users = -(-count // _HISTORY)
    starts = np.minimum(_HISTORY * np.arange(n_users + 1), count)
    X = sp.csr_array((np.ones(count), items, starts), shape=(n_users, n_items))
    X.sum_duplicates()
    X.data[:] = 1
    gram = SparseGram(X, np.dtype(dtype))
    F = rng.random((n_items, 64)).astype(dtype)
    pair = gram.apply_pair_rounded if gram.can_round else gram.apply_pair
    # Two products, and X'(X M) reads each entry twice for a column of M.
    return float(4 * X.nnz * 64 / _best_time(lambda: pair(F, F, F[0], F[:, 0])))


def _best_time(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
