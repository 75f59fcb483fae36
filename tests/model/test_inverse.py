"""The inverse of a positive definite array, in its own memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from teaser.errors import SolverError
from teaser.model import _inverse as dense
from teaser.model._inverse import invert


def positive_definite(n: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 7, 511, 512, 513, 1300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_inverse_takes_the_place_of_the_array(n: int, dtype: str) -> None:
    A = positive_definite(n).astype(dtype)
    wanted = np.linalg.inv(A.astype(float))
    found = invert(A)
    assert np.shares_memory(found, A)
    assert_allclose(found, wanted, rtol=0, atol=3e-6 / n if dtype == "float32" else 1e-13)
    assert_array_equal(found, found.T)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_positive_definite_is_refused(dtype: str) -> None:
    with pytest.raises(SolverError, match=f"singular in {dtype}"):
        invert(np.diag([1.0, -1.0]).astype(dtype))


def test_what_single_precision_cannot_tell_from_singular_is_refused() -> None:
    # Two columns that differ by less than the type can tell, with a tiny penalty.
    x = np.random.default_rng(0).random(50) * 1e4
    A = np.array([[x @ x, x @ x], [x @ x, x @ x]]) + 10.0 * np.eye(2)
    with pytest.raises(SolverError, match="use dtype='float64'"):
        invert(A.astype(np.float32))
    assert_allclose(invert(A.copy()) @ A, np.eye(2), atol=1e-6)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 40, 65])
def test_a_large_array_is_inverted_by_blocks(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "_LARGE", 0)
    monkeypatch.setattr(dense, "_PIVOT", 8)
    A = np.random.default_rng(n).random((n, 5))
    A = A @ A.T + np.eye(n)
    wanted = np.linalg.inv(A)
    found = invert(A)
    assert_allclose(found, wanted, atol=1e-12)
    assert_array_equal(found, found.T)
    assert np.shares_memory(found, A)
    with pytest.raises(SolverError, match="singular"):
        invert(np.ones((n + 2, n + 2)))
