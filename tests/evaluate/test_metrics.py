"""Metrics against slow loops; the loop over users; comparisons."""

import math
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from teaser import Dataset, Steering, Teaser
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split
from teaser.errors import DataError, NotFittedError, ParameterError, SolverError
from teaser.evaluate.metrics import (
    Metric,
    coverage,
    diversity,
    hits,
    long_tail,
    paired_bootstrap,
    per_user,
    summarise,
    tail_items,
)
from teaser.evaluate.protocol import ALL_METRICS, compare, evaluate, recommend_lists
from teaser.model.base import Model
from teaser.model.scores import top_k_rows

Array = NDArray[Any]

KINDS = ("recall", "recall_uncapped", "ndcg", "ndcg_uncapped")


def slow(kind: str, ranked: list[int], held_out: set[int], k: int) -> float:
    """One user's value, place by place."""
    most = len(held_out) if kind.endswith("uncapped") else min(k, len(held_out))
    if kind.startswith("recall"):
        return sum(item in held_out for item in ranked[:k]) / most
    gained = sum(1 / math.log2(r + 1) for r, i in enumerate(ranked[:k], start=1) if i in held_out)
    return gained / sum(1 / math.log2(r + 1) for r in range(1, most + 1))


def measured(kind: str, lists: Array, held_out: sp.csr_array, k: int) -> Array:
    return per_user([Metric(kind, k)], lists, held_out, None)[f"{kind}@{k}"]


def random_case(
    seed: int, n_users: int = 40, n_items: int = 30
) -> tuple[Array, sp.csr_array, sp.csr_array]:
    """Scores without ties, histories, and held-out items that are not in them."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n_users, n_items))
    state = rng.random((n_users, n_items))
    state[:, 0] = 0.0
    most = 0.8 * rng.random((n_users, 1))
    history, held_out = state > 0.8, state <= most
    return scores, sp.csr_array(history.astype(float)), sp.csr_array(held_out.astype(float))


@pytest.mark.parametrize("kind", KINDS)
def test_accuracy_equals_a_slow_loop(kind: str) -> None:
    for k in (1, 4, 20, 30, 100):
        scores, history, held_out = random_case(k)
        lists = top_k_rows(scores, k, exclude=history, tie=np.zeros(30))
        wanted = [set(np.flatnonzero(row).tolist()) for row in held_out.toarray()]
        expected = [
            slow(kind, [i for i in row if i >= 0], w, k)
            for row, w in zip(lists.tolist(), wanted, strict=True)
        ]
        assert_allclose(measured(kind, lists, held_out, k), expected, rtol=1e-12)


users = st.integers(0, 2**32).map(random_case)


@given(case=users, k=st.integers(1, 40))
def test_a_perfect_ranking_is_one_and_the_worst_is_zero(
    case: tuple[Array, sp.csr_array, sp.csr_array], k: int
) -> None:
    _, history, held_out = case
    perfect = top_k_rows(held_out.toarray(), k, exclude=history, tie=np.zeros(30))
    for kind in ("recall", "ndcg"):
        assert_array_equal(measured(kind, perfect, held_out, k), 1.0)
    worst = top_k_rows(held_out.toarray(), k, exclude=sp.csr_array(held_out), tie=np.zeros(30))
    for kind in KINDS:
        assert_array_equal(measured(kind, worst, held_out, k), 0.0)


def test_nobody_hits_after_the_end_of_a_list() -> None:
    # Place -1 must not be taken for the last item, nor for the last item of the user before.
    held_out = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    found = hits(np.array([[1, -1], [-1, -1]]), held_out)
    assert_array_equal(found, [[True, False], [False, False]])


def test_users_without_held_out_items_have_no_accuracy() -> None:
    held_out = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    for kind in KINDS:
        values = measured(kind, np.array([[1], [1]]), held_out, 1)
        assert values[0] == 1
        assert np.isnan(values[1])


@given(seed=st.integers(0, 2**32), k=st.integers(2, 12))
def test_diversity_equals_a_loop_over_pairs(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    S = (rng.random((15, 6)) < 0.3).astype(float)
    lists = np.stack([rng.permutation(15)[:k] for _ in range(5)])
    expected = []
    for row in lists:
        tagged = [S[i] for i in row if S[i].any()]
        gaps = [1 - a @ b / math.sqrt(a.sum() * b.sum()) for a, b in combinations(tagged, 2)]
        expected.append(np.mean(gaps) if gaps else np.nan)
    assert_allclose(diversity(lists, sp.csr_array(S)), expected, atol=1e-12)
    assert_allclose(diversity(lists[:, ::-1], sp.csr_array(S)), expected, atol=1e-12)


def test_the_tail_is_what_the_most_chosen_leave() -> None:
    cases: tuple[tuple[list[int], float, list[int]], ...] = (
        ([50, 30, 10, 5, 5, 0], 0.8, [0, 0, 1, 1, 1, 1]),
        ([50, 30, 10, 5, 5, 0], 0.81, [0, 0, 0, 1, 1, 1]),
        ([0, 5, 50, 5, 30, 10], 0.5, [1, 1, 0, 1, 1, 1]),
        ([4, 4, 4, 4], 0.5, [0, 0, 0, 0]),
        ([0, 0], 0.5, [1, 1]),
        ([], 0.5, []),
    )
    for counts, head, tail in cases:
        assert_array_equal(tail_items(np.array(counts, dtype=np.int64), head=head), tail)


def test_coverage_counts_items_once_and_its_error_is_the_jackknife() -> None:
    lists = np.array([[0, 1], [1, 2], [1, -1], [5, 6]])
    found = coverage(lists, 10)
    assert (found.mean, found.n) == (0.5, 4)
    without = np.array([coverage(np.delete(lists, u, axis=0), 10).mean for u in range(4)])
    assert_allclose(without, [0.4, 0.4, 0.5, 0.3])
    assert found.error == pytest.approx(math.sqrt(3 / 4 * ((without - without.mean()) ** 2).sum()))
    assert math.isnan(coverage(lists[:1], 10).error)


def test_a_summary_is_of_those_who_have_a_value() -> None:
    found = summarise(np.array([1.0, np.nan, 3.0, 5.0]))
    assert (found.mean, found.n) == (3.0, 3)
    assert found.error == pytest.approx(2 / math.sqrt(3))
    one, none = summarise(np.array([2.0])), summarise(np.array([np.nan]))
    assert (one.mean, one.n, math.isnan(one.error)) == (2.0, 1, True)
    assert (none.n, math.isnan(none.mean)) == (0, True)


def test_unknown_metrics_are_refused() -> None:
    names: tuple[Any, ...] = ("recall", "recall@0", "recall@2.5", "recal@20", "RECALL@20", "", 5)
    for name in names:
        with pytest.raises(ParameterError, match=f"metric {name!r}"):
            Metric.parse(name)


def test_measures_of_lists_need_the_training_data(dataset: Dataset) -> None:
    held_out = sp.csr_array(dataset.X[:2])
    lists = np.array([[0, 1, 2], [3, 4, 5]])
    for kind in ("diversity", "long_tail"):
        with pytest.raises(ParameterError, match=f"{kind}@2 needs the training"):
            per_user([Metric(kind, 2)], lists, held_out, None)
    found = per_user([Metric("diversity", 2), Metric("long_tail", 3)], lists, held_out, dataset)
    assert_allclose(found["diversity@2"], diversity(lists[:, :2], dataset.S))
    assert_allclose(found["long_tail@3"], long_tail(lists, tail_items(dataset.item_counts)))


def test_the_bootstrap_equals_a_loop_that_draws_users() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(25), rng.random(25)
    found = paired_bootstrap({"x": a}, {"x": b}, rng=9, n=50)["x"]
    drawn = np.random.default_rng(9).integers(0, 25, (50, 25))
    means = [(b[users] - a[users]).mean() for users in drawn]
    assert found.mean == pytest.approx((b - a).mean())
    assert_allclose([found.low, found.high], np.quantile(means, [0.025, 0.975]))


def test_the_bootstrap_leaves_out_who_has_no_value_and_metrics_of_one_only() -> None:
    a = {"x": np.array([1.0, np.nan, 3.0]), "y": np.full(3, np.nan), "z": np.ones(3)}
    b = {"x": np.array([2.0, 7.0, 4.0]), "y": np.ones(3)}
    found = paired_bootstrap(a, b, rng=0)
    assert set(found) == {"x", "y"}
    assert (found["x"].mean, found["x"].low, found["x"].high, found["x"].n) == (1, 1, 1, 2)
    assert found["y"].n == 0
    assert math.isnan(found["y"].low)


def test_senseless_bootstraps_are_refused() -> None:
    for name, value in (("n", 0), ("n", 2.5), ("level", 1), ("rng", None)):
        given: dict[str, Any] = {"rng": 0, name: value}
        with pytest.raises(ParameterError, match=f"{name} must"):
            paired_bootstrap({"x": np.ones(3)}, {"x": np.ones(3)}, **given)
    for other in ({"x": np.ones(4)}, {"y": np.ones(3)}):
        with pytest.raises(ParameterError, match="same metrics and users"):
            paired_bootstrap({"x": np.ones(3)}, other, rng=0)


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


def test_pressed_lists_are_those_that_users_are_shown(parts: Split, fitted: Teaser) -> None:
    presses = [{"type=film": 3} if u % 2 else None for u in range(parts.test.n_users)]
    for scale in ("robust", "paper"):
        steering = Steering(scale=scale, step=0.3)
        lists = recommend_lists(fitted, parts.test, k=12, presses=presses, steering=steering)
        for row in (0, 1, 2, 31):
            history = chosen(parts.test, fitted.items_, row)
            shown = fitted.recommend(history, presses[row], k=12, steering=steering)
            assert [fitted.items_[i] for i in lists[row].tolist()] == [r.item_id for r in shown]


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
