"""Both solvers against a dense oracle, on problems with every trap; starts."""

import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import exact_encoder, half_gradient, objective, random_problem

import teaser
from teaser.errors import ConvergenceWarning, ParameterError, SolverError
from teaser.model.gram.operator import DenseGram
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import LEAST_TOL, SETTLED_CHANGE, Limits
from teaser.model.solver.solve import prepare
from teaser.model.solver.system import System


@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize("awkward", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_conjugate_gradients_find_the_exact_encoder(seed: int, awkward: bool, gram: str) -> None:
    X, D = random_problem(seed, awkward=awkward)
    found = teaser.solve(
        X, D, l2_weights=2.0, l2_encoder=3.0, gram=gram, tol=1e-10, dtype="float64"
    )
    assert found.converged
    assert_allclose(found.encoder, exact_encoder(X.T @ X, D, 2.0, 3.0), atol=1e-9)


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


def test_the_solution_is_a_minimum() -> None:
    X, D = random_problem(5)
    found = teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol=1e-12, dtype="float64")
    least = objective(X, D, 2, 3, found.encoder)
    rng = np.random.default_rng(0)
    for _ in range(20):
        near = found.encoder + 1e-3 * rng.standard_normal(D.shape)
        assert objective(X, D, 2, 3, near) > least


def test_single_precision_reaches_its_default_tolerance() -> None:
    X, D = random_problem(6)
    found = teaser.solve(X, D, l2_weights=2.0, l2_encoder=3.0)
    assert found.converged
    assert found.encoder.dtype == np.float32
    assert_allclose(found.encoder, exact_encoder(X.T @ X, D, 2.0, 3.0), atol=1e-3)


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
    with pytest.warns(ConvergenceWarning, match=r"Stopped after 2 iterations .* above tol"):
        found = teaser.solve(
            X, D, l2_weights=2, l2_encoder=3, solver=solver, tol=1e-9, max_iter=2, dtype="float64"
        )
    assert not found.converged
    assert found.iterations == 2
    assert found.residual > 1e-9


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_where_rounding_allows_no_smaller_residual_conjugate_gradients_stop(kind: Any) -> None:
    X, D = (part.astype(kind) for part in random_problem(10))
    system = prepare(DenseGram(X.T @ X), sp.csr_array(D), solver="cg", rng=0)
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


def test_where_rounding_allows_no_smaller_residual_admm_stops() -> None:
    """Items that are chosen ten thousand times more often than others cost it a digit."""
    X, D = random_problem(4)
    X = X * np.logspace(0, 2, X.shape[1])
    settings: dict[str, Any] = {"l2_weights": 2, "l2_encoder": 3, "tol": 2e-6}
    with pytest.warns(ConvergenceWarning, match="the least that float32 reaches here") as told:
        found = teaser.solve(X, D, solver="admm", max_iter=20_000, **settings)
    assert not found.converged
    assert found.iterations < 2000
    assert 2e-6 < found.residual < 1e-4
    assert f"a residual of {found.residual:.1e}" in str(told[0].message)
    assert teaser.solve(X, D, dtype="float64", **settings).converged


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


def test_a_start_that_points_nowhere_does_no_harm() -> None:
    X, D = random_problem(15)
    settings: dict[str, Any] = {
        "l2_weights": 2.0, "l2_encoder": 3.0, "tol": 1e-9, "dtype": "float64",
    }  # fmt: skip
    cold = teaser.solve(X, D, **settings)
    for start in (np.zeros(D.shape), np.random.default_rng(0).standard_normal(D.shape)):
        warm = teaser.solve(X, D, start=start, **settings)
        assert_allclose(warm.encoder, cold.encoder, atol=1e-7)


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


def test_the_last_step_of_settled_scores_has_no_residual_of_its_own() -> None:
    X, D = random_problem(4)
    penalties: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0, "dtype": "float64"}
    found = teaser.solve(X, D, tol="settled", **penalties)
    with pytest.warns(ConvergenceWarning):
        before = teaser.solve(X, D, tol=1e-14, max_iter=found.iterations, **penalties)
    assert found.residual == pytest.approx(before.residual, rel=1e-9)
    exact = exact_encoder(X.T @ X, D, 2.0, 3.0)
    left, more = (energy(X, D, one.encoder - exact) for one in (found, before))
    assert left < more / 2


def test_scores_that_are_not_settled_are_warned_of() -> None:
    X, D = random_problem(3)
    with pytest.warns(
        ConvergenceWarning,
        match=r"before the scores are settled\. Raise max_iter.*such as tol=1e-2",
    ):
        found = teaser.solve(X, D, l2_weights=0.1, l2_encoder=0.1, tol="settled", max_iter=1)
    assert not found.converged


def test_settled_is_not_for_admm() -> None:
    X, D = random_problem(3)
    with pytest.raises(ParameterError, match="conjugate gradients alone"):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol="settled", solver="admm")
    tol: Any = "soon"
    with pytest.raises(ParameterError, match="or 'settled', found 'soon'"):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol=tol)


def test_the_last_residual_is_computed_when_the_one_of_the_search_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, D = random_problem(1, awkward=False)
    make, made, there = System.right_hand_side, list[weakref.ref[Any]](), list[bool]()

    def right_hand_side(system: System, **how: Any) -> Any:
        there.extend(each() is not None for each in made)
        B = make(system, **how)
        made.append(weakref.ref(B))
        return B

    monkeypatch.setattr(System, "right_hand_side", right_hand_side)
    teaser.solve(X, D, l2_weights=2.0, l2_encoder=3.0, gram="sparse", tol=1e-3, dtype="float32")
    assert there
    assert not any(there)
