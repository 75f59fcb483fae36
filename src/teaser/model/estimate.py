"""What a fit will take, in memory and time, before anything large is allocated.

The formulas count operations and divide by nominal speeds of a core. They are good to a factor of
two, and give the same answer for the same data and number of cores.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from teaser.errors import ResourceError
from teaser.files import memory_of_machine, say_bytes
from teaser.model._arrays import n_cores
from teaser.model.gpu import shortage_of
from teaser.model.gram import leading_rank

# A core's operations a second in dense products of float32, entries of sparse products, and pairs
# of items counted.
_DENSE_RATE = 50e9
_SPARSE_RATE = 4e9
_COUNT_RATE = 0.15e9
# Steps that read items x tags arrays take as long as so many operations for each number.
_STEP = 1500.0
_FIXED_SECONDS = 0.05

# Arrays of items x tags that exist at once: F, R, P, D V, and A(P) or the preconditioned R. ADMM
# has more.
_CG_ARRAYS = 5
_ADMM_ARRAYS = 10
# Columns of items x tags arrays that the operator takes at once, and arrays of as many.
OPERATOR_COLUMNS = 512
_OPERATOR_ARRAYS = 4
# Different eigenvalues of D'D that the preconditioner tells apart, at most.
_SMALL_MATRICES = 50
# The same with content, and how many of its terms they take.
_CONTENT_MATRICES, _MOST_TERMS = 4, 4000


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
        Expected time on as many cores as this process may use.
    iterations
        How many iterations were assumed for it.
    """

    gram: str
    memory: dict[str, int]
    seconds: float
    iterations: int

    def plus(self, seconds: float, memory: Mapping[str, int] = MappingProxyType({})) -> Self:
        """Return the estimate of a fit that takes more time, and memory by part."""
        return replace(self, memory={**self.memory, **memory}, seconds=self.seconds + seconds)

    def repeated(self, times: int) -> Self:
        """Return the estimate of a fit that is made so many times in the same memory."""
        return replace(self, seconds=times * self.seconds, iterations=times * self.iterations)

    @property
    def total_memory(self) -> int:
        """Bytes in all."""
        return sum(self.memory.values())

    def shortage(self) -> str | None:
        """Return what is needed and what there is where the fit needs too much memory, or None."""
        need, have = self.total_memory, memory_of_machine()
        if need <= have:
            return None
        parts = say_parts(self.memory)
        return f"it needs {say_bytes(need)} ({parts}), and this machine has {say_bytes(have)}"

    def lines(self, limit: int | None = None) -> list[str]:
        """Return the estimate as sentences, beside the machine's memory or a limit."""
        have = memory_of_machine() if limit is None else limit
        return [
            f"memory {say_bytes(self.total_memory)} of {say_bytes(have)}: {say_parts(self.memory)}",
            f"time {say_seconds(self.seconds)}: {self.gram} Gram, {self.iterations} iterations",
        ]


def choose_gram(X: Any, n_tags: int, dtype: np.dtype[Any]) -> str:
    """Return `"dense"` where that is expected to be faster and fits, else `"sparse"`."""
    size = FitSize(n_tags, dtype)
    if sum(memory_of_fit(X, "dense", size).values()) > memory_of_machine():
        return "sparse"
    return min(("dense", "sparse"), key=lambda gram: _seconds(X, gram, size, 8, 9.0))


def estimate(X: Any, gram: Any, size: FitSize, *, tol: float | str) -> Estimate:
    """Return what fitting X (users x items) will take; only sizes of X are read."""
    choice = gram if isinstance(gram, str) else "dense"
    if size.solver == "admm":
        choice = "dense"
    elif choice == "auto":
        choice = choose_gram(X, size.n_tags, size.dtype)
    # Three iterations for each digit of the residual, twelve of ADMM's. Scores are settled near a
    # residual of 1e-2, after four iterations of which the last has no product with G.
    digits = 2.0 if isinstance(tol, str) else -math.log10(tol)
    iterations = max(3, math.ceil((12 if size.solver == "admm" else 3) * digits - 1))
    products = iterations + 1.0
    if isinstance(tol, str) and size.solver == "cg":
        iterations, products = 4, 3.5
    seconds = _FIXED_SECONDS + _seconds(X, choice, size, iterations, products)
    return Estimate(choice, memory_of_fit(X, choice, size), seconds, iterations)


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
    least = memory_of_fit(X, "sparse", replace(size, solver="cg")) | held
    there, more = ("this machine has", "a larger machine")
    if limit is not None:
        there, more = ("the memory limit is", "a higher limit")
    check_fits(
        f"A fit of {X.shape[1]:,} items and {size.n_tags:,} tags with a {gram} Gram",
        memory_of_fit(X, gram, size) | held,
        f"solver='cg' and gram='sparse' ({say_bytes(sum(least.values()))}), dtype='float32', fewer "
        f"tags or {more}",
        have=limit,
        there=there,
    )


def check_fits(
    what: str,
    memory: Mapping[str, int],
    advice: str,
    *,
    have: int | None = None,
    there: str = "this machine has",
) -> None:
    """Raise `ResourceError` where memory, in bytes by part, is more than there is.

    Parameters
    ----------
    have, there
        The bytes that there are, and what has them; those of this machine by default.
    """
    need, have = sum(memory.values()), memory_of_machine() if have is None else have
    if need > have:
        raise ResourceError(
            f"{what} needs {say_bytes(need)} ({say_parts(memory)}), and {there} {say_bytes(have)}. "
            f"Use {advice}."
        )


def check_square(what: str, n_items: int, dtype: str, *, arrays: int = 1) -> None:
    """Raise `ResourceError` where items x items arrays do not fit, before they are allocated."""
    advice = "a model that needs no such array: Teaser, ItemKNN, WMF"
    if dtype == "float64":
        advice = f"dtype='float32', or {advice}"
    name = f"{arrays} items x items array{'s' if arrays > 1 else ''} of {dtype}"
    memory = {name: arrays * n_items**2 * np.dtype(dtype).itemsize}
    check_fits(f"{what} of {n_items:,} items", memory, advice)


@contextmanager
def explained_memory_error(what: str) -> Iterator[None]:
    """Raise `ResourceError` where memory runs out, in main memory or on a GPU."""
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


def dense_rate(dtype: str) -> float:
    """Return the operations a second of all cores in dense products, nominally."""
    return n_cores() * _DENSE_RATE * 4 / np.dtype(dtype).itemsize


def say_parts(memory: Mapping[str, int]) -> str:
    """Return the bytes of each part as a text."""
    return ", ".join(f"{name} {say_bytes(size)}" for name, size in memory.items())


def say_seconds(seconds: float) -> str:
    """Return a duration as a short text."""
    if seconds < 1:
        return "1 s or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def memory_of_fit(X: Any, gram: str, size: FitSize) -> dict[str, int]:
    """Return the bytes at the peak, by part; of X only the shape and `nnz` are read."""
    n_items, n_tags, itemsize = int(X.shape[1]), size.n_tags, size.dtype.itemsize
    array = n_items * n_tags * itemsize
    memory = {
        # X by user and by item.
        "interactions": 2 * int(X.nnz) * (itemsize + 4),
        "items x tags": (_ADMM_ARRAYS if size.solver == "admm" else _CG_ARRAYS) * array,
        "tags x tags": n_tags**2 * itemsize,
    }
    if size.solver == "cg":
        columns = min(n_tags, OPERATOR_COLUMNS)
        memory["items x tags"] += _OPERATOR_ARRAYS * n_items * columns * itemsize
        rank = leading_rank(X.nnz / max(1, n_items), n_tags)
        # The leading eigenvectors, twice more while it is built, and its small matrices.
        small = min(n_tags, _SMALL_MATRICES) * rank**2
        # Of content a few matrices of its terms, of which texts have more than there are tags.
        terms = _CONTENT_MATRICES * min(n_tags, _MOST_TERMS) ** 2 if size.has_content else 0
        memory["preconditioner"] = itemsize * (3 * rank * n_items + small + terms)
    if gram == "dense":
        # ADMM: G, its eigenvectors, and 2 n^2 of work space for LAPACK's syevd.
        memory["items x items"] = (4 if size.solver == "admm" else 1) * n_items**2 * itemsize
    if size.has_content:
        memory["items x tags"] += array
    # The eigenvectors of D'D are found before the rest is there, in double precision.
    memory["tags x tags"] += max(0, n_tags**2 * 40 - memory["items x tags"])
    return memory


def pair_count(X: Any) -> float:
    """Return how many co-occurrences the Gram counts: the sum of squared history lengths."""
    if hasattr(X, "squares"):  # interactions in partitions
        return float(X.squares)
    return float(np.square(np.diff(X.indptr).astype(np.float64)).sum())


def _seconds(X: Any, gram: str, size: FitSize, iterations: int, products: float) -> float:
    """Return the seconds of a fit.

    Parameters
    ----------
    products
        Pairs of products of G with an items x tags array: an iteration has two.
    """
    n_items, n_tags = float(X.shape[1]), size.n_tags
    # D V, a rotation, and an eigendecomposition of 22 n^3 operations.
    dense = 4 * n_items * n_tags**2 + 22.0 * n_tags**3
    rank = leading_rank(X.nnz / max(1, n_items), n_tags) if size.solver == "cg" else 0
    dense += (_STEP + 4 * rank) * n_items * n_tags * iterations
    sparse = count = 0.0
    if size.solver == "admm":
        # The eigendecomposition of G, and three products with its eigenvectors an iteration.
        dense += 22.0 * n_items**3 + 6 * n_items**2 * n_tags * iterations
    if gram == "dense":
        dense += 4 * n_items**2 * n_tags * products
        count = pair_count(X)
    else:  # each product is one with X and one with X'
        sparse = 4.0 * X.nnz * n_tags * products
    rate = dense_rate(size.dtype.name)
    return dense / rate + (sparse / _SPARSE_RATE + count / _COUNT_RATE) / n_cores()
