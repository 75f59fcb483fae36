"""Simulated feedback: which tags are drawn, how often, and what comes of them."""

from collections import Counter
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from teaser import Dataset, Steering, Tag, Teaser
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split
from teaser.errors import NotFittedError, ParameterError
from teaser.evaluate.bonus import Bonus
from teaser.evaluate.protocol import compare, evaluate, recommend_lists
from teaser.evaluate.simulation import (
    count_tags,
    draw_presses,
    has_tags,
    simulate,
    unwanted_weights,
)
from teaser.extensions import DiscoveredTags
from teaser.model.baselines.ease import EASE

Array = NDArray[Any]

TAGS = tuple(Tag("t", str(j)) for j in range(4))


@pytest.fixture(scope="module")
def parts(dataset: Dataset) -> Split:
    return split(dataset, n_validation=0, n_test=80, held_out=0.4, rng=5)


@pytest.fixture(scope="module")
def fitted(parts: Split) -> Teaser:
    return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-5).fit(parts.training)


def tags_of(places: Any, data: Dataset) -> Counter[Tag]:
    """Count the tags of items the slow way."""
    S = data.S.toarray()
    return Counter(tag for i in places for j, tag in enumerate(data.tags) if S[i, j])


def as_counter(row: Array, tags: tuple[Tag, ...]) -> dict[Tag, float]:
    return {tag: row[j] for j, tag in enumerate(tags) if row[j]}


def test_weights_count_the_held_out_items_of_each_tag(parts: Split, fitted: Teaser) -> None:
    weights = count_tags(parts.test.held_out, fitted).toarray()
    for row in range(parts.test.n_users):
        places = np.flatnonzero(parts.test.held_out.toarray()[row])
        assert as_counter(weights[row], fitted.tags_) == tags_of(places, parts.training)


def test_only_declared_and_discovered_tags_are_drawn() -> None:
    interactions, items = small_tables()
    town = pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("town"))
    data = Dataset.from_tables(interactions, items.with_columns(town.alias("town")), rules=RULES)
    fold = split(data, n_validation=0, n_test=60, min_interactions=4, rng=0).test
    model = Teaser().fit(data)
    n_tags = len(data.tags)
    assert [tag.value for tag in model.tags_[n_tags:]] == [
        "popularity", "not stated", "general appeal",
    ]  # fmt: skip
    lists = np.tile(np.arange(40), (60, 1))
    wanted = count_tags(fold.held_out, model)
    for weights in (wanted, unwanted_weights(model, 0 * wanted, lists)):
        assert weights.shape == (60, len(model.tags_))
        assert weights.nnz > 0
        assert weights.indices.max() < n_tags


def test_unwanted_tags_are_seen_and_not_held_out(parts: Split, fitted: Teaser) -> None:
    held_out = count_tags(parts.test.held_out, fitted)
    lists = recommend_lists(fitted, parts.test, k=6)
    weights = unwanted_weights(fitted, held_out, lists).toarray()
    for row in range(parts.test.n_users):
        seen = tags_of(lists[row], parts.training)
        wanted = tags_of(np.flatnonzero(parts.test.held_out.toarray()[row]), parts.training)
        expected = {tag: n for tag, n in seen.items() if tag not in wanted}
        assert as_counter(weights[row], fitted.tags_) == expected


def test_tags_are_drawn_one_after_the_other_by_weight() -> None:
    weights = sp.csr_array(np.array([[5.0, 3.0, 0.0, 2.0]]))
    rng = np.random.default_rng(0)
    n = 5_000
    pairs: Counter[frozenset[str]] = Counter()
    singles: Counter[str] = Counter()
    for _ in range(n):
        pairs[frozenset(t.value for t in draw_presses(weights, TAGS, 2, 3, rng)[0])] += 1
        singles.update(t.value for t in draw_presses(weights, TAGS, 1, 3, rng)[0])
    # Standard errors are below 0.0072.
    for value, share in {"0": 0.5, "1": 0.3, "3": 0.2}.items():
        assert singles[value] / n == pytest.approx(share, abs=0.03)
    for pair, share in {
        "01": 0.5 * 3 / 5 + 0.3 * 5 / 7,
        "03": 0.5 * 2 / 5 + 0.2 * 5 / 8,
        "13": 0.3 * 2 / 7 + 0.2 * 3 / 8,
    }.items():
        assert pairs[frozenset(pair)] / n == pytest.approx(share, abs=0.03)


def test_it_is_the_evaluation_of_its_presses(parts: Split, fitted: Teaser) -> None:
    steering = Steering(scale="paper", step=0.1)
    found = simulate(
        fitted, parts.test, rng=2, steering=steering, training=parts.training, name="ours"
    )
    assert (len(found.draws), found.n_tags, found.strength) == (3, 1, 3)
    again = [
        evaluate(fitted, parts.test, training=parts.training, presses=presses, steering=steering)
        for presses in found.presses
    ]
    for mine, theirs in zip(found.draws, again, strict=True):
        assert_array_equal(mine.lists, theirs.lists)
    for metric, values in found.evaluation.values.items():
        expected = np.mean([each.values[metric] for each in again], axis=0)
        assert_allclose(values, expected, rtol=1e-12)
    cover = [each.item_metrics["coverage@20"].mean for each in again]
    assert found.evaluation.item_metrics["coverage@20"].mean == pytest.approx(np.mean(cover))
    assert found.evaluation.lists.shape == (240, 100)
    assert found.evaluation.model == "ours"


def test_the_same_seed_presses_the_same_and_draws_differ(parts: Split, fitted: Teaser) -> None:
    first, again, other = (
        simulate(fitted, parts.test, rng=rng) for rng in (1, np.random.default_rng(1), 2)
    )
    assert first.presses == again.presses != other.presses
    assert first.presses[0] != first.presses[1] != first.presses[2]
    assert_array_equal(first.evaluation.values["ndcg@100"], again.evaluation.values["ndcg@100"])
    assert simulate(fitted, parts.test, rng=1, draws=1).presses[0] == first.presses[0]


def test_saying_what_one_wants_helps_and_more_helps_more(parts: Split, fitted: Teaser) -> None:
    metrics = ["ndcg@10"]
    before = evaluate(fitted, parts.test, metrics=metrics)
    one, two, against = (
        simulate(fitted, parts.test, n_tags=n, strength=s, rng=0, metrics=metrics, shown=10)
        for n, s in ((1, 3), (2, 3), (1, -3))
    )
    gains = [
        compare(before, each.evaluation, rng=0)["ndcg@10"].mean for each in (one, two, against)
    ]
    assert 0 < gains[0] < gains[1]
    assert gains[2] > 0


def test_a_bonus_on_the_items_of_a_tag_steers_a_model_without_tags(
    parts: Split, fitted: Teaser
) -> None:
    ease = EASE(l2=5.0).fit(parts.training)
    rival, history = Bonus(ease, fitted), parts.test.history[:6]
    own = ease.score_batch(history)
    assert_array_equal(rival.score_batch(history), own)
    tags = parts.training.tags[:6]
    found = rival.score_batch(history, [{tag: 2, tags[0]: -1} for tag in tags])
    S = (parts.training.S.toarray() != 0).astype(float)
    for row in range(len(tags)):
        # A press moves every item of its tag by the same, and no other item.
        moved, pressed_on = found[row] - own[row], S[:, [0, row]]
        for kind in np.unique(pressed_on, axis=0):
            alike = moved[(pressed_on == kind).all(axis=1)]
            assert_allclose(alike, alike[0], atol=1e-6)
            if not kind.any():
                assert_allclose(alike, 0.0, atol=1e-6)
            elif row == 0 or not kind[1]:
                assert alike[0] < 0
            elif not kind[0]:
                assert alike[0] > 0
    # Drawn as for the model whose tags are pressed.
    given: dict[str, Any] = {"rng": 3, "draws": 1, "metrics": ["ndcg@10"]}
    pressed = simulate(rival, parts.test, **given)
    assert pressed.presses == simulate(fitted, parts.test, **given).presses
    before = evaluate(ease, parts.test, metrics=["ndcg@10"])
    assert compare(before, pressed.evaluation, rng=0)["ndcg@10"].mean > 0
    with pytest.raises(ParameterError, match="EASE has no tags"):
        evaluate(ease, parts.test, presses=pressed.presses[0])


def test_users_without_tags_are_counted_and_keep_their_list() -> None:
    interactions, items = small_tables()
    is_first = pl.col("item_id") == "i0"
    bare = items.with_columns(pl.when(~is_first).then(pl.col("type", "town", "labels")))
    data = Dataset.from_tables(interactions, bare, rules=RULES)
    model = Teaser(l2_weights=5.0).fit(data)
    held_out = np.eye(2, data.n_items)
    fold = Fold(np.roll(held_out, 5, axis=1), held_out, Ids(["x", "y"]))
    found = simulate(model, fold, n_tags=9, rng=0, draws=2, metrics=["recall@9"])
    assert (found.without_tags, found.fewer_tags) == (1, 1)
    assert found.presses[0][0] == {}
    assert set(found.presses[0][1]) == set(tags_of([1], data))
    before = evaluate(model, fold, metrics=["recall@9"])
    assert_array_equal(found.draws[1].lists[0], before.lists[0])
    assert len(found.evaluation.values["recall@9"]) == 2


def test_senseless_feedback_is_refused(parts: Split, fitted: Teaser) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"strength": 0}, "strength 0 presses nothing"),
        ({"strength": 6}, "out of range"),
        ({"n_tags": 0}, "n_tags must be"),
        ({"rng": None}, "rng must be"),
        ({"among": "some"}, "among must be one of all, declared, discovered, found 'some'"),
        ({"among": "discovered"}, "no discovered tags to press"),
    )
    for wrong, said in cases:
        with pytest.raises(ParameterError, match=said):
            simulate(fitted, parts.test, **({"rng": 0} | wrong))


def test_only_fitted_models_with_tags_can_be_pressed(parts: Split) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        simulate(Teaser(), parts.test, rng=0)
    with pytest.raises(ParameterError, match="object has no tags to press"):
        simulate(cast(Any, object()), parts.test, rng=0)


def test_tags_of_one_kind_can_be_pressed_alone(parts: Split, fitted: Teaser) -> None:
    model = Teaser(
        l2_weights=5.0, l2_encoder=5.0, discovered=DiscoveredTags(grains=(6,), factors=16)
    ).fit(parts.training)
    has = [has_tags(fitted, kind) for kind in ("all", "declared", "discovered")]
    assert has == [True, True, False]
    both = count_tags(parts.test.held_out, model).toarray()
    is_found = np.array([tag.discovered for tag in model.tags_])
    assert has_tags(model, "discovered")
    for among, kept in (("declared", ~is_found), ("discovered", is_found)):
        weights = count_tags(parts.test.held_out, model, among).toarray()
        assert_array_equal(weights, np.where(kept, both, 0))
        for strength in (3, -3):
            drawn = simulate(
                model, parts.test, n_tags=2, strength=strength, among=among, rng=0, draws=1
            )
            assert drawn.among == among
            pressed = {tag for user in drawn.presses[0] for tag in user}
            assert pressed
            assert {tag.discovered for tag in pressed} == {among == "discovered"}
    # Without discovered tags, declared ones are all.
    one, other = (simulate(fitted, parts.test, rng=1, among=k) for k in ("all", "declared"))
    assert one.presses == other.presses
