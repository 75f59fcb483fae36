"""Pure functions on arrays that find the encoder: conjugate gradients, and the paper's ADMM.

Both solve A(E) = B with

    A(E) = P((G + l1 I) P(E D')) D + l2 E,    B = P(G) D,    P(M) = M with a zero diagonal,

which is half the gradient of the paper's objective set to zero. The operator is evaluated in
items x tags form only; see docs/model.md for the derivation.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ConvergenceWarning, SolverError
from teaser.model.gram import DenseGram, Gram

Array = NDArray[Any]
Callback = Callable[[int, float], None]

RANK = 40
_ROWS = 256


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
        |A(E) - B| / |B| at the encoder that is returned.
    converged
        Whether the residual reached the tolerance.
    gradient_norm
        The norm of the objective's gradient at the encoder, 2 |A(E) - B|.
    """

    encoder: Array
    iterations: int
    residual: float
    converged: bool
    gradient_norm: float


@dataclass(frozen=True)
class Problem:
    """One objective: the Gram operator, the decoder, and the two penalties.

    `g` is diag(G); `V` and `eta` are the eigenvectors and eigenvalues of D'D. Unknowns are kept
    as F = E V, in which D'D is diagonal: an iteration then costs one product with G and one
    with V.
    """

    gram: Gram
    D: sp.csr_array
    l1: float
    l2: float
    g: Array
    V: Array
    eta: Array
    DV: Array

    @classmethod
    def build(cls, gram: Gram, D: sp.csr_array, *, l1: float, l2: float) -> "Problem":
        """Prepare what every iteration needs; D is items x tags, in the dtype of `gram`."""
        # Eigenvectors in double precision: their orthogonality bounds the attainable residual.
        K = (D.T @ D).toarray().astype(np.float64)
        eta, V = np.linalg.eigh(K)
        V = np.ascontiguousarray(V, dtype=gram.dtype)
        eta = np.maximum(eta, 0.0).astype(gram.dtype)
        return cls(gram, D, l1, l2, gram.diagonal(), V, eta, np.asarray(D @ V))

    def right_hand_side(self) -> Array:
        """Return B V = P(G) D V."""
        return np.asarray(self.gram.apply(self.D) - self.scaled(self.g)) @ self.V

    def scaled(self, weights: Array) -> sp.csr_array:
        """Return D with row i multiplied by weights[i]."""
        return sp.csr_array(
            (
                self.D.data * np.repeat(weights, np.diff(self.D.indptr)),
                self.D.indices,
                self.D.indptr,
            ),
            shape=self.D.shape,
        )

    def operator(self, F: Array) -> Array:
        """Return A(F V') V, with one product with G and one with V."""
        beta = _rowdot(F, self.DV)  # diag(E D')
        out = self.gram.apply(F)
        correction = self.gram.apply(self.scaled(beta)) @ self.V
        own = self.l1 * self.eta + self.l2
        for rows in blocks(self.gram.n_items):
            part, DV = out[rows], self.DV[rows]
            # alpha = diag((G + l1 I) P(E D')), in which the terms with l1 cancel
            alpha = _rowdot(part, DV) - self.g[rows] * beta[rows]
            part *= self.eta
            part += F[rows] * own
            part -= correction[rows]
            part -= (self.l1 * beta[rows] + alpha)[:, None] * DV
        return out


@dataclass(frozen=True)
class Preconditioner:
    """An approximate inverse of the operator: symmetric, positive, and cheap to apply.

    G is replaced by diag(t) + U diag(mu) U', a few leading eigenpairs and what they leave of the
    diagonal. In the basis of V each column b is then a diagonal plus a low rank,

        eta_b (diag(t + l1) + U diag(mu) U') + l2,

    inverted by Woodbury's formula with a small matrix `core[b]`. That an item may not explain
    itself takes D_i'D_i out of D'D in row i; on the diagonal part this is one more rank for
    each row, put back by the Sherman-Morrison formula with weight `lift[i]`.
    """

    problem: Problem
    t: Array
    U: Array
    core: Array
    lift: Array

    @classmethod
    def build(cls, problem: Problem, *, rank: int, rng: np.random.Generator) -> "Preconditioner":
        """Find the leading eigenpairs of G and prepare both formulas."""
        U, mu = leading_eigenpairs(problem.gram, rank, rng)
        left = problem.g - (np.square(U, dtype=np.float64) * mu).sum(axis=1)
        t = np.maximum(left, 0.0) + problem.l1
        inner = np.zeros((len(mu) ** 2, len(problem.eta)))
        leverage = np.zeros(problem.gram.n_items)
        for rows in blocks(problem.gram.n_items):
            inverse = 1.0 / (np.outer(t[rows], problem.eta) + problem.l2)
            pairs = U[rows, :, None] * U[rows, None, :]
            inner += pairs.reshape(len(pairs), -1).T @ inverse
            leverage[rows] = t[rows] * _rowdot(inverse, np.square(problem.DV[rows]))
        dtype = problem.gram.dtype
        core = np.empty((len(problem.eta), len(mu), len(mu)), dtype=dtype)
        for some in blocks(len(core)):
            root = np.sqrt(np.outer(problem.eta[some], mu))
            scale = root[:, :, None] * root[:, None, :]
            middle = inner.T[some].reshape(scale.shape) * scale
            core[some] = np.linalg.inv(np.eye(len(mu)) + middle) * scale
        lift = t / np.maximum(1.0 - leverage, np.finfo(dtype).eps)
        return cls(problem, t.astype(dtype), U, core, lift.astype(dtype))

    def apply(self, R: Array) -> Array:
        """Return the preconditioned residual."""
        out = np.empty_like(R)
        seen = np.zeros((self.U.shape[1], R.shape[1]), dtype=R.dtype)
        for rows in blocks(len(R)):
            np.divide(R[rows], self._level(rows), out=out[rows])
            seen += self.U[rows].T @ out[rows]
        spread = np.einsum("brs,sb->rb", self.core, seen)
        for rows in blocks(len(R)):
            part, DV = out[rows], self.problem.DV[rows]
            change = (self.lift[rows] * _rowdot(part, DV))[:, None] * DV
            change -= self.U[rows] @ spread
            change /= self._level(rows)
            part += change
        return out

    def _level(self, rows: slice) -> Array:
        return np.asarray(np.outer(self.t[rows], self.problem.eta) + self.problem.l2)


def leading_eigenpairs(gram: Gram, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return about `rank` leading eigenvectors and eigenvalues of G by subspace iteration."""
    rank = min(rank, gram.n_items)
    width = min(rank + 10, gram.n_items)
    Q = rng.standard_normal((gram.n_items, width)).astype(gram.dtype)
    for _ in range(4):
        Q = np.linalg.qr(gram.apply(Q)).Q
    small = Q.T @ gram.apply(Q)
    mu, W = np.linalg.eigh((small + small.T).astype(np.float64) / 2)
    lead = slice(width - rank, None)
    U = Q @ W[:, lead].astype(gram.dtype)
    return np.ascontiguousarray(U), np.maximum(mu[lead], 0.0)


def conjugate_gradients(
    gram: Gram,
    D: sp.csr_array,
    *,
    l1: float,
    l2: float,
    tol: float,
    max_iter: int,
    rank: int = RANK,
    rng: np.random.Generator,
    callback: Callback | None = None,
) -> Solution:
    """Solve for the encoder by preconditioned conjugate gradients.

    The residual follows from a recurrence. Where rounding may have moved it by more than a
    hundredth, it is computed anew at the end; if it is still above the tolerance then, the search
    goes on from there for as long as that helps.

    Parameters
    ----------
    gram, D
        G as an operator, and the decoder (items x tags) in the same dtype.
    l1, l2
        The penalties on weights and encoder, lambda 1 and 2.
    tol
        Relative residual to stop at.
    rank
        Eigenpairs of G in the preconditioner.
    callback
        Told the iteration and its relative residual.
    """
    problem = Problem.build(gram, D, l1=l1, l2=l2)
    R = problem.right_hand_side()
    F = np.zeros_like(R)
    goal = _norm(R)
    if not np.isfinite(goal):
        raise SolverError(_lost(gram.dtype))
    if goal == 0.0:
        return Solution(F, 0, 0.0, True, 0.0)
    preconditioner = Preconditioner.build(problem, rank=rank, rng=rng)
    residual, iteration = 1.0, 0
    while residual > tol and iteration < max_iter:
        before = residual
        iteration, moved = _descend(
            problem, preconditioner, F, R, goal, tol, iteration, max_iter, callback
        )
        residual = _norm(R) / goal
        if 10 * np.finfo(gram.dtype).eps * moved > 0.01 * residual * goal:
            np.subtract(problem.right_hand_side(), problem.operator(F), out=R)
            residual = _norm(R) / goal
        if residual > 0.5 * before:
            break
    if residual > tol:
        _warn(iteration, residual, tol, gram.dtype)
    return Solution(F @ problem.V.T, iteration, residual, residual <= tol, 2 * residual * goal)


def _descend(
    problem: Problem,
    preconditioner: Preconditioner,
    F: Array,
    R: Array,
    goal: float,
    tol: float,
    iteration: int,
    max_iter: int,
    callback: Callback | None,
) -> tuple[int, float]:
    """Run conjugate gradients on F and its residual R, in place, until tol or max_iter.

    Returns the iteration, and how far R has moved in all: rounding grows with it.
    """
    Z = preconditioner.apply(R)
    P = Z.copy()
    rz = _dot(R, Z)
    moved = goal
    while iteration < max_iter:
        AP = problem.operator(P)
        curvature = _dot(P, AP)
        if not 0 < curvature < np.inf:
            raise SolverError(_lost(problem.gram.dtype))
        step = problem.gram.dtype.type(rz / curvature)
        for rows in blocks(len(F)):
            F[rows] += step * P[rows]
            R[rows] -= step * AP[rows]
        moved += float(step) * _norm(AP)
        del AP
        iteration += 1
        residual = _norm(R) / goal
        if callback is not None:
            callback(iteration, residual)
        if residual <= tol:
            break
        Z = preconditioner.apply(R)
        rz, last = _dot(R, Z), rz
        P *= problem.gram.dtype.type(rz / last)
        P += Z
        del Z
    return iteration, moved


def admm(
    gram: Gram,
    D: sp.csr_array,
    *,
    l1: float,
    l2: float,
    tol: float,
    max_iter: int,
    rho: float | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve for the encoder by the alternating directions of the paper's appendix.

    Needs the full eigendecomposition of G, so several items x items arrays. The multiplier moves
    by gamma += beta - diag(E D'), as the Lagrangian demands; beta is not clipped.

    Parameters
    ----------
    rho
        Penalty of the augmented Lagrangian to begin with; the mean of diag(G) + l1 unless given.
        Where the residual grows, it is made smaller and the search begins again.
    """
    problem = Problem.build(gram, D, l1=l1, l2=l2)
    B = problem.right_hand_side()
    goal = _norm(B)
    if goal == 0.0:
        return Solution(np.zeros_like(B), 0, 0.0, True, 0.0)
    G = (
        gram.G
        if isinstance(gram, DenseGram)
        else gram.apply(np.eye(gram.n_items, dtype=gram.dtype))
    )
    mu, U = scipy.linalg.eigh(G, check_finite=False, driver="evd")
    mu = np.maximum(mu, 0.0)[:, None]
    g = problem.g
    rho = float(np.mean(g) + l1) if rho is None else rho
    inverse = 1.0 / ((mu + l1) * problem.eta + l2)
    GD = gram.apply(D)
    beta = np.zeros_like(g)
    gamma = np.zeros_like(g)
    F, true, iteration, best = np.zeros_like(B), np.inf, 0, np.inf
    for iteration in range(1, max_iter + 1):
        right = (
            GD + gram.apply(problem.scaled(beta)) + problem.scaled(rho * (gamma + beta) + l1 * beta)
        )
        Y = (U.T @ (np.asarray(right) @ problem.V)) * inverse
        F = U @ Y
        diagonal = _rowdot(F, problem.DV)
        g_diagonal = _rowdot(U @ (mu * Y), problem.DV)  # diag(G E D')
        beta_was = beta
        beta = (g_diagonal - g - rho * gamma + (l1 + rho) * diagonal) / (g + l1 + 2 * rho)
        # What the equation for E, solved for the earlier beta and gamma, leaves of A(E) - B.
        alpha = g_diagonal - g * diagonal
        apart = beta_was - diagonal
        rest = gram.apply(problem.scaled(apart))
        rest += problem.scaled(l1 * apart + rho * (gamma + beta_was) - alpha + g)
        gamma = gamma + beta - diagonal
        residual = _norm(np.asarray(rest)) / goal
        if callback is not None:
            callback(iteration, residual)
        if not residual < 10 * best and rho > 1e-6 * g.mean():
            # The appendix drops a term of the Lagrangian, which holds for small rho only.
            rho *= 0.3
            beta, gamma, best = np.zeros_like(g), np.zeros_like(g), np.inf
            continue
        best = min(best, residual)
        if residual <= tol and (true := _norm(B - problem.operator(F)) / goal) <= tol:
            break
    else:
        true = _norm(B - problem.operator(F)) / goal
        if not np.isfinite(true):
            raise SolverError(_lost(gram.dtype))
        _warn(iteration, true, tol, gram.dtype)
    return Solution(F @ problem.V.T, iteration, true, true <= tol, 2 * true * goal)


def _lost(dtype: np.dtype[Any]) -> str:
    wider = "" if dtype == np.float64 else " Or use dtype='float64'."
    return (
        "The equation is not positive definite in these numbers. Is X'X of non-negative counts, "
        f"none of them wrapped around, and are the penalties within reason?{wider}"
    )


def _warn(iterations: int, residual: float, tol: float, dtype: np.dtype[Any]) -> None:
    advice = "Raise max_iter" if dtype == np.float64 else "Raise max_iter or use dtype='float64'"
    warnings.warn(
        f"Stopped after {iterations} iterations at a residual of {residual:.1e}, "
        f"above tol={tol:.1e}. "
        f"{advice}, or accept a larger tol: rankings settle near 1e-3.",
        ConvergenceWarning,
        stacklevel=_levels_to_caller(),
    )


def _levels_to_caller() -> int:
    """Return how many frames up the first line outside of this package is, for `_warn`."""
    level, frame = 1, inspect.currentframe()
    frame = frame.f_back if frame else None
    while frame is not None and frame.f_globals.get("__name__", "").startswith("teaser."):
        level, frame = level + 1, frame.f_back
    return level


def blocks(n_rows: int) -> Iterator[slice]:
    """Cut rows into blocks that stay in the processor's cache from one step to the next."""
    for first in range(0, n_rows, _ROWS):
        yield slice(first, first + _ROWS)


def _rowdot(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", A, B))


def _dot(A: Array, B: Array) -> float:
    """Return the sum of products, blocks of rows added in double precision."""
    return sum(float(np.vdot(A[rows], B[rows])) for rows in blocks(len(A)))


def _norm(A: Array) -> float:
    return float(np.sqrt(_dot(A, A)))
