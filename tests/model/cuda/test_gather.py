"""Products with sparse rows on a GPU are those of scipy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from on_gpu import needs_gpu

from teaser.model.cuda.gather import SparseRows, pass_width
from teaser.model.cuda.launch import xp
from teaser.model.gram.blocks import sparse_like


@needs_gpu
@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize(("kind", "within"), [("float32", 1e-5), ("float64", 1e-13)])
def test_products_are_those_of_scipy(ones: bool, kind: str, within: float) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((900, 70)) < 0.1, 1.0 if ones else rng.random((900, 70)), 0.0)
    dense[:, 3] = 1.0  # a long row of the transpose, and an empty one
    dense[:, 4] = 0.0
    X = sp.csr_array(dense.astype(kind))
    for width in (32, 64, 256):
        M = rng.standard_normal((70, width)).astype(kind)
        block = xp().asarray(M)
        for positions in (np.int32, np.int64):
            arrays = (X.data, X.indices.astype(positions), X.indptr.astype(positions))
            there = sparse_like(sp.csr_array(arrays, shape=X.shape), block)
            sums = SparseRows(there, ones=ones).multiply(block)
            found = xp().asnumpy(SparseRows(there.T.tocsr(), ones=ones).multiply(sums))
            right = dense.T @ (dense @ M.astype(np.float64))
            assert_allclose(found, right, atol=within * np.abs(right).max())


def test_the_sums_of_a_pass_are_bounded() -> None:
    assert pass_width(20_000, 4) == 256
    assert pass_width(138_287, 4) == 128
    assert pass_width(6_000_000, 4) == 64
    assert pass_width(50_000_000, 8) == 32
