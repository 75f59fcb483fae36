"""A model with a remainder: scores, the dial, reasons, new items, saving."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal

import teaser
from teaser import Dataset, Steering, Teaser
from teaser.extensions import Remainder
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.product import Product
from teaser.model.gram.operator import DenseGram
from teaser.profile import POPULARITY
from teaser.reason import Reason, ViewedReason
from teaser.testing import TaggedModelContract, example_dataset


class TestTeaserWithRemainder(TaggedModelContract):
    """All that an aspect model must do."""

    def make(self) -> Teaser:
        return Teaser(
            l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=None, l2=20.0), tol=1e-5
        )

    def test_contributions_sum_to_what_the_reasons_cover(self, fitted: Any) -> None:
        for item in ("i2", "i9", "i20"):
            said = fitted.explain(item, ["i1", "i5"], {"town=Ghent": 1})
            assert said.viewed or item == "i20"
        super().test_contributions_sum_to_what_the_reasons_cover(fitted)

    def test_every_recommendation_has_reasons_of_its_own_tags(self, fitted: Any) -> None:
        dataset = example_dataset()
        D = fitted.decoder_.toarray()
        kinds = set()
        for r in fitted.recommend(["i1", "i5"], k=5):
            row = D[dataset.items.index_of(r.item_id)]
            for reason in r.reasons:
                kinds.add(type(reason))
                if isinstance(reason, Reason):
                    assert row[fitted.tags_.index(reason.tag)] > 0
                else:
                    assert reason.item_id in ("i1", "i5")
        assert kinds == {Reason, ViewedReason}


class TestTeaserWithSparseRemainder(TestTeaserWithRemainder):
    """The same where the remainder is kept sparse."""

    def make(self) -> Teaser:
        return Teaser(
            l2_weights=5.0,
            l2_encoder=5.0,
            remainder=Remainder(neighbours=None, l2=20.0, share=0.9),
            tol=1e-5,
        )


def one_row(dataset: Dataset, *places: int) -> sp.csr_array:
    X = np.zeros((1, dataset.n_items))
    X[0, list(places)] = 1
    return sp.csr_array(X)


def test_without_k_there_is_no_remainder(model: Teaser, remainder_model: Teaser) -> None:
    assert model.remainder_ is None
    assert not model.has_remainder
    assert remainder_model.has_remainder
    assert model.explain("i3", ["i1"]).viewed == {}
    said = model.explain("i3", ["i1"])
    rest = abs(said.general) + abs(said.tags[POPULARITY])
    assert said.tag_share == pytest.approx(1 - rest / said.total)
    assert model.describe()["remainder"] is None
    assert remainder_model.describe()["remainder"] == {
        "items": 40, "entries": 1560, "sparse": False, "neighbours": None,
        "without_neighbours": None,
    }  # fmt: skip


def test_scores_are_those_of_the_objective_up_to_one_factor(
    remainder_model: Teaser, dataset: Dataset
) -> None:
    """A history's scores are its rows of B = E D' + R, times certainty / scale.

    Centring moves all of them by one constant.
    """
    E, R, D = (
        remainder_model.encoder_,
        remainder_model.remainder_,
        remainder_model.tag_table_.learned_decoder.toarray(),
    )
    rows = [1, 5, 8]
    plain = E[rows].sum(0) @ D.T + R[rows].sum(0)
    scores = remainder_model.score_batch(one_row(dataset, *rows))[0]
    factor = remainder_model.profile(["i1", "i5", "i8"]).viewed_weight
    assert factor > 0
    assert_allclose(scores - scores[0], factor * (plain - plain[0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("balance", "tags", "viewed"),
    [(0.0, 1, 0), (0.25, 1, 0.5), (0.5, 1, 1), (0.75, 0.5, 1), (1.0, 0, 1)],
)
def test_the_dial_weighs_tags_against_viewed_items(
    remainder_model: Teaser, dataset: Dataset, balance: float, tags: float, viewed: float
) -> None:
    history, presses = ["i1", "i5"], {"town=Ghent": 2}
    middle = remainder_model.explain("i9", history, presses)
    found = remainder_model.explain("i9", history, presses, steering=Steering(balance=balance))
    for tag, part in middle.contributions.items():
        assert found.contributions.get(tag, 0.0) == pytest.approx(tags * part)
    wanted = {i: viewed * part for i, part in middle.viewed.items()} if viewed else {}
    assert found.viewed == pytest.approx(wanted)
    assert found.score == pytest.approx(
        sum(found.contributions.values()) + sum(found.viewed.values()), rel=1e-12
    )
    scores = remainder_model.score_batch(
        one_row(dataset, 1, 5), [presses], steering=Steering(balance=balance)
    )[0]
    assert scores[9] == pytest.approx(found.score, rel=1e-12)


def test_the_dial_changes_nothing_without_a_remainder_or_a_history(
    model: Teaser, remainder_model: Teaser
) -> None:
    for balance in (0.0, 1.0):
        steering = Steering(balance=balance)
        assert model.recommend(["i1"], steering=steering) == model.recommend(["i1"])
        pressed = {"town=Ghent": 3}
        assert remainder_model.recommend(
            [], pressed, steering=steering
        ) == remainder_model.recommend([], pressed)


def test_people_alone_are_ease_where_the_remainder_is_cheap(dataset: Dataset) -> None:
    model = Teaser(
        l2_weights=5.0, l2_encoder=500.0, remainder=Remainder(neighbours=None, l2=1e-3), tol=1e-5
    ).fit(dataset)
    wanted = EASE(l2_weights=5.001).fit(dataset).score_batch(dataset.X[:20])
    found = model.score_batch(dataset.X[:20], steering=Steering(balance=1.0))
    factor = (found * wanted).sum(axis=1) / (wanted**2).sum(axis=1)
    assert_allclose(found, factor[:, None] * wanted, rtol=2e-2, atol=2e-2 * np.abs(found).max())


def test_profiles_and_origins_know_nothing_of_it(remainder_model: Teaser) -> None:
    found = remainder_model.profile(["i1", "i5"])
    assert found.tags_weight == 1.0
    assert found.viewed_weight > 0
    X = np.zeros((1, 40))
    X[0, [1, 5]] = 1
    raw = remainder_model.tag_table_.apply_basis(remainder_model.encode(sp.csr_array(X)))[0]
    scale = found.values[0] / raw[0]
    assert found.viewed_weight == pytest.approx(scale)
    origins = remainder_model.origins("town=Ghent", ["i1", "i5"])
    place = [str(t) for t in remainder_model.tags_].index("town=Ghent")
    assert sum(origins.values()) == pytest.approx(raw[place])


def test_a_viewed_reason_is_said_in_words(remainder_model: Teaser) -> None:
    found = remainder_model.explain("i3", ["i1", "i5"])
    said = [r for r in found.reasons if isinstance(r, ViewedReason)]
    assert {r.item_id for r in said} == {"i1", "i5"}
    for reason in said:
        assert reason.title == f"Event {str(reason.item_id)[1:]}"
        percent = round(100 * reason.share)
        assert reason.sentence() == f"{percent} % because you viewed {reason.title}"
        assert reason.contribution == found.viewed[reason.item_id]
    tags = sum(abs(part) for tag, part in found.tags.items() if tag != POPULARITY)
    viewed = sum(map(abs, found.viewed.values()))
    rest = abs(found.general) + abs(found.tags[POPULARITY])
    assert found.tag_share == pytest.approx(tags / (tags + viewed + rest))


def test_new_items_have_no_part_in_it(dataset: Dataset) -> None:
    model = Teaser(
        l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=None, l2=20.0)
    ).fit(dataset)
    before = model.score_batch(one_row(dataset, 1, 5))[0]
    model.add_items({"new": ["town=Ghent", "type=concert"]})
    X = np.zeros((1, 41))
    X[0, [1, 5]] = 1
    after = model.score_batch(X)[0]
    assert_array_equal(after[:40], before)
    assert model.explain("new", ["i1", "i5"]).viewed == {}
    said = model.explain("i3", ["i1", "new"])
    assert set(said.viewed) == {"i1"}
    assert said.score == pytest.approx(
        sum(said.contributions.values()) + sum(said.viewed.values()), rel=1e-12
    )
    only = model.recommend(["new"], steering=Steering(balance=1.0))
    assert only == model.recommend(["new"])


def test_what_was_added_is_kept_with_the_rest(dataset: Dataset, tmp_path: Path) -> None:
    for share in (1.0, 0.8):
        model = Teaser(remainder=Remainder(neighbours=None, l2=50.0, share=share)).fit(dataset)
        model.add_items({"new": ["town=Ghent"]})
        model.save(tmp_path / f"m{share}")
        loaded = teaser.load(tmp_path / f"m{share}", Teaser)
        assert loaded.remainder == Remainder(neighbours=None, l2=50.0, share=share)
        assert sp.issparse(loaded.remainder_) == (share < 1)
        history = ["i1", "new"]
        assert loaded.recommend(history, k=9) == model.recommend(history, k=9)


def test_a_dense_remainder_stays_on_disk(remainder_model: Teaser, tmp_path: Path) -> None:
    remainder_model.save(tmp_path / "m")
    loaded = teaser.load(tmp_path / "m", Teaser)
    base: Any = loaded.remainder_
    while isinstance(base.base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert not loaded.remainder_.flags.writeable


def test_a_share_keeps_fewer_entries_and_nearly_the_same_lists(
    remainder_model: Teaser, dataset: Dataset
) -> None:
    remainder = Remainder(neighbours=None, l2=20.0, share=0.95)
    few = Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=remainder, tol=1e-5).fit(dataset)
    assert few.remainder_.nnz < 0.7 * 1560
    assert few.remainder_.dtype == np.float32
    assert_array_equal(few.encoder_, remainder_model.encoder_)
    kept = few.remainder_.toarray()
    assert_array_equal(kept[kept != 0], remainder_model.remainder_[kept != 0])
    first, second = (m.score_batch(dataset.X[:50]).ravel() for m in (few, remainder_model))
    assert np.corrcoef(first, second)[0, 1] > 0.98


def test_a_given_gram_is_used_and_left_alone(dataset: Dataset, remainder_model: Teaser) -> None:
    G = DenseGram.from_interactions(dataset.X, np.dtype(np.float32))
    kept = G.G.copy()
    settings: dict[str, Any] = {
        "l2_weights": 5.0,
        "l2_encoder": 5.0,
        "remainder": Remainder(neighbours=None, l2=20.0),
    }
    found = Teaser(**settings, gram=G, tol=1e-5).fit(dataset)
    assert_array_equal(G.G, kept)
    assert_allclose(found.remainder_, remainder_model.remainder_, atol=1e-5)


def test_a_second_fit_without_it_forgets_it(dataset: Dataset) -> None:
    model = Teaser(remainder=Remainder(neighbours=None, l2=20.0)).fit(dataset)
    model.remainder = None
    assert not model.fit(dataset).has_remainder
    assert model.explain("i3", ["i1"]).viewed == {}


def test_a_product_explains_both_kinds_of_its_part(
    remainder_model: Teaser, dataset: Dataset
) -> None:
    product = Product(remainder_model, EASE(l2_weights=50.0).fit(dataset))
    assert product.has_remainder
    said = product.explain("i3", ["i1", "i5"])
    assert set(said.viewed) == {"i1", "i5"}
    total = sum(said.contributions.values()) + sum(said.viewed.values())
    assert total == pytest.approx(said.cover.explained)
    # What centring took from every score is told with general appeal.
    alone = remainder_model.explain("i3", ["i1", "i5"])
    assert said.cover.explained - said.general == pytest.approx(alone.score - alone.general)
    kinds = {type(r) for p in product.recommend(["i1", "i5"]) for r in p.reasons}
    assert kinds == {Reason, ViewedReason}
    scores = product.score_batch(one_row(dataset, 1, 5))[0]
    for place in product.recommend(["i1", "i5"], k=3):
        assert scores[int(str(place.item_id)[1:])] == pytest.approx(place.score)


def test_it_recommends_better_than_tags_alone_where_tags_say_little() -> None:
    """Pairs of items that only their viewers connect: no tag tells them from the rest."""
    rng = np.random.default_rng(0)
    interactions, items = small_tables(n_users=400, n_items=40)
    pair = rng.integers(20, size=200).tolist()
    rows = [(f"v{u}", f"i{2 * p + n}", 5) for u, p in enumerate(pair) for n in (0, 1)]
    more = type(interactions)(rows, schema=interactions.schema, orient="row")
    data = Dataset.from_tables(interactions.vstack(more), items, rules=RULES)
    settings: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}
    pairs = [(f"i{2 * p}", f"i{2 * p + 1}") for p in range(20)]

    def hits(model: Teaser) -> int:
        return sum(model.recommend([a], k=1)[0].item_id == b for a, b in pairs)

    tags, with_it = (
        Teaser(**settings).fit(data),
        Teaser(**settings, remainder=Remainder(neighbours=None, l2=10.0)).fit(data),
    )
    assert hits(with_it) > hits(tags) + 5


def test_what_is_kept_takes_eight_bytes_and_stays_on_disk(dataset: Dataset, tmp_path: Path) -> None:
    model = Teaser(remainder=Remainder(neighbours=None, l2=50.0, share=0.5)).fit(dataset)
    kept: Any = model.remainder_
    assert kept.indices.dtype == kept.indptr.dtype == np.int32
    model.save(tmp_path / "m")
    loaded: Any = teaser.load(tmp_path / "m", Teaser).remainder_
    assert not loaded.data.flags.owndata
    assert not loaded.indices.flags.owndata
    assert (loaded != kept).nnz == 0


@pytest.mark.parametrize("name", ["remainder", "sparse-remainder"])
def test_models_saved_before_there_were_neighbours_have_a_joint_one(name: str) -> None:
    model = teaser.load(Path(__file__).parents[2] / "saved" / name, Teaser)
    assert model.remainder is not None
    assert model.remainder.neighbours is None
    assert model.has_remainder
