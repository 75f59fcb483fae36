"""Weights of users, rows and columns: their formulas, and the same Gram however it is held."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from oracles import WeightedProblem, random_problem

from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.errors import ParameterError
from teaser.extensions import Weights
from teaser.model.gram.build import as_array, build_gram, dense_gram
from teaser.model.gram.cost import FitSize
from teaser.model.gram.open import placed
from teaser.model.gram.operator import ContentGram, DenseGram, SparseGram
from teaser.model.gram.partitioned import StreamedGram, count_gram, kept_bytes, read_bytes
from teaser.model.gram.weighting import column_weights, item_ridge, row_weights, weigh_users

F64 = np.dtype("float64")
Array = Any


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


def test_a_power_of_zero_leaves_the_interactions_as_they_are() -> None:
    X = sp.csr_array(random_problem(0)[0])
    assert weigh_users(X, 0.0, F64) is X


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


def test_rows_of_a_sparse_gram_with_strengths_are_not_rounded_to_counts() -> None:
    X, _ = strong_problem(1)
    gram = SparseGram(sp.csr_array(X), F64)
    assert_allclose(gram.rows(2, 9), (X.T @ X)[2:9], atol=1e-12)


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    interactions, items = small_tables()
    folder = tmp_path_factory.mktemp("weighted") / "p"
    write_partitions(interactions, folder, parts=5)
    return Dataset.from_partitions(folder, items, rules=RULES)


@pytest.fixture(scope="module")
def local(parted: Dataset) -> Dataset:
    whole = pl.concat([pl.read_parquet(part.source) for part in parted.X.parts])
    return Dataset.from_tables(whole, small_tables()[1], rules=RULES)


@pytest.mark.parametrize("kept", [0, 2, 5])
def test_partitions_give_the_gram_of_the_whole(parted: Dataset, local: Dataset, kept: int) -> None:
    weighted = weigh_users(local.X, 0.5, F64).toarray()
    G = weighted.T @ weighted
    limit = read_bytes(parted.X) + sum(kept_bytes(parted.X, k, 8) for k in range(kept))
    gram = StreamedGram(parted.X, F64, memory_limit=limit, user_power=0.5)
    assert sum(gram._is_kept) == kept
    M = np.random.default_rng(0).normal(size=(local.n_items, 9))
    for _ in range(2):
        assert_allclose(gram.apply(M), G @ M, rtol=1e-11)
        assert_allclose(gram.diagonal(), G.diagonal(), rtol=1e-12)
    assert_allclose(count_gram(parted.X, F64, user_power=0.5).G, G, atol=1e-11)


@pytest.mark.parametrize("gram", ["dense", "sparse"])
def test_a_fit_of_partitions_is_that_of_the_data_in_memory(
    parted: Dataset, local: Dataset, gram: str
) -> None:
    how: dict[str, Any] = {"dtype": "float64", "tol": 1e-12, "l2_weights": 5.0}
    how |= {"weights": Weights(user_power=0.5, ridge_power=0.7, item_power=0.4)}
    wanted = Teaser(**how).fit(local).encoder_
    assert_allclose(Teaser(gram=gram, **how).fit(parted).encoder_, wanted, atol=1e-9)
    with placed(parted, gram, dtype="float64", memory_limit="1GB", user_power=0.5) as held:
        assert_allclose(Teaser(gram=held, **how).fit(parted).encoder_, wanted, atol=1e-9)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_strengths_in_partitions_are_those_in_memory(tmp_path: Path, power: float) -> None:
    interactions, items = small_tables(n_users=80)
    write_partitions(interactions, tmp_path / "p", parts=3)
    how: dict[str, Any] = {"rules": RULES, "strength": "rating"}
    parted = Dataset.from_partitions(tmp_path / "p", items, **how)
    whole = pl.concat([pl.read_parquet(part.source) for part in parted.X.parts])
    local = Dataset.from_tables(whole, items, **how)
    weighted = weigh_users(local.X, power, F64).toarray().astype(float)
    gram = StreamedGram(parted.X, F64, memory_limit=read_bytes(parted.X), user_power=power)
    assert_allclose(gram.diagonal(), (weighted**2).sum(axis=0), rtol=1e-12)
    assert_allclose(
        count_gram(parted.X, F64, user_power=power).G, weighted.T @ weighted, rtol=1e-11
    )
    settings: dict[str, Any] = {"dtype": "float64", "tol": 1e-12, "l2_weights": 50.0}
    settings |= {"weights": Weights(user_power=power, ridge_power=0.7)}
    wanted = Teaser(**settings).fit(local).encoder_
    for held in ("dense", "sparse"):
        assert_allclose(Teaser(gram=held, **settings).fit(parted).encoder_, wanted, atol=1e-9)


def test_a_gram_of_other_weights_is_refused(parted: Dataset) -> None:
    with placed(parted, "sparse") as held, pytest.raises(ParameterError, match=r"power=0.*0\.5"):
        Teaser(gram=held, weights=Weights()).fit(parted)


def test_the_values_of_partitions_are_part_of_the_estimate(parted: Dataset) -> None:
    plain, weighted = (
        Teaser(gram="sparse", weights=weights).estimate(parted).memory["interactions"]
        for weights in (None, Weights())
    )
    assert weighted - plain == 3 * 4 * parted.X.nnz
