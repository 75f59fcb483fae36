"""The front door: what it accepts, what it chooses, what it refuses and how it says so."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import WeightedProblem, random_problem

import teaser
from teaser.errors import ParameterError
from teaser.model.gram.operator import DenseGram

X, D = random_problem(0)
GOOD: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0}
POWERS = ("user_power", "ridge_power", "item_power")


@pytest.mark.parametrize(
    "shape",
    [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, lambda M: M.tolist()],
)
def test_any_kind_of_matrix_gives_the_same_encoder(shape: Any) -> None:
    wanted = teaser.solve(X, D, **GOOD).encoder
    assert_allclose(teaser.solve(shape(X), shape(D), **GOOD).encoder, wanted, atol=1e-6)


def test_settings_that_make_no_sense_are_refused_with_name_and_value() -> None:
    numbers = [0, -1.0, float("nan"), float("inf"), 10**400, "5", None, True]
    wrong: dict[str, list[Any]] = {
        "l2_weights": numbers,
        "l2_encoder": numbers,
        "tol": [*numbers, 1.0],
        "max_iter": [0, 2.5],
        "rng": [-1, "a"],
        "solver": ["sgd"],
        "gram": ["thick"],
        "dtype": ["float16"],
        "device": ["tpu"],
        **{name: [-0.1, 2.1, float("nan"), "1", None, True] for name in POWERS},
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ParameterError, match=rf"{name} must be .*found") as told:
                teaser.solve(X, D, **{**GOOD, name: value})
            assert repr(value) in str(told.value)


def test_a_gram_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be read as a matrix"):
        teaser.solve(X, D, **GOOD, gram=np.array([["a"]]))
    with pytest.raises(ParameterError, match="in float64 and dtype is float32"):
        teaser.solve(X, D, **GOOD, gram=DenseGram(np.eye(14)))


def test_x_and_d_must_be_about_the_same_items() -> None:
    with pytest.raises(ParameterError, match=r"X has 14 items \(columns\) and D 13 \(rows\)"):
        teaser.solve(X, D[:-1], **GOOD)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    broken = X.copy()
    broken[0, 0] = bad
    with pytest.raises(ParameterError, match="X holds 1 values that are not finite"):
        teaser.solve(broken, D, **GOOD)
    with pytest.raises(ParameterError, match="D holds 1 values that are not finite"):
        teaser.solve(X, np.where(np.arange(D.size).reshape(D.shape) == 0, bad, D), **GOOD)


@pytest.mark.parametrize("empty", [np.zeros((0, 14)), np.zeros((5, 0))])
def test_empty_matrices_are_refused(empty: Any) -> None:
    with pytest.raises(ParameterError, match="X is empty"):
        teaser.solve(empty, D, **GOOD)


@pytest.mark.parametrize("thing", [[["a", "b"]], None, X + 1j])
def test_what_is_no_matrix_of_numbers_is_refused(thing: Any) -> None:
    with pytest.raises(ParameterError, match="cannot be read as a matrix"):
        teaser.solve(thing, D, **GOOD)


@pytest.mark.parametrize(
    "powers", [(0.5, 0, 0), (0, 0.7, 0), (0, 0, 1.2), (0.25, 1.0, 0.5), (2, 2, 2)]
)
@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize(
    "how", [{"gram": "dense"}, {"gram": "sparse"}, {"solver": "admm", "max_iter": 20_000}]
)
def test_weights_give_the_minimum_of_their_objective(
    powers: tuple[float, ...], strong: bool, how: dict[str, Any]
) -> None:
    X, D = random_problem(int(strong))
    if strong:
        X = X * np.random.default_rng(1).uniform(0.2, 2.0, X.shape)
    named: dict[str, Any] = dict(zip(POWERS, powers, strict=True))
    found = teaser.solve(X, D, tol=1e-11, dtype="float64", **GOOD, **named, **how)
    assert_allclose(found.encoder, WeightedProblem(X, D, 2.0, 3.0, **named).encoder(), atol=1e-8)


def test_powers_of_zero_are_the_paper_s_model_to_the_bit() -> None:
    plain = teaser.solve(X, D, **GOOD).encoder
    zero: dict[str, Any] = dict.fromkeys(POWERS, 0.0)
    assert (teaser.solve(X, D, **GOOD, **zero).encoder == plain).all()
