"""G as an operator: all ways of holding it agree, count right and stay small."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles import exact_encoder

import teaser
from teaser.errors import ParameterError
from teaser.model.gram import operator as module
from teaser.model.gram.operator import (
    ContentGram,
    DenseGram,
    Gram,
    PairGram,
    SparseGram,
    counting_dtype,
    gram_rows,
    leading_eigenpairs,
    leading_rank,
)

F64 = np.dtype("float64")


def interactions(seed: int = 0) -> sp.csr_array:
    return sp.csr_array((np.random.default_rng(seed).random((80, 30)) < 0.2).astype(float))


@pytest.fixture(params=["dense", "sparse"])
def gram(request: pytest.FixtureRequest) -> Gram:
    X = interactions()
    return DenseGram.from_interactions(X, F64) if request.param == "dense" else SparseGram(X, F64)


def test_it_is_x_transposed_x(gram: Gram) -> None:
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
        rows: Any = gram_rows(operator, 7, 19)
        assert sp.issparse(rows) == isinstance(gram, SparseGram)
        if sp.issparse(rows):
            assert rows.has_sorted_indices
            rows = rows.toarray()
        assert_allclose(rows, G[7:19])
        assert rows.dtype == F64


def test_rows_of_strengths_are_right_in_single_precision() -> None:
    X = interactions()
    X.data[:] = np.random.default_rng(1).uniform(0.1, 3.0, X.nnz)
    for dtype in ("float32", "float64"):
        rows: Any = gram_rows(SparseGram(X, np.dtype(dtype)), 3, 30)
        assert rows.dtype == dtype
        assert_allclose(rows.toarray(), (X.T @ X).toarray()[3:], rtol=1e-6)


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


def test_counts_beyond_single_precision_are_made_in_double() -> None:
    many = sp.csr_array((2**24 + 1, 3), dtype=np.float32)
    assert counting_dtype(many, np.dtype("float32")) == F64
    assert counting_dtype(interactions(), np.dtype("float32")) == np.float32


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


def test_columns_do_not_depend_on_how_they_are_grouped() -> None:
    gram = SparseGram(interactions(), np.dtype("float32"))
    M = np.random.default_rng(5).standard_normal((30, 200)).astype(np.float32)
    whole = gram.apply(M)
    assert (gram.apply(M[:, 70:75]) == whole[:, 70:75]).all()


@pytest.mark.parametrize("dtype", [np.dtype("float32"), F64])
def test_a_pair_of_products_is_what_the_equation_needs(dtype: np.dtype[Any]) -> None:
    X, rng = interactions(), np.random.default_rng(6)
    G = (X.T @ X).toarray()
    F, DV = rng.standard_normal((2, 30, 90)).astype(dtype)
    eta, beta = rng.random(90).astype(dtype), rng.random(30).astype(dtype)
    gram = SparseGram(X, dtype)
    assert isinstance(gram, PairGram)
    product, diagonal = gram.apply_pair(F, DV, eta, beta)
    assert product.dtype == diagonal.dtype == dtype
    assert_allclose(product, G @ (F * eta - beta[:, None] * DV), rtol=1e-4, atol=1e-3)
    assert_allclose(diagonal, np.diag(G @ F @ DV.T), rtol=1e-4, atol=1e-3)


def test_a_dense_gram_does_not_offer_the_pair() -> None:
    assert not isinstance(DenseGram(np.eye(3)), PairGram)
    assert not isinstance(ContentGram(DenseGram(np.eye(3)), sp.csr_array(np.eye(3)), 1), PairGram)


def test_interactions_that_are_all_ones_are_not_copied() -> None:
    X = interactions()
    tracemalloc.start()
    gram = SparseGram(X, np.dtype("float32"))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < X.indices.nbytes
    assert gram.n_items == 30


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


def test_an_update_counts_only_the_users_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    kept = module._add_counts

    def noted(G: Any, X: sp.csr_array, sign: float) -> None:
        counted.append(X.shape[0])
        kept(G, X, sign)

    monkeypatch.setattr(module, "_add_counts", noted)
    before = interactions()
    after = before.toarray()
    after[[5, 9], 0] = 1 - after[[5, 9], 0]
    gram = DenseGram.from_interactions(before, F64)
    gram.update(before, sp.csr_array(after))
    assert counted == [80, 2, 2]


@pytest.mark.parametrize("shape", [(79, 30), (80, 29)])
def test_an_update_that_loses_users_or_items_is_refused(shape: tuple[int, int]) -> None:
    before = interactions()
    gram = DenseGram.from_interactions(before, F64)
    with pytest.raises(ParameterError, match=r"G is of 30 items, .* new ones at the end"):
        gram.update(before, before[: shape[0], : shape[1]])


def test_counting_holds_one_array_of_items_by_items() -> None:
    X = sp.random_array((500, 3000), density=0.01, format="csr", rng=np.random.default_rng(0))
    X.data[:] = 1
    DenseGram.from_interactions(X[:10, :20], np.dtype("float32"))
    tracemalloc.start()
    DenseGram.from_interactions(X, np.dtype("float32"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * 3000**2 * 4


@pytest.mark.parametrize(
    ("columns", "cores", "width"),
    [(3000, 2, 64), (50, 2, 32), (50, 1, 64), (50, 16, 16), (1, 2, 16)],
)
def test_blocks_are_as_wide_as_gives_every_core_some(
    columns: int, cores: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "n_cores", lambda: cores)
    assert module._block_width(columns) == width


def test_leading_eigenpairs_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60))).Q
    values = np.concatenate([[1000.0, 500.0, 200.0], np.linspace(2, 0, 57)])
    U, mu = leading_eigenpairs(DenseGram((Q * values) @ Q.T), 3, rng)
    assert_allclose(np.sort(mu)[::-1], values[:3], rtol=1e-6)
    assert_allclose(np.abs(np.diag(U[:, ::-1].T @ Q[:, :3])), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("chosen", "n_tags", "rank"),
    [(0.0, 2000, 40), (16.0, 2000, 40), (150.0, 2000, 75), (9e9, 2000, 200), (150.0, 30, 15)],
)
def test_more_eigenpairs_where_a_product_is_dear(chosen: float, n_tags: int, rank: int) -> None:
    assert leading_rank(chosen, n_tags) == rank


def test_both_sides_of_the_interactions_leave_out_zeros() -> None:
    X = sp.csr_array(([2.0, 0.0, 1.0], [1, 3, 0], [0, 2, 3]), shape=(2, 4))
    (_, users, values), (starts, items, _) = SparseGram(X, np.dtype("float64")).sides()
    assert users.tolist() == [1, 0]
    assert values.tolist() == [1.0, 2.0]
    assert items.tolist() == [1, 0]
    assert starts.tolist() == [0, 1, 2]
    assert X.nnz == 3
    ones = SparseGram(X > 0, np.dtype("float32")).sides()
    assert [len(values) for *_, values in ones] == [0, 0]
