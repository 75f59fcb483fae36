"""Preconditioned conjugate gradients for any symmetric positive definite equation."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from teaser.errors import SolverError
from teaser.model.gram.blocks import dot, norm
from teaser.model.solver.solution import (
    SETTLED,
    Limits,
    Solution,
    may_round,
    not_positive_definite,
    warn_not_converged,
)
from teaser.model.solver.steps import advance, descend, turn

Array = NDArray[Any]

# How much larger than the residual the preconditioned one, relative to its value at F = 0, may
# be. It is near the relative error of scores, and 2 to 5 times at the end of fits from zero.
_FAR = 10.0
# The error of a product of rounded operands, relative to the result; near 1e-5 where measured.
_ROUNDED = 3e-6
# How much <R, Z> falls in a step at the most, where that is foreseen: the first steps are faster
# than those after them.
_FASTEST = 0.1


class Equation(Protocol):
    """A linear equation A(F) = B with a symmetric positive definite operator A.

    The unknowns F are an array of any shape.
    """

    def operator(self, F: Array, /) -> Array:
        """Return A(F)."""
        ...

    def right_hand_side(self) -> Array:
        """Return B, an array that the caller may overwrite."""
        ...

    def rounded(self) -> "Equation":
        """Return the equation with faster, rounded products, or itself where it has none."""
        ...

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return an approximate inverse of A, symmetric and positive definite."""
        ...

    def unknowns(self, encoder: Array, /) -> Array:
        """Return the unknowns of an encoder, an array that the caller may overwrite."""
        ...

    def encoder(self, F: Array, /) -> Any:
        """Return the encoder of the unknowns."""
        ...


def conjugate_gradients(
    equation: Equation, limits: Limits, start: Array | None = None, *, is_guess: bool = True
) -> Solution:
    """Solve an equation for an encoder by preconditioned conjugate gradients.

    The residual follows from a recurrence. Steps to a tolerance of 1e-3 or above use products of
    rounded operands, where the Gram has them. Where rounding may have moved it by more than a
    hundredth, it is recomputed at the end; if it is still above the tolerance then, the search
    goes on from there for as long as that helps. Where rounding allows no smaller residual, it
    stops before `max_iter`.

    With tol="settled" it stops when the scores no longer change. In the norm of A, the square of
    what F lacks is <R, A^-1 R>: the change of scores over the users of the fit, with that of what
    is penalised. The preconditioner M is near A, so <R, M^-1 R> estimates it, and every step
    needs that number anyway. It is compared with the same norm of F. Where the next step would
    reach that, it is taken with the length of the step before, which differs little: the length is
    all that a product with G would tell. The residual is then that of the step before.

    Parameters
    ----------
    start
        An encoder (items x tags) to begin from.
    is_guess
        Whether the start is of other penalties or other data. It is then first multiplied by the
        number that brings it nearest, and the residual has to be small in the norm of the
        preconditioner too: such a start may leave a small residual where it counts. Scores that
        are settled are so from any start.
    """
    rounded = equation.rounded() if may_round(limits.tol) else equation
    R = rounded.right_hand_side()
    goal, dtype = norm(R), R.dtype
    if not np.isfinite(goal):
        raise SolverError(not_positive_definite(dtype))
    if goal == 0.0:
        return Solution(equation.encoder(np.zeros_like(R)), 0, 0.0, True, 0.0)
    descent = _Descent(equation, rounded, limits, R, goal)
    del R  # the search drops it before others are made
    if start is not None:
        descent.begin(equation.unknowns(start), is_guess=is_guess)
    for _ in range(limits.max_iter):
        if descent.has_ended():
            break
        descent.step()
        limits.report(descent.iterations, descent.residual)
    else:
        if not descent.has_ended():
            descent.refresh()
    residual, iterations, converged = descent.residual, descent.iterations, descent.has_reached()
    if not converged:
        warn_not_converged(iterations, residual, limits, dtype)
    F = descent.F
    del descent  # R, P and Z are gone before another array is made
    encoder = equation.encoder(F)
    return Solution(encoder, iterations, residual, converged, 2 * residual * goal)


class _Descent:
    """The state of a search: unknowns F, residual R = B - A(F), direction P."""

    def __init__(
        self, equation: Equation, rounded: Equation, limits: Limits, R: Array, goal: float
    ) -> None:
        self.equation, self.limits, self.goal = equation, limits, goal
        self.operator = rounded.operator
        self.eps = float(np.finfo(R.dtype).eps) if rounded is equation else _ROUNDED
        self.precondition = equation.preconditioner()
        # Pages of zeros are not made before they are written.
        self.F, self.R = np.zeros(R.shape, R.dtype, like=R), R
        self.far: float | None = None
        self.P: Array | None = None
        self.Z: Array | None = None
        self.rz, self.length, self.moved, self.iterations = 0.0, 0.0, goal, 0
        self.has_slid = False
        # <F, B + R>, twice the decrease of the quadratic from F = 0: near <F, A(F)>.
        self.gain = 0.0
        self.residual = self.before = norm(R) / goal

    def begin(self, F: Array, *, is_guess: bool) -> None:
        """Start at F; at F = 0 the residual R equals B."""
        tol = self.limits.tol
        if is_guess and not isinstance(tol, str):
            # <R, Z> has to fall to (_FAR tol)^2 of its value at F = 0, where R is B: squared norms.
            self.far = dot(self.R, self.precondition(self.R)) * (_FAR * tol) ** 2
        if not bool(F.any()):
            return
        AF = self.equation.operator(F)
        overlap, curvature = dot(F, self.R), self._curvature(F, AF)
        # <F, B> / <F, A(F)> is the multiple of F at which the quadratic is smallest.
        scale = overlap / curvature if is_guess else 1.0
        descend(self.R.dtype.type(scale), F, AF, self.F, self.R)
        self.gain = scale * (2 * overlap - scale * curvature)
        self._restart()

    def has_ended(self) -> bool:
        """Return whether it is near enough, or as near as rounding allows."""
        if self._slide():
            return True
        is_small = self.has_reached() and self._is_near()
        # Below this the recurrence goes on to zero, and the true residual does not follow.
        least = 0.1 * self.eps * self.moved / self.goal
        if not is_small and self.residual > least:
            return False
        self.refresh()
        if self.has_reached() or self.residual > 0.5 * self.before:
            return True
        self._restart()
        return False

    def has_reached(self) -> bool:
        """Return whether the tolerance is reached."""
        tol = self.limits.tol
        if not isinstance(tol, str):
            return bool(self.residual <= tol)
        return self.has_slid or self._is_settled(dot(self.R, self._preconditioned()))

    def step(self) -> None:
        """Go along the next direction to where the residual is orthogonal to it."""
        P, rz = self._turn()
        AP = self.operator(P)
        # <R, P> / <P, A(P)>, where <R, P> = <R, Z>: R is orthogonal to earlier directions.
        self.length = rz / self._curvature(P, AP)
        # The quadratic falls by half of length <R, P>.
        self.gain += self.length * rz
        self.moved += self.length * norm(AP)
        self.residual = descend(self.R.dtype.type(self.length), P, AP, self.F, self.R) / self.goal
        self.iterations += 1

    def _slide(self) -> bool:
        """Take the last step without a product, where it settles the scores; return whether.

        With the length of the step before, a part (1 - length / best length)^2 of what the best
        step gains is lost.
        """
        if self.limits.tol != SETTLED or self.P is None:
            return self.has_slid
        rz = dot(self.R, self._preconditioned())
        # <R, Z> is foreseen to fall as it did in the step before, or not as much.
        foreseen = rz * max(rz / self.rz, _FASTEST)
        if self._is_settled(rz) or foreseen > rz or not self._is_settled(foreseen):
            return False
        P, rz = self._turn()
        advance(self.R.dtype.type(self.length), P, self.F)
        self.has_slid = True
        return True

    def _turn(self) -> tuple[Array, float]:
        """Return the next direction, and <R, Z>."""
        Z = self._preconditioned()
        rz = dot(self.R, Z)
        if self.P is None:
            self.P = Z
        else:
            # P = Z + (<R, Z> / <R, Z> of the last step) P is conjugate to all earlier P.
            turn(self.P, self.R.dtype.type(rz / self.rz), Z)
        self.rz, self.Z = rz, None
        return self.P, rz

    def _is_settled(self, rz: float) -> bool:
        """Return whether <R, Z> is small beside the norm of F."""
        return self.gain > 0 and rz <= self.limits.change**2 * self.gain

    def refresh(self) -> None:
        """Recompute the residual where rounding may have moved it by more than a hundredth.

        Of settled scores, for which it does not decide, by more than a tenth.
        """
        # R is a sum of steps, each rounded to eps of its length; `moved` is the sum of lengths.
        rounding, share = 10 * self.eps * self.moved, 0.1 if self.limits.tol == SETTLED else 0.01
        if rounding > share * self.residual * self.goal:
            # The search ends here or restarts: these are gone before others are made.
            self.P = self.Z = None
            del self.R
            self.R = self.equation.right_hand_side()
            self.R -= self.equation.operator(self.F)
            self.residual = norm(self.R) / self.goal

    def _restart(self) -> None:
        """Restart at the current F.

        `moved` sums the changes of R since then, which bounds the rounding error.
        """
        self.residual = self.before = norm(self.R) / self.goal
        self.moved = self.goal
        self.P = self.Z = None

    def _is_near(self) -> bool:
        """Return whether R is small in the norm of the preconditioner too, where that counts."""
        return self.far is None or dot(self.R, self._preconditioned()) <= self.far

    def _preconditioned(self) -> Array:
        if self.Z is None:
            self.Z = self.precondition(self.R)
        return self.Z

    def _curvature(self, P: Array, AP: Array) -> float:
        """Return <P, A(P)>, which is positive."""
        curvature = dot(P, AP)
        if not 0 < curvature < np.inf:
            raise SolverError(not_positive_definite(self.R.dtype))
        return curvature
