"""EASE: the contract, the closed form, sharing a Gram, and limits."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import WeightedProblem

import teaser
from teaser import Dataset, Teaser
from teaser.baselines import EASE
from teaser.errors import ArtifactError, ParameterError, SolverError
from teaser.extensions import Weights
from teaser.model.gram import ContentGram, DenseGram, SparseGram
from teaser.testing import ModelContract


class TestEASE(ModelContract):
    def make(self) -> EASE:
        return EASE(l2_weights=5.0)


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
    model = EASE(l2_weights=l2, dtype="float64").fit(dataset)
    wanted = best_weights(interactions(dataset), l2)
    assert_allclose(model.weights_, wanted, atol=1e-10)
    X = interactions(dataset)
    assert_allclose(model.score_batch(X), X @ wanted, atol=1e-9)


def test_single_precision_is_near(dataset: Dataset) -> None:
    wide = EASE(l2_weights=5.0, dtype="float64").fit(dataset).weights_
    narrow = EASE(l2_weights=5.0, dtype="float32").fit(dataset).weights_
    assert narrow.dtype == np.float32
    assert_allclose(narrow, wide, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_gram_however_held_gives_the_same_and_is_left_alone(dataset: Dataset, dtype: str) -> None:
    kind = np.dtype(dtype)
    plain = EASE(l2_weights=7.0, dtype=dtype).fit(dataset).weights_
    held = DenseGram.from_interactions(dataset.X, kind)
    before = held.G.copy()
    for gram in (held, SparseGram(dataset.X, kind), before.astype(float), before.tolist()):
        assert_allclose(
            EASE(l2_weights=7.0, dtype=dtype, gram=gram).fit(dataset).weights_, plain, atol=1e-6
        )
    assert_array_equal(held.G, before)


def test_content_may_be_in_the_gram(dataset: Dataset) -> None:
    gram = ContentGram(DenseGram.from_interactions(dataset.X, np.dtype("float64")), dataset.S, 3.0)
    model = EASE(l2_weights=7.0, dtype="float64", gram=gram).fit(dataset)
    X, S = interactions(dataset), dataset.S.toarray().astype(float)
    stacked = np.vstack([X, np.sqrt(3.0) * S.T])
    assert_allclose(model.weights_, best_weights(stacked, 7.0), atol=1e-9)


def test_a_grid_counts_the_gram_once(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    gram = DenseGram.from_interactions(dataset.X, np.dtype("float32"))
    alone = {l2: EASE(l2_weights=l2).fit(dataset).weights_ for l2 in (1.0, 10.0, 100.0)}

    def count(*_: Any) -> None:
        raise AssertionError("the Gram was counted again")

    monkeypatch.setattr(DenseGram, "from_interactions", count)
    for l2, weights in alone.items():
        assert_array_equal(EASE(l2_weights=l2, gram=gram).fit(dataset).weights_, weights)


def test_parameters_are_checked_at_fit_and_not_before(dataset: Dataset) -> None:
    wrong: list[dict[str, Any]] = [
        {"l2_weights": 0}, {"l2_weights": np.nan}, {"l2_weights": "5"},
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
        EASE(l2_weights=1.0, gram=wrapped).fit(dataset)


def test_the_weights_are_mapped_and_a_model_with_tags_can_be_demanded(
    dataset: Dataset, tmp_path: Path
) -> None:
    EASE().fit(dataset).save(tmp_path / "m")
    base: Any = teaser.load(tmp_path / "m").weights_
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ArtifactError, match="of the kind EASE, and Teaser is needed"):
        teaser.load(tmp_path / "m", Teaser)


@pytest.mark.parametrize("item_power", [0.0, 1.0])
def test_weights_give_the_minimum_of_their_objective(dataset: Dataset, item_power: float) -> None:
    """One weighted ridge regression for each item; weights of columns change nothing."""
    X = interactions(dataset)
    X[:, 7] = 0  # nobody chose it, so that its penalty would be zero
    few = replace(dataset, X=sp.csr_array(X))
    powers: dict[str, Any] = {"user_power": 0.5, "ridge_power": 0.8, "item_power": item_power}
    model = EASE(l2_weights=3.0, weights=Weights(**powers), dtype="float64").fit(few)
    problem = WeightedProblem(X, np.zeros((40, 1)), 3.0, 1.0, **powers)
    roots, wanted = np.sqrt(problem.w)[:, None], np.zeros((40, 40))
    for j in range(40):
        others = (np.arange(40) != j) & (X.sum(axis=0) > 0)
        Z, y = roots * X[:, others], roots[:, 0] * X[:, j]
        A = Z.T @ Z + np.diag(problem.l1_rows[others])
        wanted[others, j] = np.linalg.solve(A, Z.T @ y)
    assert_allclose(model.weights_, wanted, atol=1e-9)


def test_weights_are_saved_and_checked(dataset: Dataset, tmp_path: Path) -> None:
    model = EASE(l2_weights=5.0, weights=Weights(user_power=0.5)).fit(dataset)
    model.save(tmp_path / "m")
    assert teaser.load(tmp_path / "m").parameters() == model.parameters()
    for bad in (Weights(user_power=3.0), {"user_power": 1.0}, 0.5):
        with pytest.raises(ParameterError, match="weights"):
            EASE(weights=cast(Any, bad)).fit(dataset)
    inverse = np.eye(40)
    with pytest.raises(ParameterError, match="without weights"):
        EASE(weights=Weights()).fit(dataset, inverse=inverse)
