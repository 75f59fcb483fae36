"""Groups of items that the same users choose: an embedding of the Gram, and k-means on it.

With N = dM(g)^-1/2 G dM(g)^-1/2, an item is its row of the leading eigenvectors of N times the
root of the eigenvalues, at length 1. Products of rows are cosines.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model.cuda import groups as there
from teaser.model.gram.blocks import Matrix
from teaser.model.gram.gpu import to_host
from teaser.model.gram.operator import Gram, leading_eigenpairs

Array = NDArray[Any]

_ROUNDS = 20
# The eigenvalues of N lie close together: twice the products of a preconditioner.
_SUBSPACE_ROUNDS = 8
# Products of a block Krylov space, and the relative length below which a direction is nothing new.
_STEPS = 8
_LEAST = 1e-3
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
    N = NormalGram(gram)
    if _STEPS * block_width(factors) < gram.n_items:
        U, mu = krylov_eigenpairs(N, factors, rng)
    else:
        U, mu = leading_eigenpairs(N, factors, rng, rounds=_SUBSPACE_ROUNDS)
    rows = to_host(U * np.sqrt(mu).astype(U.dtype))
    # diag(N) is 1, so a length is at most 1, and this is rounding.
    rows[np.linalg.norm(rows, axis=1) < _ROUNDING] = 0
    return unit_rows(rows)


def block_width(factors: int) -> int:
    """Return how many columns each product of `krylov_eigenpairs` has."""
    return max(1, -(-3 * factors // _STEPS))


def krylov_eigenpairs(gram: Gram, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return about `rank` leading eigenvectors and eigenvalues, by a block Krylov space.

    The space is that of B, G B, G^2 B and so on, for few random columns B: three columns for each
    eigenvector in all, where subspace iteration needs nine for the same accuracy.
    """
    g, width = gram.diagonal(), block_width(rank)
    K = np.zeros_like(g, shape=(gram.n_items, _STEPS * width))
    T, n = np.zeros((K.shape[1], K.shape[1])), 0
    start = rng.standard_normal((gram.n_items, width)).astype(gram.dtype)
    block = orthonormal(np.asarray(start, like=g), 0.0)
    while block.shape[1] and n + block.shape[1] <= K.shape[1]:
        old, n = n, n + int(block.shape[1])
        K[:, old:n] = block
        basis = K[:, :n]
        block = gram.apply(block)
        T[:n, old:n] = to_host(basis.T @ block)
        least = _LEAST * float(np.sqrt(np.square(block).sum(axis=0).max()))
        # Twice: what rounding leaves of the basis grows when columns get length 1.
        for _ in range(2):
            block, least = orthonormal(block - basis @ (basis.T @ block), least), _LEAST
    upper = np.triu(T[:n, :n])  # T = K'G K, of which the columns of a block are known down to it
    mu, W = np.linalg.eigh(upper + np.triu(upper, 1).T)
    lead = slice(max(0, n - rank), None)
    U = K[:, :n] @ np.asarray(W[:, lead].astype(gram.dtype), like=g)
    return U, np.asarray(np.maximum(mu[lead], 0.0), like=g)


def orthonormal(matrix: Array, least: float) -> Array:
    """Return an orthonormal basis of the columns, without directions shorter than `least`.

    From the eigenvectors of M'M: a tenth of the time of a QR decomposition. `blocks.unit_basis`
    keeps as many columns as it gets.
    """
    if matrix.shape[1] == 0:
        return matrix
    mu, V = np.linalg.eigh((matrix.T @ matrix).astype(np.float64))
    keep = mu > max(least**2, 1e-12 * float(mu[-1]))
    return np.asarray(matrix @ (V[:, keep] / np.sqrt(mu[keep])).astype(matrix.dtype), like=matrix)


def unit_rows(matrix: Array) -> Array:
    """Return the rows at length 1; rows of zeros stay."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(length > 0, length, 1), like=matrix)


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
    centroids = np.asarray(known[:n_groups], dtype=Y.dtype, like=Y)
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
    group, cosine = nearest_groups(Y, centroids)
    for n in range(rounds):
        filled = _refilled(group, cosine, len(centroids))
        # The mean direction of the items of each group.
        after = unit_rows(_group_sums(Y, filled, len(centroids)))
        moved = np.flatnonzero(to_host((after != centroids).any(axis=1)))
        centroids = after
        if len(moved) == 0 or n == rounds - 1:
            break
        if isinstance(Y, np.ndarray):
            group, cosine = _move(Y, centroids, moved, filled, cosine)
        else:  # a GPU compares all items with all groups in no time
            group, cosine = nearest_groups(Y, centroids)
    return centroids


def _move(
    Y: Array, centroids: Array, moved: Array, group: Array, cosine: Array
) -> tuple[Array, Array]:
    """Return for each item its nearest group and the cosine with it, once some centroids moved.

    Centroids that stayed are no nearer than before. An item has to be compared with them only
    where its own moved away; all items are compared with those that moved.

    Parameters
    ----------
    group, cosine
        The groups before, and cosines that no centroid that stayed exceeds.
    """
    has_moved = np.zeros(len(centroids), bool)
    has_moved[moved] = True
    own = np.flatnonzero(has_moved[group])
    now = cosine.copy()
    for rows in _blocks(Y, centroids):
        some = own[(own >= rows.start) & (own < rows.stop)]
        now[some] = np.einsum("ij,ij->i", Y[some], centroids[group[some]])
    near, best = nearest_groups(Y, centroids[moved])
    is_nearer = best > now
    out, now_best = np.where(is_nearer, moved[near], group), np.where(is_nearer, best, now)
    away = np.flatnonzero(now_best < cosine)
    out[away], now_best[away] = nearest_groups(Y[away], centroids)
    return out, now_best


def _group_sums(Y: Array, group: Array, n_groups: int) -> Array:
    """Return the sum of the rows of each group (groups x factors)."""
    if not isinstance(Y, np.ndarray):
        return np.asarray(there.group_sums(Y, group, n_groups), like=Y)
    entries = (np.ones(len(Y), Y.dtype), (group, np.arange(len(Y))))
    return np.asarray(sp.csr_array(entries, shape=(n_groups, len(Y))) @ Y)


def nearest_groups(Y: Array, centroids: Array) -> tuple[Array, Array]:
    """Return for each item its nearest group and the cosine with it, in main memory."""
    if not isinstance(Y, np.ndarray):
        return there.nearest_groups(Y, centroids)
    group, cosine = np.empty(len(Y), np.int64), np.empty(len(Y), Y.dtype)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        group[rows] = products.argmax(axis=1)
        cosine[rows] = products.max(axis=1)
    return group, cosine


def cosines(Y: Array, centroids: Array, nearest: int) -> sp.csr_array:
    """Return the positive cosines of each item with its nearest groups (items x groups)."""
    nearest = min(nearest, len(centroids))
    if not isinstance(Y, np.ndarray):
        return _positive(*there.top_groups(Y, centroids, nearest), len(centroids))
    columns = np.empty((len(Y), nearest), np.int64)
    values = np.empty((len(Y), nearest), np.float64)
    for rows in _blocks(Y, centroids):
        products = Y[rows] @ centroids.T
        place = np.arange(len(products))
        for k in range(nearest):
            # Few of many: to find the largest again and again is faster than to sort.
            columns[rows, k] = best = products.argmax(axis=1)
            values[rows, k] = products[place, best]
            products[place, best] = -np.inf
    return _positive(columns, values, len(centroids))


def _positive(columns: Array, values: Array, n_groups: int) -> sp.csr_array:
    """Return the positive of some cosines of each item (items x groups)."""
    start = np.arange(0, columns.size + 1, columns.shape[1])
    shape = (len(columns), n_groups)
    values = values.astype(np.float64)
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
