"""What no penalty changes: the right-hand side and the basis of the tags."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import random_problem, without_diagonal

from teaser.model.gram.operator import DenseGram, SparseGram
from teaser.model.solver.system import System


def test_the_parts_are_those_of_the_equation() -> None:
    X, D = random_problem(3)
    G = X.T @ X
    system = System.build(DenseGram(G), sp.csr_array(D), rng=np.random.default_rng(0))
    V = system.V
    assert_allclose(V.T @ V, np.eye(len(V)), atol=1e-12)
    assert_allclose((V * system.eta) @ V.T, D.T @ D, atol=1e-12)
    assert_allclose(system.right_hand_side() @ V.T, without_diagonal(G) @ D, atol=1e-11)
    weights = np.arange(float(len(D)))
    assert_allclose(system.scaled(weights).toarray(), weights[:, None] * D)


def test_coarse_fits_have_eigenvectors_of_single_precision() -> None:
    X, D = random_problem(3)
    D = D.astype(np.float32)
    gram = SparseGram(sp.csr_array(X), np.dtype("float32"))
    exact, coarse = (
        System.build(gram, sp.csr_array(D), rng=np.random.default_rng(0), is_coarse=is_coarse)
        for is_coarse in (False, True)
    )
    assert coarse.V.dtype == coarse.eta.dtype == np.float32
    assert coarse.V.flags.c_contiguous
    assert_allclose(coarse.V.T @ coarse.V, np.eye(len(coarse.V)), atol=1e-5)
    assert_allclose(coarse.eta, exact.eta, atol=1e-5 * exact.eta.max())
    assert (np.diff(coarse.eta) >= 0).all()
    B = without_diagonal(X.T @ X) @ D
    for system in (exact, coarse):
        assert_allclose(system.right_hand_side() @ system.V.T, B, atol=1e-4 * np.abs(B).max())


def test_another_decoder_keeps_the_eigenpairs_of_the_gram() -> None:
    X, D = random_problem(3)
    G = X.T @ X
    weights = sp.csr_array(D * np.random.default_rng(1).random(D.shape))
    first = System.build(DenseGram(G), sp.csr_array(D), rank=4, rng=np.random.default_rng(0))
    other = first.with_decoder(weights)
    assert other.U is first.U
    assert other.mu is first.mu
    B = other.right_hand_side() @ other.V.T
    assert_allclose(B, without_diagonal(G) @ weights.toarray(), atol=1e-11)
    assert_allclose(other.DV, weights @ other.V)


def test_weights_of_rows_and_columns() -> None:
    X, D = random_problem(4)
    rng = np.random.default_rng(2)
    r, c = rng.random(len(D)), rng.random(len(D) - 2) + 0.5
    whole = np.append(c, [1.0, 1.0])
    for gram in (DenseGram(X.T @ X), SparseGram(sp.csr_array(X), np.dtype(float))):
        system = System.build(
            gram, sp.csr_array(D), rng=np.random.default_rng(0), row_penalty=r, column_weight=c
        )
        assert_allclose(system.penalty(3.0), 3.0 * r)
        assert_allclose(system.column_weight, whole)
        assert_allclose(system.D.toarray(), whole[:, None] * D)
        wanted = without_diagonal(X.T @ X) @ (whole[:, None] ** 2 * D)
        assert_allclose(system.right_hand_side() @ system.V.T, wanted, atol=1e-10)
        other = system.with_decoder(sp.csr_array(D[:9]))
        assert_allclose(other.D.toarray()[:9], whole[:9, None] * D[:9])
        assert other.D.shape == D.shape
        assert not other.D.toarray()[9:].any()
        assert other.row_penalty is system.row_penalty


def test_a_right_hand_side_that_vanishes_is_not_rounding() -> None:
    """Nobody chose two items: what is left of G without its diagonal is nothing."""
    X = sp.csr_array(np.eye(7, 40, dtype=np.float32)[:, ::-1])
    D = sp.csr_array(np.random.default_rng(0).random((40, 3)).astype(np.float32))
    gram = SparseGram(X, np.dtype("float32"))
    assert gram.can_round
    system = System.build(gram, D, rng=np.random.default_rng(0))
    assert (system.right_hand_side(is_rounded=True) == 0).all()
