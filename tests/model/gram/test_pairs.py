"""Pairs of items: neighbours as the slow way finds them, and half of G, whoever holds it."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import Array, slow_nearest

from teaser.model.gram import pairs as module
from teaser.model.gram.operator import DenseGram, Gram, SparseGram
from teaser.model.gram.pairs import host_csr, nearest, sample_entries, upper_triangle

F64 = np.dtype("float64")


def grams(X: Array) -> list[Gram]:
    return [DenseGram(X.T @ X), SparseGram(sp.csr_array(X), F64)]


def interactions(seed: int, shape: tuple[int, int] = (15, 10), density: float = 0.3) -> Array:
    return (np.random.default_rng(seed).random(shape) < density).astype(float)


@given(st.integers(0, 1000), st.integers(1, 12), st.floats(0.05, 0.9))
def test_neighbours_are_those_of_the_slow_way(seed: int, m: int, density: float) -> None:
    X = interactions(seed, density=density)
    wanted = slow_nearest(X.T @ X, m)
    for gram in grams(X):
        found = nearest(gram, m)
        assert [found.indices[a:b].tolist() for a, b in _spans(found)] == wanted
        j, i = found.nonzero()
        G = X.T @ X
        assert_allclose(found.data, G[i, j] / np.sqrt(G[i, i] * G[j, j]), atol=1e-6)


def _spans(matrix: sp.csr_array) -> Any:
    return zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)


def test_two_neighbours_worked_by_hand() -> None:
    X = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    for gram in grams(X):
        assert nearest(gram, 2).toarray()[0] == pytest.approx([0, 2 / 3, 3**-0.5], abs=1e-6)
        assert nearest(gram, 1).indices.tolist() == [1, 0, 0]


def test_of_equal_cosines_the_first_are_kept() -> None:
    """Item 0 was chosen once with each of the others, which were chosen alike."""
    X = np.zeros((6, 7))
    X[:, 0] = 1
    X[np.arange(6), np.arange(1, 7)] = 1
    for gram in grams(X):
        assert nearest(gram, 3).indices[:3].tolist() == [1, 2, 3]


def test_rows_below_the_items_are_no_neighbours() -> None:
    X = interactions(1)
    for gram in grams(X):
        found = nearest(gram, 4, n_items=6)
        assert found.shape == (6, 6)
        few = X[:, :6]
        wanted = slow_nearest(few.T @ few, 4)
        assert [found.indices[a:b].tolist() for a, b in _spans(found)] == wanted


def test_half_of_g_is_on_and_above_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    X = interactions(2) * np.random.default_rng(2).uniform(0.5, 2, (15, 10))
    for cells in (10, 10**6):
        for name in ("_DENSE_CELLS", "_SPARSE_CELLS"):
            monkeypatch.setattr(module, name, cells)
        for gram in grams(X):
            found = upper_triangle(gram, 8)
            assert_allclose(found.toarray(), np.triu((X.T @ X)[:8, :8]), atol=1e-14)
            assert found.has_sorted_indices
            assert host_csr(found).indices.dtype == np.int32


def test_threads_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    X = interactions(3, (60, 50))
    monkeypatch.setattr(module, "_DENSE_CELLS", 200)
    monkeypatch.setattr(module, "_SPARSE_CELLS", 200)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(module, "n_cores", lambda cores=cores: cores)
        found.append([nearest(gram, 5) for gram in grams(X)])
    for one, other in zip(*found, strict=True):
        assert_array_equal(one.indices, other.indices)
        assert_array_equal(one.data, other.data)


def test_entries_are_estimated_from_a_few_rows() -> None:
    X = interactions(4, (300, 1000), 0.01)
    exact = np.count_nonzero(X.T @ X)
    for gram in grams(X):
        assert sample_entries(gram, 1000) == pytest.approx(exact, rel=0.2)
    small = interactions(0)
    # So few items that every row is counted.
    assert sample_entries(grams(small)[1], 10) == np.count_nonzero(small.T @ small)
