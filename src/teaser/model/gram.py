"""G = X'X as an operator, the weights in it, its leading eigenpairs and nearest items.

The solver uses `n_items`, `dtype`, `apply` and `diagonal` of G only. So G may be one dense array,
sparse interactions used twice (X'(X M)), partitions on disk, a cluster or a GPU.

Weights of users, rows and columns change the objective to

    sum_u w_u |(x_u - x_u B) C|^2 + |L^(1/2) B C|^2,    L = l1 dM(r),    C = dM(c)

where dM(v) is the diagonal matrix of v. With G = X' dM(w) X and D~ = C D this is the problem
without weights.
"""

from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.model import _kernels
from teaser.model._arrays import (
    Matrix,
    aligned_zeros,
    as_dense,
    blocks,
    csr_parts,
    in_threads,
    is_sparse,
    sparse_like,
    to_host,
)

Array = NDArray[Any]

# How many leading eigenpairs a preconditioner uses: at least, and where items are chosen often.
RANK = 40
_HIGHEST_RANK = 200
# Columns that a product with sparse interactions takes at once, and users whose sums it holds.
_COLUMNS = 64
_USERS = 8192
# float32 holds whole numbers exactly up to here.
_EXACT_COUNTS = 2**24
# Entries of G's rows that are held at once, and rows that a thread counts at once.
_CELLS = 2**22
_PIECE = 8
_CHUNK_BYTES = 2**26
# Pivots below this part of the largest: the square of a basis is then too near to singular.
_NEAR_SINGULAR = 1e-5


class Gram(Protocol):
    """A symmetric positive semidefinite items x items operator.

    Further methods are optional: `row_block(first, last)` returns rows as an array or csr.
    """

    n_items: int
    dtype: np.dtype[Any]

    def apply(self, matrix: Matrix) -> Array:
        """Return G times a dense or sparse matrix (items x anything), dense."""
        ...

    def diagonal(self) -> Array:
        """Return diag(G), how often each item was chosen."""
        ...


class DenseGram:
    """G as one items x items array, in main memory or on a GPU.

    Parameters
    ----------
    G
        Symmetric, items x items.
    """

    def __init__(self, G: Array) -> None:
        self.G = G
        self.n_items = int(G.shape[0])
        self.dtype = np.dtype(str(G.dtype))

    @classmethod
    def from_interactions(cls, X: sp.csr_array, dtype: np.dtype[Any]) -> "DenseGram":
        """Count co-occurrences, in a type that cannot wrap around."""
        gram = cls(np.zeros((X.shape[1], X.shape[1]), dtype=dtype))
        add_counts(gram.G, X)
        return gram

    def apply(self, matrix: Matrix) -> Array:
        """Return G times a matrix."""
        if not is_sparse(matrix):
            return np.asarray(self.G @ matrix, like=self.G)
        # G is symmetric, so (M'G)' = G M, with the sparse factor on the left.
        left = matrix.T.tocsr()
        out = np.empty_like(self.G, shape=(self.n_items, matrix.shape[1]))

        def work(rows: slice) -> None:
            out[rows] = (left @ self.G[:, rows]).T

        parts = blocks(self.G)
        if isinstance(self.G, np.ndarray):
            in_threads(work, parts)
        else:
            work(slice(None))
        return out

    def row_block(self, first: int, last: int) -> Array:
        """Return rows `first` to `last` of G, a view."""
        return self.G[first:last]

    def diagonal(self) -> Array:
        """Return diag(G)."""
        return self.G.diagonal().copy()


class SparseGram:
    """G as X'(X M) in main memory: no items x items array ever exists.

    Threads take some columns each, and of these some users at a time, whose sums X M stay in the
    cache until they are added up again by item. The result does not depend on the number of
    threads.

    Parameters
    ----------
    X
        Interactions, users x items.
    """

    def __init__(self, X: sp.csr_array, dtype: np.dtype[Any]) -> None:
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.dtype, self.n_items = np.dtype(dtype), int(X.shape[1])
        self.X = X.astype(self.dtype, copy=False)

    @cached_property
    def _parts(self) -> list[tuple[sp.csr_array, sp.csr_array]]:
        """The interactions of some users at a time, by user and by item."""
        parts = (self.X[first : first + _USERS] for first in range(0, self.X.shape[0], _USERS))
        return [(part, sp.csr_array(part.T.tocsr())) for part in parts]

    def apply(self, matrix: Matrix) -> Array:
        """Return X'(X M)."""
        n_columns = int(matrix.shape[1])
        out = np.empty((self.n_items, n_columns), dtype=self.dtype)
        matrix = matrix.tocsc() if sp.issparse(matrix) else matrix
        parts = self._parts

        def work(first: int) -> None:
            columns = slice(first, first + _COLUMNS)
            given = as_dense(matrix[:, columns])
            block, total = (aligned_zeros(given.shape, self.dtype) for _ in range(2))
            block[:] = given
            room = aligned_zeros((min(_USERS, self.X.shape[0]), block.shape[1]), self.dtype)
            for by_user, by_item in parts:
                sums = room[: by_user.shape[0]]
                sums[:] = 0
                _kernels.add_rows(*csr_parts(by_user), block, sums)
                _kernels.add_rows(*csr_parts(by_item), sums, total)
            out[:, columns] = total

        in_threads(work, range(0, n_columns, _COLUMNS))
        return out

    @cached_property
    def _turned(self) -> sp.csr_array:
        return sp.csr_array(self.X.T.tocsr())

    def row_block(self, first: int, last: int) -> Array:
        """Return rows `first` to `last` of G, counted."""
        out = np.zeros((last - first, self.n_items), dtype=self.dtype)
        add_counts(out, self.X, first=first, turned=self._turned)
        return out

    def diagonal(self) -> Array:
        """Return diag(G) = the column sums of X squared."""
        squares = np.square(self.X.data, dtype=np.float64)
        return np.bincount(self.X.indices, squares, minlength=self.n_items).astype(self.dtype)


class ProductGram:
    """G as X'(X M) by the library's own sparse products, some columns at a time: for a GPU.

    Parameters
    ----------
    X
        Interactions (users x items) as csr of CuPy, or of SciPy.
    """

    def __init__(self, X: Matrix) -> None:
        self.X, self.Xt = X, X.T.tocsr()
        self.n_items, self.dtype = int(X.shape[1]), np.dtype(str(X.dtype))

    def apply(self, matrix: Matrix) -> Array:
        """Return X'(X M)."""
        n_columns = int(matrix.shape[1])
        out: Array = np.empty_like(self.X.data, shape=(self.n_items, n_columns))
        matrix = matrix.tocsc() if is_sparse(matrix) else matrix
        width = product_width(self.X.shape[0], self.dtype)
        for first in range(0, n_columns, width):
            columns = slice(first, first + width)
            given = as_dense(matrix[:, columns])
            out[:, columns] = self.Xt @ (self.X @ np.ascontiguousarray(given, like=given))
        return out

    def row_block(self, first: int, last: int) -> Matrix:
        """Return rows `first` to `last` of G, sparse."""
        return sorted_rows(self.Xt[first:last] @ self.X, self.dtype)

    def diagonal(self) -> Array:
        """Return diag(G) = the column sums of X squared."""
        squares = np.square(self.X.data.astype(np.float64))
        g: Array = np.bincount(self.X.indices, squares, minlength=self.n_items).astype(self.dtype)
        return g


class ContentGram:
    """G + mean(diag G) T T': items also count as alike because they share tags or words.

    T T' is the Gram of T', with terms in the place of users. It is applied, never formed.

    Parameters
    ----------
    gram
        G of the interactions.
    T
        Terms of the items, sparse (items x terms). Rows of length 1 make T T' cosines. Further
        rows of G have no terms.
    n_items
        How many rows of G are items, over which the mean is taken. All of them by default.
    """

    def __init__(self, gram: Gram, T: sp.csr_array, *, n_items: int | None = None) -> None:
        self.gram, self.n_items, self.dtype = gram, gram.n_items, gram.dtype
        g = gram.diagonal()
        root = float(g[:n_items].astype(np.float64).mean()) ** 0.5
        terms = sp.csr_array((root * T.astype(np.float64)).T.tocsr()).astype(self.dtype)
        terms.resize((terms.shape[0], gram.n_items))
        on_host = isinstance(g, np.ndarray)
        self.content: SparseGram | ProductGram = (
            SparseGram(terms, self.dtype) if on_host else ProductGram(sparse_like(terms, g))
        )
        self._diagonal: Array = g + self.content.diagonal()
        if hasattr(gram, "reads_for_each_product"):
            self.reads_for_each_product = True
        self.row_cells: int = getattr(gram, "row_cells", _CELLS)

    def apply(self, matrix: Matrix) -> Array:
        """Return the sum times a matrix."""
        out = self.gram.apply(matrix)
        out += self.content.apply(matrix)
        return out

    def row_block(self, first: int, last: int) -> Matrix:
        """Return rows `first` to `last` of the sum."""
        own, content = gram_rows(self.gram, first, last), self.content.row_block(first, last)
        if is_sparse(own) and is_sparse(content):
            return sorted_rows(own + content, self.dtype)
        return as_dense(own) + as_dense(content)

    def diagonal(self) -> Array:
        """Return the diagonal of the sum."""
        return self._diagonal.copy()


def add_counts(
    G: Array,
    X: sp.csr_array,
    *,
    first: int = 0,
    turned: sp.csr_array | None = None,
) -> None:
    """Add X'X to G, in place; G holds its rows from `first` on, `turned` may be X'."""
    Xt = sp.csr_array(X.T.tocsr()) if turned is None else turned
    by_item, by_user = csr_parts(Xt), csr_parts(X)

    def work(start: int) -> None:
        _kernels.add_counts(by_item, by_user, first + start, G[start : start + _PIECE])

    in_threads(work, range(0, len(G), _PIECE))


def count_product(X: Matrix, dtype: np.dtype[Any]) -> Array:
    """Return X'X as one array by the library's own products: for a GPU.

    Counts are exact, and weights are summed in double precision.
    """
    exact = X.shape[0] <= _EXACT_COUNTS and bool((X.data == 1).all())
    X = X.astype(np.float32 if exact else np.float64)
    Xt, columns, n = X.T.tocsr(), X.tocsc(), int(X.shape[1])
    out = np.empty_like(X.data, shape=(n, n), dtype=dtype)
    width = product_width(X.shape[0], X.dtype)
    for first in range(0, n, width):
        some = slice(first, first + width)
        out[:, some] = Xt @ columns[:, some].toarray(order="C")
    return out


def product_width(n_users: int, dtype: np.dtype[Any]) -> int:
    """Return how many columns of users x columns to hold at once: half a gigabyte."""
    return int(max(16, 2**29 // max(1, n_users * dtype.itemsize)))


def gram_rows(gram: Gram, first: int, last: int) -> Matrix:
    """Return rows `first` to `last` of G where G lives: an array, or csr with sorted columns.

    The caller leaves them as they are. An operator without `row_block` is applied to columns of
    the identity.
    """
    if hasattr(gram, "row_block"):
        return gram.row_block(first, last)
    unit = np.zeros_like(gram.diagonal(), shape=(gram.n_items, last - first))
    unit[np.arange(first, last), np.arange(last - first)] = 1
    return gram.apply(unit).T  # G is symmetric: its columns are its rows


def sorted_rows(rows: Matrix, dtype: np.dtype[Any]) -> Matrix:
    """Return sparse rows in a type, the columns of each in order."""
    rows = rows.tocsr().astype(dtype)
    rows.sort_indices()
    return rows


def row_height(gram: Gram) -> int:
    """Return how many rows of G to ask for at once."""
    return max(1, getattr(gram, "row_cells", _CELLS) // gram.n_items)


def as_array(gram: Gram, *, overwrite: bool = False) -> Array:
    """Return a Gram as an array of its own (items x items), which the caller may overwrite.

    Parameters
    ----------
    overwrite
        Whether the array of a Gram that has one is given away.
    """
    if isinstance(gram, DenseGram):
        return gram.G if overwrite else gram.G.copy()
    if isinstance(gram, ContentGram) and isinstance(gram.content, SparseGram):
        G = as_array(gram.gram, overwrite=overwrite)
        add_counts(G, gram.content.X)
        return G
    G = np.empty_like(gram.diagonal(), shape=(gram.n_items, gram.n_items))
    height = row_height(gram)
    for first in range(0, gram.n_items, height):
        last = min(first + height, gram.n_items)
        G[first:last] = as_dense(gram_rows(gram, first, last))
    return G


def weigh_users(
    X: sp.csr_array,
    power: float,
    dtype: np.dtype[Any],
    *,
    n_items: int | None = None,
    mean_length: float | None = None,
) -> sp.csr_array:
    """Return dM(sqrt w) X with w_u = (h_u / mean h)^-power; X itself where the power is 0.

    Parameters
    ----------
    X
        Interactions, users x items, with or without columns of user features after the items.
    dtype
        Of the values returned.
    n_items
        How many columns are items: h_u counts a user's entries in these. All of them by default.
    mean_length
        The mean of h over users with a history; that of X when not given. A partition needs that
        of all partitions.
    """
    if power == 0:
        return X
    entries = np.diff(X.indptr)
    lengths = entries
    if n_items is not None and n_items < X.shape[1]:
        owner = np.repeat(np.arange(X.shape[0]), entries)
        lengths = np.bincount(owner[X.indices < n_items], minlength=X.shape[0])
    if mean_length is None:
        mean_length = int(lengths.sum()) / max(1, int(np.count_nonzero(lengths)))
    # A user without a history counts as one with one item.
    roots = (np.maximum(lengths, 1) / max(mean_length, 1.0)) ** (-power / 2)
    data = (X.data * np.repeat(roots, entries)).astype(dtype)
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)


def row_weights(gram: Gram, power: float, *, n_items: int | None = None) -> Array:
    """Return r_i = (g_i / mean g)^power, one a row, where the Gram lives.

    Parameters
    ----------
    gram
        Of the weighted interactions; what content adds to it does not count.
    n_items
        How many rows are items, over which the mean is taken. All of them by default.
    """
    g = own_diagonal(gram).astype(np.float64)
    mean = float(g[:n_items].mean())
    return np.asarray(((g / (mean or 1.0)) ** power).astype(gram.dtype), like=g)


def own_diagonal(gram: Gram) -> Array:
    """Return diag(G) of the interactions alone, without what content adds."""
    return parts_of(gram)[0].diagonal()


def parts_of(gram: Gram) -> tuple[Gram, Matrix | None]:
    """Return the Gram of the interactions, and the terms of content (rows of G x terms), if any."""
    if isinstance(gram, ContentGram):
        return gram.gram, gram.content.X.T.tocsr()
    return gram, None


def item_ridge(g: Array, l1: float, power: float) -> Array:
    """Return diag(L), l1 (g_i / mean g)^power, for an inverse of G + L in closed form.

    Where nobody chose an item it is l1: 0 would make G + L singular.

    Parameters
    ----------
    g
        diag(G) of the weighted interactions, without content.
    """
    g = g.astype(np.float64)
    relative = np.where(g > 0, g / (float(g.mean()) or 1.0), 1.0)
    return np.asarray(l1 * relative**power)


def column_weights(counts: Array, power: float) -> Array:
    """Return c_j = (n_j / mean n)^(-power / 2) of item counts n, taken as at least 1."""
    n = np.maximum(counts, 1).astype(np.float64)
    return np.asarray((n / n.mean()) ** (-power / 2))


def leading_rank(chosen: float, n_tags: int) -> int:
    """Return how many leading eigenpairs to use, for items that are chosen so often on average.

    More of them save iterations and lengthen each.
    """
    return int(min(max(RANK, chosen / 2), _HIGHEST_RANK, max(10, n_tags // 2)))


def leading_eigenpairs(
    gram: Gram, rank: int, rng: np.random.Generator, *, rounds: int = 4
) -> tuple[Array, Array]:
    """Return about `rank` leading eigenvectors and eigenvalues of G by subspace iteration.

    Parameters
    ----------
    rounds
        Products with G before the last: more of them separate eigenvalues that lie closer.
    """
    rank = min(rank, gram.n_items)
    # The last columns converge slowest: ten are computed beyond those that are returned.
    width = min(rank + 10, gram.n_items)
    start = rng.standard_normal((gram.n_items, width)).astype(gram.dtype)
    Q = np.asarray(start, like=gram.diagonal())
    for _ in range(rounds):
        Q = unit_basis(gram.apply(Q))
    small = Q.T @ gram.apply(Q)
    # Rayleigh-Ritz: Q'G Q is symmetric but for rounding; eigh sorts upwards, largest last.
    mu, W = np.linalg.eigh((small + small.T).astype(np.float64) / 2)
    lead = slice(width - rank, None)
    U = Q @ W[:, lead].astype(gram.dtype)
    return U, np.maximum(mu[lead], 0.0)


def unit_basis(A: Array) -> Array:
    """Return orthonormal columns that span those of A."""
    # From the Cholesky factor of A'A in double precision where that is exact: faster than QR.
    wide = (A[rows].astype(np.float64) for rows in blocks(A, _CHUNK_BYTES))
    with suppress(np.linalg.LinAlgError):
        L = np.linalg.cholesky(sum(part.T @ part for part in wide))
        pivots = L.diagonal()
        if bool((pivots > _NEAR_SINGULAR * pivots.max()).all()):
            out, turned = np.empty_like(A), np.linalg.inv(L).T
            for rows in blocks(A, _CHUNK_BYTES):
                out[rows] = A[rows].astype(np.float64) @ turned
            return out
    return np.asarray(np.linalg.qr(A)[0], like=A)


def nearest(gram: Gram, m: int) -> sp.csr_array:
    """Return the m nearest neighbours of each item by cosine, G_ij / sqrt(g_i g_j) (items x items).

    Row j holds those of item j, with their cosines, in order of position. An item is no neighbour
    of itself, nor of one that nobody chose with it. Of equal cosines the first are kept.
    """
    n, g = gram.n_items, to_host(gram.diagonal()).astype(np.float64)
    height, found = row_height(gram), []
    for first in range(0, n, height):
        rows = to_host(as_dense(gram_rows(gram, first, min(first + height, n))))
        found += [_nearest_of(first + k, row, g, m) for k, row in enumerate(rows)]
    indptr = np.cumsum([0, *(len(items) for items, _ in found)])
    items, cosines = (np.concatenate(part) for part in zip(*found, strict=True))
    return sp.csr_array((cosines, items, indptr), shape=(n, n))


def _nearest_of(item: int, row: Array, g: Array, m: int) -> tuple[Array, Array]:
    """Return the neighbours of an item and their cosines, given its row of G and diag(G)."""
    others = np.flatnonzero(row > 0)
    others = others[others != item]
    # Cosines are compared to six decimals, so that rounding does not decide between equal ones.
    cosines = np.round(row[others] / np.sqrt(g[item] * g[others]), 6)
    if len(others) <= m:
        return others, cosines
    # Only those that reach the m-th largest are sorted.
    near = np.flatnonzero(cosines >= np.partition(cosines, len(others) - m)[len(others) - m])
    kept = np.sort(near[np.argsort(-cosines[near], kind="stable")[:m]])
    return others[kept], cosines[kept]


def squares(gram: Gram, places: Array) -> Array:
    """Return G on sets of equally many items (sets x items x items), where G lives.

    Parameters
    ----------
    places
        The items of each set (sets x items).
    """
    g, n = gram.diagonal(), gram.n_items
    at = np.asarray(places, like=g)
    if isinstance(gram, DenseGram):
        return np.asarray(gram.G[at[:, :, None], at[:, None, :]], like=g)
    out = np.zeros_like(g, shape=(*places.shape, places.shape[1]))
    # Each row of G is read once, and written to all sets that hold its item.
    order = np.argsort(places, axis=None, kind="stable")
    ends = np.searchsorted(places.ravel()[order], np.arange(n + 1))
    height = row_height(gram)
    for first in range(0, n, height):
        last = min(first + height, n)
        of, k = np.divmod(order[ends[first] : ends[last]], places.shape[1])
        if len(of):
            rows = as_dense(gram_rows(gram, first, last))
            of, k = np.asarray(of, like=g), np.asarray(k, like=g)
            out[of, k] = rows[(at[of, k] - first)[:, None], at[of]]
    return out
