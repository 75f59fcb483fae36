"""The equation for the encoder is the gradient of the objective."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import (
    WeightedProblem,
    exact_encoder,
    half_gradient,
    objective,
    random_problem,
    without_diagonal,
)

import teaser
from teaser.model.gram.operator import DenseGram, SparseGram
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits
from teaser.model.solver.solve import dispatch
from teaser.model.solver.system import System


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_operator_less_right_hand_side_is_half_the_gradient(kind: str) -> None:
    X, D = random_problem(3)
    G = X.T @ X
    gram = DenseGram(G) if kind == "dense" else SparseGram(sp.csr_array(X), np.dtype(float))
    system = System.build(gram, sp.csr_array(D), rank=3, rng=np.random.default_rng(0))
    equation = EncoderEquation(system, 2.0, 3.0)
    E = np.random.default_rng(1).standard_normal(D.shape)
    F = equation.unknowns(E)
    assert_allclose(equation.encoder(F), E, atol=1e-12)
    rest = equation.encoder(equation.operator(F) - equation.right_hand_side())
    assert_allclose(rest, half_gradient(G, D, 2.0, 3.0, E), atol=1e-9)


def test_the_gradient_is_that_of_the_objective() -> None:
    X, D = random_problem(4)
    rng = np.random.default_rng(0)
    E, step = rng.standard_normal(D.shape), rng.standard_normal(D.shape)
    h = 1e-5
    slope = (objective(X, D, 2, 3, E + h * step) - objective(X, D, 2, 3, E - h * step)) / (2 * h)
    assert slope == pytest.approx(
        2 * float((half_gradient(X.T @ X, D, 2, 3, E) * step).sum()), rel=1e-6
    )


@pytest.mark.parametrize("penalties", [(0.1, 0.01), (1.0, 100.0), (500.0, 0.5)])
def test_the_penalties_are_those_of_the_objective(penalties: tuple[float, float]) -> None:
    X, D = random_problem(11)
    found = teaser.solve(
        X, D, l2_weights=penalties[0], l2_encoder=penalties[1], tol=1e-12, dtype="float64"
    )
    assert_allclose(found.encoder, exact_encoder(X.T @ X, D, *penalties), atol=1e-7)


@pytest.mark.parametrize("solver", ["cg", "admm"])
def test_what_other_weights_explain_is_left_to_them(solver: str) -> None:
    """With R given, E is least for |X - X (P(E D') + R)|^2 and its penalties."""
    X, D = random_problem(5)
    problem = WeightedProblem(X, D, 2.0, 3.0)
    R = without_diagonal(np.random.default_rng(0).normal(size=(len(D), len(D))) / 20)
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rng=np.random.default_rng(0))
    H = X.T @ X + 2.0 * np.eye(len(D))
    right = without_diagonal(X.T @ X - H @ R) @ D @ system.V
    equation = EncoderEquation(system, 2.0, 3.0, right=right)
    found = dispatch(equation, Limits(tol=1e-11, max_iter=20_000), solver=solver)
    assert_allclose(found.encoder, problem.encoder(R=R), atol=1e-8)
