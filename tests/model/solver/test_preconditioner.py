"""The approximate inverse: what it must be for conjugate gradients, and where it is exact."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import random_problem

from teaser.model.gram.operator import DenseGram
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.system import System


def test_it_is_symmetric_positive_and_near_the_inverse() -> None:
    X, D = random_problem(13, awkward=False)
    rng = np.random.default_rng(0)
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rank=5, rng=rng)
    equation = EncoderEquation(system, 2.0, 3.0)
    pre = Preconditioner.build(system, l1=2.0, l2=3.0)
    n = D.size
    units = np.eye(n).reshape(n, *D.shape)
    M = np.stack([pre.apply(unit).ravel() for unit in units], axis=1)
    A = np.stack([equation.operator(unit).ravel() for unit in units], axis=1)
    assert_allclose(A, A.T, atol=1e-9)
    assert_allclose(M, M.T, atol=1e-12)
    values = np.linalg.eigvals(M @ A).real
    assert values.min() > 0
    assert values.max() / values.min() < np.linalg.cond(A) / 5


def test_without_a_diagonal_to_remove_it_is_exact() -> None:
    """With one tag per item, and G diagonal, both formulas hold without approximation."""
    D = np.kron(np.eye(3), np.ones((4, 1)))
    G = np.diag(np.arange(1.0, 13.0))
    system = System.build(DenseGram(G), sp.csr_array(D), rank=0, rng=np.random.default_rng(0))
    pre = Preconditioner.build(system, l1=2.0, l2=3.0)
    R = np.random.default_rng(1).standard_normal(D.shape)
    assert_allclose(EncoderEquation(system, 2.0, 3.0).operator(pre.apply(R)), R, atol=1e-10)
