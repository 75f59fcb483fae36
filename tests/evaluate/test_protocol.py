"""The loop over users: lists as the library makes them, in any batches; evaluations compared."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from teaser import Dataset, Steering, Teaser
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split
from teaser.errors import DataError, NotFittedError, ParameterError, SolverError
from teaser.evaluate.metrics import Metric, per_user
from teaser.evaluate.protocol import (
    ALL_METRICS,
    batches,
    compare,
    evaluate,
    recommend_lists,
)
from teaser.model.base import Model

Array = NDArray[Any]


class Fixed(Model):
    """Scores everyone's items with the same numbers; all items are equally popular."""

    def __init__(self, *, scores: Any) -> None:
        self.scores = scores

    def fit(self, dataset: Dataset) -> Self:
        self.keep_items(dataset)
        self._item_table = replace(self.item_table_, popularity=np.zeros(dataset.n_items))
        return self

    def score_batch(self, X: Any) -> Array:
        return np.broadcast_to(np.asarray(self.scores), (X.shape[0], len(self.scores)))


@pytest.fixture(scope="module")
def parts(dataset: Dataset) -> Split:
    return split(dataset, n_validation=20, n_test=60, rng=5)


@pytest.fixture(scope="module")
def fitted(parts: Split) -> Teaser:
    return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-5).fit(parts.training)


def chosen(fold: Fold, items: Ids, row: int) -> list[Any]:
    places = fold.history.indices[fold.history.indptr[row] : fold.history.indptr[row + 1]]
    return [items[i] for i in places.tolist()]


def test_lists_are_those_that_users_are_shown(parts: Split, fitted: Teaser) -> None:
    lists = recommend_lists(fitted, parts.test, k=12)
    for row in range(parts.test.n_users):
        history = chosen(parts.test, fitted.items_, row)
        shown = [r.item_id for r in fitted.recommend(history, k=12)]
        assert [fitted.items_[i] for i in lists[row].tolist()] == shown


def test_pressed_lists_are_those_that_users_are_shown(parts: Split, fitted: Teaser) -> None:
    presses = [{"type=film": 3} if u % 2 else None for u in range(parts.test.n_users)]
    for scale in ("robust", "paper"):
        steering = Steering(scale=scale, step=0.3)
        lists = recommend_lists(
            fitted,
            parts.test,
            k=12,
            presses=presses,
            steering=steering,
            batch_memory=9 * 4 * 8 * parts.test.n_items,
        )
        for row in (0, 1, 2, 31):
            history = chosen(parts.test, fitted.items_, row)
            shown = fitted.recommend(history, presses[row], k=12, steering=steering)
            assert [fitted.items_[i] for i in lists[row].tolist()] == [r.item_id for r in shown]


def test_batches_of_any_size_give_the_same(parts: Split, fitted: Teaser) -> None:
    whole = evaluate(fitted, parts.test, training=parts.training)
    told: list[tuple[int, int]] = []
    small = evaluate(
        fitted,
        parts.test,
        training=parts.training,
        batch_memory=7 * 4 * 8 * parts.test.n_items,
        callback=lambda done, total: told.append((done, total)),
    )
    assert_array_equal(small.lists, whole.lists)
    for metric, values in whole.values.items():
        assert_array_equal(small.values[metric], values)
    assert told == [(min(n, 60), 60) for n in range(7, 67, 7)]


@given(n_users=st.integers(0, 50), n_items=st.integers(1, 10**6), memory=st.integers(1, 10**10))
def test_batches_hold_everyone_once_within_memory(n_users: int, n_items: int, memory: int) -> None:
    found = list(batches(n_users, n_items, memory))
    assert [i for rows in found for i in range(rows.start, rows.stop)] == list(range(n_users))
    for rows in found:
        size = rows.stop - rows.start
        assert size == 1 or size * n_items * 8 * 4 <= memory


def test_values_are_those_of_the_lists(parts: Split, fitted: Teaser) -> None:
    found = evaluate(fitted, parts.test, training=parts.training)
    assert set(found.values) | set(found.item_metrics) == set(ALL_METRICS)
    assert found.lists.shape == (60, 100)
    expected = per_user(
        [Metric.parse(m) for m in ALL_METRICS], found.lists, parts.test.held_out, parts.training
    )
    for metric, values in expected.items():
        assert_array_equal(found.values[metric], values)
    summary = found.summary()
    assert summary["ndcg@100"].mean == pytest.approx(found.values["ndcg@100"].mean())
    assert summary["ndcg@100"].n == 60
    short = evaluate(fitted, parts.test, metrics=["coverage@1", "coverage@40"]).summary()
    listed = set(found.lists[:, 0].tolist())
    assert short["coverage@1"].mean == pytest.approx(len(listed) / parts.test.n_items)
    assert short["coverage@1"].mean < short["coverage@40"].mean == 1


def test_equal_scores_go_by_popularity_or_by_place(parts: Split) -> None:
    n_items = parts.test.n_items
    plain = Fixed(scores=np.zeros(n_items)).fit(parts.training)
    seen = parts.test.history.toarray() > 0
    lists = recommend_lists(plain, parts.test, k=5)
    for row in range(parts.test.n_users):
        assert_array_equal(lists[row], np.flatnonzero(~seen[row])[:5])
    popular = Fixed(scores=np.zeros(n_items)).fit(parts.training)
    counted = np.arange(n_items) / n_items
    popular._item_table = replace(popular.item_table_, popularity=counted)
    lists = recommend_lists(popular, parts.test, k=5)
    for row in range(parts.test.n_users):
        assert_array_equal(lists[row], np.flatnonzero(~seen[row])[::-1][:5])


def test_scores_that_are_no_numbers_are_named(parts: Split) -> None:
    first = parts.test.users[0]
    for bad in (np.nan, np.inf, -np.inf):
        scores = np.arange(parts.test.n_items, dtype=float)
        scores[3] = bad
        model = Fixed(scores=scores).fit(parts.training)
        with pytest.raises(SolverError, match=f"Fixed .* 60 users, the first of them '{first}"):
            evaluate(model, parts.test)


def test_what_cannot_be_evaluated_is_refused(parts: Split, fitted: Teaser) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        evaluate(Teaser(), parts.test)
    plain = Fixed(scores=np.zeros(parts.test.n_items)).fit(parts.training)
    pressed: tuple[dict[str, Any], ...] = ({"presses": [None] * 60}, {"steering": Steering()})
    for wrong in pressed:
        with pytest.raises(ParameterError, match="Fixed has no tags"):
            evaluate(plain, parts.test, **wrong)
    with pytest.raises(ParameterError, match="60 users and 3 sets"):
        evaluate(fitted, parts.test, presses=[None] * 3)
    short = Fixed(scores=np.zeros(3)).fit(parts.training)
    with pytest.raises(ParameterError, match=r"Fixed returned scores of shape \(60, 3\)"):
        evaluate(short, parts.test)
    empty = Fold(np.zeros((0, 40)), np.zeros((0, 40)), Ids([]))
    with pytest.raises(DataError, match="no users"):
        evaluate(fitted, empty)
    narrow = Fold(np.zeros((1, 3)), np.ones((1, 3)), Ids(["x"]))
    with pytest.raises(ParameterError, match="40 items and the fold 3"):
        evaluate(fitted, narrow)


def test_a_better_model_is_better_by_comparison(parts: Split, fitted: Teaser) -> None:
    poor = Fixed(scores=-parts.training.item_counts.astype(float)).fit(parts.training)
    a, b = (evaluate(m, parts.test, training=parts.training) for m in (poor, fitted))
    found = compare(a, b, rng=0, n=300)
    assert set(found) == set(a.values)
    gap = found["ndcg@100"]
    assert gap.mean == pytest.approx((b.values["ndcg@100"] - a.values["ndcg@100"]).mean())
    assert 0 < gap.low < gap.mean < gap.high
    back = compare(b, a, rng=0, n=300)["ndcg@100"]
    assert (back.low, back.high) == pytest.approx((-gap.high, -gap.low))
    same = compare(b, b, rng=0, n=10)["recall@20"]
    assert (same.mean, same.low, same.high) == (0, 0, 0)


def test_other_users_cannot_be_compared(parts: Split, fitted: Teaser) -> None:
    a, b = evaluate(fitted, parts.test), evaluate(fitted, parts.validation)
    with pytest.raises(ParameterError, match=r"same users \(60 and 20\)"):
        compare(a, b, rng=0)
