"""EASE on neighbours: the contract, least squares by brute force, and EASE with all of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose
from oracles import Array, content_of, slow_nearest

import teaser
from teaser import Dataset
from teaser.baselines import EASE, NeighbourEASE
from teaser.data.partitions import write_partitions
from teaser.errors import ParameterError
from teaser.extensions import Content, Weights
from teaser.testing import ModelContract


class TestNeighbourEASE(ModelContract):
    def make(self) -> NeighbourEASE:
        return NeighbourEASE(l2=5.0, neighbours=6)


def weighed(X: Array, power: float) -> Array:
    """Interactions whose Gram is that of users weighted by the length of their histories."""
    h = (X != 0).sum(axis=1, keepdims=True)
    w = (np.maximum(h, 1) / h[h > 0].mean()) ** -power
    return np.asarray(np.sqrt(w) * X)


@pytest.mark.parametrize("gram", ["dense", "sparse"])
@pytest.mark.parametrize("powers", [(0.0, 0.0, 0.0), (0.25, 0.5, 0.3), (1.0, 2.0, 0.1)])
@pytest.mark.parametrize("delta", [0.0, 0.6])
def test_each_item_is_a_regression_on_its_neighbours(
    dataset: Dataset, gram: str, powers: tuple[float, float, float], delta: float
) -> None:
    l1, m = 7.0, 6
    weights = Weights(user_power=powers[0], ridge_power=powers[1], history_power=powers[2])
    how: dict[str, Any] = {"weights": weights, "content": Content(weight=delta), "gram": gram}
    model = NeighbourEASE(l2=l1, neighbours=m, dtype="float64", **how).fit(dataset)
    X = dataset.X.toarray().astype(float)
    A, near = weighed(X, powers[0]), weighed(X, 0.5)
    g = np.square(A).sum(axis=0)
    ridge = l1 * (g / g.mean()) ** powers[1]
    # Terms of content are as further users.
    T = np.sqrt(delta) * content_of(dataset.S.toarray()).T
    A = np.vstack([A, np.sqrt(g.mean()) * T])
    near = np.vstack([near, np.sqrt(np.square(near).sum(axis=0).mean()) * T])
    n = dataset.item_counts.astype(float)
    wanted = np.zeros((dataset.n_items, dataset.n_items))
    for j, some in enumerate(slow_nearest(near.T @ near, m)):
        left = np.vstack([A[:, some], np.diag(np.sqrt(ridge[some]))])
        right = np.concatenate([A[:, j], np.zeros(len(some))])
        found = np.linalg.lstsq(left, right, rcond=None)[0]
        wanted[some, j] = (n[some] / n[j]) ** powers[2] * found
    assert_allclose(model.weights_.toarray(), wanted, atol=1e-8)


def test_with_all_neighbours_it_is_ease() -> None:
    dataset = Dataset.from_tables(*small_tables(n_users=900, n_items=12), rules=RULES)
    n = dataset.n_items
    for weights in (None, Weights()):
        settings: dict[str, Any] = {"l2": 5.0, "weights": weights, "dtype": "float64"}
        full = EASE(**settings).fit(dataset).weights_
        # Items that nobody chose together explain each other in EASE, not here.
        G = (dataset.X.T @ dataset.X).toarray()
        assert (G > 0).all()
        near = NeighbourEASE(**settings, neighbours=n).fit(dataset).weights_
        assert_allclose(near.toarray(), full, atol=1e-8)
        assert near.nnz == n * (n - 1)


def test_what_is_saved_is_sparse_and_comes_back_with_its_weights(
    dataset: Dataset, tmp_path: Path
) -> None:
    model = NeighbourEASE(neighbours=4, weights=Weights(user_power=0.5)).fit(dataset)
    model.save(tmp_path / "m")
    loaded = teaser.load(tmp_path / "m", NeighbourEASE)
    assert loaded.weights == Weights(user_power=0.5)
    assert loaded.weights_.dtype == np.float32
    assert (loaded.weights_ != model.weights_).nnz == 0
    # Of each item at most so many others.
    assert np.diff(sp.csc_array(model.weights_).indptr).max() == 4
    assert not model.weights_.diagonal().any()


def test_an_item_that_nobody_chose_has_no_neighbours() -> None:
    interactions, items = small_tables(n_users=60, n_items=20)
    some = interactions.filter(interactions["item_id"] != "i3")
    data = Dataset.from_tables(some, items, rules=RULES)
    for weights in (None, Weights()):
        model = NeighbourEASE(weights=weights).fit(data)
        place = model.items_.index_of("i3")
        assert not model.weights_.toarray()[place].any()
        assert not model.weights_.toarray()[:, place].any()


def test_senseless_settings_are_refused(dataset: Dataset) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"l2": 0}, "l2"),
        ({"neighbours": 0}, "neighbours"),
        ({"neighbours": None}, "neighbours"),
        ({"weights": {"user_power": 1.0}}, "Weights"),
        ({"weights": Weights(user_power=3.0)}, "user_power"),
        ({"gram": "thick"}, "gram"),
        ({"gram": None}, "gram"),
        ({"dtype": "int8"}, "dtype"),
    ]
    for settings, said in wrong:
        with pytest.raises(ParameterError, match=said):
            NeighbourEASE(**settings).fit(dataset)
    with pytest.raises(ParameterError, match="Dataset"):
        NeighbourEASE().fit(dataset.X)


def test_interactions_in_partitions_give_the_same(tmp_path: Path) -> None:
    interactions, items = small_tables()
    write_partitions(interactions, tmp_path / "p", parts=3)
    parted = Dataset.from_partitions(tmp_path / "p", items, rules=RULES)
    local = Dataset.from_tables(interactions, items, rules=RULES)
    settings: dict[str, Any] = {"neighbours": 5, "weights": Weights(), "dtype": "float64"}
    here = NeighbourEASE(**settings).fit(local).weights_.toarray()
    for gram in ("dense", "sparse"):
        found = NeighbourEASE(**settings, gram=gram).fit(parted).weights_.toarray()
        assert_allclose(found, here, atol=1e-8)
