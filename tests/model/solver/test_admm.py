"""The paper's ADMM ends where conjugate gradients do, and is honest about where it stopped."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import exact_encoder, half_gradient, random_problem

import teaser
from teaser.errors import ConvergenceWarning
from teaser.model.gram.operator import DenseGram
from teaser.model.solver.admm import admm
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits
from teaser.model.solver.system import System


@pytest.mark.parametrize("seed", range(4))
def test_admm_agrees_with_conjugate_gradients(seed: int) -> None:
    X, D = random_problem(seed)
    settings: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0, "dtype": "float64"}
    exact = teaser.solve(X, D, tol=1e-11, **settings)
    found = teaser.solve(X, D, solver="admm", tol=1e-9, max_iter=2000, **settings)
    assert found.converged
    assert_allclose(found.encoder, exact.encoder, atol=1e-6)


@pytest.mark.parametrize("rho", [1.0, 20.0, 300.0])
def test_the_penalty_of_admm_changes_its_way_and_not_its_end(rho: float) -> None:
    X, D = random_problem(2)
    system = System.build(DenseGram(X.T @ X), sp.csr_array(D), rng=np.random.default_rng(0))
    found = admm(EncoderEquation(system, 2.0, 3.0), Limits(tol=1e-9, max_iter=5000), rho=rho)
    assert_allclose(found.encoder, exact_encoder(X.T @ X, D, 2.0, 3.0), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_admm_recovers_where_its_penalty_is_too_large(dtype: str) -> None:
    """With small penalties and few users the first rho diverges."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 100)) < 0.05
    D = (rng.random((100, 30)) < 0.1).astype(float)
    settings: dict[str, Any] = {"l2_weights": 0.1, "l2_encoder": 0.1, "dtype": dtype}
    found = teaser.solve(X, D, solver="admm", tol=1e-4, max_iter=500, **settings)
    exact = teaser.solve(X, D, tol=1e-5, max_iter=500, **settings)
    assert found.converged
    assert_allclose(found.encoder, exact.encoder, atol=2e-3)


def test_admm_stopped_anywhere_reports_the_residual_of_what_it_returns() -> None:
    """Also where it has just begun again with a smaller rho."""
    rng = np.random.default_rng(0)
    X = (rng.random((60, 100)) < 0.05).astype(float)
    D = (rng.random((100, 30)) < 0.1).astype(float)
    settings: dict[str, Any] = {"l2_weights": 0.1, "l2_encoder": 0.1, "dtype": "float64"}
    right = np.linalg.norm(half_gradient(X.T @ X, D, 0.1, 0.1, np.zeros(D.shape)))
    for max_iter in range(1, 30):
        with pytest.warns(ConvergenceWarning):
            found = teaser.solve(X, D, solver="admm", tol=1e-9, max_iter=max_iter, **settings)
        rest = np.linalg.norm(half_gradient(X.T @ X, D, 0.1, 0.1, found.encoder))
        assert found.residual == pytest.approx(rest / right, rel=1e-6)
