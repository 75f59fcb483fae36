"""G of interactions in partitions, over the workers of a Dask cluster.

Each partition is decoded by a worker and stays there. For a product, a block of columns of M goes
to the workers, X_p'(X_p M) is computed where X_p is, and the results are added pair by pair in the
order of the partitions. The result does not depend on the number of workers or on their failures.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.partitions import Interactions, PartSize, Reader
from teaser.errors import ClusterError
from teaser.model.gram.blocks import Matrix
from teaser.model.gram.dask_cluster import Cluster, LostError
from teaser.model.gram.operator import DenseGram, SparseGram, sorted_rows
from teaser.model.gram.pairs import Sets, triangles
from teaser.model.gram.partitioned import column_blocks, mean_length
from teaser.model.gram.weighting import weigh_users

Array = NDArray[Any]
_ATTEMPTS = 5
# What a worker sends back at once.
_SENT_BYTES = 2**26


@dataclass(frozen=True)
class _Loader:
    """What a worker needs to decode one part, but for the item ids."""

    reader: Reader
    size: PartSize
    dtype: np.dtype[Any]
    user_power: float
    mean_length: float

    def __call__(self, ids: pl.Series, name: str, source: Any) -> SparseGram:
        X = self.reader.matrix(ids, self.size, name, source)
        weighted = weigh_users(X, self.user_power, self.dtype, mean_length=self.mean_length)
        return SparseGram(weighted, self.dtype)


class DaskGram:
    """G as a sum over partitions that live on workers.

    A worker that dies is survived: its partitions are read again by others. Interactions never
    come to this process.

    Parameters
    ----------
    X
        Interactions in partitions that the workers can read.
    cluster
        The cluster.
    dtype
        Of the products.
    user_power
        Of the weights of users: see `weigh_users`.
    """

    def __init__(
        self, X: Interactions, cluster: Cluster, dtype: np.dtype[Any], *, user_power: float = 0.0
    ) -> None:
        self.X = X
        self.cluster = cluster
        self.dtype = np.dtype(dtype)
        self.n_items = int(X.shape[1])
        self.user_power = user_power
        self._grams: list[Any] = []
        self._diagonal: Array | None = None
        # Rows of G are sparse on their way: most of their entries are none.
        self.row_cells = _SENT_BYTES

    def apply(self, matrix: Matrix) -> Array:
        """Return the sum of X_p'(X_p M)."""
        matrix = matrix.tocsc() if sp.issparse(matrix) else matrix
        out = np.empty((self.n_items, int(matrix.shape[1])), dtype=self.dtype)
        for columns in column_blocks(out.shape[1], self.n_items, self.dtype):
            block = matrix[:, columns]
            sent = block if sp.issparse(block) else np.ascontiguousarray(block)
            out[:, columns] = self._total(_apply, sent)
        return out

    def apply_pair(self, F: Array, DV: Array, eta: Array, beta: Array) -> tuple[Array, Array]:
        """Return G W and the diagonal of G F DV', as `PairGram` says."""
        out = np.empty_like(F)
        diagonal = np.zeros(self.n_items, dtype=np.float64)
        # F and DV are both sent, so a block has half as many columns.
        for columns in column_blocks(out.shape[1], 2 * self.n_items, self.dtype):
            sent = (*(np.ascontiguousarray(A[:, columns]) for A in (F, DV)), eta[columns], beta)
            both = self._total(_apply_pair, sent)
            out[:, columns] = both[:, :-1]
            diagonal += both[:, -1]
        return out, diagonal.astype(self.dtype)

    def row_block(self, first: int, last: int) -> sp.csr_array:
        """Return rows `first` to `last` of G, sparse, the sum over partitions."""
        return sorted_rows(self._total(_row_block, (first, last)), self.dtype)

    def triangles(self, sets: Sets) -> Array:
        """Return G on sets of items, as `pairs.triangles` says, some sets at a time."""
        out = np.empty(sets.starts[-1], self.dtype)
        n, first = len(sets.starts) - 1, 0
        while first < n:
            room = sets.starts[first] + _SENT_BYTES // self.dtype.itemsize
            last = max(first + 1, int(np.searchsorted(sets.starts, room, side="right")) - 1)
            where = slice(sets.starts[first], sets.starts[last])
            out[where] = self._total(_triangles, sets.part(first, last))
            first = last
        return out

    def diagonal(self) -> Array:
        """Return diag(G); of ones alone it was counted when the data set was made."""
        if not self.user_power and self.X.is_binary:
            return self.X.item_counts.astype(self.dtype)
        if self._diagonal is None:
            self._diagonal = self._total(_diagonal, None).astype(self.dtype)
        return self._diagonal.copy()

    def with_user_power(self, power: float) -> "DaskGram":
        """Return the Gram of the same interactions with other weights of users."""
        return DaskGram(self.X, self.cluster, self.dtype, user_power=power)

    def counted(self) -> DenseGram:
        """Return G as one array in this process, counted by the workers."""
        G = np.empty((self.n_items, self.n_items), dtype=self.dtype)
        for rows in column_blocks(self.n_items, self.n_items, self.dtype):
            G[:, rows] = self._total(_count, (rows.start, rows.stop))
        return DenseGram(G)

    def _total(self, work: Callable[..., Matrix], sent: Any) -> Matrix:
        """Return the sum over partitions of what `work` makes of them and of `sent`."""
        for attempt in range(_ATTEMPTS):
            try:
                if not self._grams:
                    self._grams = self._load()
                shared = self.cluster.send(_Box(sent))
                futures = [
                    self.cluster.submit(work, gram, shared, of=part)
                    for part, gram in zip(self.X.parts, self._grams, strict=True)
                ]
                return self.cluster.result(self._reduce(futures))
            except LostError:
                # What was sent lived on workers only: begin this block again with all of it,
                # once the scheduler has noticed who is gone.
                self._grams = []
                time.sleep(attempt)
        raise ClusterError(
            f"Workers were lost in {_ATTEMPTS} attempts at the same step. Look at their logs; "
            "most likely they are out of memory."
        )

    def _load(self) -> list[Any]:
        """Let neighbouring partitions be decoded by the same worker, about as many by each."""
        workers, parts = self.cluster.workers(), self.X.parts
        ids = self.cluster.send(self.X.ids)
        ends = np.cumsum([size.interactions for size in self.X.sizes])
        # Equal shares of the interactions: a partition goes where its last one falls.
        share = (ends - 1) * len(workers) // max(1, ends[-1])
        grams = []
        for k, part in enumerate(parts):
            loader = _Loader(
                self.X.partitions.reader,
                self.X.sizes[k],
                self.dtype,
                self.user_power,
                mean_length(self.X),
            )
            home = [workers[int(share[k])]] if workers else None
            where = {"workers": home, "allow_other_workers": True} if home else {}
            source = self.cluster.source(part)
            grams.append(self.cluster.submit(loader, ids, part.name, source, of=part, **where))
        return grams

    def _reduce(self, futures: list[Any]) -> Any:
        """Add neighbours until one is left: the shape of the tree depends on their number only."""
        while len(futures) > 1:
            pairs = [futures[k : k + 2] for k in range(0, len(futures), 2)]
            futures = [
                self.cluster.submit(_add, *pair, of=self.X.parts[0]) if len(pair) == 2 else pair[0]
                for pair in pairs
            ]
        return futures[0]


class _Box:
    """Holds what is sent as one thing: Dask would send the parts of a tuple one by one."""

    def __init__(self, content: Any) -> None:
        self.content = content


def _apply(gram: SparseGram, box: _Box) -> Array:
    return gram.apply(box.content)


def _apply_pair(gram: SparseGram, box: _Box) -> Array:
    product, diagonal = gram.apply_pair(*box.content)
    # The diagonal is one more column, so that one sum over partitions adds both.
    return np.column_stack([product, diagonal])


def _diagonal(gram: SparseGram, _: _Box) -> Array:
    return gram.diagonal().astype(np.float64)


def _count(gram: SparseGram, box: _Box) -> Array:
    first, last = box.content
    # G is symmetric: counted rows, transposed, are its columns.
    return gram.rows(first, last).T


def _row_block(gram: SparseGram, box: _Box) -> sp.csr_array:
    return gram.row_block(*box.content)


def _triangles(gram: SparseGram, box: _Box) -> Array:
    return triangles(gram, box.content)


def _add(one: Matrix, other: Matrix) -> Matrix:
    return one + other
