"""The front door of the solvers: check the arrays, choose how to hold G, dispatch."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.reading.partitions import Interactions
from teaser.errors import ParameterError
from teaser.model.gram.cost import check_memory, choose_gram
from teaser.model.gram.gpu import DeviceContentGram, build_device_gram, to_host
from teaser.model.gram.operator import ContentGram, DenseGram, Gram, SparseGram
from teaser.model.gram.partitioned import hold_partitions
from teaser.model.solver.admm import admm
from teaser.model.solver.conjugate_gradients import (
    Callback,
    Solution,
    check_reachable,
    conjugate_gradients,
)
from teaser.model.solver.system import RANK, System

SOLVERS = ("cg", "admm")
DTYPES = ("float32", "float64")
GRAMS = ("auto", "dense", "sparse")
DEVICES = ("cpu", "cuda")


def solve(
    X: Any,
    D: Any,
    *,
    l2_weights: float,
    l2_encoder: float,
    solver: str = "cg",
    gram: Any = "auto",
    tol: float = 1e-4,
    max_iter: int = 200,
    dtype: str = "float32",
    rng: int | np.random.Generator | None = 0,
    device: str = "cpu",
    start: Any = None,
    callback: Callback | None = None,
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
        Relative residual to stop at: at least 1e-6 in float32, 1e-14 in float64.
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
        Told the iteration and its relative residual.

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
    kind = np.dtype(dtype)
    X, D = _as_pair(X, D, kind)
    start = None if start is None else _as_start(start, D.shape, kind)
    operator = build_gram(X, gram, n_tags=D.shape[1], dtype=kind, device=device, solver=solver)
    system = prepare(operator, D, solver=solver, rng=rng)
    return dispatch(
        system,
        l2_weights=l2_weights,
        l2_encoder=l2_encoder,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        start=start,
        callback=callback,
    )


def prepare(
    gram: Gram, D: sp.csr_array, *, solver: str, rng: int | np.random.Generator | None
) -> System:
    """Return what all penalties share, with the eigenpairs of G that the solver wants."""
    rank = RANK if solver == "cg" else 0
    return System.build(gram, D, rank=rank, rng=np.random.default_rng(rng))


def dispatch(
    system: System,
    *,
    l2_weights: float,
    l2_encoder: float,
    solver: str,
    tol: float,
    max_iter: int,
    start: NDArray[Any] | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Run the named solver on a prepared system; ADMM has no use for a start."""
    l1, l2 = float(l2_weights), float(l2_encoder)
    if solver == "admm":
        return admm(system, l1=l1, l2=l2, tol=tol, max_iter=max_iter, callback=callback)
    found = conjugate_gradients(
        system, l1=l1, l2=l2, tol=tol, max_iter=max_iter, start=start, callback=callback
    )
    return replace(found, encoder=to_host(found.encoder))


def build_gram(
    X: sp.csr_array,
    gram: Any,
    *,
    n_tags: int,
    dtype: np.dtype[Any],
    content: sp.csr_array | None = None,
    content_weight: float = 0.0,
    device: str = "cpu",
    solver: str = "cg",
) -> Gram:
    """Return X'X as an operator, with `content_weight` times content content' added to it."""
    operator: Gram
    if isinstance(X, Interactions) and isinstance(gram, str):
        operator = hold_partitions(X, gram, n_tags=n_tags, dtype=dtype, solver=solver)
    elif device == "cuda":
        operator = build_device_gram(X, gram, n_tags=n_tags, dtype=dtype)
    elif isinstance(gram, str):
        choice = choose_gram(X, n_tags, dtype) if gram == "auto" else gram
        choice = "dense" if solver == "admm" else choice  # it decomposes G as one array
        check_memory(X, n_tags, solver=solver, gram=choice, dtype=dtype)
        operator = (
            DenseGram.from_interactions(X, dtype) if choice == "dense" else SparseGram(X, dtype)
        )
    elif all(hasattr(gram, name) for name in ("apply", "diagonal", "n_items", "dtype")):
        operator = gram
        if operator.dtype != dtype:
            raise ParameterError(
                f"The Gram operator is in {operator.dtype} and dtype is {dtype}. Use one of them."
            )
    else:
        operator = DenseGram(_precomputed(gram, dtype))
    if operator.n_items != X.shape[1]:
        raise ParameterError(f"The Gram is of {operator.n_items:,} items and X of {X.shape[1]:,}.")
    if content is not None and content_weight > 0:
        kind = DeviceContentGram if device == "cuda" else ContentGram
        operator = kind(operator, content, content_weight)
    return operator


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
    for name, value in (("l2_weights", l2_weights), ("l2_encoder", l2_encoder), ("tol", tol)):
        if not _is_number(value) or value <= 0:
            raise ParameterError(f"{name} must be a finite number above 0, found {value!r}.")
    if tol >= 1:
        raise ParameterError(f"tol must be below 1, where nothing is learned, found {tol!r}.")
    if not _is_number(content_weight) or content_weight < 0:
        raise ParameterError(
            f"content_weight must be 0 or a finite number above, found {content_weight!r}."
        )
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise ParameterError(f"max_iter must be a whole number of at least 1, found {max_iter!r}.")
    if solver not in SOLVERS:
        raise ParameterError(f"solver must be one of {', '.join(SOLVERS)}, found {solver!r}.")
    if device not in DEVICES:
        raise ParameterError(f"device must be one of {', '.join(DEVICES)}, found {device!r}.")
    if device == "cuda" and (solver != "cg" or not isinstance(gram, str)):
        raise ParameterError(
            "On a GPU there are conjugate gradients alone, with a Gram of its own: leave solver "
            "and gram as they are, or use device='cpu'."
        )
    if isinstance(gram, str) and gram not in GRAMS:
        raise ParameterError(
            f"gram must be one of {', '.join(GRAMS)}, or an operator, found {gram!r}."
        )
    is_seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or is_seed or isinstance(rng, np.random.Generator)):
        raise ParameterError(f"rng must be a seed of 0 or more, or a Generator, found {rng!r}.")
    if not isinstance(dtype, str | type | np.dtype) or str(np.dtype(dtype)) not in DTYPES:
        raise ParameterError(f"dtype must be 'float32' or 'float64', found {dtype!r}.")
    check_reachable(tol, str(np.dtype(dtype)))


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


def _precomputed(gram: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        G = np.asarray(gram.toarray() if sp.issparse(gram) else gram, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The Gram cannot be read as a matrix: {error}.") from error
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise ParameterError(
            f"A precomputed Gram must be items x items, found the shape {G.shape}."
        )
    G = G.astype(dtype)
    if not np.isfinite(G).all():
        raise ParameterError("The precomputed Gram holds values that are not finite.")
    if (G.diagonal() < 0).any() or not np.allclose(G, G.T, rtol=1e-5):
        raise ParameterError(
            "The precomputed Gram is not symmetric with a non-negative diagonal. "
            "Were counts added up in a type too narrow for them?"
        )
    return np.ascontiguousarray(G)


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    return is_real and bool(-1e300 < value < 1e300)
