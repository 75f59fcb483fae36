"""Products of rows on a GPU are those of numpy."""

import numpy as np
from numpy.testing import assert_allclose
from on_gpu import needs_gpu

from teaser.model.cuda.launch import xp
from teaser.model.cuda.rows import row_products


@needs_gpu
def test_rows_are_multiplied_in_double_precision() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (7, 33), (300, 1000)):
        for kind, within in ((np.float32, 1e-6), (np.float64, 1e-13)):
            A, B = (rng.random(shape).astype(kind) for _ in range(2))
            right = (A.astype(np.float64) * B.astype(np.float64)).sum(axis=1)
            found = row_products(xp().asarray(A), xp().asarray(B))
            assert found.dtype == kind
            assert_allclose(xp().asnumpy(found), right, rtol=within)
            exact = row_products(xp().asarray(A), xp().asarray(B), np.float64)
            assert_allclose(xp().asnumpy(exact), right, rtol=1e-13)
    part = xp().asarray(rng.random((6, 9)))
    assert_allclose(
        xp().asnumpy(row_products(part[:, 2:5], part.T[:6, :3])),
        xp().asnumpy((part[:, 2:5] * part.T[:6, :3]).sum(axis=1)),
    )
