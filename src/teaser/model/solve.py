"""The equation for the encoder, and conjugate gradients that solve it.

Half the gradient of the objective is zero where

    A(E) = B,    A(E) = P((G + L) P(E D')) D + l2 E,    B = P(G) C D.

P(M) is M with a zero diagonal, L = l1 dM(r) and C = dM(c) hold the weights of rows and columns,
and D is C times the decoder. Without weights L = l1 I and C = I. No items x items array is needed,
unless G is one. docs/users/model.md has the derivation.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ConvergenceWarning, ParameterError, SolverError
from teaser.model._arrays import (
    Matrix,
    as_dense,
    blocks,
    dot,
    each_block,
    norm,
    rowdot,
    sparse_like,
    to_host,
)
from teaser.model.build import DEVICES, GRAMS, build_gram, check_gram
from teaser.model.estimate import OPERATOR_COLUMNS, FitSize, explained_memory_error
from teaser.model.gram import (
    Gram,
    column_weights,
    count_product,
    leading_eigenpairs,
    leading_rank,
    own_diagonal,
    parts_of,
    row_weights,
)
from teaser.parameters import check_choice, check_count, check_number, check_power, check_rng
from teaser.progress import progress_bar

Array = NDArray[Any]
Callback = Callable[[int, float], None]
Tolerance: TypeAlias = float | Literal["settled"]

SOLVERS = ("cg", "admm")
# The least tolerance: rounding leaves residuals of up to 5e-7 in single and 2e-15 in double
# precision.
LEAST_TOL = {"float32": 1e-6, "float64": 1e-14}
# The tolerance that stops by the change of scores, and the relative change at which it does.
SETTLED: Literal["settled"] = "settled"
SETTLED_CHANGE = 0.01
# The residual of searches by a solver that knows no change of scores, and about that of a settled
# fit.
COARSE_TOL = 1e-2
# From this tolerance on, eigenvectors of D'D in single precision are exact enough.
_COARSE_BASIS = 1e-3
# How much larger than the residual the preconditioned one, relative to its value at F = 0, may
# be. It is near the relative error of scores, and 2 to 5 times at the end of fits from zero.
_FAR = 10.0
# How much <R, Z> falls in a step at the most, where that is foreseen.
_FASTEST = 0.1
# How much of what the leading eigenpairs take from the diagonal is put back. They leave others,
# which are smaller but not on the diagonal; a half or a third took the fewest iterations.
_PUT_BACK = 0.4
# Values of t + rho are rounded by about this much, with content by more, where its matrices are
# larger; columns of one value share a matrix.
_STEP, _COARSE_STEP = 1.1, 2.0
# Terms of content that the preconditioner takes at most.
_MOST_TERMS = 4000
# What they leave of the diagonal at least.
_LEAST_LEFT = 0.05
_CHUNK_BYTES = 2**24


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a solver stops.

    Attributes
    ----------
    tol
        Relative residual to stop at, or `"settled"`: stop by the change of scores.
    max_iter
        Iterations to stop after, with a `ConvergenceWarning`.
    callback
        Called after every iteration with its number and relative residual.
    change
        The relative change of scores that is left where `"settled"` stops.
    """

    tol: Tolerance
    max_iter: int
    callback: Callback | None = None
    change: float = SETTLED_CHANGE

    def loosened(self, times: float) -> Self:
        """Return limits that stop so many times earlier, by the same measure."""
        if isinstance(self.tol, str):
            return replace(self, change=min(0.5, times * self.change))
        return replace(self, tol=min(0.5, times * self.tol))

    def report(self, iteration: int, residual: float) -> None:
        """Call the callback, if there is one."""
        if self.callback is not None:
            self.callback(iteration, residual)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found.

    Attributes
    ----------
    encoder
        E, items x tags.
    iterations
        How many iterations were made.
    residual
        |A(E) - B| / |B| at the encoder that is returned. With tol="settled" it may be that of the
        step before the last.
    converged
        Whether the residual reached the tolerance, or the scores are settled.
    gradient_norm
        The norm of the objective's gradient, 2 |A(E) - B|, of the same encoder as the residual.
    """

    encoder: Array
    iterations: int
    residual: float
    converged: bool
    gradient_norm: float


@dataclass(frozen=True, eq=False)
class System:
    """What the equation needs and no penalty changes: shared by all cells of a grid.

    `D` is items x tags, `row_of` the row of each of its entries, `g` is diag(G), `V` and `eta` are
    the eigenvectors and eigenvalues of D'D, `DV` is D V. G is that of the interactions, of which
    `U` and `mu` are leading eigenvectors and eigenvalues, and that of the `terms` of content, if
    any. Unknowns are F = E V, in which D'D is diagonal.

    `row_penalty` is r and `column_weight` c, one a row: l1 r_i is the penalty on row i of P(E D'),
    and D is the decoder with row j times c_j. Both are ones without weights.
    """

    gram: Gram
    D: Matrix
    row_of: Array
    g: Array
    V: Array
    eta: Array
    DV: Array
    U: Array
    mu: Array
    terms: Matrix | None
    row_penalty: Array
    column_weight: Array

    @classmethod
    def build(
        cls,
        gram: Gram,
        D: sp.csr_array,
        *,
        solver: str = "cg",
        rank: int | None = None,
        rng: int | np.random.Generator | None,
        row_penalty: Array | None = None,
        column_weight: Array | None = None,
        is_coarse: bool = False,
    ) -> Self:
        """Prepare what every iteration needs.

        Parameters
        ----------
        D
            The decoder in the dtype of `gram`, without the weights of columns.
        solver
            ADMM has no preconditioner: it decomposes the whole of G.
        rank
            How many leading eigenpairs the preconditioner uses; None chooses.
        row_penalty, column_weight
            r and c; ones when not given, and for the rows of D beyond those of c.
        is_coarse
            Whether all fits are coarse: eigenvectors are then computed in the type of `gram`.
        """
        g, (inner, terms) = gram.diagonal(), parts_of(gram)
        if rank is None:
            chosen = float(inner.diagonal().mean())
            rank = leading_rank(chosen, D.shape[1]) if solver == "cg" else 0
        U, mu = leading_eigenpairs(inner, rank, np.random.default_rng(rng))
        r, c = np.ones_like(g), np.ones_like(g)
        if row_penalty is not None:
            r[:] = np.asarray(row_penalty, like=g)
        if column_weight is not None:
            c[: len(column_weight)] = np.asarray(column_weight, like=g)
        basis = _basis(D, g, c, is_coarse=is_coarse)
        return cls(gram=gram, g=g, U=U, mu=mu, terms=terms, row_penalty=r, column_weight=c, **basis)

    def with_decoder(self, D: sp.csr_array) -> Self:
        """Return the system of the same Gram and another decoder.

        D may be of the items alone; rows of user features below are empty.
        """
        return replace(self, **_basis(D, self.g, self.column_weight, is_coarse=False))

    def penalty(self, l1: float) -> Array:
        """Return diag(L) = l1 r, one a row."""
        return np.asarray(self.g.dtype.type(l1) * self.row_penalty, like=self.g)

    def right_hand_side(self) -> Array:
        """Return B V = P(G) C D V = (G - dM(g)) C D V."""
        B = np.empty_like(self.DV)
        for columns in self.columns():
            CDV = self.column_weight[:, None] * self.DV[:, columns]
            B[:, columns] = self.gram.apply(CDV)
            CDV *= self.g[:, None]
            B[:, columns] -= CDV
        return B

    def columns(self) -> Iterator[slice]:
        """Yield the columns of an items x tags array that are multiplied by G at once.

        Where the interactions are on disk or on a cluster, all of them: each product reads these.
        """
        n_tags = self.DV.shape[1]
        width = n_tags if hasattr(self.gram, "reads_for_each_product") else OPERATOR_COLUMNS
        for first in range(0, n_tags, width):
            yield slice(first, first + width)

    def rotate(self, encoder: Array) -> Array:
        """Return F = E V."""
        E = np.asarray(encoder, dtype=self.g.dtype, like=self.g)
        return np.asarray(E @ self.V, like=self.g)

    def rotate_back(self, F: Array) -> Array:
        """Return E = F V'."""
        return np.asarray(F @ self.V.T, like=F)

    def scaled(self, weights: Array) -> Matrix:
        """Return D with row i multiplied by weights[i]."""
        D = self.D
        return type(D)((D.data * weights[self.row_of], D.indices, D.indptr), shape=D.shape)


def _basis(D: sp.csr_array, g: Array, c: Array, *, is_coarse: bool) -> dict[str, Any]:
    """Return C D with as many rows as g has, and what follows from it."""
    missing = len(g) - D.shape[0]
    owner = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    data = (D.data * to_host(c)[owner]).astype(D.dtype)
    # Rows that begin where the last one ends are empty.
    starts = np.pad(D.indptr, (0, missing), mode="edge")
    D = sparse_like(sp.csr_array((data, D.indices, starts), shape=(len(g), D.shape[1])), g)
    eta, V = _eigenvectors(D, is_coarse=is_coarse)
    DV = (D @ V).astype(V.dtype, order="C", copy=False)
    return {"D": D, "row_of": np.asarray(owner, like=g), "V": V, "eta": eta, "DV": DV}


def _eigenvectors(D: Matrix, *, is_coarse: bool) -> tuple[Array, Array]:
    """Return the eigenvalues of D'D, upwards, and its eigenvectors, in the type of D.

    They are computed in double precision: their orthogonality bounds the attainable residual.
    Coarse fits do without, in half of the time.
    """
    kind = np.dtype(str(D.dtype))
    if not sp.issparse(D):
        eta, V = np.linalg.eigh(count_product(D, np.dtype(np.float64)))
    else:
        K = (D.T @ D).toarray().astype(kind if is_coarse else np.float64)
        # OpenBLAS is faster from the upper triangle.
        eta, V = scipy.linalg.eigh(
            K, lower=False, driver="evd", overwrite_a=True, check_finite=False
        )
    # D'D is positive semidefinite: eigenvalues below zero are rounding.
    return np.maximum(eta, 0.0).astype(kind), V.astype(kind, order="C")


@dataclass(frozen=True, eq=False)
class EncoderEquation:
    """The equation of a system and the two penalties; the unknowns are F = E V."""

    system: System
    l1: float
    l2: float

    def operator(self, F: Array) -> Array:
        """Return A(F V') V.

        With W = P(E D') D V = F diag(eta) - diag(beta) DV and beta = diag(E D') this is

            (G + L) W - diag(alpha) DV + l2 F,    alpha = diag(G E D') - g beta,

        where alpha is diag((G + L) P(E D')), in which the terms with L cancel.
        """
        system, gram = self.system, self.system.gram
        DV, eta = system.DV, system.eta
        beta = rowdot(F, DV)  # diag(E D') = diag(F (D V)'), because V is orthogonal
        out, diagonal = np.empty_like(F), np.zeros_like(beta)
        for columns in system.columns():
            f, d = F[:, columns], DV[:, columns]
            diagonal += rowdot(gram.apply(f), d)  # diag(G E D')
            W = f * eta[columns]
            W -= beta[:, None] * d
            out[:, columns] = gram.apply(W)
        L, l2 = system.penalty(self.l1), system.g.dtype.type(self.l2)
        taken = diagonal + (L - system.g) * beta  # alpha + L beta

        def finish(rows: slice) -> None:
            # L W - diag(alpha) DV + l2 F = (L eta + l2) F - diag(alpha + L beta) DV
            own = np.multiply.outer(L[rows], eta)
            own += l2
            own *= F[rows]
            own -= taken[rows, None] * DV[rows]
            out[rows] += own

        each_block(finish, out)
        return out

    def right_hand_side(self) -> Array:
        """Return B V."""
        return self.system.right_hand_side()

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return an approximate inverse of the operator."""
        return preconditioner(self.system, l1=self.l1, l2=self.l2)


def preconditioner(system: System, *, l1: float, l2: float) -> Callable[[Array], Array]:
    """Return an approximate inverse of the operator: symmetric, positive, and cheap to apply.

    G is replaced by diag(t) + Z Z': a part of the diagonal, a few leading eigenpairs in the dense
    columns of Z, and the terms of content that weigh most in its sparse ones. In the basis of V
    each column b is then a diagonal plus a low rank, with L in t,

        eta_b (diag(t + rho_b) + Z Z'),    rho_b = l2 / eta_b,

    inverted by Woodbury's formula with a small matrix. It depends on rho_b alone, which is rounded
    there, and columns `starts[k]` to `starts[k + 1]` share `cores[k]`. Where eta_b is next to
    nothing, `floor` takes its place; `rounded` is floor times the rounded rho.

    That an item may not explain itself changes G (x) D'D by -N G - G N + diag(g) N, where N holds
    D_i'D_i for each row i. On the diagonal part this is -t_i D_i'D_i. On the leading part it is
    (g - t)_i D_i'D_i where the histories cancel, and less the larger the item's leverage. Both
    together are one more rank for each row, by the Sherman-Morrison formula: before Woodbury's
    where positive (`sink`), beside it where negative (`lift`), which keeps the whole positive.
    """
    DV, eta, dtype = system.DV, system.eta, system.gram.dtype
    penalty = dtype.type(l2)
    t, U, terms = _low_rank(system, l1)
    whole = system.g + system.penalty(l1)

    def damped(rows: slice) -> tuple[Array, Array]:
        """D_i (h K + l2 I)^-1 D_i' for the diagonal part and for all of G + L."""
        square = np.square(DV[rows])
        return tuple(
            (square / (np.multiply.outer(h[rows], eta) + penalty)).sum(axis=1) for h in (t, whole)
        )

    inside, both = (np.concatenate(part) for part in zip(*each_block(damped, DV), strict=True))
    leverage = whole * both  # from 0 to 1
    # The penalty outweighs what smaller values count.
    floor = np.maximum(eta, dtype.type(1e-3 * l2) / (system.g.max() + 1))
    rho, starts = _rounded(penalty / floor, t, _STEP if terms is None else _COARSE_STEP)
    cores = [_core(U, terms, t + rho[first]) for first in starts[:-1]]
    rounded = floor * rho
    own = np.maximum(1.0 - 2.0 * leverage, 0.0) * (whole - t) - t
    # Sherman-Morrison: own / (1 + own D_i level^-1 D_i'), the bottom positive.
    weight = own / np.maximum(1.0 + own * inside, np.finfo(dtype).eps)
    sink, lift = (np.maximum(part, 0.0).astype(dtype) for part in (weight, -weight))

    def level(rows: slice, eta: Array, l2: Array) -> Array:
        out = np.multiply.outer(t[rows], eta)
        out += l2
        return np.asarray(out, like=t)

    def divided(R: Array, rows: slice) -> Array:
        """(R - sink s DV) / level with level = t floor + rounded and s = R / level . DV."""
        own, below = DV[rows], level(rows, floor, rounded)
        out = R / below
        np.divide(own, below, out=below)
        below *= (sink[rows] * np.einsum("ij,ij->i", out, own))[:, None]
        out -= below
        return np.asarray(out, like=R)

    def lifting(rows: slice) -> Array:
        """DV / (t eta + l2)."""
        below = level(rows, eta, penalty)
        return np.asarray(np.divide(DV[rows], below, out=below), like=below)

    def apply(R: Array) -> Array:
        """Return the preconditioned residual."""
        out, lifted = np.empty_like(R), np.empty_like(t)

        def divide(rows: slice) -> None:
            out[rows] = divided(R[rows], rows)
            lifted[rows] = lift[rows] * np.einsum("ij,ij->i", R[rows], lifting(rows))

        each_block(divide, R)
        spread = U.T @ out
        if terms is not None:
            spread = np.concatenate([spread, terms.T @ out])
        for core, first, last in zip(cores, starts, starts[1:], strict=False):
            spread[:, first:last] = core @ spread[:, first:last]
        spread *= floor
        for chunk in blocks(R, _CHUNK_BYTES):
            X = U[chunk] @ spread[: U.shape[1]]
            if terms is not None:
                X += terms[chunk] @ spread[U.shape[1] :]

            def correct(within: slice, X: Array = X, first: int = chunk.start) -> None:
                rows = slice(first + within.start, first + within.stop)
                own = lifting(rows)
                own *= lifted[rows, None]
                own -= divided(X[within], rows)
                out[rows] += own

            each_block(correct, X)
        return out

    return apply


def _low_rank(system: System, l1: float) -> tuple[Array, Array, Matrix | None]:
    """Return t, the leading eigenvectors and the terms of content: G + L is near t + Z Z'."""
    dtype, terms = system.gram.dtype, system.terms
    U = system.U * np.sqrt(system.mu).astype(dtype)
    taken = np.square(U.astype(np.float64)).sum(axis=1)
    # What the pairs leave of the diagonal; they are approximate, so it may be below zero.
    g = system.g if terms is None else own_diagonal(system.gram)
    left = np.maximum(g - taken, 0.0)
    left += _PUT_BACK * (g - left)
    t = (left + l1 * system.row_penalty.astype(np.float64)).astype(dtype)
    if terms is None:
        return t, U, None
    t += system.g - g
    weights = to_host(terms.multiply(terms).sum(axis=0)).ravel()
    kept = np.flatnonzero(weights > float(np.median(t)))
    kept = kept[np.argsort(-weights[kept], kind="stable")[:_MOST_TERMS]]
    if not len(kept):
        return t, U, None
    terms = terms[:, np.asarray(kept, like=t)].tocsr()
    t -= np.asarray(terms.multiply(terms).sum(axis=1), like=t).ravel()
    # Of items that few chose nothing is left; Woodbury's formula needs some of it.
    return np.maximum(t, _LEAST_LEFT * system.g), U, terms


def _core(U: Array, terms: Matrix | None, level: Array) -> Array:
    """Return (I + Z' Diag(1 / level) Z)^-1, of Woodbury's formula."""
    within = U.T @ (U / level[:, None])
    if terms is not None:
        over = (terms.multiply((1 / level)[:, None])).tocsr()
        across = over.T @ U
        below = np.concatenate([across, as_dense(terms.T @ over)], axis=1)
        within = np.concatenate([np.concatenate([within, across.T], axis=1), below])
    identity = np.asarray(np.eye(len(within)), like=level)
    return np.asarray(np.linalg.inv(identity + within).astype(level.dtype), like=level)


def _rounded(values: Array, t: Array, step: float) -> tuple[Array, NDArray[np.int64]]:
    """Return values that are sorted downwards, rounded down, and where each of them begins.

    Two that differ by less than a part of t are one.
    """
    rho = to_host(values).astype(np.float64)
    # Items that nobody chose may have t = 0.
    base = max(float(t.min()), 1e-3 * float(t.mean()), 1e-30)
    power = np.floor(np.log1p(rho / base) / np.log(step))
    starts = np.append(np.flatnonzero(np.diff(power, prepend=np.inf)), len(rho))
    # The last of each is the least.
    rounded = np.repeat(rho[starts[1:] - 1], np.diff(starts)).astype(values.dtype)
    return np.asarray(rounded, like=values), starts


class Equation(Protocol):
    """A linear equation A(F) = B, A symmetric positive definite, F an array of any shape."""

    def operator(self, F: Array, /) -> Array:
        """Return A(F)."""
        ...

    def right_hand_side(self) -> Array:
        """Return B, an array that the caller may overwrite."""
        ...

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return an approximate inverse of A, symmetric and positive definite."""
        ...


def conjugate_gradients(
    equation: Equation, limits: Limits, start: Array | None = None, *, is_guess: bool = True
) -> Solution:
    """Solve an equation by preconditioned conjugate gradients; its `encoder` are the unknowns F.

    The residual follows from a recurrence. Where rounding may have moved it, it is recomputed at
    the end; if it is above the tolerance then, the search goes on for as long as that helps.

    With tol="settled" it stops when the scores no longer change. In the norm of A, the square of
    what F lacks is <R, A^-1 R>: the change of scores over the users of the fit, with that of what
    is penalised. The preconditioner M is near A, so <R, M^-1 R> estimates it. It is compared with
    the same norm of F. Where the next step would reach that, it is taken with the length of the
    step before, without a product with G.

    Parameters
    ----------
    start
        F to begin from, which is overwritten.
    is_guess
        Whether the start is of other penalties or other data. It is then first multiplied by the
        number that brings it nearest, and the residual has to be small in the norm of the
        preconditioner too: such a start may leave a small residual where it counts.
    """
    R = equation.right_hand_side()
    goal, kind, eps = norm(R), R.dtype.type, float(np.finfo(R.dtype).eps)
    if not np.isfinite(goal):
        raise SolverError(not_positive_definite(R.dtype))
    if goal == 0.0:
        return Solution(np.zeros_like(R), 0, 0.0, True, 0.0)
    settled = isinstance(limits.tol, str)
    tol = 0.0 if isinstance(limits.tol, str) else limits.tol
    precondition = equation.preconditioner()
    # gain is <F, B + R>, twice the decrease of the quadratic from F = 0: near <F, A(F)>.
    F, gain, far = np.zeros_like(R) if start is None else start, 0.0, math.inf
    if start is not None and is_guess and not settled:
        # <R, Z> has to fall to (_FAR tol)^2 of its value at F = 0, where R is B: squared norms.
        far = dot(R, precondition(R)) * (_FAR * tol) ** 2
    if start is not None and bool(F.any()):
        AF = equation.operator(F)
        overlap, curvature = dot(F, R), _curvature(F, AF)
        # <F, B> / <F, A(F)> is the multiple of F at which the quadratic is smallest.
        scale = overlap / curvature if is_guess else 1.0
        F *= kind(scale)
        _add(R, -kind(scale), AF)
        gain = scale * (2 * overlap - scale * curvature)
        del AF
    residual = before = norm(R) / goal
    # R is a sum of steps, each rounded to eps of its length; `moved` is the sum of lengths.
    moved, iterations, is_settled = goal, 0, False
    P, length, rz_before = None, 0.0, 0.0
    while True:
        Z, rz = None, math.inf
        if settled or (residual <= tol and far < math.inf):
            Z = precondition(R)
            rz = dot(R, Z)
        least = limits.change**2 * gain if settled else far
        is_small = rz <= least and (settled or residual <= tol)
        if settled and not is_small and P is not None and Z is not None:
            # <R, Z> is foreseen to fall as it did in the step before, or not as much. With the
            # length of that step a part (1 - length / best length)^2 of the best gain is lost.
            foreseen = rz * max(rz / rz_before, _FASTEST)
            if foreseen <= min(rz, least):
                P *= kind(rz / rz_before)
                P += Z
                _add(F, kind(length), P)
                is_settled = True
                break
        # Below this the recurrence goes on to zero, and the true residual does not follow.
        is_lost = residual <= 0.1 * eps * moved / goal
        is_last = iterations == limits.max_iter
        if is_small or is_lost or is_last:
            # Where rounding may have moved R by a hundredth; by a tenth where it decides nothing.
            if 10 * eps * moved > (0.1 if settled else 0.01) * residual * goal:
                P = Z = None  # freed before another array is made
                del R
                R = equation.right_hand_side()
                R -= equation.operator(F)
                residual = norm(R) / goal
                if settled:
                    Z = precondition(R)
                    rz = dot(R, Z)
            is_settled = settled and rz <= least
            if is_settled or residual <= tol or is_last or residual > 0.5 * before:
                break
            before, moved, P = residual, goal, None
        if Z is None:
            Z = precondition(R)
            rz = dot(R, Z)
        if P is None:
            P = Z
        else:
            # P = Z + (<R, Z> / <R, Z> of the last step) P is conjugate to all earlier P.
            P *= kind(rz / rz_before)
            P += Z
        Z, rz_before = None, rz
        AP = equation.operator(P)
        # <R, P> / <P, A(P)>, where <R, P> = <R, Z>: R is orthogonal to earlier directions.
        length = rz / _curvature(P, AP)
        gain += length * rz  # the quadratic falls by half of length <R, P>
        moved += length * norm(AP)
        _add(F, kind(length), P)
        _add(R, -kind(length), AP)
        del AP
        residual = norm(R) / goal
        iterations += 1
        limits.report(iterations, residual)
    converged = is_settled or bool(residual <= tol)
    if not converged:
        warn_not_converged(iterations, residual, limits, R.dtype)
    return Solution(F, iterations, residual, converged, 2 * residual * goal)


def _add(A: Array, factor: Any, B: Array) -> None:
    """Add a multiple of B to A."""

    def work(rows: slice) -> None:
        A[rows] += factor * B[rows]

    each_block(work, A)


def _curvature(P: Array, AP: Array) -> float:
    """Return <P, A(P)>, which is positive."""
    curvature = dot(P, AP)
    if not 0 < curvature < np.inf:
        raise SolverError(not_positive_definite(P.dtype))
    return curvature


def solve(
    X: Any,
    D: Any,
    *,
    l2_weights: float,
    l2_encoder: float,
    solver: str = "cg",
    gram: Any = "auto",
    tol: Tolerance = 1e-4,
    max_iter: int = 200,
    dtype: str = "float32",
    rng: int | np.random.Generator | None = 0,
    device: str = "cpu",
    start: Any = None,
    callback: Callback | None = None,
    user_power: float = 0.0,
    ridge_power: float = 0.0,
    item_power: float = 0.0,
) -> Solution:
    """Find the encoder of the TEASER objective for arrays, with D used as it is given.

    minimise |X - X P(E D')|^2 + l2_weights |P(E D')|^2 + l2_encoder |E|^2 over E, where P sets
    the diagonal to zero.

    Parameters
    ----------
    X
        Interactions, users x items, sparse or dense.
    D
        Decoder, items x tags, sparse or dense.
    l2_weights, l2_encoder
        lambda 1 and lambda 2, both above zero.
    solver
        `"cg"`, conjugate gradients, or `"admm"`, the paper's.
    gram
        How to hold X'X: `"dense"`, `"sparse"`, `"auto"`, or a precomputed items x items array or
        `Gram` operator.
    tol
        Relative residual to stop at, or `"settled"`: when the scores of X change no more.
    max_iter
        When to give up, with a `ConvergenceWarning`.
    dtype
        `"float32"` or `"float64"`.
    rng
        Seed or generator for the preconditioner's start.
    device
        `"cpu"`, or `"cuda"` for a GPU by way of CuPy.
    start
        An encoder (items x tags) near the solution, from which conjugate gradients begin.
    callback
        Called with the iteration and its relative residual.
    user_power, ridge_power, item_power
        How much weights of users, rows and columns depend on their counts, from 0 to 2: see
        `teaser.extensions.Weights`. 0 leaves them out.

    Returns
    -------
    Solution
        encoder (items x tags), iterations, residual, converged, gradient_norm.
    """
    check_settings(
        l2_weights=l2_weights, l2_encoder=l2_encoder, solver=solver, gram=gram, tol=tol,
        max_iter=max_iter, dtype=dtype, rng=rng, device=device,
    )  # fmt: skip
    check_power("user_power", user_power)
    check_power("ridge_power", ridge_power)
    check_power("item_power", item_power)
    kind = np.dtype(dtype)
    matrix, decoder = as_matrix(X, "X", kind), as_matrix(D, "D", kind)
    if matrix.shape[1] != decoder.shape[0]:
        raise ParameterError(
            f"X has {matrix.shape[1]:,} items (columns) and D {decoder.shape[0]:,} (rows). "
            "They must be the same items, in the same order."
        )
    if start is not None:
        start = as_dense(as_matrix(start, "start", kind))
        if start.shape != decoder.shape:
            raise ParameterError(
                f"start must be an encoder of {decoder.shape[0]:,} items x {decoder.shape[1]:,} "
                f"tags; found the shape {start.shape}."
            )
    limits = Limits(tol=tol, max_iter=max_iter, callback=callback)

    def work() -> Solution:  # a frame of its own, which is cleared where a GPU runs out of memory
        size = FitSize(decoder.shape[1], kind, solver)
        operator = build_gram(matrix, gram, size, device=device, user_power=user_power)
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        system = System.build(
            operator,
            decoder,
            solver=solver,
            rng=rng,
            is_coarse=is_coarse(tol, solver),
            row_penalty=row_weights(operator, ridge_power),
            column_weight=column_weights(counts, item_power),
        )
        equation = EncoderEquation(system, float(l2_weights), float(l2_encoder))
        return dispatch(equation, limits, solver=solver, start=start)

    with explained_memory_error("The solver"):
        return work()


def dispatch(
    equation: EncoderEquation, limits: Limits, *, solver: str, start: Array | None = None
) -> Solution:
    """Run the named solver, and return an encoder in main memory; ADMM ignores a start."""
    if solver == "admm":
        from teaser.model.admm import admm

        return admm(equation, limits)
    system = equation.system
    F = None if start is None else system.rotate(start)
    found = conjugate_gradients(equation, limits, F)
    return replace(found, encoder=to_host(system.rotate_back(found.encoder)))


def is_coarse(tol: Tolerance, solver: str) -> bool:
    """Return whether a fit is coarse enough for eigenvectors in single precision."""
    return solver == "cg" and (isinstance(tol, str) or tol >= _COARSE_BASIS)


def coarse_tol(tol: Tolerance, solver: str) -> Tolerance:
    """Return the tolerance of trials for a model: settled, unless its own is coarser."""
    if not isinstance(tol, str) and (solver == "admm" or tol > COARSE_TOL):
        return max(COARSE_TOL, tol)
    return SETTLED


def share_solved(residual: float, tol: Tolerance) -> float:
    """Return which share of a solver's work is done at a relative residual, 0 to 1.

    Conjugate gradients converge linearly in the logarithm of the residual.
    """
    tol = COARSE_TOL if isinstance(tol, str) else tol
    if tol >= 1 or residual <= 0:
        return 1.0
    return max(0.0, min(1.0, math.log10(min(residual, 1.0)) / math.log10(tol)))


@contextmanager
def solver_bar(
    tol: Tolerance, callback: Callback | None = None, *, progress: bool
) -> Iterator[Callback | None]:
    """Show a bar of a solver's residual, if asked for, and yield what the solver has to call.

    Parameters
    ----------
    callback
        What is called instead of showing a bar.
    """
    if callback is not None or not progress:
        yield callback
        return
    with progress_bar("preparing") as update:

        def report(iteration: int, residual: float) -> None:
            done = share_solved(residual, tol)
            update(f"iteration {iteration}, residual {residual:.1e}", done)

        yield report


def check_settings(
    *,
    l2_weights: Any,
    l2_encoder: Any,
    solver: Any,
    gram: Any,
    tol: Any,
    max_iter: Any,
    dtype: Any,
    rng: Any = 0,
    device: Any = "cpu",
) -> None:
    """Raise `ParameterError` for a setting that makes no sense, before any work is done."""
    check_number("l2_weights", l2_weights)
    check_number("l2_encoder", l2_encoder)
    check_count("max_iter", max_iter)
    check_rng(rng)
    check_choice("solver", solver, SOLVERS)
    check_choice("device", device, DEVICES)
    if device == "cuda" and (solver != "cg" or not isinstance(gram, str)):
        raise ParameterError(
            "device='cuda' needs solver='cg' and gram='auto', 'dense' or 'sparse'. Change them, or "
            "use device='cpu'."
        )
    check_gram(gram, dtype, GRAMS)
    check_tolerance(tol, dtype, solver)


def check_tolerance(tol: Any, dtype: str, solver: str = "cg") -> None:
    """Raise `ParameterError` for a tolerance that is none, or that rounding puts out of reach."""
    if isinstance(tol, str):
        if tol != SETTLED:
            raise ParameterError(
                f"tol must be a finite number above 0 and below 1, or 'settled', found {tol!r}."
            )
        if solver == "admm":
            raise ParameterError(
                "tol='settled' needs solver='cg'. Use it, or a number, such as tol=1e-2."
            )
        return
    check_number("tol", tol, most=1.0)
    least = LEAST_TOL[dtype]
    if tol < least:
        wider = "" if dtype == "float64" else "dtype='float64' or "
        raise ParameterError(
            f"tol={tol:.1e} is below {least:.0e}, the least that dtype='{dtype}' can reach. "
            f"Use {wider}a larger tol: rankings settle near 1e-3."
        )


def as_matrix(given: Any, name: str, dtype: np.dtype[Any]) -> sp.csr_array:
    """Return a checked sparse copy; the type is widened before anything is added up."""
    try:
        wide = given if sp.issparse(given) else np.atleast_2d(np.asarray(given))
        matrix = sp.csr_array(wide.astype(dtype))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} cannot be read as a matrix of numbers: {error}.") from error
    n_bad = int((~np.isfinite(matrix.data)).sum())
    if 0 in matrix.shape or n_bad:
        raise ParameterError(
            f"{name} must hold finite numbers; found the shape {matrix.shape} and {n_bad:,} values "
            f"that are not finite in {dtype}."
        )
    matrix.sum_duplicates()
    return matrix


def not_positive_definite(dtype: np.dtype[Any]) -> str:
    """Return the message for an equation that is not positive definite, with likely causes."""
    wider = "" if dtype == np.float64 else " Or use dtype='float64'."
    return (
        "The equation is not positive definite in these numbers. Is X'X of non-negative counts, "
        f"none of them wrapped around, and are the penalties within reason?{wider}"
    )


def warn_not_converged(
    iterations: int, residual: float, limits: Limits, dtype: np.dtype[Any]
) -> None:
    """Warn that the tolerance was not reached, and say what stopped the solver.

    Before `max_iter` that is rounding: more iterations would not help.
    """
    by_rounding = iterations < limits.max_iter
    reason = f", the least that {dtype} reaches here," if by_rounding else ""
    ways = [] if by_rounding else ["raise max_iter"]
    ways += [] if dtype == np.float64 else ["use dtype='float64'"]
    advice = ", or ".join([*ways, "accept a larger tol"])
    warnings.warn(
        f"Stopped after {iterations} iterations at a residual of {residual:.1e}{reason} before "
        f"tol={limits.tol!r} was reached. {advice[0].upper()}{advice[1:]}: rankings settle near "
        "1e-3.",
        ConvergenceWarning,
        stacklevel=2,
    )
