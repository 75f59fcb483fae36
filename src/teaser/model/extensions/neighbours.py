"""The remainder of nearest neighbours: found after the encoder, for what tags leave unexplained.

With W = P(E D'), H = G + L, L the diagonal matrix of l1 times the row penalties, and T the nearest
neighbours of item j, column j of the R that is zero outside of T and minimises

    |X - X (W + R)|^2 + |L^(1/2) (W + R)|^2 + kappa |R|^2

solves a small ridge problem:

    (H + kappa I)_TT R_Tj = (G - H W)_Tj = G_Tj (1 + beta_j) - (H E)_T . D_j,    beta = diag(E D')

It needs H E and G on the neighbours, never an items x items array: G is counted on the neighbours
of some items at a time, and dropped. Weights of columns cancel.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ResourceError, SolverError
from teaser.files import memory_of_machine, say_bytes
from teaser.model.extensions.remainder import Remainder
from teaser.model.gram.blocks import Matrix, is_sparse, sparse_like
from teaser.model.gram.cost import Estimate, dense_rate
from teaser.model.gram.gpu import DeviceGram, placed, to_host
from teaser.model.gram.operator import DenseGram, Gram
from teaser.model.gram.pairs import (
    Sets,
    host_csr,
    in_pieces,
    nearest,
    pair_kernels,
    squares,
    triangles,
)
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Solution, not_positive_definite
from teaser.model.solver.system import System

Array = NDArray[Any]

# Neighbours are those by the cosine of a Gram with these weights of users, whatever those of the
# fit are: a long history says less about which two items go together.
NEAR_POWER = 0.5
# G on the neighbours of the items of a batch. More of it means fewer passes over the interactions.
_BATCH_BYTES = 2**30
_SMALL_BATCH_BYTES = 2**25
# Pairs that two cores count a second, for estimates.
_PAIR_RATE = 0.3e9


@dataclass(frozen=True, eq=False)
class Found:
    """A remainder R (items x items, csr, zero diagonal), and diag(G R), one an item."""

    R: sp.csr_array
    diagonal: Array


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of every item and G on them: what every round and every kappa share.

    Attributes
    ----------
    gram
        G of the fit.
    near
        Row j holds the neighbours of item j (items x items).
    penalty
        The diagonal of L, one for each row of G.
    held
        G on the neighbours, once it is known, where that of all items is one batch.
    """

    gram: Gram
    near: sp.csr_array
    penalty: Array
    held: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        gram: Gram,
        m: int,
        *,
        penalty: Array,
        n_items: int | None = None,
        cosine_gram: Gram | None = None,
        near: sp.csr_array | None = None,
    ) -> "Neighbours":
        """Find the neighbours.

        Parameters
        ----------
        m
            How many neighbours an item has at most.
        penalty
            l1 times the row penalties.
        n_items
            How many of the rows of G are items, not user features; all when not given.
        cosine_gram
            The Gram whose cosines say who is near; that of the fit when not given.
        near
            The neighbours, where `nearest` has found them already.
        """
        n = gram.n_items if n_items is None else n_items
        check_neighbours(gram.dtype.name, m, n_items=n)
        if near is None:
            near = nearest(gram if cosine_gram is None else cosine_gram, m, n_items=n)
        return cls(gram, near, to_host(penalty).astype(np.float64))

    @property
    def n_without(self) -> int:
        """How many items have no neighbours: nobody chose them together with another."""
        return int((np.diff(self.near.indptr) == 0).sum())

    def remainder(self, encoder: Matrix, D: Matrix, kappa: float) -> Found:
        """Return the best remainder of an encoder and a decoder.

        Parameters
        ----------
        encoder
            E with all rows, an array or csr (rows of G x tags).
        D
            The decoder without weights of columns, csr (rows of G x tags).
        kappa
            The penalty on the remainder.
        """
        return self._solve(kappa, _Explained.build(self.gram, encoder, D, self.penalty))

    def weights(self) -> sp.csr_array:
        """Return the weights of EASE on neighbours, H_TT B_Tj = G_Tj (items x items)."""
        return self._solve(0.0, None).R

    def right_hand_side(self, system: System, found: Found) -> Array:
        """Return P(G C - (G + L) R C) D~ V: the right-hand side for the encoder beside R.

        With Y = R C D~ V it is that of the system less (G + L) Y, but for the diagonal of
        (G + L) R C, which is that of G R C.
        """
        n, g, DV = self.near.shape[0], system.g, system.DV
        scaled = system.column_weight[:n, None] * DV[:n]
        out = system.right_hand_side()
        Y = np.zeros_like(out)
        Y[:n] = sparse_like(found.R.astype(g.dtype), g) @ scaled
        out -= self.gram.apply(Y)
        Y *= np.asarray(self.penalty.astype(g.dtype), like=g)[:, None]
        out -= Y
        out[:n] += np.asarray(found.diagonal.astype(g.dtype), like=g)[:, None] * scaled
        return out

    def _solve(self, kappa: float, explained: "_Explained | None") -> Found:
        """Solve the small problems, one for each item."""
        values, diagonal = self._solve_all(self.penalty + kappa, explained)
        if not np.isfinite(values).all():
            raise SolverError(not_positive_definite(self.gram.dtype))
        near = self.near
        by_item = sp.csr_array(
            (values.astype(self.gram.dtype), near.indices, near.indptr), shape=near.shape
        )
        return Found(sp.csr_array(by_item.T.tocsr()), diagonal)

    def _solve_all(self, ridge: Array, explained: "_Explained | None") -> tuple[Array, Array]:
        """Return the solutions and diag(G R), by the way that suits where G lives."""
        if isinstance(self.gram, DeviceGram):
            found = self.gram.solve_small(self.near, ridge, explained)
            if found is not None:
                return found
        if pair_kernels() is not None and isinstance(self.gram.diagonal(), np.ndarray):
            return self._solve_compiled(ridge, explained)
        return self._solve_padded(ridge, explained)

    def _solve_compiled(self, ridge: Array, explained: "_Explained | None") -> tuple[Array, Array]:
        """Return the solutions and diag(G R); G on the neighbours as triangles."""
        near = self.near
        values, diagonal = np.zeros(near.nnz), np.zeros(near.shape[0])
        scale = np.ones(near.shape[0]) if explained is None else 1 + explained.beta
        minus = np.zeros(near.nnz) if explained is None else explained.slots(near)
        starts = batch_starts(np.diff(near.indptr), self.gram.dtype.itemsize)
        for first, last in pairwise(starts):
            sets = _with_own(near, first, last)
            G = self.held.get(first)
            if G is None:
                G = triangles(self.gram, sets)
                if len(starts) == 2:
                    self.held[first] = G
            slots = slice(near.indptr[first], near.indptr[last])
            items, out = np.arange(first, last), (values[slots], diagonal[first:last])
            _solve_in_threads(items, sets.arrays, G, ridge, scale, minus[slots], *out)
        return values, diagonal

    def _solve_padded(self, ridge: Array, explained: "_Explained | None") -> tuple[Array, Array]:
        """Return the same by numpy's functions: systems of a batch are filled up to one size."""
        near, g = self.near, self.gram.diagonal()
        values, diagonal = np.zeros(near.nnz), np.zeros(near.shape[0])
        counts = np.diff(near.indptr)
        n_tags = np.zeros(len(counts), int) if explained is None else explained.n_tags
        is_array = isinstance(self.gram, DenseGram)
        for items in _batches(
            counts, n_tags, _SMALL_BATCH_BYTES if is_array else _BATCH_BYTES // 4
        ):
            m = int(counts[items].max())
            is_there = np.arange(m) < counts[items][:, None]
            # Beyond its neighbours an item stands for itself, with weights of zero.
            slots = np.where(is_there, near.indptr[items][:, None] + np.arange(m), 0)
            T = np.where(is_there, near.indices[slots], items[:, None])
            G = squares(self.gram, np.column_stack([T, items])).astype(np.float64)
            there = np.asarray(is_there, like=g)
            own = G[:, :m, m] * there
            right = own.copy()
            if explained is not None:
                right *= np.asarray(1 + explained.beta[items], like=g)[:, None]
                right -= explained.entries(T, items) * there
            A = G[:, :m, :m] * (there[:, :, None] & there[:, None, :])
            k = np.asarray(np.arange(m), like=g)
            A[:, k, k] += np.asarray(np.where(is_there, ridge[T], 1.0), like=g)
            R = np.linalg.solve(A, right[:, :, None])[:, :, 0]
            values[slots[is_there]] = to_host(R)[is_there]
            diagonal[items] = to_host((own * R).sum(axis=1))
        return values, diagonal


@dataclass(frozen=True, eq=False)
class _Explained:
    """What tags explain: H E (items x tags) where the Gram lives; D and beta in main memory."""

    HE: Array
    D: sp.csr_array
    beta: Array

    @classmethod
    def build(cls, gram: Gram, encoder: Matrix, D: Matrix, penalty: Array) -> "_Explained":
        g, D = gram.diagonal(), host_csr(D)
        L = np.asarray(penalty.astype(gram.dtype), like=g)
        owner: Array = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
        beta: Array
        if is_sparse(encoder):
            E = host_csr(encoder).astype(gram.dtype)
            beta = np.asarray(E.multiply(D).sum(axis=1), dtype=np.float64).ravel()
            HE = gram.apply(sparse_like(E, g))
            rows = np.repeat(np.arange(E.shape[0]), np.diff(E.indptr))
            HE[np.asarray(rows, like=g), np.asarray(E.indices, like=g)] += np.asarray(
                penalty[rows].astype(gram.dtype) * E.data, like=g
            )
        else:
            E = placed(np.asarray(encoder, dtype=gram.dtype), g)
            HE = gram.apply(E)
            HE += L[:, None] * E
            parts = to_host(E[np.asarray(owner, like=g), np.asarray(D.indices, like=g)])
            beta = np.bincount(owner, parts.astype(np.float64) * D.data, minlength=D.shape[0])
        return cls(HE, D, beta)

    @property
    def n_tags(self) -> Array:
        """The number of tags of each item."""
        return np.diff(self.D.indptr)

    def slots(self, near: sp.csr_array) -> Array:
        """Return (H E)_i . D_j for all pairs of an item j and its neighbours i, by compiled loops.

        Row by row of H E, so that each is read once.
        """
        out, n, D = np.zeros(near.nnz), near.shape[0], self.D
        places = sp.csr_array((np.arange(near.nnz), near.indices, near.indptr), shape=near.shape)
        pairs = places.tocsc()
        arrays = ((pairs.indptr, pairs.indices, pairs.data), self.HE, (D.indptr, D.indices, D.data))
        in_pieces(n, lambda *part: pair_kernels().dot_pairs(*arrays, *part, out))
        return out

    def entries(self, T: Array, items: Array) -> Array:
        """Return (H E)_i . D_j for the neighbours i of items j (items x neighbours)."""
        D, HE, n_tags = self.D, self.HE, self.n_tags[items]
        place = np.arange(n_tags.max())
        # Items with fewer tags than others get some of weight zero.
        at = np.minimum(D.indptr[items][:, None] + place, max(0, D.nnz - 1))
        weights = np.where(place < n_tags[:, None], D.data[at], 0.0)
        rows, columns = (np.asarray(part, like=HE) for part in (T, D.indices[at]))
        seen = HE[rows[:, :, None], columns[:, None, :]]
        return np.asarray(np.einsum("bmq,bq->bm", seen, np.asarray(weights, like=HE)), like=HE)


def fit_neighbours(
    gram: Gram,
    E: Matrix,
    D: Matrix,
    *,
    l1: float,
    row_penalty: Array | None = None,
    options: Remainder,
    n_items: int | None = None,
    cosine_gram: Gram | None = None,
) -> sp.csr_array:
    """Return the remainder of nearest neighbours for an encoder and a decoder (items x items).

    Parameters
    ----------
    E, D
        As in `Neighbours.remainder`.
    l1, row_penalty
        L is l1 times the row penalties; these are ones when not given.
    n_items, cosine_gram
        As in `Neighbours.build`.
    """
    penalty = l1 * (np.ones(gram.n_items) if row_penalty is None else to_host(row_penalty))
    m = int(options.neighbours or 0)
    found = Neighbours.build(gram, m, penalty=penalty, n_items=n_items, cosine_gram=cosine_gram)
    return found.remainder(E, D, float(options.l2)).R


def learn_neighbours(
    equation: EncoderEquation,
    solution: Solution,
    neighbours: Neighbours,
    D: Matrix,
    *,
    options: Remainder,
    solve: Callable[[EncoderEquation, Any], Solution],
) -> tuple[Solution, sp.csr_array]:
    """Return the remainder after an encoder; with further rounds, both found in turn.

    Each step minimises the objective over one of the two, so that no round raises it.

    Parameters
    ----------
    equation
        That of the encoder alone.
    solution
        Its solution, with all rows.
    D
        The decoder without weights of columns, csr (rows of G x tags).
    solve
        Finds the encoder of an equation, from a start near it.

    Returns
    -------
    The solution beside the remainder, its iterations those of all rounds; the remainder.
    """
    kappa, iterations = float(options.l2), solution.iterations
    found = neighbours.remainder(solution.encoder, D, kappa)
    for _ in range(options.rounds - 1):
        right = neighbours.right_hand_side(equation.system, found)
        solution = solve(replace(equation, right=right), solution.encoder)
        iterations += solution.iterations
        found = neighbours.remainder(solution.encoder, D, kappa)
    return replace(solution, iterations=iterations), found.R


def check_neighbours(dtype: str, m: int, *, n_items: int) -> None:
    """Raise `ResourceError` where neighbours and G on them do not fit."""
    m = min(m, n_items)
    need = neighbours_bytes(n_items, m, dtype)
    if sum(need.values()) > memory_of_machine():
        parts = ", ".join(f"{name} {say_bytes(size)}" for name, size in need.items())
        raise ResourceError(
            f"A remainder of {m:,} neighbours for {n_items:,} items needs "
            f"{say_bytes(sum(need.values()))} ({parts}), and this machine has "
            f"{say_bytes(memory_of_machine())}. Use fewer neighbours, or no remainder."
        )


def estimate_neighbours(
    found: Estimate, n_items: int, dtype: str, options: Remainder, *, pairs: float
) -> Estimate:
    """Return what a fit with neighbours takes, from what one without a remainder does.

    Parameters
    ----------
    pairs
        How many co-occurrences there are, as `pair_count` says.
    """
    m, rounds = min(int(options.neighbours or 0), n_items), options.rounds
    size = np.dtype(dtype).itemsize
    batches = len(batch_starts(np.full(n_items, m), size)) - 1
    # n systems of m unknowns; small ones are solved at a tenth of the speed of large products.
    solving = n_items * (2 / 3 * m**3 + 50.0 * m**2) / (0.1 * dense_rate("float64"))
    # Pairs are counted once for the neighbours, and half of them for each batch.
    solving += pairs * batches / 2 / _PAIR_RATE
    # H E is one product, and an iteration takes about two.
    solving += found.seconds / (2 * found.iterations)
    return replace(
        found,
        memory=found.memory | neighbours_bytes(n_items, m, dtype),
        seconds=rounds * (found.seconds + solving) + pairs / _PAIR_RATE,
        iterations=rounds * found.iterations,
    )


def neighbours_bytes(n_items: int, m: int, dtype: str) -> dict[str, int]:
    """Return the bytes of a remainder of m neighbours, by part."""
    size = np.dtype(dtype).itemsize
    triangle = (m + 1) * (m + 2) // 2 * size
    batch = min(n_items * triangle, max(_BATCH_BYTES, triangle))
    return {
        # Neighbours with cosines, what is explained and solved, R by item and R.
        "neighbours": n_items * m * (12 + 2 * 8 + 2 * (size + 4)),
        # G on them, and the sets that it is of.
        "pairs of neighbours": batch + batch // triangle * (m + 1) * 4 * 8,
    }


def batch_starts(counts: Array, itemsize: int) -> list[int]:
    """Return where batches of items begin, and the end, so that a batch stays within its bytes."""
    triangle = (counts + 1).astype(np.int64) * (counts + 2) // 2 * itemsize
    ends = np.cumsum(triangle)
    starts = [0]
    while starts[-1] < len(counts):
        before = ends[starts[-1] - 1] if starts[-1] else 0
        end = int(np.searchsorted(ends, before + _BATCH_BYTES, side="right"))
        starts.append(max(end, starts[-1] + 1))
    return starts


def _solve_in_threads(items: Array, *arrays: Any) -> None:
    """Solve the problems of some items; see the compiled loop for the arrays."""
    in_pieces(len(items), lambda *part: pair_kernels().solve_triangles(*part, items, *arrays))


def _with_own(near: sp.csr_array, first: int, last: int) -> Sets:
    """Return the neighbours of some items, each with the item itself among them."""
    n = last - first
    own = sp.csr_array(
        (np.ones(n, bool), (np.arange(n), np.arange(first, last))), shape=(n, near.shape[1])
    )
    some = near[first:last]
    some = sp.csr_array((np.ones(some.nnz, bool), some.indices, some.indptr), shape=some.shape)
    both = sp.csr_array(some + own)
    both.sort_indices()
    return Sets.build(both)


def _batches(counts: Array, n_tags: Array, n_bytes: int) -> Iterator[Array]:
    """Yield items with about as many neighbours, so many that a batch stays within its bytes."""
    items = np.flatnonzero(counts > 0)
    items = items[np.lexsort((-n_tags[items], -counts[items]))]
    while len(items):
        m, most = int(counts[items[0]]), np.maximum.accumulate(n_tags[items])
        # G and what is solved; numbers of neighbours x tags.
        need = np.arange(1, len(items) + 1) * (32 * (m + 1) ** 2 + 16 * m * most)
        height = max(1, int(np.searchsorted(need, n_bytes, side="right")))
        yield items[:height]
        items = items[height:]
