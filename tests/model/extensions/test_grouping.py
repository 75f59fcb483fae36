"""The embedding is that of the eigenvectors, and k-means finds groups that are there."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from teaser.model.extensions.discovered import (
    NormalGram,
    cluster,
    cosines,
    draw_centroids,
    embed_items,
    krylov_eigenpairs,
    nearest_groups,
    orthonormal,
    relative_weights,
    unit_rows,
)
from teaser.model.gram.operator import DenseGram, SparseGram

F64 = np.dtype(np.float64)


def interactions(seed: int = 0) -> sp.csr_array:
    """Return users x items with an item that nobody chose."""
    X = (np.random.default_rng(seed).random((80, 12)) < 0.3).astype(float)
    X[:, 5] = 0
    return sp.csr_array(X)


def bundles(n: int = 60, k: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Return unit vectors near k directions, and which direction each is near to."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % k
    return unit_rows(np.eye(k, 8)[group] + 0.1 * rng.standard_normal((n, 8))), group


def test_the_normalised_gram_is_that_of_the_formula() -> None:
    X = interactions()
    G = (X.T @ X).toarray()
    g = G.diagonal()
    scale = np.where(g > 0, 1 / np.sqrt(np.maximum(g, 1)), 0.0)
    N = NormalGram(SparseGram(X, F64))
    M = np.random.default_rng(1).standard_normal((12, 3))
    assert_allclose(N.apply(M), (scale[:, None] * G * scale) @ M, atol=1e-12)
    assert_array_equal(N.diagonal(), g > 0)


@pytest.mark.parametrize("dense", [True, False])
def test_with_all_factors_products_of_rows_are_cosines_of_columns(dense: bool) -> None:
    X = interactions()
    gram = DenseGram((X.T @ X).toarray()) if dense else SparseGram(X, F64)
    Y = embed_items(gram, 100, np.random.default_rng(0))
    columns = unit_rows(X.toarray().T)
    assert Y.shape == (12, 12)
    assert_allclose(Y @ Y.T, columns @ columns.T, atol=1e-8)
    assert not Y[5].any()


def test_few_factors_are_the_leading_eigenvectors() -> None:
    rng = np.random.default_rng(3)
    # Four groups of items that other users choose: four eigenvalues stand out.
    taste, kind = rng.integers(0, 4, 400), np.arange(40) % 4
    X = sp.csr_array((rng.random((400, 40)) < np.where(taste[:, None] == kind, 0.6, 0.02)) * 1.0)
    G = (X.T @ X).toarray()
    scale = 1 / np.sqrt(G.diagonal())
    mu, U = np.linalg.eigh(scale[:, None] * G * scale)
    wanted = unit_rows(U[:, -4:] * np.sqrt(mu[-4:]))
    Y = embed_items(SparseGram(X, F64), 4, np.random.default_rng(0))
    assert_allclose(Y @ Y.T, wanted @ wanted.T, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_krylov_space_holds_the_leading_eigenvectors(dtype: str) -> None:
    rng = np.random.default_rng(3)
    taste, kind = rng.integers(0, 6, 900), np.arange(120) % 6
    X = (rng.random((900, 120)) < np.where(taste[:, None] == kind, 0.5, 0.02)).astype(dtype)
    G = X.T @ X
    U, mu = krylov_eigenpairs(SparseGram(sp.csr_array(X), G.dtype), 12, np.random.default_rng(0))
    exact, V = np.linalg.eigh(G.astype(np.float64))
    assert U.dtype == dtype
    assert_allclose(U.T @ U, np.eye(12), atol=1e-5)
    # Six stand out. The others lie close together: their sum is nearly the largest there is.
    assert_allclose(mu[-6:], exact[-6:], rtol=1e-5)
    assert_allclose(np.abs(np.sum(U[:, -6:] * V[:, -6:], axis=0)), 1, atol=1e-2)
    assert mu[:6].sum() == pytest.approx(exact[-12:-6].sum(), rel=0.05)


def test_a_krylov_space_ends_where_the_gram_has_no_more() -> None:
    X = (np.random.default_rng(0).random((7, 200)) < 0.3).astype(np.float32)
    gram = SparseGram(sp.csr_array(X), X.dtype)
    U, mu = krylov_eigenpairs(gram, 20, np.random.default_rng(0))
    assert_allclose(mu[-7:], np.linalg.eigvalsh(X @ X.T), rtol=1e-4)
    assert_allclose(mu[:-7], 0, atol=1e-3)
    assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-4)


def test_an_orthonormal_basis_leaves_out_what_is_nothing_new() -> None:
    rng = np.random.default_rng(0)
    M = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 5))
    found = orthonormal(M, 1e-3)
    assert found.shape == (50, 3)
    assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    assert_allclose(found @ (found.T @ M), M, atol=1e-10)
    assert orthonormal(M[:, :0], 0.0).shape == (50, 0)


def plain_k_means(Y: Any, centroids: Any, rounds: int) -> Any:
    """Every item compared with every centroid, in every round."""
    for _ in range(rounds):
        group = (Y @ centroids.T).argmax(axis=1)
        kept = [Y[group == j].sum(axis=0) for j in range(len(centroids))]
        centroids = unit_rows(np.array(kept))
    return centroids


@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 50])
@pytest.mark.parametrize("seed", range(4))
def test_only_what_moved_is_compared_and_the_result_is_that_of_the_plain_loop(
    seed: int, rounds: int
) -> None:
    Y = unit_rows(np.random.default_rng(seed).standard_normal((300, 5)))
    # Far apart, so that no group is ever empty.
    start = draw_centroids(Y, 12, np.random.default_rng(seed), Y[:0])
    wanted = plain_k_means(Y, start, rounds)
    assert np.isfinite(wanted).all()
    assert_allclose(cluster(Y, start, rounds=rounds), wanted, atol=1e-12)


def test_k_means_finds_the_bundles_and_is_the_same_for_the_same_seed() -> None:
    Y, group = bundles()
    found = []
    for _ in range(2):
        rng = np.random.default_rng(0)
        found.append(cluster(Y, draw_centroids(Y, 4, rng, Y[:0])))
    assert_array_equal(found[0], found[1])
    nearest, cosine = nearest_groups(Y, found[0])
    # Two items share a group exactly where they are of one bundle.
    assert_array_equal(nearest[:, None] == nearest, group[:, None] == group)
    assert cosine.min() > 0.8
    # A centroid is the mean direction of its items.
    wanted = unit_rows(np.array([Y[nearest == j].sum(axis=0) for j in range(4)]))
    assert_allclose(found[0], wanted, atol=1e-12)


def test_known_centroids_come_first_and_the_others_are_items_far_from_them() -> None:
    Y, group = bundles()
    known = np.eye(4, 8)[:3]
    drawn = [draw_centroids(Y, 4, np.random.default_rng(seed), known) for seed in range(20)]
    assert all(np.array_equal(each[:3], known) for each in drawn)
    items = [int((each[3] == Y).all(axis=1).argmax()) for each in drawn]
    # 45 of 60 items are near a known centroid; drawn evenly, 15 of 20 would be.
    assert sum(group[i] == 3 for i in items) >= 15
    assert len(draw_centroids(Y, 2, np.random.default_rng(0), known)) == 2


def test_as_many_groups_as_items_can_be_drawn() -> None:
    Y, _ = bundles(12)
    drawn = draw_centroids(Y, 12, np.random.default_rng(0), Y[:0])
    assert len(np.unique(drawn, axis=0)) >= 8
    assert len(np.unique(nearest_groups(Y, cluster(Y, drawn))[0])) == 12


def test_a_group_that_loses_its_items_gets_those_that_fit_worst() -> None:
    Y, group = bundles()
    # Three of the four begin where no item is.
    begin = np.vstack([np.eye(4, 8)[:1], -np.eye(4, 8)[:1], np.eye(8)[4:5], np.eye(8)[5:6]])
    found = nearest_groups(Y, cluster(Y, begin))[0]
    assert len(np.unique(found)) == 4
    assert_array_equal(found[:, None] == found, group[:, None] == group)


def test_an_item_belongs_to_its_nearest_groups_relative_to_the_nearest() -> None:
    Y, _ = bundles()
    centroids = np.eye(4, 8)
    found = cosines(Y, centroids, 2)
    every = Y @ centroids.T
    for i, row in enumerate(found.toarray()):
        best = np.sort(every[i])[-2:]
        assert_allclose(np.sort(row)[-2:], np.maximum(best, 0), atol=1e-12)
    assert (found.data > 0).all()
    weights = relative_weights(found)
    assert_allclose(weights.max(axis=1).toarray(), 1.0)
    assert_allclose(weights.toarray(), found.toarray() / every.max(axis=1)[:, None], atol=1e-12)
    assert cosines(Y, centroids, 9).shape == (60, 4)


def test_negative_cosines_give_no_membership() -> None:
    found = cosines(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]), 2)
    assert found.toarray().tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert relative_weights(found).toarray().tolist() == [[1.0, 0.0], [0.0, 0.0]]
