"""Neighbours and small problems on a GPU are those of numpy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from on_gpu import needs_gpu

from teaser.model.cuda import neighbours
from teaser.model.cuda.launch import xp
from teaser.model.gram.gpu import DeviceGram
from teaser.model.gram.operator import DenseGram
from teaser.model.gram.pairs import nearest


def interactions(n: int, density: float, seed: int = 0) -> sp.csr_array:
    """Return 0/1 interactions, many of which give equal cosines; nobody chose the last items."""
    rng = np.random.default_rng(seed)
    X = (rng.random((300, n)) < density).astype(np.float64)
    X[:, -3:] = 0
    X[:, 5] = X[:, 9] = X[:, 7]
    return sp.csr_array(X)


@needs_gpu
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(("n", "density"), [(40, 0.3), (700, 0.02), (1600, 0.2)])
def test_neighbours_are_those_of_the_processor(kind: str, n: int, density: float) -> None:
    X = interactions(n, density)
    there = DeviceGram.from_interactions(X, np.dtype(kind))
    here = DenseGram.from_interactions(X, np.dtype(kind))
    for m in (1, 5, 100, n - 1, n, 2 * n):
        found, right = nearest(there, m), nearest(here, m)
        assert_array_equal(found.indptr, right.indptr)
        assert_array_equal(found.indices, right.indices)
        assert_allclose(found.data, right.data, atol=1e-9)
    few, right = nearest(there, 10, n_items=n // 2), nearest(here, 10, n_items=n // 2)
    assert_array_equal(few.indices, right.indices)


@needs_gpu
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("m", [1, 31, 32, 100, 200])
def test_small_problems_are_solved_as_by_numpy(kind: str, m: int) -> None:
    n, n_tags = 300, 50
    rng = np.random.default_rng(m)
    X = interactions(n, 0.2)
    there = DeviceGram.from_interactions(X, np.dtype(kind))
    G = xp().asnumpy(there.G).astype(np.float64)
    near = nearest(there, m)
    ridge, scale = rng.uniform(1, 5, n), rng.uniform(0.5, 2, n)
    D = sp.csr_array(sp.random_array((n, n_tags), density=0.1, rng=rng, format="csr"))
    seen = rng.standard_normal((n, n_tags)).astype(kind)
    explained: Any = (xp().asarray(seen), D.indptr, D.indices, D.data)
    arrays = there.G, (near.indptr, near.indices), ridge, scale
    for given in (None, explained):
        values, diagonal = (xp().asnumpy(a) for a in neighbours.solve_each(*arrays, given))
        for j in range(n):
            T = near.indices[near.indptr[j] : near.indptr[j + 1]]
            right = scale[j] * G[T, j]
            if given is not None:
                right = right - seen[T].astype(np.float64) @ D[[j]].toarray().ravel()
            x = np.linalg.solve(G[np.ix_(T, T)] + np.diag(ridge[T]), right)
            assert_allclose(values[near.indptr[j] : near.indptr[j + 1]], x, atol=1e-9)
            assert_allclose(diagonal[j], G[T, j] @ x, atol=1e-7)


@needs_gpu
def test_problems_that_are_not_positive_definite_give_no_numbers() -> None:
    there = DeviceGram.from_interactions(interactions(60, 0.3), np.dtype("float64"))
    near = nearest(there, 10)
    ridge, scale = np.full(60, -1e6), np.ones(60)
    values, _ = neighbours.solve_each(there.G, (near.indptr, near.indices), ridge, scale, None)
    assert bool(xp().isnan(values).all())


@needs_gpu
def test_problems_too_large_for_a_block_are_known_before() -> None:
    assert neighbours.fits(200)
    assert not neighbours.fits(2000)
