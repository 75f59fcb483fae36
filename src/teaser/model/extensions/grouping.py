"""Groups of items that the same users choose: an embedding of the Gram, and k-means on it.

With N = dM(g)^-1/2 G dM(g)^-1/2, an item is its row of the leading eigenvectors of N times the
root of the eigenvalues, at length 1. Products of rows are cosines.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.gram.blocks import Matrix
from teaser.model.gram.gpu import to_host
from teaser.model.gram.operator import Gram, leading_eigenpairs

Array = NDArray[Any]

_ROUNDS = 20
# The eigenvalues of N lie close together: twice the products of a preconditioner.
_SUBSPACE_ROUNDS = 8
_ROUNDING = 1e-6
# The starting items of k-means are drawn in this many parts, each far from those before.
_DRAWS = 64
# Cosines of one block of items with all groups.
_BLOCK_BYTES = 2**26


class NormalGram:
    """N = dM(g)^-1/2 G dM(g)^-1/2, where G lives; rows and columns of unchosen items are zero."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.n_items, self.dtype = gram, gram.n_items, gram.dtype
        self._g = gram.diagonal()
        # 1 where g is 0: such rows of G are zero anyway.
        self._scale = (1 / np.sqrt(self._g + (self._g <= 0)))[:, None].astype(self.dtype)

    def apply(self, matrix: Matrix) -> Array:
        """Return N times a dense matrix."""
        out: Array = self._scale * self.gram.apply(self._scale * matrix)
        return out

    def diagonal(self) -> Array:
        """Return diag(N): 1 for every item that was chosen."""
        out: Array = (self._g > 0).astype(self.dtype)
        return out


def embed_items(gram: Gram, factors: int, rng: np.random.Generator) -> Array:
    """Return the items as rows of length 1 (items x factors), zero where N has nothing of them."""
    U, mu = leading_eigenpairs(NormalGram(gram), factors, rng, rounds=_SUBSPACE_ROUNDS)
    rows = to_host(U * np.sqrt(mu).astype(U.dtype))
    # diag(N) is 1, so a length is at most 1, and this is rounding.
    rows[np.linalg.norm(rows, axis=1) < _ROUNDING] = 0
    return unit_rows(rows)


def unit_rows(matrix: Array) -> Array:
    """Return the rows at length 1; rows of zeros stay."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(length > 0, length, 1))


def draw_centroids(Y: Array, n_groups: int, rng: np.random.Generator, known: Array) -> Array:
    """Return unit vectors to start k-means from (groups x factors): those known, and items.

    Parameters
    ----------
    Y
        The items, rows of length 1.
    n_groups
        How many in all; at most as many as there are items.
    known
        Centroids to begin with. Items far from all others are more likely to be drawn.
    """
    centroids = known[:n_groups]
    distance = np.full(len(Y), 1.0)
    new = centroids
    missing = n_groups - len(centroids)
    for part in range(_DRAWS, 0, -1):
        if len(new):
            cosine = nearest_groups(Y, new)[1].astype(np.float64)
            distance = np.minimum(distance, np.maximum(1 - cosine, 1e-9))
        size = -(-missing // part)
        new = Y[rng.choice(len(Y), size, replace=False, p=distance / distance.sum())]
        centroids, missing = np.concatenate([centroids, new]), missing - size
    return centroids


def cluster(Y: Array, centroids: Array, *, rounds: int = _ROUNDS) -> Array:
    """Return the centroids (groups x factors) that spherical k-means ends at.

    Parameters
    ----------
    Y
        The items, rows of length 1; at least as many as there are groups.
    centroids
        Where it begins. A group that loses its items gets the item that is farthest from its own.
    """
    before = None
    for _ in range(rounds):
        group, cosine = nearest_groups(Y, centroids)
        group = _refilled(group, cosine, len(centroids))
        if before is not None and np.array_equal(group, before):
            break
        before = group
        # The mean direction of the items of each group.
        members = sp.csr_array(
            (np.ones(len(Y), Y.dtype), (group, np.arange(len(Y)))), shape=(len(centroids), len(Y))
        )
        centroids = unit_rows(np.asarray(members @ Y))
    return centroids


def nearest_groups(Y: Array, centroids: Array) -> tuple[Array, Array]:
    """Return for each item its nearest group and the cosine with it."""
    group, cosine = np.empty(len(Y), np.int64), np.empty(len(Y), Y.dtype)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        group[rows] = products.argmax(axis=1)
        cosine[rows] = products.max(axis=1)
    return group, cosine


def cosines(Y: Array, centroids: Array, nearest: int) -> sp.csr_array:
    """Return the positive cosines of each item with its nearest groups (items x groups)."""
    nearest = min(nearest, len(centroids))
    columns = np.empty((len(Y), nearest), np.int64)
    values = np.empty((len(Y), nearest), np.float64)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        best = np.argpartition(-products, nearest - 1, axis=1)[:, :nearest]
        columns[rows], values[rows] = best, np.take_along_axis(products, best, axis=1)
    start = np.arange(0, columns.size + 1, nearest)
    shape = (len(Y), len(centroids))
    out = sp.csr_array((np.maximum(values, 0).ravel(), columns.ravel(), start), shape=shape)
    out.eliminate_zeros()
    out.sort_indices()
    return out


def relative_weights(found: sp.csr_array) -> sp.csr_array:
    """Return cosines (items x groups) divided by the largest of their row, so 1 and less."""
    highest = found.max(axis=1).toarray().ravel()
    out = found.copy()
    out.data = found.data / np.repeat(highest, np.diff(found.indptr))
    return out


def _refilled(group: Array, cosine: Array, n_groups: int) -> Array:
    """Return the groups of items, empty ones given the items that fit worst where they are."""
    sizes = np.bincount(group, minlength=n_groups)
    empty = iter(np.flatnonzero(sizes == 0).tolist())
    target = next(empty, None)
    if target is None:
        return group
    group = group.copy()
    for i in np.argsort(cosine, kind="stable").tolist():
        if sizes[group[i]] > 1:
            sizes[group[i]] -= 1
            group[i] = target
            target = next(empty, None)
            if target is None:
                break
    return group


def _blocks(Y: Array, centroids: Array) -> Any:
    height = max(1, _BLOCK_BYTES // (len(centroids) * Y.dtype.itemsize))
    return (slice(first, first + height) for first in range(0, len(Y), height))
