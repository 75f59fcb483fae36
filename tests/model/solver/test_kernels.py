"""The compiled steps at the smallest sizes, and on blocks of a larger array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from teaser.model.solver import kernels

SHAPES = pytest.mark.parametrize("shape", [(1, 1), (3, 17)])


@SHAPES
def test_steps_on_a_block_leave_the_other_rows(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    whole = rng.random((4, 10, shape[1]), dtype=np.float32)
    before, rows = whole.copy(), slice(2, 2 + shape[0])
    P, AP, F, R = (A[rows] for A in whole)
    found = kernels.descend(np.float32(0.5), P, AP, F, R)
    wanted = before[3][rows] - np.float32(0.5) * before[1][rows]
    assert_allclose(R, wanted, rtol=1e-6)
    assert found == pytest.approx(float((wanted.astype(np.float64) ** 2).sum()), rel=1e-5)
    others = np.delete(np.arange(10), np.arange(2, 2 + shape[0]))
    assert (whole[:, others] == before[:, others]).all()


@SHAPES
def test_without_ranks_a_row_is_divided_by_its_level(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    R, DV = rng.random((2, *shape))
    t, none = rng.random(shape[0]), np.zeros(shape[0])
    eta, out, lifted = rng.random(shape[1]), np.empty(shape), np.empty(shape[0])
    kernels.own(R, DV, t, eta, 2.0, none, eta, none, out, lifted)
    assert_allclose(out, R / (np.outer(t, eta) + 2.0))
    assert (lifted == 0).all()
    kernels.correct(R, DV, t, eta, 2.0, none, eta, none, out)
    assert_allclose(out, 0.0, atol=1e-15)
    kernels.finish(out, R, DV, eta, t, 2.0, none)
    assert_allclose(out, (np.outer(t, eta) + 2.0) * R, atol=1e-14)
