"""What no penalty changes: eigenpairs, the right-hand side, sums over rows."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import random_problem, without_diagonal

from teaser.model.gram.operator import DenseGram
from teaser.model.solver.system import System, dot, leading_eigenpairs, norm, rowdot


def test_leading_eigenpairs_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60))).Q
    values = np.concatenate([[1000.0, 500.0, 200.0], np.linspace(2, 0, 57)])
    U, mu = leading_eigenpairs(DenseGram((Q * values) @ Q.T), 3, rng)
    assert_allclose(np.sort(mu)[::-1], values[:3], rtol=1e-6)
    assert_allclose(np.abs(np.diag(U[:, ::-1].T @ Q[:, :3])), 1.0, atol=1e-6)


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


def test_sums_run_over_every_block_of_rows() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 700, 3))
    assert_allclose(rowdot(A, B), (A * B).sum(axis=1))
    assert_allclose(dot(A, B), (A * B).sum())
    assert_allclose(norm(A), np.linalg.norm(A))
