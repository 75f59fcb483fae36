"""Metrics against worked cases, slow loops, and a library that others wrote."""

import math
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from teaser import Dataset, ListOf, Teaser
from teaser.data.sources import read_movielens
from teaser.data.split import split
from teaser.errors import ParameterError
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
from teaser.model.scores import top_k_rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # irspack defines its settings in a way that pydantic retires
    from irspack import Evaluator

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


def against_irspack(scores: Array, history: sp.csr_array, held_out: sp.csr_array) -> None:
    """Hold means of recall, nDCG and coverage against irspack's, at several lengths."""
    ks = [1, 5, 20, 100]
    lists = top_k_rows(scores, 100, exclude=history, tie=np.zeros(scores.shape[1]))
    for capped in (True, False):
        judge = Evaluator(
            sp.csr_matrix(held_out),
            masked_interactions=sp.csr_matrix(history),
            recall_with_cutoff=capped,
            n_threads=1,
        )
        theirs = judge.get_scores_from_score_matrix(np.ascontiguousarray(scores), ks)
        for k in ks:
            kind = "recall" if capped else "recall_uncapped"
            ours = measured(kind, lists, held_out, k).mean()
            assert ours == pytest.approx(theirs[f"recall@{k}"], abs=1e-9)
            ours = measured("ndcg", lists, held_out, k).mean()
            assert ours == pytest.approx(theirs[f"ndcg@{k}"], abs=1e-9)
            ours = coverage(lists[:, :k], scores.shape[1]).mean
            assert ours == pytest.approx(theirs[f"catalog_coverage@{k}"], abs=1e-9)


def test_random_scores_measure_as_in_irspack() -> None:
    for seed in range(5):
        against_irspack(*random_case(seed, n_users=80, n_items=300))


def test_real_scores_measure_as_in_irspack(shared_data: Path) -> None:
    source = read_movielens(shared_data / "ml-latest-small")
    dataset = Dataset.from_tables(
        source.interactions,
        source.items,
        user=source.user,
        item=source.item,
        positive=source.positive,
        rules=(ListOf("genres"),),
    )
    parts = split(dataset, n_validation=0, n_test=150, rng=0)
    model = Teaser(tol=1e-2).fit(parts.training)
    scores = model.score_batch(parts.test.history)
    # Items that score alike may be ordered either way, and do not test the metrics.
    scores += np.random.default_rng(0).random(scores.shape) * 1e-9
    against_irspack(scores, parts.test.history, parts.test.held_out)


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
    with pytest.raises(ParameterError, match="1 lists and 2 held-out"):
        hits(np.array([[0]]), held_out)


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
    names: tuple[Any, ...] = ("recall", "recall@0", "recall@-1", "recall@2.5", "recal@20", "", 5)
    for name in (*names, "RECALL@20", None):
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
    with pytest.raises(ParameterError, match="same metrics and users"):
        paired_bootstrap({"x": np.ones(3)}, {"x": np.ones(4)}, rng=0)
    with pytest.raises(ParameterError, match="same metrics and users"):
        paired_bootstrap({"x": np.ones(3)}, {"y": np.ones(3)}, rng=0)
