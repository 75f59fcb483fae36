"""G however it is held: the same products, counts, weights and neighbours."""

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
from teaser import Dataset
from teaser.errors import ParameterError
from teaser.model import _arrays
from teaser.model._arrays import (
    as_dense,
)
from teaser.model.build import build_gram, dense_gram
from teaser.model.estimate import FitSize
from teaser.model.gram import (
    ContentGram,
    DenseGram,
    Gram,
    ProductGram,
    SparseGram,
    as_array,
    column_weights,
    count_product,
    gram_rows,
    item_ridge,
    leading_eigenpairs,
    nearest,
    row_weights,
    squares,
    unit_basis,
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


@pytest.fixture(params=["plain", "compiled"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether small sums are left to NumPy, or to the compiled loops as large ones are."""
    if request.param == "compiled":
        monkeypatch.setattr(_arrays, "_WORTH_LOADING", 0)
    return str(request.param)


def test_it_is_x_transposed_x(gram: Gram, loops: str) -> None:
    G = (interactions().T @ interactions()).toarray()
    M = np.random.default_rng(1).standard_normal((30, 150))
    assert_allclose(gram.apply(M), G @ M)
    assert_allclose(gram.diagonal(), G.diagonal())
    assert gram.n_items == 30


def test_a_sparse_matrix_is_applied_like_a_dense_one(gram: Gram) -> None:
    M = sp.random_array((30, 150), density=0.1, format="csr", rng=np.random.default_rng(2))
    found = gram.apply(M)
    assert isinstance(found, np.ndarray)
    assert_allclose(found, gram.apply(M.toarray()))


def test_every_gram_yields_its_rows(gram: Gram) -> None:
    X = interactions()
    S = sp.csr_array((np.random.default_rng(3).random((30, 6)) < 0.3).astype(float))
    content = ContentGram(gram, S, 2.5)
    both = (X.T @ X + 2.5 * (S @ S.T)).toarray()
    for operator, G in ((gram, (X.T @ X).toarray()), (content, both)):
        rows = as_dense(gram_rows(operator, 7, 19))
        assert_allclose(rows, G[7:19])
        assert rows.dtype == F64


def test_rows_of_strengths_are_right_in_single_precision() -> None:
    X = interactions()
    X.data[:] = np.random.default_rng(1).uniform(0.1, 3.0, X.nnz)
    for dtype in ("float32", "float64"):
        rows: Any = gram_rows(SparseGram(X, np.dtype(dtype)), 3, 30)
        assert rows.dtype == dtype
        assert_allclose(rows, (X.T @ X).toarray()[3:], rtol=1e-6)


def test_an_operator_without_rows_is_asked_for_its_columns() -> None:
    class Applied:
        n_items, dtype = 30, F64
        apply = staticmethod(lambda matrix: (interactions().T @ interactions()) @ matrix)
        diagonal = staticmethod(lambda: np.ones(30))

    rows: Any = gram_rows(Applied(), 4, 9)
    assert_allclose(rows, (interactions().T @ interactions()).toarray()[4:9])


def test_content_is_added_on_both_sides(gram: Gram) -> None:
    S = sp.csr_array((np.random.default_rng(3).random((30, 6)) < 0.3).astype(float))
    G = (interactions().T @ interactions() + 2.5 * (S @ S.T)).toarray()
    both = ContentGram(gram, S, 2.5)
    M = np.random.default_rng(4).standard_normal((30, 9))
    assert_allclose(both.apply(M), G @ M)
    assert_allclose(both.apply(S), G @ S.toarray())
    assert_allclose(both.diagonal(), G.diagonal())


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


def test_counting_by_products_is_exact() -> None:
    X = interactions()
    assert (count_product(X, F64) == (X.T @ X).toarray()).all()
    X.data[:] = np.random.default_rng(1).uniform(0.1, 3.0, X.nnz)
    assert_allclose(count_product(X, np.dtype("float32")), (X.T @ X).toarray(), rtol=1e-6)


def test_columns_do_not_depend_on_how_they_are_grouped() -> None:
    gram = SparseGram(interactions(), np.dtype("float32"))
    M = np.random.default_rng(5).standard_normal((30, 200)).astype(np.float32)
    whole = gram.apply(M)
    assert (gram.apply(M[:, 70:75]) == whole[:, 70:75]).all()


@pytest.mark.parametrize("change", ["none", "row", "new users", "new items", "taken back"])
def test_an_updated_gram_is_the_one_counted_anew(change: str) -> None:
    before = interactions()
    after = before.toarray()
    if change == "row":
        after[3] = 1 - after[3]
        after[70, :5] = 1
    elif change == "new users":
        after = np.vstack([after, np.eye(30)[:4] + np.eye(30)[1:5]])
    elif change == "new items":
        after = np.hstack([after, np.ones((80, 2))])
    elif change == "taken back":
        after[10:20] = 0
    gram = DenseGram.from_interactions(before, np.dtype("float32"))
    gram.update(before, sp.csr_array(after))
    assert gram.n_items == after.shape[1]
    assert (after.T @ after == gram.G).all()
    assert before.shape == (80, 30)


@pytest.mark.parametrize("shape", [(79, 30), (80, 29)])
def test_an_update_that_loses_users_or_items_is_refused(shape: tuple[int, int]) -> None:
    before = interactions()
    gram = DenseGram.from_interactions(before, F64)
    with pytest.raises(ParameterError, match=r"G is of 30 items, .* new ones at the end"):
        gram.update(before, before[: shape[0], : shape[1]])


def test_leading_eigenpairs_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60))).Q
    values = np.concatenate([[1000.0, 500.0, 200.0], np.linspace(2, 0, 57)])
    U, mu = leading_eigenpairs(DenseGram((Q * values) @ Q.T), 3, rng)
    assert_allclose(np.sort(mu)[::-1], values[:3], rtol=1e-6)
    assert_allclose(np.abs(np.diag(U[:, ::-1].T @ Q[:, :3])), 1.0, atol=1e-6)


def strong_problem(seed: int = 0) -> tuple[Array, Array]:
    """Interactions with strengths, and a decoder."""
    X, D = random_problem(seed)
    return X * np.random.default_rng(seed).uniform(0.2, 3.0, X.shape), D


@pytest.mark.parametrize("strong", [False, True])
@pytest.mark.parametrize("power", [0.25, 1.0, 2.0])
def test_users_have_the_weights_of_the_formula(strong: bool, power: float) -> None:
    X, D = strong_problem() if strong else random_problem(0)
    w = WeightedProblem(X, D, 1.0, 1.0, user_power=power).w
    found = weigh_users(sp.csr_array(X), power, F64)
    assert found.dtype == F64
    assert_allclose(found.toarray(), np.sqrt(w)[:, None] * X, rtol=1e-14)
    single = weigh_users(sp.csr_array(X), power, np.dtype("float32"))
    assert single.dtype == np.float32


def test_columns_of_user_features_are_weighted_but_not_counted() -> None:
    X, D = random_problem(1)
    Q = np.ones((len(X), 3))
    found = weigh_users(sp.csr_array(np.hstack([X, Q])), 0.7, F64, n_items=X.shape[1]).toarray()
    w = WeightedProblem(X, D, 1.0, 1.0, user_power=0.7).w
    assert_allclose(found, np.sqrt(w)[:, None] * np.hstack([X, Q]), rtol=1e-14)


def test_parts_have_the_weights_that_they_have_in_the_whole() -> None:
    X = sp.csr_array(random_problem(2)[0])
    whole = weigh_users(X, 0.5, F64).toarray()
    mean = X.nnz / np.count_nonzero(np.diff(X.indptr))
    parts = [
        weigh_users(X[rows], 0.5, F64, mean_length=mean) for rows in (range(20), range(20, 50))
    ]
    assert_allclose(np.vstack([part.toarray() for part in parts]), whole, rtol=1e-14)


def test_rows_and_columns_have_the_weights_of_the_formula() -> None:
    X, D = strong_problem(3)
    problem = WeightedProblem(X, D, 2.5, 1.0, user_power=0.5, ridge_power=0.8, item_power=0.6)
    weighted = np.sqrt(problem.w)[:, None] * X
    gram = DenseGram(weighted.T @ weighted)
    assert_allclose(2.5 * row_weights(gram, 0.8), problem.l1_rows, rtol=1e-12)
    with_content = ContentGram(gram, sp.csr_array(D), 5.0)
    assert_array_equal(row_weights(with_content, 0.8), row_weights(gram, 0.8))
    assert_allclose(column_weights((X != 0).sum(axis=0), 0.6), problem.c, rtol=1e-12)
    assert_array_equal(row_weights(gram, 0.0), 1)
    assert_array_equal(column_weights(np.arange(5), 0.0), 1)


def test_rows_of_user_features_are_relative_to_the_mean_of_items() -> None:
    gram = DenseGram(np.diag([1.0, 3.0, 8.0]))
    assert_allclose(row_weights(gram, 1.0, n_items=2), [0.5, 1.5, 4.0])


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
    power: float, dtype: str, loops: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teaser.model.gram._CELLS", 500)
    kind = np.dtype(dtype)
    X = weigh_users(sp.csr_array(chosen(5, (200, 60), 0.1), dtype=kind), power, kind)
    S = sp.csr_array((np.random.default_rng(5).random((60, 4)) < 0.3).astype(kind))
    held: list[Gram] = [SparseGram(X, kind), DenseGram((X.T @ X).toarray()), ProductGram(X)]
    places = np.random.default_rng(0).integers(0, 60, (7, 4))
    for some, G in (
        (held, (X.T @ X).toarray()),
        ([ContentGram(gram, S, 0.5) for gram in held], (X.T @ X + 0.5 * (S @ S.T)).toarray()),
    ):
        wanted = slow_nearest(G[:50, :50].astype(float), 7)
        for gram in some:
            found = nearest(gram, 7, n_items=50)
            if dtype == "float64" or power == 0:
                assert [found.indices[a:b].tolist() for a, b in _spans(found)] == wanted
            assert_allclose(
                squares(gram, places), G[places[:, :, None], places[:, None]], rtol=1e-5
            )


def _spans(matrix: sp.csr_array) -> Any:
    return zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)


def test_two_neighbours_worked_by_hand() -> None:
    X = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    for gram in grams(X):
        assert nearest(gram, 2).toarray()[0] == pytest.approx([0, 2 / 3, 3**-0.5], abs=1e-6)
        assert nearest(gram, 1).indices.tolist() == [1, 0, 0]


def test_of_equal_cosines_the_first_are_kept() -> None:
    """Item 0 was chosen once with each of the others, which were chosen alike."""
    X = np.zeros((6, 7))
    X[:, 0] = 1
    X[np.arange(6), np.arange(1, 7)] = 1
    for gram in grams(X):
        assert nearest(gram, 3).indices[:3].tolist() == [1, 2, 3]


def test_rows_below_the_items_are_no_neighbours() -> None:
    X = chosen(1)
    for gram in grams(X):
        found = nearest(gram, 4, n_items=6)
        assert found.shape == (6, 6)
        few = X[:, :6]
        wanted = slow_nearest(few.T @ few, 4)
        assert [found.indices[a:b].tolist() for a, b in _spans(found)] == wanted


X, D = random_problem(0)

GOOD: dict[str, Any] = {"l2_weights": 2.0, "l2_encoder": 3.0}


def test_the_choice_follows_the_data() -> None:
    rng = np.random.default_rng(0)
    crowded = sp.csr_array((rng.random((2000, 60)) < 0.5).astype(float))
    tags = 300
    empty = sp.random_array((3000, 8000), density=1e-4, format="csr", rng=rng)
    kind = np.dtype("float32")
    assert isinstance(build_gram(crowded, "auto", FitSize(tags, kind)), DenseGram)
    assert isinstance(build_gram(empty, "auto", FitSize(tags, kind)), SparseGram)


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
        (np.full((14, 14), np.nan), "not finite"),
        (np.triu(np.ones((14, 14))), "not symmetric"),
        ((200 * np.eye(14)).astype(np.uint8).view(np.int8), "too narrow"),
    ],
)
def test_a_broken_gram_is_refused(gram: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        teaser.solve(X, D, gram=gram, **GOOD)


def test_a_counted_gram_may_be_overwritten(dataset: Dataset) -> None:
    X = dataset.X.toarray().astype(float)
    for gram in ("auto", X.T @ X):
        G = dense_gram(dataset.X, gram, "float64")
        assert_array_equal(G, X.T @ X)
        assert G.flags.writeable
        assert G.flags.c_contiguous
        assert G is not gram


def test_orthonormal_columns_span_those_given() -> None:
    A = np.random.default_rng(0).standard_normal((60, 8))
    Q = unit_basis(A)
    assert_allclose(Q.T @ Q, np.eye(8), atol=1e-12)
    assert_allclose(Q @ (Q.T @ A), A, atol=1e-12)
