"""The front door of the solvers: check the arrays, prepare the system, dispatch."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.errors import ParameterError
from teaser.model.gram.build import DEVICES, DTYPES, GRAMS, build_gram
from teaser.model.gram.cost import FitSize, explained_memory_error
from teaser.model.gram.gpu import bring
from teaser.model.gram.operator import Gram
from teaser.model.gram.weighting import column_weights, row_weights
from teaser.model.solver.admm import admm
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import (
    Callback,
    Limits,
    Solution,
    Tolerance,
    check_tolerance,
    may_round,
)
from teaser.model.solver.system import System
from teaser.parameters import check_choice, check_count, check_number, check_power, check_rng

SOLVERS = ("cg", "admm")
_POWERS = ("user_power", "ridge_power", "item_power")


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
        l2_weights=l2_weights,
        l2_encoder=l2_encoder,
        solver=solver,
        gram=gram,
        tol=tol,
        max_iter=max_iter,
        dtype=dtype,
        rng=rng,
        device=device,
    )
    powers = (user_power, ridge_power, item_power)
    for name, power in zip(_POWERS, powers, strict=True):
        check_power(name, power)
    limits = Limits(tol=tol, max_iter=max_iter, callback=callback)
    how = {"gram": gram, "solver": solver, "rng": rng, "device": device}
    with explained_memory_error("The solver"):  # it clears the frames below this one
        return _solve((X, D, start), np.dtype(dtype), powers, (l2_weights, l2_encoder), limits, how)


def _solve(
    given: tuple[Any, Any, Any],
    dtype: np.dtype[Any],
    powers: tuple[float, float, float],
    penalties: tuple[float, float],
    limits: Limits,
    how: dict[str, Any],
) -> Solution:
    """Return the solution for X, D and a start or None; `how` as in `_system_of`."""
    X, D = _as_pair(given[0], given[1], dtype)
    start = None if given[2] is None else _as_start(given[2], D.shape, D.dtype)
    l1, l2 = (float(penalty) for penalty in penalties)
    coarse = may_round(limits.tol) and how["solver"] == "cg"
    equation = EncoderEquation(_system_of(X, D, powers, is_coarse=coarse, **how), l1, l2)
    return dispatch(equation, limits, solver=how["solver"], start=start)


def _system_of(
    X: sp.csr_array,
    D: sp.csr_array,
    powers: tuple[float, float, float],
    *,
    gram: Any,
    solver: str,
    rng: int | np.random.Generator | None,
    device: str,
    is_coarse: bool,
) -> System:
    """Return the system of arrays, with the weights of users, rows and columns."""
    size = FitSize(D.shape[1], D.dtype, solver)
    operator = build_gram(X, gram, size, device=device, user_power=powers[0])
    r = row_weights(operator, powers[1])
    c = column_weights(np.bincount(X.indices, minlength=X.shape[1]), powers[2])
    how: dict[str, Any] = {"solver": solver, "rng": rng, "is_coarse": is_coarse}
    return prepare(operator, D, **how, row_penalty=r, column_weight=c)


def prepare(
    gram: Gram,
    D: sp.csr_array,
    *,
    solver: str,
    rng: int | np.random.Generator | None,
    is_coarse: bool = False,
    **weights: NDArray[Any] | None,
) -> System:
    """Return what all penalties share, with the eigenpairs of G that the solver wants.

    Parameters
    ----------
    is_coarse
        Whether all fits may round.
    weights
        `row_penalty` and `column_weight`, as in `System.build`.
    """
    # ADMM has no preconditioner: it decomposes the whole of G.
    rank = None if solver == "cg" else 0
    seeded = np.random.default_rng(rng)
    return System.build(gram, D, rank=rank, rng=seeded, is_coarse=is_coarse, **weights)


def dispatch(
    equation: EncoderEquation, limits: Limits, *, solver: str, start: NDArray[Any] | None = None
) -> Solution:
    """Run the named solver, and return an encoder in main memory; ADMM has no use for a start."""
    if solver == "admm":
        return admm(equation, limits)
    found = conjugate_gradients(equation, limits, start)
    return replace(found, encoder=bring(found.encoder))


def check_settings(
    *,
    l2_weights: Any,
    l2_encoder: Any,
    solver: Any,
    gram: Any,
    tol: Any,
    max_iter: Any,
    dtype: Any,
    content_weight: Any = 0.0,
    rng: Any = 0,
    device: Any = "cpu",
) -> None:
    """Raise `ParameterError` for a setting that makes no sense, before any work is done."""
    check_number("l2_weights", l2_weights)
    check_number("l2_encoder", l2_encoder)
    if isinstance(content_weight, bool) or content_weight != 0:
        check_number("content_weight", content_weight)
    check_count("max_iter", max_iter)
    check_rng(rng)
    check_choice("solver", solver, SOLVERS)
    check_choice("device", device, DEVICES)
    if device == "cuda" and (solver != "cg" or not isinstance(gram, str)):
        raise ParameterError(
            "On a GPU there are conjugate gradients alone, with a Gram of its own: leave solver "
            "and gram as they are, or use device='cpu'."
        )
    if isinstance(gram, str) and gram not in GRAMS:
        raise ParameterError(
            f"gram must be one of {', '.join(GRAMS)}, or an operator, found {gram!r}."
        )
    if not isinstance(dtype, str | type | np.dtype) or str(np.dtype(dtype)) not in DTYPES:
        raise ParameterError(f"dtype must be 'float32' or 'float64', found {dtype!r}.")
    check_tolerance(tol, str(np.dtype(dtype)), solver)


def as_matrix(given: Any, name: str, dtype: np.dtype[Any]) -> sp.csr_array:
    """Return a checked sparse copy; the type is widened before anything is added up."""
    try:
        if given is None or np.iscomplexobj(given):
            raise TypeError(f"found {'nothing' if given is None else 'complex numbers'}")
        if sp.issparse(given):
            matrix = sp.csr_array(given.astype(dtype))
        else:
            matrix = sp.csr_array(np.atleast_2d(np.asarray(given)).astype(dtype))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} cannot be read as a matrix of numbers: {error}.") from error
    if 0 in matrix.shape:
        raise ParameterError(f"{name} is empty, its shape is {matrix.shape}.")
    if not np.isfinite(matrix.data).all():
        bad = int((~np.isfinite(matrix.data)).sum())
        raise ParameterError(
            f"{name} holds {bad:,} values that are not finite in {dtype}. Remove or replace them."
        )
    matrix.sum_duplicates()
    return matrix


def _as_pair(X: Any, D: Any, dtype: np.dtype[Any]) -> tuple[sp.csr_array, sp.csr_array]:
    X, D = as_matrix(X, "X", dtype), as_matrix(D, "D", dtype)
    if X.shape[1] != D.shape[0]:
        raise ParameterError(
            f"X has {X.shape[1]:,} items (columns) and D {D.shape[0]:,} (rows). "
            "They must be the same items, in the same order."
        )
    return X, D


def _as_start(given: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        start = np.asarray(given, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"start cannot be read as an encoder: {error}.") from error
    if start.shape != shape or not np.isfinite(start).all():
        raise ParameterError(
            f"start must be an encoder of {shape[0]:,} items x {shape[1]:,} tags, all finite; "
            f"found the shape {start.shape}."
        )
    return start
