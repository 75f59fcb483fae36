"""Our models against libraries that nobody here wrote, on MovieLens latest-small to 1e-5."""

import importlib
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from teaser import Dataset
from teaser.baselines import EASE, EDLAE, ItemKNN
from teaser.data.sources.folder import read_source


@pytest.fixture(scope="module")
def movies(shared_data: Path) -> Dataset:
    """Films that at least five people liked: what inverses of three libraries manage in time."""
    source = read_source("movielens", shared_data / "ml-latest-small")
    liked = source.interactions.filter(pl.col("rating") >= 4)
    often = liked.group_by(source.item).len().filter(pl.col("len") >= 5)
    pairs = liked.join(often, on=source.item, how="semi")
    items = source.items.join(often, on=source.item, how="semi")
    data = Dataset.from_tables(pairs, items, user=source.user, item=source.item, rules=source.rules)
    assert data.n_users > 550
    assert data.n_items > 1_500
    return data


@pytest.fixture(scope="module")
def irspack() -> ModuleType:
    with warnings.catch_warnings():
        # Its settings are written for the pydantic before last; said once, when it is imported.
        warnings.filterwarnings("ignore", "Support for class-based `config` is deprecated")
        return importlib.import_module("irspack")


def csr(X: Any) -> sp.csr_matrix:
    return sp.csr_matrix(X, dtype=np.float64)


@pytest.mark.parametrize("l2", [20.0, 300.0])
def test_ease_is_that_of_irspack(movies: Dataset, irspack: ModuleType, l2: float) -> None:
    theirs = irspack.DenseSLIMRecommender(csr(movies.X), reg=l2).learn()
    for dtype in ("float32", "float64"):
        ours = EASE(l2=l2, dtype=dtype).fit(movies)
        assert_allclose(ours.weights_, theirs.W, atol=5e-5)
        assert_allclose(
            ours.score_batch(movies.X), theirs.get_score_cold_user(csr(movies.X)), atol=5e-5
        )


@pytest.mark.parametrize(("l2", "dropout"), [(20.0, 0.3), (100.0, 0.7)])
def test_edlae_of_full_rank_is_that_of_irspack(
    movies: Dataset, irspack: ModuleType, l2: float, dropout: float
) -> None:
    theirs = irspack.EDLAERecommender(csr(movies.X), reg=l2, dropout_p=dropout).learn()
    ours = EDLAE(l2=l2, dropout=dropout, rank="full").fit(movies)
    assert_allclose(ours.encoder_, theirs.W, atol=5e-5)
    assert_allclose(
        ours.score_batch(movies.X), theirs.get_score_cold_user(csr(movies.X)), atol=5e-5
    )


def cosine(movies: Dataset, k: int) -> Any:
    model = importlib.import_module("implicit.nearest_neighbours").CosineRecommender(K=k)
    with warnings.catch_warnings():
        # It makes another kind of matrix of what it is given, and then complains of it.
        warnings.filterwarnings("ignore", "Method expects CSR input")
        model.fit(csr(movies.X), show_progress=False)
    return model


@pytest.mark.parametrize("k", [20, 100_000])
def test_itemknn_is_that_of_implicit(movies: Dataset, k: int) -> None:
    theirs = cosine(movies, min(k, movies.n_items) + 1)  # an item is its own nearest
    wanted = theirs.similarity.toarray()
    np.fill_diagonal(wanted, 0.0)
    found = ItemKNN(neighbours=k).fit(movies).similarity_.toarray()
    settled = np.flatnonzero(~tied(movies, k))
    assert len(settled) > 0.3 * movies.n_items
    assert_allclose(found[settled], wanted[settled], atol=1e-5)
    # Where equally similar items are left out, it is a matter of taste which; not how similar.
    assert_allclose(np.sort(found, axis=1)[:, 1:], np.sort(wanted, axis=1)[:, 1:], atol=1e-5)


def tied(movies: Dataset, k: int) -> Any:
    """Return which items have a neighbour left out that is as near as the last one taken."""
    every = np.sort(ItemKNN(neighbours=movies.n_items).fit(movies).similarity_.toarray(), axis=1)[
        :, ::-1
    ]
    if k >= movies.n_items:
        return np.zeros(movies.n_items, dtype=bool)
    # An item that is nowhere nearer to itself than to others may be missing from its own list.
    return (np.abs(every[:, k - 1] - every[:, k]) < 1e-9) | (every[:, 0] > 1 - 1e-9)


def test_people_are_recommended_what_implicit_recommends(movies: Dataset) -> None:
    theirs = cosine(movies, movies.n_items)
    model = ItemKNN(neighbours=movies.n_items).fit(movies)
    X = csr(movies.X)
    for person in (3, 70, 400):
        _, wanted = theirs.recommend(person, X[person], N=20, filter_already_liked_items=True)
        history = [movies.items[i] for i in X[person].indices]
        assert_allclose([r.score for r in model.recommend(history, k=20)], wanted, atol=1e-5)
