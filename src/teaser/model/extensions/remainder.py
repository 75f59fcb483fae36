"""TEASER with a remainder: item-to-item weights for what tags leave unexplained.

With W = P(E D') + R, R an items x items matrix with a zero diagonal,

    f(E, R) = |X - X W|^2 + l1 |W|^2 + l2 |E|^2 + kappa |R|^2

is minimised by an equation in E alone and a closed form for R: the joint remainder. With weights,
G + L takes the place of G + l1 I, D~ = C D that of D, B0 C that of B0, and R C that of R.

The remainder of nearest neighbours is found after E. With W = P(E D'), H = G + L, L the diagonal
matrix of l1 times the row penalties, and T the nearest neighbours of item j, column j of the R
that is zero outside of T and minimises

    |X - X (W + R)|^2 + |L^(1/2) (W + R)|^2 + kappa |R|^2

solves a small ridge problem:

    (H + kappa I)_TT R_Tj = (G - H W)_Tj = G_Tj (1 + beta_j) - (H E)_T . D_j,    beta = diag(E D')

It needs H E and G on the neighbours, never an items x items array: G is counted on the neighbours
of some items at a time, and dropped. Weights of columns cancel.
See docs/users/model.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import SolverError
from teaser.model._arrays import (
    Matrix,
    as_dense,
    blocks,
    host_csr,
    in_threads,
    rowdot,
    to_host,
)
from teaser.model._inverse import invert_gram
from teaser.model.estimate import Estimate, check_fits, dense_rate
from teaser.model.gpu import free_memory
from teaser.model.gram import (
    RANK,
    DenseGram,
    Gram,
    leading_eigenpairs,
    squares,
)
from teaser.model.solve import (
    Limits,
    Solution,
    System,
    conjugate_gradients,
    not_positive_definite,
    preconditioner,
)
from teaser.parameters import Options, check_count, check_number

Array = NDArray[Any]
RemainderMatrix: TypeAlias = Any  # items x items, a dense array or a csr one
_CHUNK_BYTES = 2**26
# Neighbours are those by the cosine of a Gram with these weights of users, whatever those of the
# fit are: a long history says less about which two items go together.
NEAR_POWER = 0.5
# G on the neighbours of the items of a batch. More of it means fewer passes over the interactions.
_BATCH_BYTES = 2**31
_SOLVE_BYTES = 2**25
# Pairs that two cores count a second, for estimates.
_PAIR_RATE = 0.3e9


@dataclass(frozen=True, kw_only=True, repr=False)
class Remainder(Options):
    """Options of a remainder R, items x items, that is added to P(E D').

    It explains what tags leave unexplained, as "because you viewed".

    Parameters
    ----------
    l2
        The penalty on R, kappa in the equations. A small one leaves more to viewed items, a large
        one more to tags.
    neighbours
        How many nearest neighbours of an item may explain it; R is found after the encoder. None
        learns R for all pairs of items, jointly with the encoder, in an items x items array; 0
        stands for None where it cannot be written.
    """

    l2: float = 50.0
    neighbours: int | None = 100

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""
        check_number("remainder.l2", self.l2)
        if self.neighbours is not None:
            check_count("remainder.neighbours", self.neighbours)

    def ridge(self, l1: float, row_penalty: Array) -> Array:
        """Return the diagonal of L + kappa I in main memory, in double precision."""
        return np.asarray(l1 * to_host(row_penalty).astype(np.float64) + float(self.l2))


@dataclass(frozen=True, eq=False)
class Inverse(System):
    """The system of (G + L + kappa I)^-1 in the place of G; shared where L + kappa I is the same.

    `U` and `mu` are eigenpairs of G; `ridge` is the diagonal of L + kappa I, in main memory.
    """

    gram: DenseGram
    ridge: Array


@dataclass(frozen=True, eq=False)
class RemainderEquation:
    """The equation for the encoder once the best remainder is put in; the unknowns are F = E V.

    With C = (G + L + kappa I)^-1, d = diag(C), W = P(E D'), v = diag(C W), dM(x) the diagonal
    matrix of x and c the weights of columns, it is

        kappa (W - kappa C W + kappa C dM(v / d)) D + l2 E = kappa (I - C dM(1 / d)) dM(c) D

    The system is one of C in the place of G, its D the decoder times dM(c).
    """

    system: Inverse
    kappa: float
    l2: float

    def operator(self, F: Array) -> Array:
        """Return the left-hand side in the basis of V, with one product with C and one with V."""
        system, DV, eta, d = self.system, self.system.DV, self.system.eta, self.system.g
        beta = rowdot(F, DV)  # diag(E D')
        out = system.gram.apply(F)
        v = rowdot(out, DV) - d * beta
        # C W D V = C F diag(eta) - C dM(beta) D V, from which C dM(v / d) D V is taken too.
        removed = system.gram.apply(system.scaled(beta + v / d))
        kappa = self.kappa
        for rows in blocks(F, _CHUNK_BYTES):
            part = out[rows]
            part *= -kappa * kappa * eta
            part += (kappa * kappa) * (removed[rows] @ system.V)
            part += F[rows] * (kappa * eta + self.l2)
            part -= (kappa * beta[rows])[:, None] * DV[rows]
        return out

    def right_hand_side(self) -> Array:
        """Return kappa B0 dM(c) D V, where B0 is EASE with the ridge L + kappa I."""
        system, c = self.system, self.system.column_weight
        spread = system.gram.apply(system.scaled(c / system.g))
        own = c[:, None] * system.DV
        return np.asarray(self.kappa * (own - spread @ system.V), like=system.g)

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return that of TEASER for kappa (I - kappa C) in the place of the Gram.

        It has the Gram's eigenvectors. What most of the diagonal gives along them anyway is taken
        out of the eigenvalues.
        """
        system, kappa = self.system, self.kappa
        diagonal = np.maximum(kappa * (1 - kappa * system.g), 0.0).astype(system.g.dtype)
        # The mean ridge along each eigenvector u: the sum of u_i^2 ridge_i.
        least = float(system.ridge.min())
        extra = np.asarray(system.ridge - least, like=system.g)
        ridge = least + (np.square(system.U.astype(np.float64)) * extra[:, None]).sum(axis=0)
        leading = kappa * (1 - kappa / (system.mu + ridge)) - np.median(diagonal)
        alike = replace(system, g=diagonal, mu=np.maximum(leading, 0.0))
        return preconditioner(alike, l1=0.0, l2=self.l2)


def check_inverse(
    shape: tuple[int, int], dtype: np.dtype[Any], *, arrays: int, on_gpu: bool
) -> None:
    """Raise `ResourceError` where the items x items arrays of a joint remainder do not fit."""
    n_items, n_tags = shape
    # The GPU makes the inverse beside its argument and an identity.
    memory = {"items x items": (arrays + 2 * on_gpu) * n_items**2 * dtype.itemsize}
    memory["items x tags"] = 7 * n_items * n_tags * dtype.itemsize + 3 * n_tags**2 * 8
    check_fits(
        f"A full remainder of {n_items:,} items",
        memory,
        "neighbours, dtype='float32' or fewer items",
        have=free_memory() if on_gpu else None,
        there="the GPU has" if on_gpu else "this machine has",
    )


def invert_system(
    system: System, options: Remainder, l1: float, *, overwrite: bool = False
) -> Inverse:
    """Return the system of the inverse, for any penalty on the encoder.

    Parameters
    ----------
    l1
        The penalty on weights; the ridge of the inverse is L + kappa I.
    overwrite
        Whether the array of the Gram may be used for the inverse.
    """
    ridge = options.ridge(l1, system.row_penalty)
    U, mu = leading_eigenpairs(system.gram, RANK, np.random.default_rng(0))
    gram = DenseGram(invert_gram(system.gram, ridge, overwrite=overwrite))
    own = {part.name: getattr(system, part.name) for part in fields(system)}
    own |= {"gram": gram, "g": gram.diagonal(), "U": U, "mu": mu, "terms": None}
    return Inverse(**own, ridge=ridge)


def fit_remainder(
    system: Inverse,
    *,
    kappa: float,
    l2: float,
    limits: Limits,
    start: Array | None = None,
    overwrite: bool = False,
) -> tuple[Solution, Array]:
    """Return the encoder and the joint remainder, in main memory.

    Parameters
    ----------
    system
        One whose ridge is L + kappa I.
    kappa, l2
        The penalties on the remainder and on the encoder.
    overwrite
        Whether the system's memory may be used for the remainder.
    """
    F = None if start is None else system.rotate(start)
    found = conjugate_gradients(RemainderEquation(system, kappa, l2), limits, F)
    E = system.rotate_back(found.encoder)
    R = remainder_weights(system, E, kappa=kappa, overwrite=overwrite)
    return replace(found, encoder=to_host(E)), to_host(R)


def remainder_weights(
    system: Inverse, encoder: Array, *, kappa: float, overwrite: bool = False
) -> Array:
    """Return R (items x items), the best remainder of an encoder, with a zero diagonal.

        R dM(c) = -(E - kappa C E) D' - C dM(c / d + kappa beta + kappa v / d)    off the diagonal

    The array of C is left as it is unless `overwrite` says that R may take its place.
    """
    C, d = system.gram.G, system.g
    E = np.asarray(encoder, dtype=d.dtype, like=d)
    CE = system.gram.apply(E)
    beta = _diagonal(E, system)
    v = _diagonal(CE, system) - d * beta
    c = system.column_weight
    R = np.multiply(C, -(c / d + kappa * beta + kappa * v / d) / c, out=C if overwrite else None)
    rest = E - kappa * CE
    Dt = system.scaled(1 / c).T.tocsr()
    for rows in blocks(R):
        R[rows] -= rest[rows] @ Dt
    np.fill_diagonal(R, 0.0)
    return np.asarray(R, like=d)


def _diagonal(E: Array, system: System) -> Array:
    """Return diag(E D'), the product of each row with its item's tags."""
    D, row_of = system.D, system.row_of
    parts = E[row_of, D.indices] * D.data
    return np.bincount(row_of, weights=parts, minlength=len(E)).astype(E.dtype)


def describe_remainder(
    R: RemainderMatrix | None, options: Remainder | None
) -> dict[str, Any] | None:
    """Return the size of a remainder as plain values; None for the neighbours of a joint one."""
    if R is None:
        return None
    n_items, is_sparse = int(R.shape[0]), not isinstance(R, np.ndarray)
    entries = int(R.nnz) if is_sparse else n_items * (n_items - 1)
    m = None if options is None else options.neighbours
    found = {"items": n_items, "entries": entries, "sparse": is_sparse, "neighbours": m}
    return {**found, "without_neighbours": without_neighbours(R) if m and is_sparse else None}


def without_neighbours(R: sp.csr_array) -> int:
    """Return how many items a remainder adds nothing to, whatever was viewed."""
    return int((np.bincount(R.indices, minlength=R.shape[1]) == 0).sum())


def neighbour_remainder(
    gram: Gram, near: sp.csr_array, ridge: Array, explained: "Explained | None" = None
) -> sp.csr_array:
    """Return the best remainder on the neighbours of each item (items x items, csr).

    Each item has a small problem of its own, (G + dM(ridge))_TT R_Tj = right-hand side. It is
    G_Tj without `explained`: the weights of EASE on neighbours.

    Parameters
    ----------
    gram
        G of the fit.
    near
        Row j holds the neighbours of item j (items x items).
    ridge
        The diagonal of L + kappa I, one for each row of G, in main memory.
    explained
        What tags explain.
    """
    values, counts = np.zeros(near.nnz), np.diff(near.indptr)
    for items in _batches(counts, _BATCH_BYTES // gram.dtype.itemsize):
        # Items with fewer neighbours than others stand for themselves, with weights of zero.
        m = int(counts[items].max())
        is_there = np.arange(m) < counts[items][:, None]
        slots = np.where(is_there, near.indptr[items][:, None] + np.arange(m), 0)
        T = np.where(is_there, near.indices[slots], items[:, None])
        G = squares(gram, np.column_stack([T, items]))
        n_tags = 0 if explained is None else int(explained.n_tags[items].max())
        height = max(1, _SOLVE_BYTES // (32 * (m + 1) ** 2 + 16 * m * n_tags))

        def work(
            first: int, items: Array = items, T: Array = T, slots: Array = slots,
            is_there: Array = is_there, G: Array = G, height: int = height,
        ) -> None:  # fmt: skip
            some = slice(first, first + height)
            there = is_there[some]
            R = _solve_small(G[some], T[some], items[some], there, ridge, explained)
            values[slots[some][there]] = to_host(R)[there]

        parts = range(0, len(items), height)
        if isinstance(G, np.ndarray):
            in_threads(work, parts)
        else:
            for first in parts:
                work(first)
    if not np.isfinite(values).all():
        raise SolverError(not_positive_definite(gram.dtype))
    by_item = (values.astype(gram.dtype), near.indices, near.indptr)
    return sp.csr_array(sp.csr_array(by_item, shape=near.shape).T.tocsr())


def _solve_small(
    G: Array,
    T: Array,
    items: Array,
    is_there: Array,
    ridge: Array,
    explained: "Explained | None",
) -> Array:
    """Return R_Tj of some items j (items x neighbours), in double precision.

    Parameters
    ----------
    G
        G on the neighbours T and the item itself, the last (items x m + 1 x m + 1).
    is_there
        Which of the neighbours count (items x m).
    """
    G, m = G.astype(np.float64), T.shape[1]
    there = np.asarray(is_there, like=G)
    right = G[:, :m, m] * there
    if explained is not None:
        right *= np.asarray(1 + explained.beta[items], like=G)[:, None]
        right -= explained.entries(T, items) * there
    A = G[:, :m, :m] * (there[:, :, None] & there[:, None, :])
    k = np.asarray(np.arange(m), like=G)
    A[:, k, k] += np.asarray(np.where(is_there, ridge[T], 1.0), like=G)
    try:
        np.linalg.cholesky(A)  # LU would solve a system that is not positive definite too
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)
    return np.asarray(np.linalg.solve(A, right[:, :, None])[:, :, 0], like=G)


class Explained:
    """What tags explain: H E (items x tags) where the Gram lives; D and beta in main memory.

    Parameters
    ----------
    encoder
        E with all rows, an array or csr (rows of G x tags).
    D
        The decoder without weights of columns, csr (items x tags).
    penalty
        The diagonal of L, in main memory.
    """

    def __init__(self, gram: Gram, encoder: Matrix, D: Matrix, penalty: Array) -> None:
        g, D = gram.diagonal(), host_csr(D)
        E = np.asarray(as_dense(encoder).astype(gram.dtype), like=g)
        HE = gram.apply(E)
        HE += np.asarray(penalty.astype(gram.dtype), like=g)[:, None] * E
        owner: Array = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
        parts = to_host(E[np.asarray(owner, like=g), np.asarray(D.indices, like=g)])
        beta = np.bincount(owner, parts.astype(np.float64) * D.data, minlength=D.shape[0])
        self.HE, self.D, self.beta = HE, D, beta

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


def check_neighbours(dtype: str, m: int, *, n_items: int) -> None:
    """Raise `ResourceError` where neighbours and G on them do not fit."""
    what = f"A remainder of {min(m, n_items):,} neighbours for {n_items:,} items"
    check_fits(what, neighbours_bytes(n_items, m, dtype), "fewer neighbours, or no remainder")


def estimate_neighbours(
    found: Estimate, n_items: int, m: int, dtype: str, *, pairs: float
) -> Estimate:
    """Return what a fit with neighbours takes, from what one without a remainder does.

    Parameters
    ----------
    pairs
        How many co-occurrences there are, as `pair_count` says.
    """
    m = min(m, n_items)
    batches = -(-n_items * (m + 1) ** 2 * np.dtype(dtype).itemsize // _BATCH_BYTES)
    # n systems of m unknowns; small ones are solved at a tenth of the speed of large products.
    seconds = n_items * (2 / 3 * m**3 + 50.0 * m**2) / (0.1 * dense_rate("float64"))
    # Pairs are counted once for the neighbours, and once for each batch.
    seconds += pairs * (batches + 1) / _PAIR_RATE
    # H E is one product, and an iteration takes about two.
    seconds += found.seconds / (2 * found.iterations)
    return found.plus(seconds, neighbours_bytes(n_items, m, dtype))


def neighbours_bytes(n_items: int, m: int, dtype: str) -> dict[str, int]:
    """Return the bytes of a remainder of m neighbours, by part."""
    m, size = min(m, n_items), np.dtype(dtype).itemsize
    square = (m + 1) ** 2 * size
    return {
        # Neighbours with cosines, what is explained and solved, R by item and R.
        "neighbours": n_items * m * (12 + 2 * 8 + 2 * (size + 4)),
        "pairs of neighbours": min(n_items * square, max(_BATCH_BYTES, square)),
    }


def _batches(counts: Array, n_cells: int) -> Iterator[Array]:
    """Yield items with about as many neighbours, so many that G on them has so many cells."""
    items = np.flatnonzero(counts > 0)
    items = items[np.argsort(-counts[items], kind="stable")]
    while len(items):
        height = max(1, n_cells // (int(counts[items[0]]) + 1) ** 2)
        yield items[:height]
        items = items[height:]
