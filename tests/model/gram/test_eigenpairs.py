"""The leading eigenpairs of G: those of the matrix, and how many of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from teaser.model.gram.eigenpairs import leading_eigenpairs, leading_rank
from teaser.model.gram.operator import DenseGram


def test_leading_eigenpairs_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60))).Q
    values = np.concatenate([[1000.0, 500.0, 200.0], np.linspace(2, 0, 57)])
    U, mu = leading_eigenpairs(DenseGram((Q * values) @ Q.T), 3, rng)
    assert_allclose(np.sort(mu)[::-1], values[:3], rtol=1e-6)
    assert_allclose(np.abs(np.diag(U[:, ::-1].T @ Q[:, :3])), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("chosen", "n_tags", "rank"),
    [(0.0, 2000, 40), (16.0, 2000, 40), (150.0, 2000, 75), (9e9, 2000, 200), (150.0, 30, 15)],
)
def test_more_eigenpairs_where_a_product_is_dear(chosen: float, n_tags: int, rank: int) -> None:
    assert leading_rank(chosen, n_tags) == rank
