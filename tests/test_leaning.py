"""Leanings: what the items with a tag get in all, against a plain computation on dense arrays."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import teaser
from teaser import Dataset, Steering, Tag, Teaser
from teaser.data import demo
from teaser.extensions import Content, DiscoveredTags, LearnedDecoder, Remainder, SparseEncoder
from teaser.leaning import Carriers, find_named_carriers, find_spread
from teaser.profile import GENERAL, POPULARITY

HISTORIES = st.lists(st.integers(0, 39).map(lambda i: f"i{i}"), max_size=6, unique=True)
TAGS = ("type=concert", "type=film", "town=Ghent", "town=Liège", "labels=free")
PRESSES = st.dictionaries(st.sampled_from([Tag.parse(t) for t in TAGS]), st.integers(-5, 5))


def plain_leanings(model: Any, profile: Any) -> dict[Tag, float]:
    """Mean of the personal part of the scores over the carriers of a tag, less that over all."""
    D = model.decoder_.toarray()
    a = profile.values.copy()
    if GENERAL in model.tags_:
        a[model.tags_.index(GENERAL)] = 0.0
    s = profile.tags_weight * (D @ a) + model.viewed_scores(profile)
    return {
        tag: s[D[:, j] != 0].mean() - s.mean()
        for j, tag in enumerate(model.tags_)
        if tag not in (POPULARITY, GENERAL) and (D[:, j] != 0).any()
    }


OPTIONS: list[dict[str, Any]] = [
    {},
    {"remainder": Remainder(neighbours=None, l2=20.0)},
    {"remainder": Remainder(neighbours=8, l2=5.0)},
    {"discovered": DiscoveredTags(grains=(5, 3))},
    {"decoder": LearnedDecoder()},
    {"sparse": SparseEncoder(density=0.5)},
    {"content": Content(weight=0.5)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: next(iter(o), "plain"))
def test_leanings_are_those_of_the_plain_computation(
    dataset: Dataset, options: dict[str, Any]
) -> None:
    model = Teaser(l2_weights=5.0, l2_encoder=5.0, **options).fit(dataset)
    for history in (["i1"], ["i1", "i5", "i9"], {"i2": 2.0, "i7": -1.0}, []):
        for balance in (0.5, 0.8):
            found = model.profile(history, {"town=Ghent": 2}, steering=Steering(balance=balance))
            wanted = plain_leanings(model, found)
            assert found.leanings.keys() == wanted.keys()
            assert_allclose(list(found.leanings.values()), list(wanted.values()), atol=1e-12)
            for tag, leaning in found.leanings.items():
                parts = found.leaning_of(tag)
                assert parts[0].kind == "itself"
                assert parts[0].name == tag
                assert sum(part.part for part in parts) == pytest.approx(leaning, abs=1e-12)


@given(HISTORIES, PRESSES)
def test_several_users_have_the_leanings_of_each(
    remainder_model: Teaser, history: list[str], presses: dict[Tag, int]
) -> None:
    model = remainder_model
    histories = [history, ["i3", "i4"]]
    places = [[model.items_.index_of(i) for i in own] for own in histories]
    rows = model.item_table_.rows(places)
    both = model.leaning_batch(rows, [presses, None])
    for found, own, pressed in zip(both, histories, (presses, None), strict=True):
        assert_allclose(found, model.profile(own, pressed).leaning_values, atol=1e-12)


def test_a_long_batch_is_computed_in_blocks(model: Teaser, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = model.item_table_.rows([[i, i + 1] for i in range(20)])
    whole = model.leaning_batch(rows)
    monkeypatch.setattr("teaser.model.scores._NUMBERS", 3 * len(model.items_))
    assert_allclose(model.leaning_batch(rows), whole, atol=1e-12)


def test_general_appeal_and_popularity_have_no_leaning(model: Teaser) -> None:
    profile = model.profile(["i1", "i2"])
    assert not {GENERAL, POPULARITY} & profile.leanings.keys()
    assert profile.leaning_of("general appeal") == []
    # What every item gets by general appeal moves no leaning.
    pressed = model.profile(["i1", "i2"], {"general appeal": 5})
    assert_allclose(pressed.leaning_values, profile.leaning_values, atol=1e-12)


def test_a_press_raises_the_leaning_towards_its_tag(model: Teaser) -> None:
    learned = model.profile(["i1", "i2"])
    pressed = model.profile(["i1", "i2"], {"town=Ghent": 3})
    ghent = Tag("town", "Ghent")
    assert pressed.leanings[ghent] > learned.leanings[ghent]
    moved = model.pressed(learned, {"town=Ghent": 3})
    assert moved.leanings[ghent] > learned.leanings[ghent]


def test_tags_on_every_item_lean_nowhere_and_tags_on_none_have_no_leaning() -> None:
    items = pl.DataFrame(
        {"item": list("abcd"), "kind": ["x", "x", "y", "y"], "all": ["z", "z", "z", "z"]}
    )
    seen = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": list("abcdab")})
    data = Dataset.from_tables(seen, items)
    model = teaser.Teaser(l2_weights=1.0, l2_encoder=1.0).fit(data)
    for tag, leaning in model.profile(["a"]).leanings.items():
        if tag.feature == "all":
            assert leaning == pytest.approx(0, abs=1e-12)


def test_new_items_count_among_the_items_of_their_tags(dataset: Dataset) -> None:
    model = Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=8)).fit(dataset)
    model.add_items({"new": ["town=Ghent"]})
    profile = model.profile(["i1", "i2"])
    wanted = plain_leanings(model, profile)
    assert_allclose(list(profile.leanings.values()), list(wanted.values()), atol=1e-12)


def test_the_certainty_is_how_well_short_profiles_agree_with_long_ones() -> None:
    dataset = demo.dataset(n_events=400, n_users=1500)
    model = Teaser(tol=1e-2).fit(dataset)
    sure = [model.profile(list(dataset.items)[:h]).certainty for h in range(9)]
    assert sure[0] == 0
    assert sure == sorted(sure)
    assert sure[-1] < 1
    # Measured again, on histories of which three items are known.
    rows = dataset.X[np.flatnonzero(np.diff(dataset.X.indptr) >= 20)]
    assert rows.shape[0] >= 50
    short = np.zeros(rows.shape)
    rng = np.random.default_rng(1)
    for user in range(rows.shape[0]):
        own = rows.indices[rows.indptr[user] : rows.indptr[user + 1]]
        short[user, rng.choice(own, 3, replace=False)] = 1
    part, whole = model.leaning_batch(sp.csr_array(short)), model.leaning_batch(rows)
    size = np.linalg.norm(part, axis=1) * np.linalg.norm(whole, axis=1)
    cosine = float(((part * whole).sum(axis=1) / size).mean())
    assert sure[3] == pytest.approx(cosine, abs=0.12)


def test_a_spread_is_found_again_from_the_cosines_it_makes() -> None:
    k, n = 7.0, np.array([20, 50, 90])
    shorts = [(h, n, np.sqrt((1 + k / n) / (1 + k / h))) for h in (2, 5, 8)]
    assert find_spread(shorts) == pytest.approx(k, rel=1e-3)
    assert find_spread([]) is None


def test_what_metadata_name_is_counted_without_the_group_that_lies_on_nearly_the_same() -> None:
    rows = [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1]]
    carriers = Carriers(sp.csr_array(np.array(rows, dtype=float)))
    # The first two are near-equal, the fit found the second and the third, the last has no group.
    group, discovered = np.array([0, 0, 1, -1]), np.array([False, True, True, False])
    named = find_named_carriers(carriers, group, discovered)
    assert named.items.toarray().tolist() == [rows[0], rows[2]]
    assert find_named_carriers(carriers, np.full(4, -1), discovered).items.shape == (0, 6)
