"""What no penalty changes: the right-hand side and the basis of the tags."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import random_problem, without_diagonal

from teaser.model.gram.operator import DenseGram
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
