"""The compiled loops give what plain NumPy and SciPy give."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser.model import _kernels
from teaser.model.gram import nearest_rows

Array = Any


def sparse(seed: int, shape: tuple[int, int], dtype: str = "float64") -> sp.csr_array:
    """A matrix with empty rows, long rows and values that are not ones."""
    rng = np.random.default_rng(seed)
    dense = rng.uniform(0.5, 2, shape) * (rng.random(shape) < rng.random((shape[0], 1)))
    dense[::5] = 0
    return sp.csr_array(dense.astype(dtype))


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
