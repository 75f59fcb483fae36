"""The compiled loops give what plain NumPy and SciPy give."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser.model import _kernels
from teaser.model._arrays import csr_parts
from teaser.model.gram import nearest_rows

Array = Any


def sparse(seed: int, shape: tuple[int, int], dtype: str = "float64") -> sp.csr_array:
    """A matrix with empty rows, long rows and values that are not ones."""
    rng = np.random.default_rng(seed)
    dense = rng.uniform(0.5, 2, shape) * (rng.random(shape) < rng.random((shape[0], 1)))
    dense[::5] = 0
    return sp.csr_array(dense.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 7, 64])
def test_a_sparse_product_is_added(width: int, dtype: str) -> None:
    X = sparse(0, (40, 30), dtype)
    block = np.random.default_rng(1).standard_normal((30, width)).astype(dtype)
    out = np.ones((40, width), dtype)
    _kernels.add_rows(*csr_parts(X), block, out)
    assert_allclose(out, 1 + X @ block, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_the_gram_are_counted(dtype: str) -> None:
    X = sparse(1, (40, 30))
    out = np.zeros((9, 30), dtype)
    _kernels.add_counts(csr_parts(sp.csr_array(X.T.tocsr())), csr_parts(X), -2.0, 5, out)
    assert_allclose(out, -2 * (X.T @ X).toarray()[5:14], rtol=1e-6)


@pytest.mark.parametrize("m", [1, 3, 12])
def test_nearest_items_are_found(m: int) -> None:
    """Many cosines are equal: the first of them are kept."""
    X = (np.random.default_rng(2).random((12, 30)) < 0.3).astype(float)
    G = X.T @ X
    g = np.maximum(G.diagonal(), 1.0)
    counts, columns, cosines = np.zeros(8, np.int64), np.zeros((8, m), np.int64), np.zeros((8, m))
    _kernels.nearest(G[4:12], 4, g, m, counts, columns, cosines)
    wanted = nearest_rows(G[4:12], 4, g, m)
    is_there = np.arange(m) < counts[:, None]
    assert_array_equal(counts, wanted[0])
    assert_array_equal(columns[is_there], wanted[1])
    assert_allclose(cosines[is_there], wanted[2], atol=1e-9)


def test_scores_and_what_was_viewed_are_products() -> None:
    D, R, H = sparse(3, (20, 8)), sparse(4, (20, 20)), sparse(5, (6, 20))
    A = np.random.default_rng(6).standard_normal((6, 8))
    scores, viewed = np.empty((6, 20)), np.zeros((6, 20))
    _kernels.dot_rows(*csr_parts(D), A, scores)
    assert_allclose(scores, A @ D.T.toarray(), atol=1e-12)
    _kernels.add_sparse_rows(*csr_parts(H), *csr_parts(R), viewed)
    assert_allclose(viewed, (H @ R).toarray(), atol=1e-12)
