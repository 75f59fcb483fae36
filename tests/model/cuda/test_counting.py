"""X'X counted on a GPU is that of scipy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from on_gpu import needs_gpu

from teaser.model.cuda import counting
from teaser.model.cuda.launch import xp


def count(X: sp.csr_array, *, ones: bool, dtype: Any) -> Any:
    cp = xp()
    values = None if ones else cp.asarray(X.data)
    arrays = cp.asarray(X.indptr), cp.asarray(X.indices), values
    return cp.asnumpy(counting.count_pairs(*arrays, X.shape[1], np.dtype(dtype)))


@needs_gpu
@pytest.mark.parametrize("shared", [None, 4096])
def test_counts_are_exact_and_weights_those_of_double_precision(
    shared: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little shared memory the columns are counted in several parts."""
    if shared is not None:
        monkeypatch.setattr(counting, "shared_bytes", lambda: shared)
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((3000, 1500)) < 0.02, rng.random((3000, 1500)), 0.0)
    dense[:, [0, 700]] = 1.0  # all users chose two of the items, nobody the last
    dense[:, -1] = 0.0
    X = sp.csr_array(dense)
    for kind in (np.float32, np.float64):
        weighted = X.astype(kind)
        right = (weighted.astype(np.float64).T @ weighted.astype(np.float64)).toarray()
        found = count(weighted, ones=False, dtype=kind)
        assert_allclose(found, right, rtol=1e-6 if kind == np.float32 else 1e-12)
        assert_array_equal(found, found.T)
        ones = (X != 0).astype(kind)
        assert_array_equal(
            count(sp.csr_array(ones), ones=True, dtype=kind), (ones.T @ ones).toarray()
        )


@needs_gpu
def test_nothing_counted_is_zero() -> None:
    X = sp.csr_array((5, 40), dtype=np.float32)
    assert_array_equal(count(X, ones=True, dtype=np.float32), np.zeros((40, 40)))
