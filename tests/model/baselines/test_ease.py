"""EASE and RDLAE: the contract, brute force, weights, content, sharing a Gram, and limits."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import WeightedProblem, content_of

import teaser
from teaser import Dataset
from teaser.baselines import EASE, RDLAE
from teaser.errors import ParameterError, SolverError
from teaser.extensions import Content, Weights
from teaser.model.gram import DenseGram, SparseGram
from teaser.model.shared_fit import SharedFits, make_model
from teaser.testing import ModelContract


class TestEASE(ModelContract):
    def make(self) -> EASE:
        return EASE(l2=5.0)


class TestRDLAE(ModelContract):
    def make(self) -> RDLAE:
        return RDLAE(l2=5.0, weights=Weights(history_power=0.2), content=Content())


def interactions(dataset: Dataset) -> np.ndarray:
    return np.asarray(dataset.X.toarray(), dtype=float)


def best_weights(X: np.ndarray, l2: float) -> np.ndarray:
    """One ridge regression for each item on all others."""
    n = X.shape[1]
    B = np.zeros((n, n))
    for j in range(n):
        others = np.arange(n) != j
        Z = X[:, others]
        B[others, j] = np.linalg.solve(Z.T @ Z + l2 * np.eye(n - 1), Z.T @ X[:, j])
    return B


@pytest.mark.parametrize("l2", [0.5, 20.0])
def test_every_item_is_predicted_best_from_the_others(dataset: Dataset, l2: float) -> None:
    model = EASE(l2=l2, dtype="float64").fit(dataset)
    wanted = best_weights(interactions(dataset), l2)
    assert_allclose(model.weights_, wanted, atol=1e-10)
    X = interactions(dataset)
    assert_allclose(model.score_batch(X), X @ wanted, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gram_however_held_gives_the_same_and_is_left_alone(dataset: Dataset, dtype: str) -> None:
    kind = np.dtype(dtype)
    plain = EASE(l2=7.0, dtype=dtype).fit(dataset).weights_
    held = DenseGram.from_interactions(dataset.X, kind)
    before = held.G.copy()
    for gram in (held, SparseGram(dataset.X, kind), before.astype(float), before.tolist()):
        assert_allclose(
            EASE(l2=7.0, dtype=dtype, gram=gram).fit(dataset).weights_, plain, atol=1e-6
        )
    assert_array_equal(held.G, before)


def test_parameters_are_checked_at_fit_and_not_before(dataset: Dataset) -> None:
    wrong: list[dict[str, Any]] = [
        {"l2": 0}, {"l2": np.nan}, {"l2": "5"},
        {"dtype": "float16"}, {"dtype": None}, {"gram": "sparse"}, {"gram": None},
    ]  # fmt: skip
    for bad in wrong:
        model = EASE(**bad)
        with pytest.raises(ParameterError, match=next(iter(bad))):
            model.fit(dataset)


def test_a_gram_of_other_items_or_type_is_refused(dataset: Dataset) -> None:
    with pytest.raises(ParameterError, match="3 items and X of 40"):
        EASE(gram=np.eye(3)).fit(dataset)
    gram = DenseGram.from_interactions(dataset.X, np.dtype("float64"))
    with pytest.raises(ParameterError, match="in float64 and dtype is float32"):
        EASE(gram=gram).fit(dataset)


def test_counts_that_wrapped_around_are_refused(dataset: Dataset) -> None:
    G = interactions(dataset).T @ interactions(dataset)
    wrapped = DenseGram((G.astype(np.int64) * 5 % 256 - 128).astype(np.float32))
    with pytest.raises(SolverError, match="wrapped around"):
        EASE(l2=1.0, gram=wrapped).fit(dataset)


@pytest.mark.parametrize("item_power", [0.0, 1.0])
def test_weights_give_the_minimum_of_their_objective(dataset: Dataset, item_power: float) -> None:
    """One weighted ridge regression for each item; weights of columns change nothing."""
    X = interactions(dataset)
    X[:, 7] = 0  # nobody chose it, so that its penalty would be zero
    few = replace(dataset, X=sp.csr_array(X))
    powers: dict[str, Any] = {"user_power": 0.5, "ridge_power": 0.8, "item_power": item_power}
    model = EASE(l2=3.0, weights=Weights(**powers), dtype="float64").fit(few)
    problem = WeightedProblem(X, np.zeros((40, 1)), 3.0, 1.0, **powers)
    roots, wanted = np.sqrt(problem.w)[:, None], np.zeros((40, 40))
    for j in range(40):
        others = (np.arange(40) != j) & (X.sum(axis=0) > 0)
        Z, y = roots * X[:, others], roots[:, 0] * X[:, j]
        A = Z.T @ Z + np.diag(problem.l1_rows[others])
        wanted[others, j] = np.linalg.solve(A, Z.T @ y)
    assert_allclose(model.weights_, wanted, atol=1e-9)


def test_weights_are_saved_and_checked(dataset: Dataset, tmp_path: Path) -> None:
    model = EASE(l2=5.0, weights=Weights(user_power=0.5)).fit(dataset)
    model.save(tmp_path / "m")
    assert teaser.load(tmp_path / "m").parameters() == model.parameters()
    for bad in (Weights(user_power=3.0), {"user_power": 1.0}, 0.5):
        with pytest.raises(ParameterError, match="weights"):
            EASE(weights=cast(Any, bad)).fit(dataset)


def relaxed(A: np.ndarray, penalty: np.ndarray, bound: float) -> np.ndarray:
    """One regression for each item on all items, itself among them up to a bound."""
    n = A.shape[1]
    B = np.zeros((n, n))
    for j in range(n):
        left = A.T @ A + np.diag(penalty)
        free = np.linalg.solve(left, A.T @ A[:, j])
        if free[j] > bound:
            others = np.arange(n) != j
            rest = A[:, j] * (1 - bound)
            free[others] = np.linalg.solve(left[np.ix_(others, others)], A[:, others].T @ rest)
            free[j] = bound
        B[:, j] = free
    return B


@pytest.mark.parametrize("how", ["array", "operator", "auto"])
@pytest.mark.parametrize("weights", [None, Weights(user_power=0.4, history_power=0.3)])
@pytest.mark.parametrize("content", [None, Content(weight=0.7)])
def test_with_content_powers_and_a_relaxed_diagonal_they_are_the_minimum(
    dataset: Dataset, weights: Weights | None, content: Content | None, how: str
) -> None:
    X = interactions(dataset)
    X[:, 7] = 0  # content speaks for an item that nobody chose
    few = replace(dataset, X=sp.csr_array(X))
    powers = weights or Weights(user_power=0.0, ridge_power=0.0)
    A = np.sqrt(WeightedProblem(X, X.T, 1, 1, user_power=powers.user_power).w)[:, None] * X
    G, g = A.T @ A, np.square(A).sum(axis=0)
    kept, gram = G.copy(), cast(Any, {"array": G, "operator": DenseGram(G), "auto": "auto"}[how])
    ridge = 3.0 * np.where(g > 0, g / g.mean(), 1.0) ** powers.ridge_power
    if content is not None:
        A = np.vstack([A, np.sqrt(0.7 * g.mean()) * content_of(few.S.toarray()).T])
    n = np.maximum(few.item_counts, 1).astype(float)
    scale = np.divide.outer(n, n) ** powers.history_power
    given: dict[str, Any] = {"l2": 3.0, "weights": weights, "content": content, "gram": gram}
    ease = EASE(**given, dtype="float64").fit(few)
    assert_allclose(ease.weights_, scale * relaxed(A, ridge, 0.0), atol=1e-9)
    for bound, dropout in ((0.0, 0.0), (0.3, 0.0), (0.2, 0.4), (0.9, 0.4)):
        model = RDLAE(**given, diagonal=bound, dropout=dropout, dtype="float64").fit(few)
        wanted = relaxed(A, ridge + dropout / (1 - dropout) * g, bound)
        assert_allclose(model.weights_, scale * wanted, atol=1e-9)
        assert model.weights_.diagonal().max() <= bound + 1e-9
    assert_array_equal(G, kept)


@pytest.mark.parametrize("bad", [{"dropout": 1.0}, {"diagonal": -0.1}, {"diagonal": True}])
def test_a_bound_or_dropout_out_of_range_is_refused(dataset: Dataset, bad: Any) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(bad))} must be a number from 0 to"):
        RDLAE(**bad).fit(dataset)


def test_study_files_name_them_with_their_options(dataset: Dataset) -> None:
    given = {"l2": 9.0, "weights.history_power": 0.1, "content": {"weight": 2.0, "text": ["t"]}}
    for kind in ("EASE", "RDLAE", "NeighbourEASE"):
        model = make_model(kind, given)
        assert model.parameters()["content"] == Content(weight=2.0, text=("t",))
        assert model.parameters()["weights"].history_power == 0.1
    shared = SharedFits(dataset)
    for kind in ("EASE", "RDLAE"):
        alike = {"l2": 9.0, "content": {"weight": 2.0}, "dtype": "float64"}
        found = shared.fit(make_model(kind, alike)).score_batch(dataset.X)
        alone = make_model(kind, alike).fit(dataset).score_batch(dataset.X)
        assert_allclose(found, alone, atol=1e-10)
