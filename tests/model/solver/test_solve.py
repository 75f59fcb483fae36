"""The front door: what it accepts, what it chooses, what it refuses and how it says so."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import random_problem

import teaser
from teaser.errors import ParameterError
from teaser.model.gram.operator import DenseGram, SparseGram
from teaser.model.solver.solve import build_gram

X, D = random_problem(0)
GOOD: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0}


@pytest.mark.parametrize(
    "shape",
    [np.asarray, sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, lambda M: M.tolist()],
)
def test_any_kind_of_matrix_gives_the_same_encoder(shape: Any) -> None:
    wanted = teaser.solve(X, D, **GOOD).encoder
    assert_allclose(teaser.solve(shape(X), shape(D), **GOOD).encoder, wanted, atol=1e-6)


def test_duplicate_entries_of_a_narrow_type_are_added_without_wrapping() -> None:
    many = np.zeros(300, dtype=int)
    twice = sp.coo_array((np.ones(300, np.int8), (many, many)), shape=(2, 2))
    found = build_gram(
        sp.csr_array(twice.astype(float)), "dense", n_tags=1, dtype=np.dtype("float64")
    )
    assert found.diagonal()[0] == 300**2
    plain = teaser.solve(twice, np.eye(2), **GOOD)
    assert np.isfinite(plain.encoder).all()


@pytest.mark.parametrize(
    "gram",
    [
        X.T @ X,
        sp.csr_array(X.T @ X),
        (X.T @ X).astype(np.int32),
        DenseGram((X.T @ X).astype(np.float32)),
    ],
)
def test_a_precomputed_gram_is_used(gram: Any) -> None:
    nothing = np.zeros_like(X)
    found = teaser.solve(nothing, D, gram=gram, **GOOD)
    assert_allclose(found.encoder, teaser.solve(X, D, **GOOD).encoder, atol=1e-5)


def test_the_choice_follows_the_data() -> None:
    rng = np.random.default_rng(0)
    crowded = sp.csr_array((rng.random((2000, 60)) < 0.5).astype(float))
    empty = sp.random_array((3000, 8000), density=1e-4, format="csr", rng=rng)
    kind = np.dtype("float32")
    assert isinstance(build_gram(crowded, "auto", n_tags=30, dtype=kind), DenseGram)
    assert isinstance(build_gram(empty, "auto", n_tags=30, dtype=kind), SparseGram)


@pytest.mark.parametrize("name", ["l2_weights", "l2_encoder", "tol"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), 10**400, "5", None, True])
def test_penalties_and_tolerance_must_be_above_zero(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"{name} must be a finite number above 0, found"):
        teaser.solve(X, D, **{**GOOD, name: value})


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("solver", "sgd", "one of cg, admm, found 'sgd'"),
        ("gram", "thick", "one of auto, dense, sparse"),
        ("dtype", "float16", "'float32' or 'float64', found 'float16'"),
        ("max_iter", 0, "max_iter must be a whole number of at least 1, found 0"),
        ("max_iter", 2.5, "max_iter must be a whole number"),
        ("tol", 1.0, "tol must be below 1"),
        ("rng", -1, "rng must be a seed of 0 or more"),
        ("rng", "a", "rng must be a seed"),
        ("gram", np.array([["a"]]), "cannot be read as a matrix"),
        ("gram", DenseGram(np.eye(14)), "in float64 and dtype is float32"),
    ],
)
def test_other_settings_are_checked(setting: str, value: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        teaser.solve(X, D, **GOOD, **{setting: value})


@pytest.mark.parametrize(
    ("dtype", "tol", "said"),
    [
        (
            "float32",
            1e-7,
            "tol=1.0e-07 is below 1e-06, .* dtype='float32' .* Use dtype='float64' or",
        ),
        ("float64", 1e-15, "tol=1.0e-15 is below 1e-14, .* dtype='float64' .* Use a larger tol"),
    ],
)
def test_a_tolerance_that_rounding_forbids_is_refused(dtype: str, tol: float, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        teaser.solve(X, D, **GOOD, tol=tol, dtype=dtype)


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
    ("gram", "said"),
    [
        (np.eye(3), "of 3 items and X of 14"),
        (np.ones((14, 3)), "must be items x items"),
        (np.full((14, 14), np.nan), "not finite"),
        (np.triu(np.ones((14, 14))), "not symmetric"),
        ((200 * np.eye(14)).astype(np.uint8).view(np.int8), "too narrow"),
    ],
)
def test_a_broken_gram_is_refused(gram: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        teaser.solve(X, D, gram=gram, **GOOD)
