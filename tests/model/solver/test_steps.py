"""The steps of an iteration: formulas on whole arrays, by compiled loops and without them."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from teaser.model.gram import operator
from teaser.model.solver import steps
from teaser.model.solver.steps import Ranks, advance, damped_squares, descend, finish, turn

Array = NDArray[Any]
KINDS = pytest.mark.parametrize(("kind", "within"), [("float32", 1e-4), ("float64", 1e-12)])
N_ITEMS, N_TAGS = 300, 37


@pytest.fixture(params=["compiled", "numpy"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Compiled loops for arrays of any size, or none."""
    least = 0 if request.param == "compiled" else 2**62
    monkeypatch.setattr(operator, "_WORTH_LOADING", least)
    return str(request.param)


def arrays(kind: str, *shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 2.0, shape).astype(kind) for shape in shapes]


def matrices(kind: str, n: int) -> list[Array]:
    return arrays(kind, *[(N_ITEMS, N_TAGS)] * n)


def test_the_loops_are_compiled_where_that_is_asked_for(loops: str) -> None:
    (R,) = matrices("float32", 1)
    assert (steps._loops(R) is not None) == (loops == "compiled")
    assert steps._loops(np.asfortranarray(R)) is None
    assert steps._loops(R, R.astype(np.float64)) is None


@KINDS
def test_a_step_moves_and_measures(loops: str, kind: str, within: float) -> None:
    P, AP, F, R = matrices(kind, 4)
    step = np.dtype(kind).type(0.3)
    moved, left = F + step * P, R - step * AP
    length = descend(step, P, AP, F, R)
    assert_allclose(F, moved, rtol=within)
    assert_allclose(R, left, atol=within)
    assert_allclose(length, np.linalg.norm(left), rtol=within)
    advance(step, P, F)
    assert_allclose(F, moved + step * P, rtol=within)
    turned = step * P + AP
    turn(P, step, AP)
    assert_allclose(P, turned, rtol=within)


@KINDS
def test_the_operator_is_finished(loops: str, kind: str, within: float) -> None:
    out, F, DV = matrices(kind, 3)
    L, taken, eta = arrays(kind, (N_ITEMS,), (N_ITEMS,), (N_TAGS,))
    wanted = out + (np.outer(L, eta) + 3.0) * F - taken[:, None] * DV
    finish(out, F, DV, eta, L, np.dtype(kind).type(3.0), taken)
    assert_allclose(out, wanted, rtol=within)


@KINDS
def test_squares_are_damped(loops: str, kind: str, within: float) -> None:
    (DV,), (h, eta) = matrices(kind, 1), arrays(kind, (N_ITEMS,), (N_TAGS,))
    wanted = (DV**2 / (np.outer(h, eta) + 2.0)).sum(axis=1)
    assert_allclose(damped_squares(DV, h, eta, np.dtype(kind).type(2.0)), wanted, rtol=within)


@KINDS
def test_ranks_are_taken_out_and_put_back(loops: str, kind: str, within: float) -> None:
    R, DV, X, out = matrices(kind, 4)
    t, sink, lift = arrays(kind, (N_ITEMS,), (N_ITEMS,), (N_ITEMS,))
    eta, _ = arrays(kind, (N_TAGS,), (N_TAGS,))
    rounded = (1.05 * eta).astype(kind)
    ranks = Ranks(DV, t, eta, rounded, np.dtype(kind).type(2.0), sink, lift)
    level, exact = np.outer(t, rounded) + 2.0, np.outer(t, eta) + 2.0

    def own(A: Array) -> Array:
        inside = (A / level * DV).sum(axis=1)
        return np.asarray((A - (sink * inside)[:, None] * DV) / level)

    found, lifted = ranks.divide(R)
    assert_allclose(found, own(R), atol=10 * within)
    assert_allclose(lifted, lift * (R / exact * DV).sum(axis=1), rtol=within)
    # The rows from the hundredth on.
    wanted = out.copy()
    wanted[100:] += lifted[100:, None] * DV[100:] / exact[100:] - own(X)[100:]
    ranks.correct(X[100:], lifted, 100, out)
    assert_allclose(out, wanted, atol=100 * within)
