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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.matrix import pack
from teaser.errors import ParameterError, ResourceError, SolverError
from teaser.files import memory_of_machine, say_bytes
from teaser.model._arrays import (
    Matrix,
    blocks,
    host_csr,
    in_threads,
    is_sparse,
    rowdot,
    sparse_like,
    to_host,
)
from teaser.model._inverse import invert_gram
from teaser.model.build import build_gram
from teaser.model.estimate import Estimate, FitSize, check_room, dense_rate
from teaser.model.extensions.sparse import unpack_mapped
from teaser.model.extensions.weights import PLAIN, Weights
from teaser.model.gpu import free_memory
from teaser.model.gram import (
    RANK,
    DenseGram,
    Gram,
    leading_eigenpairs,
    nearest,
    row_weights,
    squares,
)
from teaser.model.solve import (
    EncoderEquation,
    Limits,
    Preconditioner,
    Solution,
    System,
    conjugate_gradients,
    not_positive_definite,
)
from teaser.parameters import Options, check_count, check_number, check_share

Array = NDArray[Any]
RemainderMatrix: TypeAlias = Any  # items x items, a dense array or a csr one
# Beyond this multiple of l1 and the mean count, float32 has lost three digits of R and more.
_LARGEST_K = 1000
_ROWS = 256
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
    rounds
        How often R is found with neighbours: beyond 1, the encoder is found again for each R.
    share
        Below 1, a joint R is kept sparse: of each row the largest entries that carry this share
        of its sum of squares.
    """

    l2: float = 50.0
    neighbours: int | None = 100
    rounds: int = 1
    share: float = 1.0

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""
        check_number("remainder.l2", self.l2)
        check_share("remainder.share", self.share)
        check_count("remainder.rounds", self.rounds)
        if self.neighbours is None:
            if self.rounds > 1:
                raise ParameterError(
                    f"remainder.rounds={self.rounds} needs neighbours: without them encoder and "
                    "remainder are found jointly, in one round. Leave rounds out."
                )
            return
        check_count("remainder.neighbours", self.neighbours)
        if self.share < 1:
            raise ParameterError(
                f"remainder.share={self.share:g} is for neighbours=None: a remainder of "
                f"{self.neighbours:,} neighbours is sparse already. Leave share out, or use fewer "
                "neighbours."
            )

    def check_precision(self, l1: float, X: Any, dtype: str) -> None:
        """Raise `ParameterError` where kappa is so large that rounding decides a joint R."""
        count = X.nnz / X.shape[1]
        if self.neighbours is None and dtype == "float32" and self.l2 > _LARGEST_K * (l1 + count):
            raise ParameterError(
                f"remainder.l2={self.l2:g} is more than {_LARGEST_K:,} times l2_weights={l1:g} and "
                f"the mean count of an item ({count:.3g}): in float32 rounding would decide. Use a "
                "smaller one, dtype='float64', or no remainder, which is nearly the same."
            )

    def kept_bytes(self, n_items: int, dtype: str) -> int:
        """Return an upper bound on the bytes of a sparse R, besides the dense array."""
        return int(self.share * n_items**2 * (np.dtype(dtype).itemsize + 4)) * (self.share < 1)


@dataclass(frozen=True, eq=False)
class Inverse(System):
    """The system of (G + L + kappa I)^-1 in the place of G; shared where L + kappa I is the same.

    `U` and `mu` are eigenpairs of G; `ridge` is the diagonal of L + kappa I, in main memory.
    """

    gram: DenseGram
    ridge: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def inverse(self) -> Array:
        """The inverse as an array, items x items."""
        return np.asarray(self.gram.G, like=self.g)


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

    def unknowns(self, encoder: Array) -> Array:
        """Return F = E V."""
        return self.system.rotate(encoder)

    def encoder(self, F: Array) -> Array:
        """Return E = F V'."""
        return self.system.rotate_back(F)

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
        return Preconditioner.build(alike, l1=0.0, l2=self.l2).apply


def prepare_inverse(
    X: Any,
    gram: Any,
    D: sp.csr_array,
    *,
    options: Remainder,
    l1: float,
    weights: Weights = PLAIN,
    item_counts: Array | None = None,
    device: str = "cpu",
    keep: bool = True,
    content: sp.csr_array | None = None,
) -> Inverse:
    """Return the inverse and what follows from the decoder, for any penalty on the encoder.

    Parameters
    ----------
    gram
        As in `build_gram`; a precomputed one is left as it is.
    D
        The decoder, in the type to compute in.
    l1
        The penalty on weights; the ridge of the inverse is L + kappa I.
    weights, item_counts
        Who counts how much; the counts are needed where items have weights.
    keep
        Whether the inverse stays in memory beside the remainder.
    content
        As in `build_gram`.
    """
    (n_items, n_tags), dtype, given = D.shape, D.dtype, not isinstance(gram, str)
    # The GPU makes the inverse beside its argument and an identity, and R is thinned on the host.
    on_gpu = device == "cuda"
    rest = 7 * n_items * n_tags * dtype.itemsize + 3 * n_tags**2 * 8
    check_room(
        "A remainder",
        n_items,
        dtype.name,
        arrays=1 + keep + given + 2 * on_gpu,
        rest=rest if on_gpu else rest + options.kept_bytes(n_items, dtype.name),
        free_on_gpu=free_memory() if on_gpu else None,
        instead="use fewer items, or no remainder: tags alone need no such array",
    )
    size = FitSize(n_tags, dtype)
    operator = build_gram(
        X,
        gram if given else "dense",
        size,
        device=device,
        user_power=weights.user_power,
        content=content,
    )
    r = row_weights(operator, weights.ridge_power)
    ridge = ridge_of(l1, r, options)
    U, mu = leading_eigenpairs(operator, RANK, np.random.default_rng(0))
    C = invert_gram(operator, ridge, overwrite=not given)
    system = prepare_remainder(
        C, D, ridge, row_penalty=r, column_weight=weights.of_columns(item_counts)
    )
    return replace(system, U=U, mu=mu)


def ridge_of(l1: float, row_penalty: Array, options: Remainder) -> Array:
    """Return the diagonal of L + kappa I in main memory, in double precision."""
    return np.asarray(l1 * to_host(row_penalty).astype(np.float64) + float(options.l2))


def prepare_remainder(
    C: Array, D: sp.csr_array, ridge: float | Array, **weights: Array | None
) -> Inverse:
    """Return the system of an inverse and a decoder, shared over penalties on the encoder.

    Parameters
    ----------
    weights
        `row_penalty` and `column_weight`, as in `System.build`.
    """
    gram = DenseGram(C)
    start = np.random.default_rng(0)
    how: dict[str, Any] = {"is_coarse": False, **weights}
    system = Inverse.build(gram, D, rank=0, rng=start, **how)
    return replace(system, ridge=np.broadcast_to(np.asarray(ridge, dtype=np.float64), len(C)))


def fit_remainder(
    system: Inverse,
    *,
    options: Remainder,
    l2: float,
    limits: Limits,
    start: Array | None = None,
    overwrite: bool = False,
) -> tuple[Solution, RemainderMatrix]:
    """Return the encoder and the remainder, in main memory.

    Parameters
    ----------
    system
        One whose ridge is l1 + kappa.
    l2
        The penalty on the encoder.
    overwrite
        Whether the system's memory may be used for the remainder.
    """
    kappa, share = float(options.l2), float(options.share)
    found = conjugate_gradients(RemainderEquation(system, kappa, l2), limits, start)
    R = to_host(remainder_weights(system, found.encoder, kappa=kappa, overwrite=overwrite))
    solution = replace(found, encoder=to_host(found.encoder))
    return solution, R if share == 1 else keep_largest(R, share)


def remainder_weights(
    system: Inverse, encoder: Array, *, kappa: float, overwrite: bool = False
) -> Array:
    """Return R (items x items), the best remainder of an encoder, with a zero diagonal.

        R dM(c) = -(E - kappa C E) D' - C dM(c / d + kappa beta + kappa v / d)    off the diagonal

    The array of C is left as it is unless `overwrite` says that R may take its place.
    """
    C, d = system.inverse, system.g
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


def keep_largest(R: Array, share: float) -> sp.csr_array:
    """Keep of each row the fewest entries that carry a share of its sum of squares.

    They are the largest ones; of equals those that come first.
    """
    data, indices, counts = [], [], []
    for first in range(0, len(R), _ROWS):
        block = np.asarray(R[first : first + _ROWS])
        square = np.square(block, dtype=np.float64)
        order = np.argsort(-square, axis=1, kind="stable")
        carried = np.cumsum(np.take_along_axis(square, order, axis=1), axis=1)
        before = np.pad(carried[:, :-1], ((0, 0), (1, 0)))
        keep = np.zeros(block.shape, dtype=bool)
        np.put_along_axis(keep, order, before < share * carried[:, -1:], axis=1)
        keep &= block != 0
        counts.append(keep.sum(axis=1))
        indices.append(np.nonzero(keep)[1].astype(np.int32))
        data.append(block[keep])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    # scipy gives columns the type of indptr: int64 would make them twice as wide.
    indptr = indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)
    return sp.csr_array((np.concatenate(data), np.concatenate(indices), indptr), shape=R.shape)


def estimate_remainder(found: Estimate, n_items: int, dtype: str, options: Remainder) -> Estimate:
    """Return what a fit with a joint remainder takes, from what one with a dense Gram does.

    Gram, inverse and remainder follow each other in one array; a sparse R comes beside it.
    """
    memory = dict(found.memory)
    if options.share < 1:
        memory["sparse remainder"] = options.kept_bytes(n_items, dtype)
    return replace(found, memory=memory, seconds=found.seconds + n_items**3 / dense_rate(dtype))


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


def pack_remainder(R: RemainderMatrix | None) -> dict[str, Array]:
    """Return the arrays to be saved."""
    if R is None:
        return {}
    return {"remainder": R} if isinstance(R, np.ndarray) else pack("remainder", R)


def unpack_remainder(
    arrays: Mapping[str, Array], n_learned: int, n_items: int
) -> RemainderMatrix | None:
    """Return what `pack_remainder` took apart; it stays on disk until it is used.

    Parameters
    ----------
    n_learned, n_items
        How many items there were at the fit, and are now.
    """
    R: RemainderMatrix | None = arrays.get("remainder")
    if R is None and "remainder.indptr" in arrays:
        R = unpack_mapped("remainder", arrays, n_items)
    if R is not None and R.shape != (n_learned, n_items):
        raise ValueError("its remainder is not of the items that were there at the fit")
    return R


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
        near
            The neighbours, where `nearest` has found them already.
        """
        n = gram.n_items if n_items is None else n_items
        check_neighbours(gram.dtype.name, m, n_items=n)
        if near is None:
            near = nearest(gram, m, n_items=n)
        return cls(gram, near, to_host(penalty).astype(np.float64))

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
        """Return the solutions and diag(G R), for batches of items.

        Items with fewer neighbours than others stand for themselves, with weights of zero.
        """
        near, g = self.near, self.gram.diagonal()
        values, diagonal = np.zeros(near.nnz), np.zeros(near.shape[0])
        counts = np.diff(near.indptr)
        batches = list(_batches(counts, _BATCH_BYTES // self.gram.dtype.itemsize))
        for items in batches:
            m = int(counts[items].max())
            is_there = np.arange(m) < counts[items][:, None]
            slots = np.where(is_there, near.indptr[items][:, None] + np.arange(m), 0)
            T = np.where(is_there, near.indices[slots], items[:, None])
            G = self.held.get(m)
            if G is None:
                G = squares(self.gram, np.column_stack([T, items]))
            if len(batches) == 1:
                self.held[m] = G
            n_tags = 0 if explained is None else int(explained.n_tags[items].max())
            height = max(1, _SOLVE_BYTES // (32 * (m + 1) ** 2 + 16 * m * n_tags))

            def work(
                first: int, items: Array = items, T: Array = T, slots: Array = slots,
                is_there: Array = is_there, G: Array = G, height: int = height,
            ) -> None:  # fmt: skip
                some = slice(first, first + height)
                here, there = items[some], is_there[some]
                R, own = _solve_small(G[some], T[some], here, there, ridge, explained)
                values[slots[some][there]] = to_host(R)[there]
                diagonal[here] = to_host((own * R).sum(axis=1))

            parts = range(0, len(items), height)
            if isinstance(g, np.ndarray):
                in_threads(work, parts)
            else:
                for first in parts:
                    work(first)
        return values, diagonal


def _solve_small(
    G: Array,
    T: Array,
    items: Array,
    is_there: Array,
    ridge: Array,
    explained: "_Explained | None",
) -> tuple[Array, Array]:
    """Return R_Tj and G_Tj of some items j (items x neighbours), in double precision.

    Parameters
    ----------
    G
        G on the neighbours T and the item itself, the last (items x m + 1 x m + 1).
    is_there
        Which of the neighbours count (items x m).
    """
    G, m = G.astype(np.float64), T.shape[1]
    there = np.asarray(is_there, like=G)
    own = G[:, :m, m] * there
    right = own.copy()
    if explained is not None:
        right *= np.asarray(1 + explained.beta[items], like=G)[:, None]
        right -= explained.entries(T, items) * there
    A = G[:, :m, :m] * (there[:, :, None] & there[:, None, :])
    k = np.asarray(np.arange(m), like=G)
    A[:, k, k] += np.asarray(np.where(is_there, ridge[T], 1.0), like=G)
    try:
        np.linalg.cholesky(A)  # LU would solve a system that is not positive definite too
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan), own
    return np.linalg.solve(A, right[:, :, None])[:, :, 0], own


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
            E = np.asarray(np.asarray(encoder, dtype=gram.dtype), like=g)
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
    batches = -(-n_items * (m + 1) ** 2 * size // _BATCH_BYTES)
    # n systems of m unknowns; small ones are solved at a tenth of the speed of large products.
    solving = n_items * (2 / 3 * m**3 + 50.0 * m**2) / (0.1 * dense_rate("float64"))
    # Pairs are counted once for the neighbours, and once for each batch.
    solving += pairs * batches / _PAIR_RATE
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
