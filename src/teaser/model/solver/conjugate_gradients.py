"""Pure functions on arrays that find the encoder by preconditioned conjugate gradients.

They solve A(E) = B with

    A(E) = P((G + l1 I) P(E D')) D + l2 E,    B = P(G) D,    P(M) = M with a zero diagonal,

which is half the gradient of the paper's objective set to zero. The operator is evaluated in
items x tags form only; see docs/users/model.md for the derivation.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from teaser.errors import ConvergenceWarning, ParameterError, SolverError
from teaser.model.gram.operator import PairGram
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.system import System, blocks, chunk_height, dot, each_block, norm, rowdot

Array = NDArray[Any]
Callback = Callable[[int, float], None]

# How much larger than the residual the preconditioned one, relative to that of nothing, may be.
# It is near the relative error of scores, and at the end of fits from nothing 2 to 5 times.
_FAR = 10.0

# The least tolerance: rounding leaves residuals of up to 5e-7 in single and 2e-15 in double
# precision (docs/model.md).
LEAST_TOL = {"float32": 1e-6, "float64": 1e-14}


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


@dataclass(frozen=True, eq=False)
class Problem:
    """One objective: a system and the two penalties."""

    system: System
    l1: float
    l2: float

    def operator(self, F: Array) -> Array:
        """Return A(F V') V.

        With W = P(E D') D V = F diag(eta) - diag(beta) DV and beta = diag(E D') this is

            (G + l1 I) W - diag(alpha) DV + l2 F,    alpha = diag(G E D') - g beta,

        where alpha is diag((G + l1 I) P(E D')), in which the terms with l1 cancel. One product
        with G and one with V, or two with a G that takes little time.
        """
        system, gram = self.system, self.system.gram
        DV, eta = system.DV, system.eta
        beta = rowdot(F, DV)
        if isinstance(gram, PairGram):
            out, diagonal = gram.apply_pair(F, DV, eta, beta)
        else:
            out = gram.apply(F)
            diagonal = rowdot(out, DV)
            removed = gram.apply(system.scaled(beta))
            for first in range(0, len(F), height := chunk_height(F)):
                chunk = slice(first, first + height)
                out[chunk] *= eta
                out[chunk] -= removed[chunk] @ system.V
            del removed
        own = self.l1 * eta + self.l2
        taken = diagonal + (self.l1 - system.g) * beta

        def finish(rows: slice) -> None:
            out[rows] += F[rows] * own
            out[rows] -= taken[rows, None] * DV[rows]

        each_block(finish, out)
        return out

    def right_hand_side(self) -> Array:
        """Return B V."""
        return self.system.right_hand_side()

    def preconditioner(self) -> Preconditioner:
        """Return an approximate inverse of the operator."""
        return Preconditioner.build(self.system, l1=self.l1, l2=self.l2)


class Equation(Protocol):
    """A linear equation for F = E V with a symmetric positive definite operator."""

    @property
    def system(self) -> System:
        """What no penalty changes."""
        ...

    def operator(self, F: Array) -> Array:
        """Return the left-hand side."""
        ...

    def right_hand_side(self) -> Array:
        """Return what it should equal."""
        ...

    def preconditioner(self) -> Preconditioner:
        """Return an approximate inverse of the operator."""
        ...


def conjugate_gradients(
    system: System,
    *,
    l1: float,
    l2: float,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve for the encoder of TEASER by preconditioned conjugate gradients.

    Parameters
    ----------
    system
        G as an operator and the decoder, prepared.
    l1, l2
        The penalties on weights and encoder, lambda 1 and 2.
    tol
        Relative residual to stop at.
    start
        An encoder (items x tags) to begin from, such as that of nearby penalties or of earlier
        data; it is first multiplied by the number that brings it nearest.
    callback
        Told the iteration and its relative residual.
    """
    problem = Problem(system, l1, l2)
    return solve_equation(problem, tol=tol, max_iter=max_iter, start=start, callback=callback)


def solve_equation(
    problem: Equation,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve any equation for an encoder by preconditioned conjugate gradients.

    The residual follows from a recurrence. Where rounding may have moved it by more than a
    hundredth, it is computed anew at the end; if it is still above the tolerance then, the search
    goes on from there for as long as that helps. Where rounding allows no smaller residual, it
    stops before `max_iter`. Parameters as in `conjugate_gradients`.
    """
    system, dtype = problem.system, problem.system.gram.dtype
    R = problem.right_hand_side()
    goal = norm(R)
    if not np.isfinite(goal):
        raise SolverError(lost(dtype))
    if goal == 0.0:
        return Solution(np.zeros_like(R), 0, 0.0, True, 0.0)
    preconditioner = problem.preconditioner()
    # A start may leave a small residual where it counts: there the preconditioned one decides too.
    far = None if start is None else dot(R, preconditioner.apply(R)) * (_FAR * tol) ** 2
    F = _begin(problem, R, start)
    residual, iteration = norm(R) / goal, 0
    while iteration < max_iter:
        before, first = residual, iteration
        iteration, moved = _descend(
            problem, preconditioner, F, R, goal, tol, far, iteration, max_iter, callback
        )
        residual = norm(R) / goal
        if 10 * np.finfo(dtype).eps * moved > 0.01 * residual * goal:
            R = problem.right_hand_side()
            R -= problem.operator(F)
            residual = norm(R) / goal
        if residual <= tol or residual > 0.5 * before or iteration == first:
            break
    if residual > tol:
        warn_not_converged(iteration, max_iter, residual, tol, dtype)
    return Solution(F @ system.V.T, iteration, residual, residual <= tol, 2 * residual * goal)


def _begin(problem: Equation, R: Array, start: Array | None) -> Array:
    """Return the first F, and take what it explains out of R, which holds B V."""
    if start is None or not np.any(start):
        return np.zeros_like(R)
    F = np.asarray(start, dtype=R.dtype, like=R) @ problem.system.V
    AF = problem.operator(F)
    curvature = dot(F, AF)
    if not 0 < curvature < np.inf:
        raise SolverError(lost(R.dtype))
    nearest = R.dtype.type(dot(F, R) / curvature)
    for rows in blocks(R):
        F[rows] *= nearest
        R[rows] -= nearest * AF[rows]
    return F


def _descend(
    problem: Equation,
    preconditioner: Preconditioner,
    F: Array,
    R: Array,
    goal: float,
    tol: float,
    far: float | None,
    iteration: int,
    max_iter: int,
    callback: Callback | None,
) -> tuple[int, float]:
    """Run conjugate gradients on F and its residual R, in place, until tol, max_iter or rounding.

    With `far`, R also has to be as small as that in the norm of the preconditioner.
    Returns the iteration, and how far R has moved in all: rounding grows with it.
    """
    P = preconditioner.apply(R)
    rz = dot(R, P)
    moved, rounding = goal, 0.1 * np.finfo(R.dtype).eps
    if norm(R) <= tol * goal and (far is None or rz <= far):
        return iteration, moved
    while iteration < max_iter:
        AP = problem.operator(P)
        curvature = dot(P, AP)
        if not 0 < curvature < np.inf:
            raise SolverError(lost(R.dtype))
        moved += rz / curvature * norm(AP)
        residual = _step(R.dtype.type(rz / curvature), P, AP, F, R) / goal
        del AP
        iteration += 1
        if callback is not None:
            callback(iteration, residual)
        if residual <= tol and far is None:
            break
        if residual * goal <= rounding * moved:
            break  # the recurrence would go on to zero, and the true residual would not follow
        Z = preconditioner.apply(R)
        rz, last = dot(R, Z), rz
        if residual <= tol and far is not None and rz <= far:
            break
        _turn(P, R.dtype.type(rz / last), Z)
        del Z
    return iteration, moved


def _step(step: Any, P: Array, AP: Array, F: Array, R: Array) -> float:
    """Go along P, in place, and return the norm of the residual."""

    def work(rows: slice) -> float:
        F[rows] += step * P[rows]
        R[rows] -= step * AP[rows]
        return float(np.vdot(R[rows], R[rows]))

    return float(np.sqrt(sum(each_block(work, F))))


def _turn(P: Array, share: Any, Z: Array) -> None:
    """Make P the next direction, in place."""

    def work(rows: slice) -> None:
        P[rows] *= share
        P[rows] += Z[rows]

    each_block(work, P)


def lost(dtype: np.dtype[Any]) -> str:
    """Say that the equation is not positive definite, and what may have made it so."""
    wider = "" if dtype == np.float64 else " Or use dtype='float64'."
    return (
        "The equation is not positive definite in these numbers. Is X'X of non-negative counts, "
        f"none of them wrapped around, and are the penalties within reason?{wider}"
    )


def check_reachable(tol: float, dtype: str) -> None:
    """Raise `ParameterError` for a tolerance that rounding keeps every solver from reaching."""
    least = LEAST_TOL[dtype]
    if tol < least:
        wider = "" if dtype == "float64" else "dtype='float64' or "
        raise ParameterError(
            f"tol={tol:.1e} is below {least:.0e}, the least that dtype='{dtype}' can reach. "
            f"Use {wider}a larger tol: rankings settle near 1e-3."
        )


def warn_not_converged(
    iterations: int, max_iter: int, residual: float, tol: float, dtype: np.dtype[Any]
) -> None:
    """Warn, at the caller's line, that the tolerance was not reached, and what stopped the solver.

    Before `max_iter` that is rounding: more iterations would not help.
    """
    by_rounding = iterations < max_iter
    reason = f", the least that {dtype} reaches here" if by_rounding else ""
    more = [] if by_rounding else ["raise max_iter"]
    wider = [] if dtype == np.float64 else ["use dtype='float64'"]
    advice = ", or ".join([*more, *wider, "accept a larger tol"])
    warnings.warn(
        f"Stopped after {iterations} iterations at a residual of {residual:.1e}{reason}, "
        f"above tol={tol:.1e}. {advice[0].upper()}{advice[1:]}: rankings settle near 1e-3.",
        ConvergenceWarning,
        stacklevel=_levels_to_caller(),
    )


def _levels_to_caller() -> int:
    """Return how many frames up the first line outside of this package is."""
    level, frame = 1, inspect.currentframe()
    frame = frame.f_back if frame else None
    while frame is not None and frame.f_globals.get("__name__", "").startswith("teaser."):
        level, frame = level + 1, frame.f_back
    return level
