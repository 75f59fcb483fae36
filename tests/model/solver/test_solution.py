"""When solvers stop, which tolerances can be reached, and what the warning says."""

import pytest
from oracles import random_problem

import teaser
from teaser.errors import ConvergenceWarning, ParameterError
from teaser.model.solver.solution import (
    LEAST_TOL,
    Limits,
    Tolerance,
    check_tolerance,
    coarse_tol,
    share_solved,
)


def test_the_warning_points_at_the_callers_line() -> None:
    X, D = random_problem(9)
    with pytest.warns(ConvergenceWarning) as caught:
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol=1e-5, max_iter=1)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["cg", "admm"])
@pytest.mark.parametrize("dtype", list(LEAST_TOL))
def test_the_least_tolerance_of_a_dtype_is_reached(dtype: str, solver: str, seed: int) -> None:
    X, D = random_problem(seed)
    found = teaser.solve(
        X, D, l2_weights=2, l2_encoder=3, tol=LEAST_TOL[dtype], dtype=dtype, solver=solver,
        max_iter=2000,
    )  # fmt: skip
    assert found.converged
    assert found.residual <= LEAST_TOL[dtype]


def test_a_tolerance_that_rounding_forbids_is_refused() -> None:
    for dtype, least in LEAST_TOL.items():
        check_tolerance(least, dtype)
        with pytest.raises(ParameterError, match=f"below {least:.0e}.*{dtype}") as told:
            check_tolerance(0.9 * least, dtype)
        assert ("Use dtype='float64' or" in str(told.value)) == (dtype == "float32")
    X, D = random_problem(0)
    with pytest.raises(ParameterError, match=r"tol=1\.0e-07"):
        teaser.solve(X, D, l2_weights=2, l2_encoder=3, tol=1e-7)


@pytest.mark.parametrize(
    ("residual", "tol", "share"),
    [(1.0, 1e-4, 0.0), (1e-2, 1e-4, 0.5), (1e-4, 1e-4, 1.0), (1e-9, 1e-4, 1.0), (5.0, 1e-4, 0.0)],
)
def test_work_is_done_in_the_logarithm_of_the_residual(
    residual: float, tol: float, share: float
) -> None:
    assert share_solved(residual, tol) == pytest.approx(share)


def test_a_solver_without_work_is_done() -> None:
    assert share_solved(0.0, 1e-3) == 1.0
    assert share_solved(0.5, 1.0) == 1.0


@pytest.mark.parametrize(
    ("tol", "solver", "coarse"),
    [
        (1e-3, "cg", "settled"),
        ("settled", "cg", "settled"),
        (0.1, "cg", 0.1),
        (1e-3, "admm", 1e-2),
        (0.1, "admm", 0.1),
    ],
)
def test_trials_stop_when_settled_unless_the_model_stops_earlier(
    tol: Tolerance, solver: str, coarse: Tolerance
) -> None:
    assert coarse_tol(tol, solver) == coarse


def test_limits_are_loosened_by_their_own_measure() -> None:
    assert Limits(tol=1e-3, max_iter=9).loosened(3).tol == pytest.approx(3e-3)
    settled = Limits(tol="settled", max_iter=9, change=0.02).loosened(3)
    assert settled.tol == "settled"
    assert settled.change == pytest.approx(0.06)
    assert Limits(tol=0.4, max_iter=9).loosened(3).tol == 0.5


def test_the_bar_of_a_settled_fit_is_full_near_the_residual_that_it_ends_at() -> None:
    assert share_solved(1.0, "settled") == 0.0
    assert 0.0 < share_solved(0.1, "settled") < share_solved(1e-2, "settled") == 1.0
