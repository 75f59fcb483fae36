"""EDLAE: the contract, the closed form, the objective, rank, and limits."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import WeightedProblem, random_problem, without_diagonal

from teaser import Dataset
from teaser.baselines import EASE, EDLAE
from teaser.errors import ParameterError
from teaser.extensions import Weights
from teaser.model.baselines.edlae import Factors, alternate
from teaser.model.solve import Limits
from teaser.testing import ModelContract


class TestEDLAE(ModelContract):
    rtol = 1e-4

    def make(self) -> EDLAE:
        return EDLAE(l2=5.0, rank=4, tol=1e-3)


class TestFullRank(ModelContract):
    def make(self) -> EDLAE:
        return EDLAE(l2=5.0, dropout=0.3, rank="full")


def interactions(dataset: Dataset) -> np.ndarray:
    return np.asarray(dataset.X.toarray(), dtype=float)


def objective(X: np.ndarray, penalty: np.ndarray, M: np.ndarray) -> float:
    W = without_diagonal(M)
    return float(((X - X @ W) ** 2).sum() + (penalty[:, None] * W**2).sum())


def closed_form(G: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    C = np.linalg.inv(G + np.diag(penalty))
    return np.asarray(np.eye(len(G)) - C / np.diag(C))


def run(G: np.ndarray, penalty: np.ndarray, rank: int, **how: Any) -> Factors:
    c = how.pop("column_weight", np.ones(len(G)))
    limits = Limits(**{"tol": 1e-10, "max_iter": 5000, **how})
    return alternate(G, penalty, rank, limits, np.random.default_rng(0), column_weight=c)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_closed_form_predicts_every_item_best_from_the_others(
    dataset: Dataset, dropout: float
) -> None:
    X = interactions(dataset)
    model = EDLAE(l2=3.0, dropout=dropout, rank="full", dtype="float64").fit(dataset)
    G = X.T @ X
    penalty = 3.0 + dropout / (1 - dropout) * np.diag(G)
    for j in range(40):
        others = np.arange(40) != j
        A = G[np.ix_(others, others)] + np.diag(penalty[others])
        wanted = np.linalg.solve(A, G[others, j])
        assert_allclose(model.encoder_[others, j], wanted, atol=1e-10)
    assert model.objective_ == ()
    assert model.converged_


@pytest.mark.parametrize("seed", range(3))
def test_the_iterations_at_full_rank_are_the_closed_form(seed: int) -> None:
    X, _ = random_problem(seed)
    G = X.T @ X
    penalty = 2.0 + 0.5 * np.diag(G)
    found = run(G, penalty, len(G))
    assert_allclose(
        without_diagonal(found.encoder @ found.decoder.T), closed_form(G, penalty), atol=1e-6
    )
    assert len(found.objective) <= 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rank", [1, 3, 8])
def test_the_objective_is_that_of_the_definition_and_falls(seed: int, rank: int) -> None:
    X, _ = random_problem(seed)
    G = X.T @ X
    penalty = 2.0 + 0.5 * np.diag(G)
    found = run(G, penalty, rank, tol=1e-7)
    M = found.encoder @ found.decoder.T
    assert found.objective[-1] == pytest.approx(objective(X, penalty, M), rel=1e-9)
    assert found.objective[-1] <= min(found.objective) * (1 + 1e-6)
    assert found.objective[-1] < objective(X, penalty, np.zeros_like(M))
    assert found.objective[-1] >= objective(X, penalty, closed_form(G, penalty))
    assert np.linalg.matrix_rank(M) <= rank
    assert found.converged


def test_the_rank_is_the_number_of_tags_and_popularity(dataset: Dataset) -> None:
    model = EDLAE(l2=5.0, tol=1e-2).fit(dataset)
    assert model.encoder_.shape == model.decoder_.shape == (40, dataset.n_tags + 1)


def test_an_item_says_nothing_about_itself(dataset: Dataset) -> None:
    model = EDLAE(l2=5.0, rank=3, dtype="float64", tol=1e-6, max_iter=1000).fit(dataset)
    W = without_diagonal(model.encoder_ @ model.decoder_.T)
    X = interactions(dataset)
    assert_allclose(model.score_batch(X), X @ W, atol=1e-10)
    assert np.abs(model.own_).max() > 0.01


def test_parameters_are_checked_at_fit_and_not_before(dataset: Dataset) -> None:
    wrong: list[dict[str, Any]] = [
        {"l2": 0}, {"dropout": -0.1}, {"dropout": 1.0}, {"dropout": "half"},
        {"dropout": False}, {"rank": 0}, {"rank": "low"}, {"rank": 2.5}, {"tol": 0}, {"tol": 1.0},
        {"tol": 1e-7},
        {"max_iter": 0}, {"rng": -1}, {"dtype": "int8"}, {"gram": "dense"},
        {"weights": Weights(item_power=-1.0)}, {"weights": 0.5},
    ]  # fmt: skip
    for bad in wrong:
        model = EDLAE(**bad)
        with pytest.raises(ParameterError, match=next(iter(bad))):
            model.fit(dataset)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_the_definition(seed: int) -> None:
    """At the end both gradients of the weighted objective are small, and it is that reported."""
    X, D = random_problem(seed)
    problem = WeightedProblem(X, D, 2.0, 0.0, user_power=0.5, ridge_power=0.7, item_power=0.8)
    G = X.T @ (problem.w[:, None] * X)
    penalty = problem.l1_rows + (G.diagonal() == 0)
    found = run(G, penalty, 3, tol=1e-12, max_iter=20_000, column_weight=problem.c)
    E, C = found.encoder, problem.c
    B = without_diagonal(E @ found.decoder.T)
    apart = (np.sqrt(problem.w)[:, None] * (X - X @ B) * C) ** 2
    value = apart.sum() + (penalty[:, None] * (B * C) ** 2).sum()
    assert found.objective[-1] == pytest.approx(value, rel=1e-9)
    inner = without_diagonal((G + np.diag(penalty)) @ (B * C) - G * C)
    scale = np.linalg.norm(without_diagonal(G * C) @ (C[:, None] * found.decoder))
    assert np.linalg.norm(inner @ (C[:, None] * found.decoder)) < 1e-3 * scale
    assert np.linalg.norm(inner.T @ E) < 1e-3 * np.linalg.norm(without_diagonal(G * C).T @ E)


def test_weighted_and_of_full_rank_it_is_weighted_ease(dataset: Dataset) -> None:
    weights = Weights(user_power=0.5, ridge_power=0.5, item_power=0.7)
    model = EDLAE(l2=5.0, weights=weights, rank="full").fit(dataset)
    wanted = EASE(l2=5.0, weights=weights).fit(dataset).weights_
    assert_array_equal(model.encoder_, wanted)
    low = EDLAE(l2=5.0, weights=weights, rank=4, tol=1e-3).fit(dataset)
    plain = EDLAE(l2=5.0, rank=4, tol=1e-3).fit(dataset)
    assert np.abs(low.score_batch(dataset.X) - plain.score_batch(dataset.X)).max() > 0.01


@pytest.mark.parametrize("rank", [4, "full"])
def test_rare_items_of_a_history_can_say_more(dataset: Dataset, rank: Any) -> None:
    def pairs(power: float) -> Any:
        weights = Weights(user_power=0.5, history_power=power)
        model = EDLAE(l2=5.0, weights=weights, rank=rank, tol=1e-3, dtype="float64").fit(dataset)
        return model.score_batch(np.eye(dataset.n_items))

    n = dataset.item_counts.astype(float)
    assert_allclose(pairs(0.3), np.divide.outer(n, n) ** 0.3 * pairs(0.0), atol=1e-10)
