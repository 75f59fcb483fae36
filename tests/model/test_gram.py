"""G however it is held: the same products, counts, weights, neighbours and inverse."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import Array, WeightedProblem, exact_encoder, random_problem, slow_nearest

import teaser
from teaser.errors import ParameterError, SolverError
from teaser.model import _inverse as dense
from teaser.model._arrays import as_dense
from teaser.model._inverse import invert
from teaser.model.build import build_gram, dense_gram
from teaser.model.estimate import FitSize
from teaser.model.gram import (
    ContentGram,
    DenseGram,
    Gram,
    ProductGram,
    SparseGram,
    as_array,
    gram_rows,
    item_ridge,
    nearest,
    row_weights,
    squares,
    weigh_users,
)

F64 = np.dtype("float64")


def interactions(seed: int = 0) -> sp.csr_array:
    return sp.csr_array((np.random.default_rng(seed).random((80, 30)) < 0.2).astype(float))


@pytest.fixture(params=["dense", "sparse", "product"])
def gram(request: pytest.FixtureRequest) -> Gram:
    """G of the interactions; "product" and `count_product` are what a GPU runs."""
    X = interactions()
    if request.param == "product":
        return ProductGram(X)
    return DenseGram.from_interactions(X, F64) if request.param == "dense" else SparseGram(X, F64)


def test_it_is_x_transposed_x(gram: Gram) -> None:
    G = (interactions().T @ interactions()).toarray()
    M = np.random.default_rng(1).standard_normal((30, 150))
    assert_allclose(gram.apply(M), G @ M)
    few = sp.csr_array(np.where(M > 1, M, 0.0))
    assert_allclose(gram.apply(few), G @ few.toarray(), atol=1e-12)
    assert_allclose(gram.diagonal(), G.diagonal())
    assert gram.n_items == 30


def test_content_is_added_on_both_sides_and_every_gram_yields_its_rows(gram: Gram) -> None:
    X = interactions()
    S = sp.csr_array((np.random.default_rng(3).random((30, 6)) < 0.3).astype(float))
    content = ContentGram(gram, S)
    both = (X.T @ X + gram.diagonal().mean() * (S @ S.T)).toarray()
    for operator, G in ((gram, (X.T @ X).toarray()), (content, both)):
        rows = as_dense(gram_rows(operator, 7, 19))
        assert_allclose(rows, G[7:19])
        assert rows.dtype == F64
        assert_allclose(operator.apply(S), G @ S.toarray())
        assert_allclose(operator.diagonal(), G.diagonal())


def test_rows_of_strengths_are_right_in_single_precision() -> None:
    X = interactions()
    X.data[:] = np.random.default_rng(1).uniform(0.1, 3.0, X.nnz)
    for dtype in ("float32", "float64"):
        rows: Any = gram_rows(SparseGram(X, np.dtype(dtype)), 3, 30)
        assert rows.dtype == dtype
        assert_allclose(rows, (X.T @ X).toarray()[3:], rtol=1e-6)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, bool, np.int32, np.float32])
@pytest.mark.parametrize("way", ["dense", "sparse"])
def test_counts_cannot_wrap_around(kind: type, way: str) -> None:
    """An item seen by 70,000 people, beyond what 8 or 16 bits can count."""
    n = 70_000
    second = np.arange(n) % 7 == 0
    rows = np.concatenate([np.arange(n), np.flatnonzero(second)])
    columns = np.concatenate([np.zeros(n, int), np.ones(second.sum(), int)])
    X = sp.csr_array((np.ones(len(rows), kind), (rows, columns)), shape=(n, 2))
    D = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = teaser.solve(X, D, l2_weights=1, l2_encoder=1, gram=way, tol=1e-10, dtype="float64")
    exact = np.array([[n, second.sum()], [second.sum(), second.sum()]], dtype=float)
    assert_allclose(found.encoder, exact_encoder(exact, D, 1.0, 1.0), atol=1e-7)


def test_the_sparse_way_never_holds_items_by_items() -> None:
    """12,000 items: G alone would take 576 MB in single precision."""
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 12_000), density=0.0005, format="csr", rng=rng)
    X.data[:] = 1
    D = sp.random_array((12_000, 12), density=0.2, format="csr", rng=rng)
    tracemalloc.start()
    found = teaser.solve(X, D, l2_weights=5, l2_encoder=5, gram="sparse", tol=1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.converged
    assert peak < 0.1 * 12_000**2 * 4


def strong_problem(seed: int = 0) -> tuple[Array, Array]:
    """Interactions with strengths, and a decoder."""
    X, D = random_problem(seed)
    return X * np.random.default_rng(seed).uniform(0.2, 3.0, X.shape), D


def test_the_ridge_of_a_closed_form_is_positive_where_nobody_chose() -> None:
    assert_allclose(item_ridge(np.array([0.0, 2.0, 4.0]), 3.0, 1.0), [3.0, 3.0, 6.0])
    assert_allclose(item_ridge(np.zeros(2), 3.0, 1.0), 3.0)
    assert_array_equal(row_weights(DenseGram(np.zeros((2, 2))), 1.0), 0)


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("how", ["dense", "sparse", "auto"])
def test_every_gram_in_memory_is_that_of_weighted_interactions(how: str, strong: bool) -> None:
    X, D = strong_problem() if strong else random_problem(0)
    w = WeightedProblem(X, D, 1.0, 1.0, user_power=0.5).w
    G = X.T @ (w[:, None] * X)
    gram = build_gram(sp.csr_array(X), how, FitSize(8, F64), user_power=0.5)
    assert_allclose(as_array(gram), G, atol=1e-12)
    assert_allclose(gram.diagonal(), G.diagonal(), atol=1e-12)
    M = np.random.default_rng(1).normal(size=(X.shape[1], 70))
    assert_allclose(gram.apply(M), G @ M, atol=1e-11)
    few = sp.csr_array(np.where(M > 1, M, 0.0))
    assert_allclose(gram.apply(few), G @ few.toarray(), atol=1e-11)
    assert_allclose(dense_gram(sp.csr_array(X), "auto", "float64", user_power=0.5), G, atol=1e-12)


def grams(X: Array) -> list[Gram]:
    return [DenseGram(X.T @ X), SparseGram(sp.csr_array(X), F64), ProductGram(sp.csr_array(X))]


def chosen(seed: int, shape: tuple[int, int] = (15, 10), density: float = 0.3) -> Array:
    return (np.random.default_rng(seed).random(shape) < density).astype(float)


@given(st.integers(0, 1000), st.integers(1, 12), st.floats(0.05, 0.9))
def test_neighbours_are_those_of_the_slow_way(seed: int, m: int, density: float) -> None:
    X = chosen(seed, density=density)
    wanted = slow_nearest(X.T @ X, m)
    for gram in grams(X):
        found = nearest(gram, m)
        assert [found.indices[a:b].tolist() for a, b in _spans(found)] == wanted
        j, i = found.nonzero()
        G = X.T @ X
        assert_allclose(found.data, G[i, j] / np.sqrt(G[i, i] * G[j, j]), atol=1e-6)


@pytest.mark.parametrize("power", [0.0, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours_and_g_on_sets_do_not_depend_on_who_holds_g(
    power: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.model.gram._CELLS", 500)
    kind = np.dtype(dtype)
    X = weigh_users(sp.csr_array(chosen(5, (200, 60), 0.1), dtype=kind), power, kind)
    S = sp.csr_array((np.random.default_rng(5).random((60, 4)) < 0.3).astype(kind))
    held: list[Gram] = [SparseGram(X, kind), DenseGram((X.T @ X).toarray()), ProductGram(X)]
    places = np.random.default_rng(0).integers(0, 60, (7, 4))
    mean = (X.T @ X).diagonal().mean()
    for some, G in (
        (held, (X.T @ X).toarray()),
        ([ContentGram(gram, S) for gram in held], (X.T @ X + mean * (S @ S.T)).toarray()),
    ):
        wanted = slow_nearest(G.astype(float), 7)
        for gram in some:
            found = nearest(gram, 7)
            if dtype == "float64" or power == 0:
                assert [found.indices[a:b].tolist() for a, b in _spans(found)] == wanted
            assert_allclose(
                squares(gram, places), G[places[:, :, None], places[:, None]], rtol=1e-5
            )


def _spans(matrix: sp.csr_array) -> Any:
    return zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)


X, D = random_problem(0)

GOOD: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0}


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


@pytest.mark.parametrize(
    ("gram", "said"),
    [
        (np.eye(3), "of 3 items and X of 14"),
        (np.ones((14, 3)), "must be items x items"),
        (np.full((14, 14), np.nan), "not symmetric and finite"),
        (np.triu(np.ones((14, 14))), "not symmetric"),
        ((200 * np.eye(14)).astype(np.uint8).view(np.int8), "too narrow"),
    ],
)
def test_a_broken_gram_is_refused(gram: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        teaser.solve(X, D, gram=gram, **GOOD)


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
