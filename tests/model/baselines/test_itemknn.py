"""ItemKNN and popularity: the contract, cosines by hand, and which neighbours are kept."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Dataset
from teaser.baselines import ItemKNN, Popularity
from teaser.errors import ParameterError
from teaser.model.baselines.itemknn import nearest_neighbours
from teaser.testing import ModelContract


class TestItemKNN(ModelContract):
    def make(self) -> ItemKNN:
        return ItemKNN(neighbours=6)


def slow(X: np.ndarray, k: int) -> np.ndarray:
    """Every pair of items, one at a time."""
    n = X.shape[1]
    counts, squares = (X > 0).sum(axis=0), np.square(X).sum(axis=0)
    out = np.zeros((n, n))
    for i in range(n):
        both = {j: X[:, i] @ X[:, j] for j in range(n) if j != i}
        cosine = {j: c / np.sqrt(squares[i] * squares[j]) for j, c in both.items() if c > 0}
        for j in sorted(cosine, key=lambda j: (-cosine[j], -counts[j], j))[:k]:
            out[i, j] = cosine[j]
    return out


def fast(X: np.ndarray, k: int) -> np.ndarray:
    found = nearest_neighbours(sp.csr_array(X), (X > 0).sum(axis=0), k)
    return np.asarray(found.toarray())


@given(st.integers(0, 1000), st.integers(1, 12), st.floats(0.05, 0.9))
def test_neighbours_are_those_of_the_slow_way(seed: int, k: int, density: float) -> None:
    X = (np.random.default_rng(seed).random((15, 10)) < density).astype(float)
    assert_array_equal(fast(X, k), slow(X, k))


def test_strengths_are_lengths_of_the_columns() -> None:
    X = np.random.default_rng(0).random((15, 10)) * (np.arange(150).reshape(15, 10) % 3 > 0)
    found = fast(X, 10)
    assert_allclose(found, slow(X, 10), rtol=1e-12)
    assert found.max() <= 1


def test_scores_are_sums_over_the_history(dataset: Dataset) -> None:
    X = dataset.X.toarray().astype(float)
    model = ItemKNN(neighbours=7).fit(dataset)
    assert_allclose(model.score_batch(X), X @ slow(X, 7), atol=1e-12)


def test_the_number_of_neighbours_is_checked_at_fit(dataset: Dataset) -> None:
    wrong: tuple[Any, ...] = (0, 2.0, "all", None)
    for k in wrong:
        with pytest.raises(ParameterError, match="neighbours must be a whole number"):
            ItemKNN(neighbours=k).fit(dataset)


class TestPopularity(ModelContract):
    def make(self) -> Popularity:
        return Popularity()


def test_everybody_gets_the_counts_over_the_highest(dataset: Dataset) -> None:
    scores = Popularity().fit(dataset).score_batch(dataset.X[:3])
    counts = np.asarray(dataset.X.toarray().astype(float).sum(axis=0))
    for row in scores:
        assert_array_equal(row, counts / counts.max())
