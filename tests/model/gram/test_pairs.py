"""Pairs of items: neighbours as the slow way finds them, and half of G, whoever holds it."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import Array, slow_nearest

from teaser.model.gram import blocks
from teaser.model.gram import pairs as module
from teaser.model.gram.operator import ContentGram, DenseGram, Gram, SparseGram
from teaser.model.gram.pairs import Sets, nearest, squares, triangles
from teaser.model.gram.weighting import weigh_users

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


@pytest.mark.parametrize("power", [0.0, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_loops_find_the_same(
    power: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = np.dtype(dtype)
    X = weigh_users(sp.csr_array(interactions(5, (200, 60), 0.1), dtype=kind), power, kind)
    S = sp.csr_array((np.random.default_rng(5).random((60, 4)) < 0.3).astype(kind))
    held: list[Gram] = [SparseGram(X, kind), DenseGram((X.T @ X).toarray())]
    held += [ContentGram(gram, S, 0.5) for gram in held]
    compiled = [nearest(gram, 7, n_items=50) for gram in held]
    monkeypatch.setattr(module, "pair_kernels", lambda: None)
    for one, gram in zip(compiled, held, strict=True):
        other = nearest(gram, 7, n_items=50)
        assert_array_equal(one.indices, other.indices)
        assert_array_equal(one.indptr, other.indptr)
        assert_allclose(one.data, other.data, atol=2e-6)


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


def sets_of(seed: int, n: int = 10) -> sp.csr_array:
    """Seven sets of some of n items, one of them empty and one of all."""
    held = np.random.default_rng(seed).random((7, n)) < 0.5
    held[2], held[4] = False, True
    return sp.csr_array(held)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_g_on_sets_is_that_of_the_array(dtype: str) -> None:
    X = interactions(2) * np.random.default_rng(2).uniform(0.5, 2, (15, 10))
    sets, kind = sets_of(2, 8), np.dtype(dtype)
    G = X.T @ X
    S = sp.csr_array((np.random.default_rng(0).random((10, 4)) < 0.5).astype(kind))
    for gram in (DenseGram(G.astype(kind)), SparseGram(sp.csr_array(X), kind)):
        for held, whole in (
            (gram, G),
            (ContentGram(gram, S, 0.5), G + 0.5 * (S @ S.T).toarray()),
        ):
            found = triangles(held, Sets.build(sets))
            assert found.dtype == kind
            parts = [
                whole[np.ix_(T, T)][np.tril_indices(len(T))]
                for T in np.split(sets.indices, sets.indptr[1:-1])
            ]
            assert_allclose(found, np.concatenate(parts), rtol=1e-6)
            places = np.array([[1, 5, 3], [9, 0, 0]])
            assert_allclose(
                squares(held, places), whole[places[:, :, None], places[:, None]], rtol=1e-6
            )


def test_threads_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    X = interactions(3, (60, 50))
    monkeypatch.setattr(module, "_DENSE_CELLS", 200)
    monkeypatch.setattr(module, "_SPARSE_CELLS", 200)
    monkeypatch.setattr(module, "_PIECES", 9)
    found: list[list[sp.csr_array]] = []
    for cores in (1, 3):
        for each in (module, blocks):
            monkeypatch.setattr(each, "n_cores", lambda cores=cores: cores)
        found.append([nearest(gram, 5) for gram in grams(X)])
        sets = Sets.build(sets_of(3, 50))
        both = [triangles(gram, sets) for gram in grams(X)]
        found[-1] += [sp.csr_array(each[None]) for each in both]
    for one, other in zip(*found, strict=True):
        assert_array_equal(one.indices, other.indices)
        assert_array_equal(one.data, other.data)
