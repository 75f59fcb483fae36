"""G = X'X as an operator: dense, or sparse interactions used twice, with content added if asked.

The solver uses only `n_items`, `dtype`, `apply(matrix)` and `diagonal()` of G, so that it can be
held in other ways too. With `apply_pair` a G computes both products of an iteration at once.
"""

from collections.abc import Callable, Iterable
from functools import cache, cached_property
from types import ModuleType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ParameterError
from teaser.model.gram.bands import WIDEST, Bands, unwritable
from teaser.model.gram.blocks import Matrix, in_threads, is_sparse, n_cores, sparse_like, unit_basis

# The arrays of a sparse matrix: where rows begin, their columns, values unless all are one.
_Parts: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]

Array = NDArray[Any]

# How many leading eigenpairs are used: at least, and where products with G are dear.
RANK = 40
_HIGHEST_RANK = 200
# float32 holds whole numbers exactly up to here.
_EXACT_COUNTS = 2**24
_ROWS = 128
# Terms of a sum from which on compiled loops pay for being loaded, or compiled at first use.
_WORTH_LOADING = 2**20


class Gram(Protocol):
    """A symmetric positive semidefinite items x items operator."""

    n_items: int
    dtype: np.dtype[Any]

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return G times a matrix (items x anything), dense."""
        ...

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G), how often each item was chosen."""
        ...


@runtime_checkable
class PairGram(Gram, Protocol):
    """A Gram that computes two dense products in one pass.

    It is used where that is cheaper than an items x tags x tags product.
    """

    def apply_pair(
        self, F: NDArray[Any], DV: Any, eta: NDArray[Any], beta: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return G W, and the diagonal of G F DV', where W = F diag(eta) - diag(beta) DV."""
        ...


class DenseGram:
    """G held as one items x items array: fast when there are many interactions per item.

    Parameters
    ----------
    G
        Symmetric, items x items.
    """

    def __init__(self, G: NDArray[Any]) -> None:
        self.G = G
        self.n_items = int(G.shape[0])
        self.dtype = G.dtype

    @classmethod
    def from_interactions(cls, X: sp.csr_array, dtype: np.dtype[Any]) -> "DenseGram":
        """Count co-occurrences, a block of items at a time, in a type that cannot wrap around."""
        gram = cls(np.zeros((X.shape[1], X.shape[1]), dtype=dtype))
        _add_counts(gram.G, X, 1.0)
        return gram

    def update(self, before: sp.csr_array, after: sp.csr_array) -> None:
        """Bring G up to date by counting only the users whose rows differ.

        Parameters
        ----------
        before, after
            Interactions (users x items) that G was counted from, and those that it is to be
            of. Users and items keep their places; new ones follow after the old.
        """
        before, after = sp.csr_array(before), sp.csr_array(after)
        if before.shape[1] != self.n_items or any(np.less(after.shape, before.shape)):
            raise ParameterError(
                f"G is of {self.n_items:,} items, the interactions before are {before.shape} and "
                f"after {after.shape}. Keep users and items in their places, new ones at the end."
            )
        if after.shape[1] > self.n_items:
            G = np.zeros((after.shape[1], after.shape[1]), dtype=self.dtype)
            G[: self.n_items, : self.n_items] = self.G
            self.G, self.n_items = G, int(after.shape[1])
        before = sp.csr_array((before.data, before.indices, before.indptr), shape=before.shape)
        before.resize(after.shape)
        changed = np.flatnonzero(np.diff((after != before).indptr))
        # X'X is a sum over users of x_u'x_u: only the terms of changed users differ.
        _add_counts(self.G, before[changed], -1.0)
        _add_counts(self.G, after[changed], 1.0)

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return G times a matrix; of a sparse one, a block of rows a thread."""
        if not sp.issparse(matrix):
            return np.asarray(self.G @ matrix)
        # G is symmetric, so (M'G)' = G M, with the sparse factor on the left.
        left = matrix.T.tocsr()
        out = np.empty((self.n_items, matrix.shape[1]), dtype=self.dtype)

        def work(first: int) -> None:
            rows = slice(first, first + _ROWS)
            out[rows] = (left @ self.G[:, rows]).T

        in_threads(work, range(0, self.n_items, _ROWS))
        return out

    def row_block(self, first: int, last: int) -> NDArray[Any]:
        """Return rows `first` to `last` of G, a view."""
        return self.G[first:last]

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G)."""
        return self.G.diagonal().copy()


class SparseGram:
    """G as X'(X M): no items x items array ever exists, nor a whole one of users x columns.

    A few columns at a time, in as many threads as there are cores, and of these some users at a
    time: their rows of X M stay in the cache until they are added up again, item by item. Each
    column is the same sum in the same order however they are grouped, so the result does not
    depend on the number of threads. Users with histories of like length are taken together.

    Parameters
    ----------
    X
        Interactions, users x items; not copied where every one of them is a one.
    """

    def __init__(self, X: sp.csr_array, dtype: np.dtype[Any]) -> None:
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._n_users, self.n_items = (int(size) for size in X.shape)
        self.dtype = np.dtype(dtype)
        self._parts = _parts(X, self.dtype)

    @cached_property
    def _both_ways(self) -> tuple[sp.csr_array, sp.csr_array]:
        """X and its transpose in the type of the Gram, for products without numba."""
        X = self._matrix(self.dtype)
        return X, X.T.tocsr()

    @cached_property
    def _bands(self) -> Bands:
        """The interactions of some users at a time, for the compiled loops."""
        return Bands(self._parts, (self._n_users, self.n_items), self.dtype, kernels())

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return X'(X M)."""
        out = np.empty((self.n_items, int(matrix.shape[1])), dtype=self.dtype)
        matrix = matrix.tocsc() if sp.issparse(matrix) else matrix
        width = _block_width(out.shape[1])

        def work(first: int) -> None:
            columns = slice(first, first + width)
            block = matrix[:, columns]
            out[:, columns] = self._multiply(block.toarray() if sp.issparse(block) else block)

        self._in_threads(work, range(0, out.shape[1], width))
        return out

    def apply_pair(
        self, F: NDArray[Any], DV: Any, eta: NDArray[Any], beta: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return G W and the diagonal of G F DV', in one reading of the interactions."""

        def work(first: int, out: Array, diagonal: Array) -> None:
            columns, half = slice(first, first + WIDEST // 2), WIDEST // 2
            here = DV[:, columns]
            both = np.zeros((self.n_items, WIDEST), dtype=self.dtype)
            left, right = both[:, : here.shape[1]], both[:, half : half + here.shape[1]]
            # [F | W] side by side: one pass over X computes G F and G W.
            left[:] = F[:, columns]
            np.multiply(beta[:, None], here, out=right)
            np.subtract(left * eta[columns], right, out=right)
            both = self._multiply(both)
            out[:, columns] = both[:, half : half + here.shape[1]]
            # diag(G F DV') = the sum over columns b of (G F)_b * DV_b.
            diagonal[:] = np.einsum("ij,ij->i", both[:, : here.shape[1]], here)

        return self._pair(F, work)

    @property
    def can_round(self) -> bool:
        """Whether there is a product of operands that are rounded to two bytes."""
        return kernels() is not None and self._bands.can_round

    def apply_pair_rounded(
        self, F: NDArray[Any], DV: Any, eta: NDArray[Any], beta: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return what `apply_pair` does with operands rounded to two bytes, in half of the time.

        The error is about 1e-4 of the result. It is there only where `can_round` is true.
        """
        bands, given = self._bands, (F, DV, eta, beta)
        try:
            return self._pair(F, lambda first, *into: bands.rounded_pair(given, first, into))
        finally:
            bands.give_back()

    def apply_rounded(self, matrix: Matrix) -> NDArray[Any]:
        """Return X'(X M) with operands rounded to two bytes; where `can_round` is true."""
        out, bands = np.empty(matrix.shape, self.dtype), self._bands

        def work(first: int) -> None:
            columns = slice(first, first + WIDEST)
            bands.multiply_rounded(matrix[:, columns], out[:, columns])

        try:
            self._in_threads(work, range(0, out.shape[1], WIDEST))
        finally:
            bands.give_back()
        return out

    def _pair(self, F: Array, work: Callable[[int, Array, Array], None]) -> tuple[Array, Array]:
        """Return both results of work on some columns at a time, from a first one on."""
        out = np.empty_like(F)
        width = WIDEST // 2  # however many cores: the diagonals are added by block
        diagonals = np.zeros((-(-out.shape[1] // width), self.n_items), dtype=np.float64)
        pieces = range(len(diagonals))
        self._in_threads(lambda place: work(place * width, out, diagonals[place]), pieces)
        return out, diagonals.sum(axis=0).astype(self.dtype)

    def rows(self, first: int, last: int) -> NDArray[Any]:
        """Return rows `first` to `last` of G, counted."""
        out = np.zeros((last - first, self.n_items), dtype=self.dtype)
        _add_counts(out, self._matrix(np.dtype(np.int8)), 1.0, first=first)
        return out

    @cached_property
    def _exact(self) -> tuple[sp.csr_array, sp.csr_array]:
        """X and its transpose in a type in which counts, and sums of weights, are exact enough."""
        X, (*_, values) = self._matrix(np.dtype(np.int8)), self._parts
        wide = counting_dtype(X, self.dtype) if values is None else np.dtype(np.float64)
        X = X.astype(wide)
        return X, X.T.tocsr()

    def sides(self) -> tuple[tuple[Array, Array, Array], ...]:
        """Return the arrays of X by item and by user, columns sorted, without zeros.

        Values are an empty array where all of them are one.
        """
        X = self._matrix(np.dtype(bool))
        if not X.data.all():
            X = X.copy()  # what it was made from stays as it is
            X.eliminate_zeros()
        Xt = X.T.tocsr()
        n = 0 if self._parts[2] is None else X.nnz
        sides = ((M, M.data[:n].astype(self.dtype)) for M in (Xt, X))
        return tuple((*unwritable(M.indptr, M.indices), values) for M, values in sides)

    def row_block(self, first: int, last: int) -> sp.csr_array:
        """Return rows `first` to `last` of G, sparse: only pairs that somebody chose."""
        X, Xt = self._exact
        return sorted_rows(Xt[first:last] @ X, self.dtype)

    def diagonal(self) -> NDArray[Any]:
        """Return diag(G) = the column sums of X squared."""
        _, indices, values = self._parts
        weights = None if values is None else np.square(values, dtype=np.float64)
        return np.bincount(indices, weights, minlength=self.n_items).astype(self.dtype)

    def _matrix(self, dtype: np.dtype[Any]) -> sp.csr_array:
        """Return X, its ones in a type, its values as they are."""
        indptr, indices, values = self._parts
        values = np.ones(len(indices), dtype) if values is None else values
        return sp.csr_array((values, indices, indptr), shape=(self._n_users, self.n_items))

    def _in_threads(self, work: Callable[[int], None], pieces: Iterable[int]) -> None:
        """Do the pieces of a product; what they share is made before the threads are."""
        _ = self._both_ways if kernels() is None else self._bands
        in_threads(work, pieces)

    def _multiply(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return X'(X M) for a few columns."""
        if kernels() is None:
            X, Xt = self._both_ways
            return np.asarray(Xt @ (X @ np.ascontiguousarray(block, dtype=self.dtype)))
        return self._bands.multiply(block)


class ContentGram:
    """G + weight S S', where G lives: items also count as alike because they share tags.

    The weight is the paper's delta.
    """

    def __init__(self, gram: Gram, S: sp.csr_array, weight: float) -> None:
        self.gram, self.n_items, self.dtype = gram, gram.n_items, gram.dtype
        self.weight = gram.dtype.type(weight)
        g, S = gram.diagonal(), sp.csr_array(S, dtype=gram.dtype)
        self.S, self.St = sparse_like(S, g), sparse_like(sp.csr_array(S.T.tocsr()), g)
        # diag(S S'): the sum of squares of each row of S.
        squares = np.asarray(S.multiply(S).sum(axis=1)).ravel().astype(gram.dtype)
        self._diagonal: NDArray[Any] = g + self.weight * np.asarray(squares, like=g)

    def apply(self, matrix: Matrix) -> NDArray[Any]:
        """Return (G + weight S S') times a matrix."""
        # S (S' M): S S' would be items x items.
        content = self.S @ (self.St @ matrix)
        dense = content.toarray() if is_sparse(content) else content
        out = self.gram.apply(matrix)
        out += np.multiply(dense, self.weight, out=dense)
        return out

    def row_block(self, first: int, last: int) -> Matrix:
        """Return rows `first` to `last` of the sum, as the Gram inside gives its own."""
        own, content = gram_rows(self.gram, first, last), self.S[first:last] @ self.St
        if not is_sparse(own):
            return own + self.weight * content.toarray()
        return sorted_rows(own + content * self.weight, self.dtype)

    def diagonal(self) -> NDArray[Any]:
        """Return the diagonal of the sum."""
        return self._diagonal.copy()


def gram_rows(gram: Gram, first: int, last: int) -> Matrix:
    """Return rows `first` to `last` of G where G lives: an array, or csr with sorted columns.

    The caller leaves them as they are. An operator without a `row_block` of its own is applied to
    columns of the identity.
    """
    if hasattr(gram, "row_block"):
        return gram.row_block(first, last)
    unit = np.zeros_like(gram.diagonal(), shape=(gram.n_items, last - first))
    unit[np.arange(first, last), np.arange(last - first)] = 1
    # G is symmetric: its columns are its rows.
    return gram.apply(unit).T


def sorted_rows(rows: Matrix, dtype: np.dtype[Any]) -> Matrix:
    """Return sparse rows in a type, the columns of each in order."""
    rows = rows.tocsr().astype(dtype)
    rows.sort_indices()
    return rows


def leading_rank(chosen: float, n_tags: int) -> int:
    """Return how many leading eigenpairs to use, for items that are chosen so often on average.

    More of them save iterations and lengthen each. They cost five products with as many columns.
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
    # The last columns converge slowest: ten are computed beyond those that are kept.
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


@cache
def kernels() -> ModuleType | None:
    """Return the compiled loops, or None where numba is not installed: scipy's are used then."""
    try:
        from teaser.model.gram import kernels as fast
    except ImportError:
        return None
    return fast


def kernels_for(n_terms: int) -> ModuleType | None:
    """Return the compiled loops for a sum of so many terms; None where loading them costs more."""
    return kernels() if n_terms >= _WORTH_LOADING else None


def _block_width(n_columns: int) -> int:
    """Return how many columns to take at once, so that all cores have some."""
    # 16 columns of float32 are 64 bytes, a line of the cache.
    return max(16, min(WIDEST, -(-n_columns // n_cores() // 16) * 16))


def counting_dtype(X: sp.csr_array, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type in which every count up to the number of users is exact."""
    return (
        np.dtype(np.float64) if X.shape[0] > _EXACT_COUNTS else np.promote_types(dtype, np.float32)
    )


def _parts(X: sp.csr_array, dtype: np.dtype[Any]) -> _Parts:
    """Return the arrays of a sparse matrix, without the values where all of them are one."""
    values = None if (X.data == 1).all() else X.data.astype(dtype)
    return *unwritable(X.indptr, X.indices), values


def _add_counts(G: NDArray[Any], X: sp.csr_array, sign: float, *, first: int = 0) -> None:
    """Add sign X'X to G, in place; G holds its rows from `first` on."""
    fast = kernels()
    if fast is not None:
        some = X if len(G) == X.shape[1] else X[:, first : first + len(G)]
        users = sp.csr_array(some.T)
        by_user, by_item = (_parts(M, np.dtype(np.float64)) for M in (X, users))
        # Some 256 pieces: popular items take longer, and small pieces even out the threads.
        height = max(1, len(G) // 256)

        def work(start: int) -> None:
            fast.count(*by_item, *by_user, sign, start, min(start + height, len(G)), G)

        in_threads(work, range(0, len(G), height))
        return
    X = sp.csr_array(X, dtype=counting_dtype(X, G.dtype))
    Xt = X.T.tocsr()
    # A block's product is a sparse matrix that may be nearly full: keep it near 50 MB.
    height = max(1, 2**22 // max(1, G.shape[1]))
    for start in range(0, len(G), height):
        rows = slice(start, min(start + height, len(G)))
        G[rows] += sign * (Xt[first + rows.start : first + rows.stop] @ X).toarray()
