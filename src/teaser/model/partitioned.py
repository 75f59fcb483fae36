"""G of interactions in partitions, on one machine and within a memory limit.

G M is the sum over partitions of X_p'(X_p M). A partition is decoded once. As many as the limit
allows stay in memory; the others are cached on disk and read one at a time for each product.
"""

import re
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.partitions import Interactions
from teaser.errors import ParameterError, ResourceError
from teaser.files import memory_of_machine, say_bytes
from teaser.model._arrays import Matrix
from teaser.model.estimate import (
    Estimate,
    FitSize,
    check_memory,
    choose_gram,
    estimate,
    memory_of_fit,
)
from teaser.model.gram import DenseGram, Gram, SparseGram, add_counts, weigh_users

# Bytes that decoding a row takes at the peak, measured with ids that are texts.
_READ_BYTES = 400
_BLOCK_BYTES = 2**26
# The most that rows of G take of which one pass over the partitions makes the whole.
_PASS_BYTES = 2**30
_SHARE_OF_MEMORY = 0.6
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class PartitionedGram(ABC):
    """G as a sum over partitions.

    Parameters
    ----------
    X
        Interactions in partitions.
    dtype
        Of the products.
    user_power
        Of the weights of users: see `weigh_users`.
    """

    reads_for_each_product = True

    def __init__(self, X: Interactions, dtype: np.dtype[Any], user_power: float) -> None:
        self.X = X
        self.dtype = np.dtype(dtype)
        self.n_items = int(X.shape[1])
        self.user_power = user_power
        self._diagonal: NDArray[Any] | None = None

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G); of ones alone it was counted when the data set was made."""
        if not self.user_power and self.X.is_binary:
            return self.X.item_counts.astype(self.dtype)
        if self._diagonal is None:
            self._diagonal = self._sum_diagonals().astype(self.dtype)
        return self._diagonal.copy()

    @abstractmethod
    def _sum_diagonals(self) -> NDArray[Any]:
        """Return diag(G) summed over the partitions, in double precision."""


class StreamedGram(PartitionedGram):
    """G as a sum over partitions, of which few are in memory at once.

    Parameters
    ----------
    X
        Interactions in partitions.
    dtype
        Of the products.
    memory_limit
        Bytes that interactions may take, or a text such as `"2GB"`; six tenths of the machine's
        memory when not given.
    user_power
        Of the weights of users: see `weigh_users`.
    """

    def __init__(
        self,
        X: Interactions,
        dtype: np.dtype[Any],
        *,
        memory_limit: int | str | None = None,
        user_power: float = 0.0,
    ) -> None:
        super().__init__(X, dtype, user_power)
        limit = _SHARE_OF_MEMORY * memory_of_machine()
        self.limit = int(limit) if memory_limit is None else as_bytes(memory_limit)
        self._in_memory: dict[int, SparseGram] = {}
        self._stays = _which_stay(X, self.limit, self.dtype)
        self._scratch = _scratch_folder(self) if not all(self._stays) else None

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return the sum of X_p'(X_p M), partitions in their order, some columns at a time."""
        matrix = matrix.tocsc() if sp.issparse(matrix) else matrix
        out = np.zeros((self.n_items, int(matrix.shape[1])), dtype=self.dtype)
        for gram in self._grams():
            for columns in column_blocks(out.shape[1], self.n_items, self.dtype):
                # Columns are the inner loop, so that no partition is read twice for a product.
                out[:, columns] += gram.apply(matrix[:, columns])
        return out

    @property
    def row_cells(self) -> int:
        """How many entries of G's rows to ask for at once: each block of rows is a pass."""
        room = min(_PASS_BYTES, max(_BLOCK_BYTES, self.limit // 8))
        return int(room // self.dtype.itemsize)

    def row_block(self, first: int, last: int) -> NDArray[Any]:
        """Return rows `first` to `last` of G, the sum over partitions."""
        out = np.zeros((last - first, self.n_items), dtype=self.dtype)
        for gram in self._grams():
            out += gram.row_block(first, last)
        return out

    def _sum_diagonals(self) -> NDArray[Any]:
        parts = (gram.diagonal().astype(np.float64) for gram in self._grams())
        return sum(parts, np.zeros(self.n_items))

    def with_user_power(self, power: float) -> "StreamedGram":
        """Return the Gram of the same interactions with other weights of users."""
        return StreamedGram(self.X, self.dtype, memory_limit=self.limit, user_power=power)

    def _grams(self) -> Iterator[SparseGram]:
        for k in range(len(self.X.parts)):
            gram = self._in_memory.get(k)
            if gram is None:
                gram = SparseGram(
                    weigh_part(self.X, self._matrix(k), self.user_power, self.dtype), self.dtype
                )
            if self._stays[k]:
                self._in_memory[k] = gram
            yield gram

    def _matrix(self, k: int) -> sp.csr_array:
        """Return a part: decoded at the first time, from the scratch folder later."""
        if self._stays[k] or self._scratch is None:
            return self.X.matrix(k)
        path = self._scratch / f"{k}.npz"
        if path.exists():
            return sp.load_npz(path)
        X = self.X.matrix(k)
        try:
            sp.save_npz(path, X, compressed=False)
        except OSError as error:
            raise ResourceError(
                f"{self.X.parts[k].name} could not be kept in {self._scratch}: {error}. Make room "
                "there, name another folder in the variable TMPDIR, or raise the memory limit."
            ) from error
        return X


def weigh_part(
    X: Interactions, part: sp.csr_array, power: float, dtype: np.dtype[Any]
) -> sp.csr_array:
    """Return a part with the weights of its users, relative to the mean over all parts."""
    return weigh_users(part, power, dtype, mean_length=mean_length(X))


def mean_length(X: Interactions) -> float:
    """Return the mean length of a history; every user of a part has one."""
    return X.nnz / max(1, X.shape[0])


def count_gram(X: Interactions, dtype: np.dtype[Any], *, user_power: float = 0.0) -> DenseGram:
    """Return G as one array, counted in one pass over the partitions."""
    G = np.zeros((X.shape[1], X.shape[1]), dtype=dtype)
    for k in range(len(X.parts)):
        add_counts(G, weigh_part(X, X.matrix(k), user_power, dtype))
    return DenseGram(G)


def hold_partitions(
    X: Interactions,
    gram: str,
    size: FitSize,
    *,
    memory_limit: int | str | None = None,
    user_power: float = 0.0,
) -> Gram:
    """Return G on this machine: dense where that is faster and fits, else streamed.

    Parameters
    ----------
    gram
        `"dense"`, `"sparse"` or `"auto"`.
    memory_limit
        For the whole fit: what the solver's own arrays leave of it is for the interactions.
    user_power
        Of the weights of users: see `weigh_users`.
    """
    limit = None if memory_limit is None else as_bytes(memory_limit)
    choice = choose_held(X, gram, size, memory_limit=limit)
    if choice == "dense" or limit is None:
        check_memory(X, choice, size, interactions=read_bytes(X), limit=limit)
        hold = count_gram if choice == "dense" else StreamedGram
        return hold(X, size.dtype, user_power=user_power)
    check_memory(X, "sparse", size, interactions=0, limit=limit)
    others = _solver_bytes(X, "sparse", size)
    return StreamedGram(X, size.dtype, memory_limit=limit - others, user_power=user_power)


def choose_held(
    X: Interactions, gram: str, size: FitSize, *, memory_limit: int | None = None
) -> str:
    """Return `"dense"` where that is expected to be faster and fits the limit, else `"sparse"`."""
    if size.solver == "admm":  # it decomposes G as one array
        return "dense"
    if gram != "auto":
        return gram
    if memory_limit is not None and _solver_bytes(X, "dense", size) > memory_limit:
        return "sparse"
    return choose_gram(X, size.n_tags, size.dtype)


def estimate_partitions(X: Interactions, gram: Any, size: FitSize, *, tol: float | str) -> Estimate:
    """Return what a fit on this machine will take, or on a client if `gram` is of a cluster."""
    name = gram if isinstance(gram, str) else "dense" if isinstance(gram, DenseGram) else "sparse"
    found = estimate(X, choose_held(X, name, size), size, tol=tol)
    limit = gram.limit if isinstance(gram, StreamedGram) else _SHARE_OF_MEMORY * memory_of_machine()
    everything = sum(part_bytes(X, k, size.dtype) for k in range(len(X.parts))) + read_bytes(X)
    held = min(int(limit), everything)
    if not isinstance(gram, str | StreamedGram):
        held = 0
    return replace(found, memory={**found.memory, "interactions": held})


def column_blocks(columns: int, n_items: int, dtype: np.dtype[Any]) -> Iterator[slice]:
    """Cut columns into blocks of about 64 MB of items x columns."""
    # At least the columns that SparseGram takes at once.
    width = max(64, _BLOCK_BYTES // (n_items * dtype.itemsize))
    for first in range(0, columns, width):
        yield slice(first, min(first + width, columns))


def as_bytes(size: int | str) -> int:
    """Read a size such as `2GB`, `500 MB` or a number of bytes."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?)i?b?\s*", str(size).lower())
    number = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not found or number < 1:
        raise ParameterError(f"A memory limit is such as 2GB or 500MB, found {size!r}.")
    return int(number)


def part_bytes(X: Interactions, k: int, dtype: np.dtype[Any]) -> int:
    """Return what part k takes in memory once it is decoded: X by user, in pieces, and by item."""
    size = X.sizes[k]
    # Columns and values of each, and row starts.
    return 3 * (4 + dtype.itemsize) * size.interactions + 8 * (2 * size.users + int(X.shape[1]))


def read_bytes(X: Interactions) -> int:
    """Return what decoding the largest part takes for a moment."""
    return max(_READ_BYTES * size.rows for size in X.sizes)


def _scratch_folder(owner: object) -> Path:
    """Make a folder that is deleted with its owner or at exit."""
    folder = tempfile.mkdtemp(prefix="teaser-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _which_stay(X: Interactions, limit: int, dtype: np.dtype[Any]) -> list[bool]:
    """Say which parts stay in memory: as many of the first as leave room to decode the largest."""
    room = limit - read_bytes(X)
    if room < 0:
        worst = max(range(len(X.parts)), key=lambda k: X.sizes[k].rows)
        raise ParameterError(
            f"{X.parts[worst].name} has {X.sizes[worst].rows:,} rows, which take about "
            f"{say_bytes(read_bytes(X))} to decode; {say_bytes(limit)} are there for "
            "interactions. Write smaller partitions (teaser partition --parts), or raise the "
            "memory limit."
        )
    total = np.cumsum([part_bytes(X, k, dtype) for k in range(len(X.parts))])
    return [bool(size <= room) for size in total]


def _solver_bytes(X: Interactions, gram: str, size: FitSize) -> int:
    """Return what a fit by conjugate gradients takes beside the interactions."""
    memory = memory_of_fit(X, gram, replace(size, solver="cg"))
    return sum(memory.values()) - memory["interactions"]
