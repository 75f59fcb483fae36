"""New items: what their tags and words predict, how they are placed, and that all else stays."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from oracles import content_of

import teaser
from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.errors import DataError, ParameterError
from teaser.extensions import Content, DiscoveredTags, Remainder, Weights
from teaser.model.prediction import (
    LEAST_MEMBERSHIP,
    NEAREST,
    PENALTY,
    extend_remainder,
    fit_ridge,
)
from teaser.profile import GENERAL, POPULARITY

GROUPS = DiscoveredTags(grains=(4,), factors=4)
WHOLE: dict[str, Any] = {
    "l2_weights": 5.0,
    "l2_encoder": 20.0,
    "discovered": GROUPS,
    "remainder": Remainder(l2=5.0, neighbours=5),
    "content": Content(weight=0.5),
    "dtype": "float64",
}
NEW = pl.DataFrame(
    {"item_id": ["n1", "n2", "n3"], "type": ["concert", "film", None],
     "town": ["Ghent", None, None], "labels": ["free|late", "late", None]}
)  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    interactions, items = small_tables(4, n_users=120, n_items=40)
    return Dataset.from_tables(interactions, items, rules=RULES)


@pytest.mark.parametrize("seed", range(3))
def test_predictions_are_a_ridge_with_a_free_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, N = ((rng.random((n, 7)) < 0.4).astype(float) for n in (30, 5))
    A[:, 3] = 0  # nobody has it
    Y = rng.random((30, 3)) * (rng.random((30, 3)) < 0.5)
    # |Y - 1 b' - A B|^2 + 10 |B|^2, b free, as one least squares problem
    rows = np.hstack([np.ones((30, 1)), A])
    penalty = np.sqrt(PENALTY) * np.eye(8)[1:]
    wanted = np.linalg.lstsq(np.vstack([rows, penalty]), np.vstack([Y, np.zeros((7, 3))]))[0]
    found = fit_ridge(sp.csr_array(A), sp.csr_array(Y))(sp.csr_array(N))
    assert_allclose(found, np.hstack([np.ones((5, 1)), N]) @ wanted, atol=1e-10)


@pytest.mark.parametrize("dense", [False, True])
def test_viewed_items_count_by_the_nearness_of_tags_at_the_scale_of_the_remainder(
    dense: bool,
) -> None:
    rng = np.random.default_rng(1)
    n, n_new = 25, 4
    S = (rng.random((n + n_new, 60)) < 0.3).astype(float)  # no two cosines are the same
    R = np.where(rng.random((n, n)) < 0.5, rng.random((n, n)), 0) * (1 - np.eye(n))
    T = content_of(S)
    cosines = T @ T.T

    def nearest(j: int) -> np.ndarray:
        own = cosines[:n, j].copy()
        own[own < np.sort(np.delete(own, j) if j < n else own)[-NEAREST]] = 0
        if j < n:
            own[j] = 0
        return own

    K = np.column_stack([nearest(j) for j in range(n)])
    gamma = (R * K).sum() / (K * K).sum()
    given = R if dense else sp.csr_array(R)
    new = np.arange(n, n + n_new)
    found = extend_remainder(given, (sp.csr_array(S),), np.arange(n), new)
    found = found if dense else found.toarray()
    assert_array_equal(found[:, :n], R)
    assert_allclose(
        found[:, n:], gamma * np.column_stack([nearest(int(j)) for j in new]), atol=1e-12
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"remainder": Remainder(l2=5.0, neighbours=None), "content": None},
        {"weights": Weights(history_power=0.3)},
    ],
)
def test_scores_of_known_items_stay_to_the_bit_and_all_sums_are_exact(
    data: Dataset, options: dict[str, Any], tmp_path: Path
) -> None:
    model = Teaser(**{**WHOLE, **options}).fit(data)
    n = data.n_items
    batches = [data.X[:50], data.X[:3]]
    before = [model.score_batch(X) for X in batches]
    alone = {r.item_id: r.score for r in model.recommend(["i2", "i7"], k=99)}
    model.add_items(NEW).add_items({"n4": ["town=Ghent"]})
    for X, scores in zip(batches, before, strict=True):
        wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n + 4))
        assert_array_equal(model.score_batch(wide)[:, :n], scores)
    after = {r.item_id: r.score for r in model.recommend(["i2", "i7"], k=99)}
    assert {name: after[name] for name in alone} == alone
    for name in model.items_:
        said = model.explain(name, ["i2", "i7"], {"town=Ghent": 2})
        parts = said.general + sum(said.tags.values()) + sum(said.viewed.values())
        assert parts == pytest.approx(said.score, abs=1e-10)
    model.save(tmp_path / "m")
    loaded = teaser.load(tmp_path / "m", Teaser)
    assert loaded.recommend(["i2", "i7"], k=99) == model.recommend(["i2", "i7"], k=99)
    lists = [m.recommend_all(data, k=5) for m in (model, loaded)]
    assert lists[0].equals(lists[1])


def test_who_viewed_a_close_item_is_told_so(data: Dataset) -> None:
    model = Teaser(**WHOLE).fit(data)
    twin = data.table.filter(pl.col("item_id") == "i7").with_columns(item_id=pl.lit("twin"))
    model.add_items(twin)
    assert model.explain("twin", ["i7"]).viewed["i7"] > 0
    # A new item says nothing of others: it has no row.
    assert not any(model.explain("i3", ["twin"]).viewed.values())


def test_popularity_and_groups_follow_from_the_tags(data: Dataset) -> None:
    model = Teaser(**WHOLE).fit(data)
    n_declared, n_learned = data.n_tags, model.tag_table_.n_learned
    Y = model.decoder_[:, n_declared:n_learned].toarray()
    S = data.S.toarray().astype(float)
    model.add_items(NEW)
    new = model.decoder_[[-3, -2], :].toarray()
    rows = np.hstack([np.ones((len(S), 1)), S])
    penalty = np.sqrt(PENALTY) * np.eye(rows.shape[1])[1:]
    zeros = np.zeros((len(penalty), Y.shape[1]))
    B = np.linalg.lstsq(np.vstack([rows, penalty]), np.vstack([Y, zeros]))[0]
    wanted = np.hstack([np.ones((2, 1)), new[:, :n_declared]]) @ B
    assert_allclose(new[:, n_learned - 1], wanted[:, -1].clip(0), atol=1e-8)
    groups = new[:, n_declared : n_learned - 1]
    assert_allclose(
        groups, np.where(wanted[:, :-1] >= LEAST_MEMBERSHIP, wanted[:, :-1], 0), atol=1e-8
    )
    assert groups.any()


def test_an_item_of_which_nothing_is_known_is_placed_by_general_appeal(
    data: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    model = Teaser(**WHOLE).fit(data)
    usual = model.decoder_[:, [-1]].toarray().mean()
    with caplog.at_level(logging.WARNING, logger="teaser"):
        model.add_items({"blank": []})
    assert "1 of 1 new items carry no known tag" in caplog.text
    assert "general appeal places them" in caplog.text
    row = model.decoder_[[-1]]
    assert [model.tags_[j] for j in row.indices] == [GENERAL]
    assert row.data[0] == pytest.approx(usual)
    said = model.explain("blank", ["i2", "i7"])
    assert said.score == said.general != 0


def test_a_table_may_lack_columns(data: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    model, other = (Teaser(**WHOLE).fit(data) for _ in range(2))
    with caplog.at_level(logging.WARNING, logger="teaser"):
        model.add_items(NEW.drop("town"))
    assert "no column 'town': what it would say is not stated" in caplog.text
    other.add_items(NEW.with_columns(town=pl.lit(None, dtype=pl.String)))
    assert_array_equal(model.decoder_.toarray(), other.decoder_.toarray())
    wide = data.with_items(NEW.drop("labels"))
    assert wide.table["item_id"].to_list()[-3:] == ["n1", "n2", "n3"]
    assert {str(wide.tags[j]) for j in wide.S[[-3]].indices} == {"type=concert", "town=Ghent"}


def test_only_what_is_wanted_is_predicted(data: Dataset) -> None:
    model = Teaser(**WHOLE).fit(data).add_items(NEW, predict=())
    first, popularity = data.n_tags, model.tag_table_.popularity
    assert model.decoder_[[-3]][:, first : popularity + 1].nnz == 0
    assert not any(model.explain("n1", list(data.items[:20])).viewed.values())
    other = Teaser(**WHOLE).fit(data).add_items(NEW, predict=["popularity"])
    row = other.decoder_[[-3]][:, first : popularity + 1]
    assert [other.tags_[first + j] for j in row.indices] == [POPULARITY]
    with pytest.raises(ParameterError, match="some of groups, popularity, neighbours, found 'all'"):
        other.add_items({"n9": []}, predict=["all"])
    assert "n9" not in other.items_


def test_items_that_nobody_chose_at_the_fit_are_placed_alike(data: Dataset) -> None:
    wide = data.with_items(NEW)
    assert (wide.n_items, wide.n_users, wide.tags) == (data.n_items + 3, data.n_users, data.tags)
    model = Teaser(**{**WHOLE, "content": None}).fit(wide)
    is_new = model.item_table_.is_new
    assert is_new[-3:].all()
    assert_array_equal(is_new, wide.item_counts == 0)
    first, last = data.n_tags, model.tag_table_.popularity
    assert model.decoder_[[-3]][:, first:last].nnz > 0
    assert model.decoder_[[-3]][:, [last]].nnz == 1
    assert [model.tags_[j] for j in model.decoder_[[-1]].indices] == [GENERAL]


def test_words_place_an_item_whose_tags_say_nothing() -> None:
    interactions, items = small_tables(4, n_users=120, n_items=40)
    stories = ["a painter of the sea" if i % 2 else "robots in a far galaxy" for i in range(40)]
    items = items.with_columns(story=pl.Series(stories))
    data = Dataset.from_tables(interactions, items, rules=RULES)
    model = Teaser(**{**WHOLE, "content": Content(weight=1.0, text=("story",))}).fit(data)
    model.add_items(pl.DataFrame({"item_id": ["sea"], "story": ["The sea, painted by a painter"]}))
    column = model.remainder_[:, [-1]].toarray().ravel()
    assert column.any()
    assert all(i % 2 for i in np.flatnonzero(column).tolist())
    assert model.decoder_[[-1]].nnz > 1


def test_items_cannot_be_added_to_partitions(data: Dataset, tmp_path: Path) -> None:
    interactions, items = small_tables(4, n_users=120, n_items=40)
    write_partitions(interactions, tmp_path / "p", user="user_id", item="item_id", parts=2)
    parts = Dataset.from_partitions(tmp_path / "p", items, rules=RULES)
    with pytest.raises(DataError, match="in partitions, and items cannot be added"):
        parts.with_items(NEW)
