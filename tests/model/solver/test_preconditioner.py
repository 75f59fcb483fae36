"""The approximate inverse: what it must be for conjugate gradients, and where it is exact."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose
from numpy.typing import NDArray
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
    M, A = _matrix(pre.apply, D), _matrix(equation.operator, D)
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


def test_it_stays_positive_and_near_where_items_alone_make_up_their_tags() -> None:
    """Leverages near one: what rounds eta must not touch the terms that divide by 1 - leverage."""
    rng = np.random.default_rng(2)
    X = (rng.random((60, 14)) < 0.4).astype(float)
    D = np.hstack([np.diag(np.linspace(0.5, 3.0, 14)), rng.random((14, 4)) < 0.5])
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rank=3, rng=rng)
    A, M = _matrix(EncoderEquation(system, 1.0, 0.01).operator, D), _matrix(_apply(system), D)
    values = np.linalg.eigvals(M @ A).real
    assert values.min() > 0
    assert values.max() / values.min() < np.linalg.cond(A) / 100


def test_columns_of_like_eigenvalues_share_a_matrix() -> None:
    X, D = random_problem(13, awkward=False)
    rng = np.random.default_rng(0)
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rank=5, rng=rng)
    like = replace(system, eta=np.linspace(1.0, 1.3, len(system.eta)))
    pre = Preconditioner.build(like, l1=2.0, l2=3.0)
    assert len(pre.core) == len(pre.starts) - 1 == len(np.unique(pre.ranks.rounded)) <= 4
    assert (like.eta <= pre.ranks.rounded).all()
    assert (pre.ranks.rounded <= 1.1 * like.eta).all()


def _apply(system: System) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return Preconditioner.build(system, l1=1.0, l2=0.01).apply


def _matrix(operator: Callable[[NDArray[Any]], NDArray[Any]], D: NDArray[Any]) -> NDArray[Any]:
    """Return an operator on arrays of the shape of D, as a matrix."""
    units = np.eye(D.size).reshape(D.size, *D.shape)
    return np.stack([operator(unit).ravel() for unit in units], axis=1)
