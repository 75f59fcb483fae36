"""The remainder of nearest neighbours: found after the encoder, for what tags leave unexplained.

With W = P(E D'), H = G + L, L the diagonal matrix of l1 times the row penalties, and T the nearest
neighbours of item j, column j of the R that is zero outside of T and minimises

    |X - X (W + R)|^2 + |L^(1/2) (W + R)|^2 + kappa |R|^2

solves a small ridge problem:

    (H + kappa I)_TT R_Tj = (G - H W)_Tj = G_Tj (1 + beta_j) - (H E)_T . D_j,    beta = diag(E D')

It needs H E and G on the neighbours, never an items x items array. Weights of columns cancel.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ResourceError, SolverError
from teaser.files.memory import memory_of_machine, say_bytes
from teaser.model.extensions.remainder import Remainder
from teaser.model.gram.blocks import Matrix, in_threads, is_sparse, sparse_like
from teaser.model.gram.cost import Estimate, dense_rate
from teaser.model.gram.gpu import DeviceGram, to_host
from teaser.model.gram.operator import DenseGram, Gram, kernels
from teaser.model.gram.pairs import host_csr, nearest, sample_entries, upper_triangle
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Solution, not_positive_definite
from teaser.model.solver.system import System

Array = NDArray[Any]

# Neighbours are those by the cosine of a Gram with these weights of users, whatever those of the
# fit are: a long history says less about which two items go together.
NEAR_POWER = 0.5
_BATCH_BYTES = 2**25


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
    held
        G as an array where it is one, else its upper triangle (csr).
    penalty
        The diagonal of L, one for each row of G.
    """

    gram: Gram
    near: sp.csr_array
    held: Matrix
    penalty: Array

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
        """Find the neighbours, and G on them.

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
        check_neighbours(gram, m, n_items=n)
        if near is None:
            near = nearest(gram if cosine_gram is None else cosine_gram, m, n_items=n)
        held = gram.G if isinstance(gram, DenseGram | DeviceGram) else upper_triangle(gram, n)
        return cls(gram, near, held, to_host(penalty).astype(np.float64))

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
        """Solve the small problems in batches of items with equally many neighbours."""
        near, g = self.near, self.gram.diagonal()
        values, diagonal = np.zeros(near.nnz), np.zeros(near.shape[0])
        ridge = self.penalty + kappa
        n_tags = np.zeros(near.shape[0], int) if explained is None else explained.n_tags
        batches = list(_batches(np.diff(near.indptr), n_tags))

        def work(batch: int) -> None:
            items, m = batches[batch]
            places = near.indptr[items][:, None] + np.arange(m)
            T = near.indices[places]
            G = self._gather(np.column_stack([T, items]))
            A, own = G[:, :m, :m].copy(), G[:, :m, m]
            right = own.copy()
            if explained is not None:
                right *= np.asarray(1 + explained.beta[items], like=G)[:, None]
                right -= explained.entries(T, items)
            k = np.asarray(np.arange(m), like=G)
            A[:, k, k] += np.asarray(ridge[T], like=G)
            R = _solve_each(A, right)
            values[places] = to_host(R)
            diagonal[items] = to_host((own * R).sum(axis=1))

        if isinstance(g, np.ndarray) and kernels() is not None:
            in_threads(work, range(len(batches)))
        else:  # numpy's own threads, or those of a GPU
            for batch in range(len(batches)):
                work(batch)
        if not np.isfinite(values).all():
            raise SolverError(not_positive_definite(self.gram.dtype))
        by_item = sp.csr_array(
            (values.astype(self.gram.dtype), near.indices, near.indptr), shape=near.shape
        )
        return Found(sp.csr_array(by_item.T.tocsr()), diagonal)

    def _gather(self, places: Array) -> Array:
        """Return G on some sets of items (sets x items x items), in double precision."""
        held, g = self.held, self.gram.diagonal()
        if not is_sparse(held):
            at = np.asarray(places, like=held)
            return np.asarray(held[at[:, :, None], at[:, None, :]].astype(np.float64), like=held)
        out = np.zeros((*places.shape, places.shape[1]))
        fast = kernels()
        if fast is not None:
            fast.squares(held.indptr, held.indices, held.data, places.astype(np.int64), out)
        else:
            for b, some in enumerate(places):
                part = held[some][:, some].toarray()
                # A pair is above the diagonal once, whichever of the two comes first.
                out[b] = part + part.T - np.diag(part.diagonal())
        return np.asarray(out, like=g)


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
            E = np.asarray(encoder, dtype=gram.dtype, like=g)
            HE = gram.apply(E)
            HE += L[:, None] * E
            parts = to_host(E[np.asarray(owner, like=g), np.asarray(D.indices, like=g)])
            beta = np.bincount(owner, parts.astype(np.float64) * D.data, minlength=D.shape[0])
        return cls(HE, D, beta)

    @property
    def n_tags(self) -> Array:
        """The number of tags of each item."""
        return np.diff(self.D.indptr)

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


def check_neighbours(gram: Gram, m: int, *, n_items: int) -> None:
    """Raise `ResourceError` where G on the neighbours does not fit, from some of its rows."""
    is_array = isinstance(gram, DenseGram | DeviceGram)
    entries = 0 if is_array else sample_entries(gram, n_items) // 2
    need = neighbours_bytes(n_items, m, gram.dtype.name, entries=entries)
    if sum(need.values()) > memory_of_machine():
        parts = ", ".join(f"{name} {say_bytes(size)}" for name, size in need.items())
        raise ResourceError(
            f"A remainder of {m:,} neighbours for {n_items:,} items needs "
            f"{say_bytes(sum(need.values()))} ({parts}), and this machine has "
            f"{say_bytes(memory_of_machine())}. Use fewer neighbours, gram='dense' where items "
            "are few, or no remainder."
        )


def estimate_neighbours(
    found: Estimate, n_items: int, dtype: str, options: Remainder, *, pairs: float
) -> Estimate:
    """Return what a fit with neighbours takes, from what one without a remainder does.

    Parameters
    ----------
    pairs
        How many co-occurrences there are, as `pair_count` says. The upper triangle of a sparse
        Gram has at most half as many entries.
    """
    m, rounds = min(int(options.neighbours or 0), n_items), options.rounds
    entries = 0 if found.gram == "dense" else int(min(pairs, float(n_items) ** 2) / 2)
    # n systems of m unknowns; small ones are solved at a tenth of the speed of large products.
    solving = n_items * (2 / 3 * m**3 + 50.0 * m**2) / (0.1 * dense_rate("float64"))
    return replace(
        found,
        memory=found.memory | neighbours_bytes(n_items, m, dtype, entries=entries),
        seconds=rounds * (found.seconds + solving),
        iterations=rounds * found.iterations,
    )


def neighbours_bytes(n_items: int, m: int, dtype: str, *, entries: int) -> dict[str, int]:
    """Return the bytes of a remainder of m neighbours, by part.

    Parameters
    ----------
    entries
        How many entries of G's upper triangle are held for it.
    """
    size = np.dtype(dtype).itemsize
    # Neighbours with cosines, what is solved, R by item and R.
    memory = {"neighbours": n_items * m * (12 + 8 + 2 * (size + 4))}
    # Once joined, and values or columns once more while they are.
    return memory | ({"pairs of neighbours": int(1.5 * entries * (size + 4))} if entries else {})


def _solve_each(A: Array, b: Array) -> Array:
    """Return the solutions of A[k] x = b[k], symmetric systems; both may be overwritten."""
    fast = kernels()
    if fast is None or not isinstance(A, np.ndarray):
        return np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0], like=b)
    fast.solve(A, b)
    return b


def _batches(counts: Array, n_tags: Array) -> Iterator[tuple[Array, int]]:
    """Yield items with equally many neighbours, at most so many that a batch stays small."""
    for m in np.unique(counts[counts > 0]).tolist():
        items = np.flatnonzero(counts == m)
        # Those with most tags first: the first of a batch says how much memory it takes.
        items = items[np.argsort(-n_tags[items], kind="stable")]
        while len(items):
            # G and what is solved; numbers of neighbours x tags.
            height = _BATCH_BYTES // (16 * (m + 1) ** 2 + 16 * m * int(n_tags[items[0]]))
            yield items[: max(1, height)], m
            items = items[max(1, height) :]
