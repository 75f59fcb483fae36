"""The solvers against a dense oracle, on problems with every trap; what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from oracles import WeightedProblem, exact_encoder, half_gradient, random_problem

import teaser
from teaser.errors import ConvergenceWarning, ParameterError, SolverError
from teaser.model.gram import ContentGram, DenseGram
from teaser.model.solve import (
    LEAST_TOL,
    SETTLED_CHANGE,
    EncoderEquation,
    Limits,
    System,
    check_tolerance,
    conjugate_gradients,
    preconditioner,
)

X, D = random_problem(0)

GOOD: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0}

POWERS = ("user_power", "ridge_power", "item_power")


@pytest.mark.parametrize(
    "shape",
    [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, lambda M: M.tolist()],
)
def test_any_kind_of_matrix_gives_the_same_encoder(shape: Any) -> None:
    wanted = teaser.solve(X, D, **GOOD).encoder
    assert_allclose(teaser.solve(shape(X), shape(D), **GOOD).encoder, wanted, atol=1e-6)


def test_settings_that_make_no_sense_are_refused_with_name_and_value() -> None:
    numbers = [0, -1.0, float("nan"), float("inf"), 10**400, "5", None, True]
    wrong: dict[str, list[Any]] = {
        "l2_weights": numbers,
        "l2_encoder": numbers,
        "tol": [*numbers, 1.0],
        "max_iter": [0, 2.5],
        "rng": [-1, "a"],
        "solver": ["sgd"],
        "gram": ["thick"],
        "dtype": ["float16"],
        "device": ["tpu"],
        **{name: [-0.1, 2.1, float("nan"), "1", None, True] for name in POWERS},
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ParameterError, match=rf"{name} must be .*found") as told:
                teaser.solve(X, D, **{**GOOD, name: value})
            assert repr(value) in str(told.value)


def test_a_gram_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be read as a matrix"):
        teaser.solve(X, D, **GOOD, gram=np.array([["a"]]))
    with pytest.raises(ParameterError, match="in float64 and dtype is float32"):
        teaser.solve(X, D, **GOOD, gram=DenseGram(np.eye(14)))


def test_x_and_d_must_be_about_the_same_items() -> None:
    with pytest.raises(ParameterError, match=r"X has 14 items \(columns\) and D 13 \(rows\)"):
        teaser.solve(X, D[:-1], **GOOD)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    broken = X.copy()
    broken[0, 0] = bad
    with pytest.raises(ParameterError, match=r"X must hold finite numbers.* 1 values"):
        teaser.solve(broken, D, **GOOD)
    with pytest.raises(ParameterError, match=r"D must hold finite.* 1 values"):
        teaser.solve(X, np.where(np.arange(D.size).reshape(D.shape) == 0, bad, D), **GOOD)


@pytest.mark.parametrize("thing", [np.zeros((0, 14)), np.zeros((5, 0)), [["a", "b"]], [[{}]]])
def test_what_is_no_matrix_of_numbers_is_refused(thing: Any) -> None:
    with pytest.raises(ParameterError, match=r"X (must hold.*shape|cannot be read as a matrix)"):
        teaser.solve(thing, D, **GOOD)


@pytest.mark.parametrize(
    "powers", [(0.5, 0, 0), (0, 0.7, 0), (0, 0, 1.2), (0.25, 1.0, 0.5), (2, 2, 2)]
)
@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize(
    "how", [{"gram": "dense"}, {"gram": "sparse"}, {"solver": "admm", "max_iter": 20_000}]
)
def test_weights_give_the_minimum_of_their_objective(
    powers: tuple[float, ...], strong: bool, how: dict[str, Any]
) -> None:
    X, D = random_problem(int(strong))
    if strong:
        X = X * np.random.default_rng(1).uniform(0.2, 2.0, X.shape)
    named: dict[str, Any] = dict(zip(POWERS, powers, strict=True))
    found = teaser.solve(X, D, tol=1e-11, dtype="float64", **GOOD, **named, **how)
    assert_allclose(found.encoder, WeightedProblem(X, D, 2.0, 3.0, **named).encoder(), atol=1e-8)


@pytest.mark.parametrize(
    "how", [{"gram": "dense"}, {"gram": "sparse"}, {"solver": "admm", "max_iter": 20_000}]
)
@pytest.mark.parametrize("penalties", [(2.0, 3.0), (0.1, 0.01), (1.0, 100.0), (500.0, 0.5)])
@pytest.mark.parametrize("seed", range(4))
def test_every_solver_finds_the_exact_encoder(
    seed: int, penalties: tuple[float, float], how: dict[str, Any]
) -> None:
    X, D = random_problem(seed, awkward=seed % 2 == 0)
    l1, l2 = penalties
    found = teaser.solve(X, D, l2_weights=l1, l2_encoder=l2, tol=1e-12, dtype="float64", **how)
    assert found.converged
    assert_allclose(found.encoder, exact_encoder(X.T @ X, D, l1, l2), atol=1e-7)


def test_an_indefinite_gram_is_refused_with_a_guess_at_the_cause() -> None:
    X, D = random_problem(1, awkward=False)
    G = X.T @ X
    G[0, 1] = G[1, 0] = -500.0
    with pytest.raises(SolverError, match="wrapped around"):
        teaser.solve(X, D, l2_weights=1, l2_encoder=1, gram=G, dtype="float64", tol=1e-9)


def test_penalties_beyond_the_precision_are_refused() -> None:
    X, D = random_problem(1)
    with pytest.raises(SolverError, match="float64"), np.errstate(all="ignore"):
        teaser.solve(X, D, l2_weights=1e50, l2_encoder=1e50)


@pytest.mark.parametrize("solver", ["cg", "admm"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_the_reported_residual_and_gradient_are_the_true_ones(solver: str, tol: float) -> None:
    X, D = random_problem(3)
    found = teaser.solve(
        X, D, l2_weights=2.0, l2_encoder=3.0, solver=solver, tol=tol, dtype="float64"
    )
    G = X.T @ X
    rest = half_gradient(G, D, 2.0, 3.0, found.encoder)
    right = half_gradient(G, D, 2.0, 3.0, np.zeros_like(found.encoder))
    assert found.residual == pytest.approx(np.linalg.norm(rest) / np.linalg.norm(right), rel=1e-6)
    assert found.gradient_norm == pytest.approx(2 * np.linalg.norm(rest), rel=1e-6)
    assert found.residual <= tol


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4, 1e-5])
def test_in_single_precision_the_reported_residual_is_within_a_hundredth(tol: float) -> None:
    X, D = random_problem(3)
    found = teaser.solve(X, D, l2_weights=2.0, l2_encoder=3.0, tol=tol)
    rest = half_gradient(X.T @ X, D, 2.0, 3.0, found.encoder.astype(float))
    right = half_gradient(X.T @ X, D, 2.0, 3.0, np.zeros(D.shape))
    true = np.linalg.norm(rest) / np.linalg.norm(right)
    assert found.residual == pytest.approx(true, rel=0.02, abs=1e-6)


def test_order_and_names_of_users_items_and_tags_do_not_matter() -> None:
    X, D = random_problem(7)
    rng = np.random.default_rng(1)
    users, items, tags = (rng.permutation(n) for n in (X.shape[0], *D.shape))
    settings: dict[str, Any] = {
        "l2_weights": 2.0,
        "l2_encoder": 3.0,
        "tol": 1e-11,
        "dtype": "float64",
    }
    plain = teaser.solve(X, D, **settings).encoder
    mixed = teaser.solve(X[users][:, items], D[items][:, tags], **settings).encoder
    assert_allclose(mixed, plain[items][:, tags], atol=1e-8)


def test_the_callback_hears_every_iteration_and_nothing_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    X, D = random_problem(8)
    heard: list[tuple[int, float]] = []
    for solver in ("cg", "admm"):
        heard.clear()
        found = teaser.solve(
            X, D, l2_weights=2, l2_encoder=3, solver=solver, tol=1e-3, dtype="float64",
            callback=lambda *said: heard.append(said),
        )  # fmt: skip
        assert [i for i, _ in heard] == list(range(1, found.iterations + 1))
        assert heard[-1][1] == pytest.approx(found.residual, rel=1e-3)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("solver", ["cg", "admm"])
def test_stopping_early_warns_and_says_so(solver: str) -> None:
    X, D = random_problem(9)
    with pytest.warns(ConvergenceWarning, match=r"Stopped after 2 iterations .* before tol"):
        found = teaser.solve(
            X, D, l2_weights=2, l2_encoder=3, solver=solver, tol=1e-9, max_iter=2, dtype="float64"
        )
    assert not found.converged
    assert found.iterations == 2
    assert found.residual > 1e-9


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_where_rounding_allows_no_smaller_residual_conjugate_gradients_stop(kind: Any) -> None:
    X, D = (part.astype(kind) for part in random_problem(10))
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rng=0)
    with pytest.warns(ConvergenceWarning, match=f"the least that {kind.__name__} reaches") as told:
        found = conjugate_gradients(
            EncoderEquation(system, 2.0, 3.0),
            Limits(tol=1e-3 * float(np.finfo(kind).eps), max_iter=5000),
        )
    assert not found.converged
    assert found.iterations < 100
    assert found.residual < LEAST_TOL[kind.__name__]
    said = str(told[0].message)
    assert f"a residual of {found.residual:.1e}" in said
    assert "max_iter" not in said
    assert ("dtype='float64'" in said) == (kind is np.float32)


def test_nobody_chose_two_things_so_there_is_nothing_to_learn() -> None:
    D = np.eye(4, 2)
    for solver in ("cg", "admm"):
        found = teaser.solve(np.eye(4), D, l2_weights=1, l2_encoder=1, solver=solver)
        assert found.converged
        assert not found.encoder.any()


def test_the_same_seed_gives_the_same_bits_and_another_the_same_answer() -> None:
    X, D = random_problem(12)
    settings: dict[str, Any] = {
        "l2_weights": 2.0,
        "l2_encoder": 3.0,
        "tol": 1e-9,
        "dtype": "float64",
    }
    first = teaser.solve(X, D, rng=0, **settings)
    assert (teaser.solve(X, D, rng=0, **settings).encoder == first.encoder).all()
    assert_allclose(teaser.solve(X, D, rng=5, **settings).encoder, first.encoder, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 0.2, -3.0])
def test_a_start_near_the_solution_saves_iterations_and_changes_no_answer(scale: float) -> None:
    """A multiple of it is as good: it is scaled first."""
    X, D = random_problem(14)
    settings: dict[str, Any] = {"l2_weights": 2.0, "tol": 1e-9, "dtype": "float64"}
    near = teaser.solve(X, D, l2_encoder=3.0, **settings)
    cold = teaser.solve(X, D, l2_encoder=3.3, **settings)
    warm = teaser.solve(X, D, l2_encoder=3.3, start=scale * near.encoder, **settings)
    assert_allclose(warm.encoder, cold.encoder, atol=1e-8)
    assert warm.iterations < cold.iterations
    again = teaser.solve(X, D, l2_encoder=3.3, start=cold.encoder, **settings)
    assert again.iterations == 0
    assert again.residual == pytest.approx(cold.residual, rel=1e-3)


@pytest.mark.parametrize("start", [np.ones((3, 2)), "E", np.nan])
def test_a_start_of_another_shape_is_refused(start: Any) -> None:
    X, D = random_problem(15)
    with pytest.raises(ParameterError, match="start"):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, start=start)


def energy(X: Any, D: Any, E: Any) -> float:
    """|X W|^2 + l1 |W|^2 + l2 |E|^2 with W = P(E D'), at penalties of 2 and 3."""
    W = E @ D.T
    np.fill_diagonal(W, 0.0)
    return float(((X @ W) ** 2).sum() + 2 * (W**2).sum() + 3 * (E**2).sum())


@pytest.mark.parametrize("start", ["zero", "scaled", "other"])
@pytest.mark.parametrize("seed", range(4))
def test_settled_scores_are_within_twice_the_change_of_the_exact_ones(
    seed: int, start: str
) -> None:
    X, D = random_problem(seed)
    exact = exact_encoder(X.T @ X, D, 2.0, 3.0)
    noise = np.random.default_rng(seed).standard_normal(D.shape)
    begin = {"zero": None, "scaled": -3 * exact, "other": exact + np.abs(exact).max() * noise}
    found = teaser.solve(
        X, D, l2_weights=2.0, l2_encoder=3.0, tol="settled", start=begin[start], dtype="float64"
    )
    assert found.converged
    assert energy(X, D, found.encoder - exact) <= (2 * SETTLED_CHANGE) ** 2 * energy(X, D, exact)
    coarse = teaser.solve(X, D, l2_weights=2.0, l2_encoder=3.0, tol=1e-6, dtype="float64")
    assert found.iterations < coarse.iterations
    again = teaser.solve(
        X, D, l2_weights=2.0, l2_encoder=3.0, tol="settled", start=exact, dtype="float64"
    )
    assert again.iterations == 0


def test_scores_that_are_not_settled_are_warned_of() -> None:
    X, D = random_problem(3)
    with pytest.warns(
        ConvergenceWarning,
        match=r"before tol='settled' was reached\. Raise max_iter",
    ):
        found = teaser.solve(X, D, l2_weights=0.1, l2_encoder=0.1, tol="settled", max_iter=1)
    assert not found.converged


def test_settled_is_not_for_admm() -> None:
    X, D = random_problem(3)
    with pytest.raises(ParameterError, match=r"needs solver=.cg."):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol="settled", solver="admm")
    tol: Any = "soon"
    with pytest.raises(ParameterError, match="or 'settled', found 'soon'"):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol=tol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_admm_recovers_where_its_penalty_is_too_large(dtype: str) -> None:
    """With small penalties and few users the first rho diverges."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 100)) < 0.05
    D = (rng.random((100, 30)) < 0.1).astype(float)
    settings: dict[str, Any] = {"l2_weights": 0.1, "l2_encoder": 0.1, "dtype": dtype}
    found = teaser.solve(X, D, solver="admm", tol=1e-4, max_iter=500, **settings)
    exact = teaser.solve(X, D, tol=1e-5, max_iter=500, **settings)
    assert found.converged
    assert_allclose(found.encoder, exact.encoder, atol=2e-3)


def test_admm_stopped_anywhere_reports_the_residual_of_what_it_returns() -> None:
    """Also where it has just begun again with a smaller rho."""
    rng = np.random.default_rng(0)
    X = (rng.random((60, 100)) < 0.05).astype(float)
    D = (rng.random((100, 30)) < 0.1).astype(float)
    settings: dict[str, Any] = {"l2_weights": 0.1, "l2_encoder": 0.1, "dtype": "float64"}
    right = np.linalg.norm(half_gradient(X.T @ X, D, 0.1, 0.1, np.zeros(D.shape)))
    for max_iter in range(1, 30):
        with pytest.warns(ConvergenceWarning):
            found = teaser.solve(X, D, solver="admm", tol=1e-9, max_iter=max_iter, **settings)
        rest = np.linalg.norm(half_gradient(X.T @ X, D, 0.1, 0.1, found.encoder))
        assert found.residual == pytest.approx(rest / right, rel=1e-6)


@pytest.mark.parametrize("content", [0.0, 0.1, 10.0])
def test_it_is_symmetric_positive_and_near_the_inverse(content: float) -> None:
    X, D = random_problem(13, awkward=False)
    rng = np.random.default_rng(0)
    T = sp.csr_array(np.sqrt(content) * (rng.random((len(D), 8)) < 0.3))
    gram = ContentGram(DenseGram(X.T @ X), T)
    system = System.build(gram, sp.csr_array(D), rank=5, rng=rng)
    equation = EncoderEquation(system, 2.0, 3.0)
    pre = preconditioner(system, l1=2.0, l2=3.0)
    M, A = _matrix(pre, D), _matrix(equation.operator, D)
    assert_allclose(A, A.T, atol=1e-9)
    assert_allclose(M, M.T, atol=1e-12)
    values = np.linalg.eigvals(M @ A).real
    assert values.min() > 0
    assert values.max() / values.min() < np.linalg.cond(A) / 5


@pytest.mark.parametrize("content", [0.0, 1.0])
def test_it_is_positive_where_nobody_chose_most_items(content: float) -> None:
    """Their rows have no penalty either, and all of their diagonal is content."""
    X, D = random_problem(13, awkward=False)
    X[:, : len(D) // 2] = 0
    rng = np.random.default_rng(0)
    T = sp.csr_array(np.sqrt(content) * (rng.random((len(D), 8)) < 0.3))
    gram = ContentGram(DenseGram((X.T @ X).astype(np.float32)), T)
    how: dict[str, Any] = {"rank": 5, "rng": rng, "row_penalty": X.sum(axis=0)}
    system = System.build(gram, sp.csr_array(D.astype(np.float32)), **how)
    M = _matrix(preconditioner(system, l1=2.0, l2=3.0), D.astype(np.float32))
    assert np.linalg.eigvalsh((M + M.T) / 2).min() > 0


def _matrix(operator: Callable[[NDArray[Any]], NDArray[Any]], D: NDArray[Any]) -> NDArray[Any]:
    """Return an operator on arrays of the shape of D, as a matrix."""
    units = np.eye(D.size).reshape(D.size, *D.shape)
    return np.stack([operator(unit).ravel() for unit in units], axis=1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["cg", "admm"])
@pytest.mark.parametrize("dtype", list(LEAST_TOL))
def test_the_least_tolerance_of_a_dtype_is_reached(dtype: str, solver: str, seed: int) -> None:
    X, D = random_problem(seed)
    found = teaser.solve(
        X, D, l2_weights=2, l2_encoder=3, tol=LEAST_TOL[dtype], dtype=dtype, solver=solver,
        max_iter=2000,
    )  # fmt: skip
    assert found.converged
    assert found.residual <= LEAST_TOL[dtype]


def test_a_tolerance_that_rounding_forbids_is_refused() -> None:
    for dtype, least in LEAST_TOL.items():
        check_tolerance(least, dtype)
        with pytest.raises(ParameterError, match=f"below {least:.0e}.*{dtype}") as told:
            check_tolerance(0.9 * least, dtype)
        assert ("Use dtype='float64' or" in str(told.value)) == (dtype == "float32")
    X, D = random_problem(0)
    with pytest.raises(ParameterError, match=r"tol=1\.0e-07"):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol=1e-7)
