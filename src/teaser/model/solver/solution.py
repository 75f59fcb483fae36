"""When a solver stops, what it returns, and what it says where it cannot go on."""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teaser.errors import ConvergenceWarning, ParameterError
from teaser.parameters import check_number
from teaser.progress import progress_bar

Array = NDArray[Any]
Callback = Callable[[int, float], None]
Tolerance: TypeAlias = float | Literal["settled"]

# The least tolerance: rounding leaves residuals of up to 5e-7 in single and 2e-15 in double
# precision (docs/users/model.md).
LEAST_TOL = {"float32": 1e-6, "float64": 1e-14}
# The tolerance that stops by the change of scores, and the change at which it does, relative to
# the scores: nDCG@100 is then settled (docs/users/model.md).
SETTLED: Literal["settled"] = "settled"
SETTLED_CHANGE = 0.01
# The least residual that steps with rounded operands are for: they reach about 1e-4.
_ROUND_FROM = 1e-3
# The residual of searches by a solver that knows no change of scores. That of a settled fit is
# near it, which bars of progress count on.
COARSE_TOL = 1e-2


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
        |A(E) - B| / |B| at the encoder that is returned. Of settled scores it may be that of the
        step before the last, mostly larger: the last one is then taken without a product.
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


def may_round(tol: Tolerance) -> bool:
    """Return whether products of operands rounded to two bytes are exact enough on the way."""
    return isinstance(tol, str) or tol >= _ROUND_FROM


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
    tol
        Where the solver stops.
    callback
        What is called instead of showing a bar.
    progress
        Whether to show a bar.
    """
    if callback is not None or not progress:
        yield callback
        return
    with progress_bar("preparing") as update:

        def report(iteration: int, residual: float) -> None:
            done = share_solved(residual, tol)
            update(f"iteration {iteration}, residual {residual:.1e}", done)

        yield report


def check_tolerance(tol: Any, dtype: str, solver: str = "cg") -> None:
    """Raise `ParameterError` for a tolerance that is none, or that the solver cannot reach.

    Rounding bounds the residual from below.
    """
    if isinstance(tol, str):
        if tol != SETTLED:
            raise ParameterError(
                f"tol must be a finite number above 0 and below 1, or 'settled', found {tol!r}."
            )
        if solver == "admm":
            raise ParameterError(
                "tol='settled' stops by the change of scores, which conjugate gradients alone "
                "know. Use solver='cg', or a number, such as tol=1e-2."
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
    """Warn, at the caller's line, that the tolerance was not reached, and what stopped the solver.

    Before `max_iter` that is rounding: more iterations would not help.
    """
    by_rounding = iterations < limits.max_iter
    reason = f", the least that {dtype} reaches here" if by_rounding else ""
    more = [] if by_rounding else ["raise max_iter"]
    wider = [] if dtype == np.float64 else ["use dtype='float64'"]
    if isinstance(limits.tol, str):
        wanted, less = "before the scores are settled", "accept a residual, such as tol=1e-2"
    else:
        wanted, less = f"above tol={limits.tol:.1e}", "accept a larger tol"
    advice = ", or ".join([*more, *wider, less])
    warnings.warn(
        f"Stopped after {iterations} iterations at a residual of {residual:.1e}{reason}, "
        f"{wanted}. {advice[0].upper()}{advice[1:]}: rankings settle near 1e-3.",
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
