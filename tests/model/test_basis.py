"""The change of basis against explicit matrices: rankings stay, features are centred."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from teaser import Dataset, Steering, Tag, Teaser
from teaser.baselines import EASE, WMFS, Product
from teaser.data.tags import DISCOVERED
from teaser.extensions import LearnedDecoder, Remainder, SparseEncoder
from teaser.model.tables import find_basis
from teaser.profile import GENERAL, POPULARITY, robust_scales

Array = NDArray[Any]

COLOURS = [Tag("colour", v) for v in ("red", "green", "blue")]
SIZES = [Tag("size", v) for v in ("small", "large")]
WORDS = [Tag("word", v) for v in "abc"]
FOUND = [Tag(DISCOVERED, v) for v in "xy"]
TAGS = (*COLOURS, *SIZES, *WORDS, *FOUND, POPULARITY)


def problem(seed: int = 0, n_items: int = 12) -> tuple[sp.csr_array, Array, Array]:
    """A decoder, the mean profile and some profiles. Every item has a colour, not all a size."""
    rng = np.random.default_rng(seed)
    D = np.zeros((n_items, len(TAGS)))
    D[np.arange(n_items), np.arange(n_items) % 3] = 1
    stated = np.flatnonzero(np.arange(n_items) % 4)
    D[stated, 3 + stated % 2] = 1
    D[:, 5:8] = rng.random((n_items, 3)) < 0.5
    D[0, 5:8] = 1
    D[np.arange(n_items), 8 + np.arange(n_items) % 2] = 1
    D[:, -1] = rng.random(n_items)
    sample = rng.normal(size=(40, len(TAGS))) + rng.normal(size=len(TAGS))
    return sp.csr_array(D), sample.mean(axis=0), sample


def centring_matrix(D: Array, groups: list[list[int]]) -> Array:
    """Return M of p1 = p M, one column for each learned tag and each that is not stated."""
    n, t = D.shape
    M = np.hstack([np.eye(t), np.zeros((t, 1))])
    for columns, more in zip(groups, ([], [t]), strict=True):
        for j in columns:
            for k in (*columns, *more):
                M[j, k] -= D[:, j].sum() / n
    return M


def test_it_is_the_product_of_two_explicit_matrices() -> None:
    D, mean, sample = problem()
    basis = find_basis(TAGS, D, mean, sample)
    M = centring_matrix(D.toarray(), [[0, 1, 2], [3, 4]])
    q = mean @ M / np.linalg.norm(mean @ M)
    assert_allclose(basis.q, q, atol=1e-12)
    whole = np.column_stack([M - np.outer(M @ q, q), basis.omega * (M @ q)])
    assert_allclose(basis.apply(sample), sample @ whole, atol=1e-12)
    for unit, column in zip(np.eye(len(q) + 1), whole.T, strict=True):
        assert_allclose(basis.direction(unit), column, atol=1e-12)
    taken = sample[:, :3] @ D[:, :3].sum(axis=0) + sample[:, 3:5] @ D[:, 3:5].sum(axis=0)
    assert_allclose(basis.offset(sample), taken / 12, atol=1e-12)
    D1 = np.column_stack([D.toarray(), D[:, 3:5].sum(axis=1) == 0])
    assert_allclose(basis.widen(D).toarray(), np.column_stack([D1, D1 @ q / basis.omega]))
    assert basis.further_tags(TAGS) == (Tag("size", "not stated"), GENERAL)


def test_the_average_user_has_general_appeal_alone() -> None:
    D, mean, sample = problem()
    basis = find_basis(TAGS, D, mean, sample)
    average = basis.apply(mean[None])[0]
    assert_allclose(average[:-1], 0, atol=1e-12)
    assert average[-1] > 0
    assert np.linalg.norm(basis.q) == pytest.approx(1.0)
    values = basis.apply(sample)
    scales = robust_scales(values, len(TAGS) - 1)
    assert np.mean(values[:, -1] / scales) == pytest.approx(1.0)


def test_a_feature_with_weights_is_left_as_it_is() -> None:
    D, mean, sample = problem()
    weighted = D.toarray()
    weighted[0, 0] = 0.9
    basis = find_basis(TAGS, sp.csr_array(weighted), mean, sample)
    assert (basis.group[:3] == -1).all()
    assert (basis.group[3:5] == 0).all()
    assert basis.further_tags(TAGS) == (Tag("size", "not stated"), GENERAL)
    after = basis.apply(sample) @ basis.widen(sp.csr_array(weighted)).toarray().T
    moved = after - sample @ weighted.T
    assert_allclose(moved, np.tile(moved[:, :1], 12), atol=1e-10)


def test_where_nothing_is_learned_there_is_no_general_appeal() -> None:
    D, mean, sample = problem()
    basis = find_basis(TAGS, D, 0 * mean, 0 * sample)
    assert not basis.q.any()
    assert basis.omega == 1.0
    assert not basis.widen(D).toarray()[:, -1].any()
    few = find_basis(TAGS, D, mean, sample[:0])
    assert few.omega == 1.0
    # Where the scale of nobody is positive, omega stays 1.
    alone = find_basis((POPULARITY,), D[:, [len(TAGS) - 1]], np.ones(1), np.ones((3, 1)))
    assert_allclose(alone.apply(np.full((1, 1), 2.0)), [[0.0, 2.0]])


@pytest.fixture(scope="module")
def missing() -> Dataset:
    """The example with a town for two of three events, and a type for all."""
    interactions, items = small_tables()
    town = pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("town"))
    return Dataset.from_tables(interactions, items.with_columns(town.alias("town")), rules=RULES)


HOW: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}
MODELS: dict[str, Any] = {
    "plain": lambda: Teaser(**HOW),
    "double": lambda: Teaser(dtype="float64", **HOW),
    "remainder": lambda: Teaser(remainder=Remainder(l2=20.0), **HOW),
    "decoder": lambda: Teaser(decoder=LearnedDecoder(l2=2.0), **HOW),
    "sparse": lambda: Teaser(sparse=SparseEncoder(density=0.3), **HOW),
    "wmfs": lambda: WMFS(l2=2.0, alpha=5.0),
    "product": lambda: Product(Teaser(**HOW), EASE(l2=5.0)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scale", ["robust", "paper"])
def test_rankings_of_models_are_what_they_were(missing: Dataset, name: str, scale: str) -> None:
    model = MODELS[name]().fit(missing)
    X, how = missing.X[:60], Steering(scale=scale)
    table = model.tag_table_
    before = model.encode(X) @ table.learned_decoder.toarray().T
    found = model.score_batch(X, steering=how)
    states = model.user_states(X, steering=how)
    raw = model.encode(X)
    factor = states.values[:, 0] / (raw @ table.direction(0))
    if name == "remainder":
        before = before + (X @ model.remainder_.astype(np.float64)).toarray()
    if name == "product":
        other = np.maximum(0, model.parts[1].score_batch(X))
        wanted = factor[:, None] * np.maximum(0, before) * other
        assert_allclose(found, wanted, atol=1e-6 * np.abs(found).max())
    else:
        # Scores are the earlier ones times a factor, less one constant a user.
        apart = found - factor[:, None] * before
        assert_allclose(apart, np.tile(apart[:, :1], 40), atol=1e-6 * np.abs(found).max())
    is_centred = table.basis.group.max() >= 0
    assert is_centred == (name != "decoder")
    if is_centred:
        names = [str(tag) for tag in model.tags_]
        assert names[-2:] == ["town=not stated", "general appeal=general appeal"]
        for feature in ("type", "town"):
            columns = [j for j, tag in enumerate(model.tags_) if tag.feature == feature]
            own = states.values[:, columns]
            assert (own.min(axis=1) < 0).all()
            assert (own.max(axis=1) > 0).all()


def test_without_tags_items_are_ranked_by_general_appeal(dataset: Dataset) -> None:
    bare = replace(dataset, S=sp.csr_array((40, 0), dtype=np.float32), tags=())
    for make in (Teaser, WMFS):
        model = make().fit(bare)
        assert model.tags_ == (POPULARITY, GENERAL)
        scores = model.score_batch(dataset.X[:20])
        assert np.isfinite(scores).all()
        assert_array_equal(np.argsort(-scores[3], kind="stable"), np.argsort(
            -dataset.item_counts, kind="stable"))  # fmt: skip
        assert model.profile(["i1", "i5", "i7"]).general == pytest.approx(0.8)
        assert model.recommend(["i1"], k=1)[0].general_share == pytest.approx(1.0)
