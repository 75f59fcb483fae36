"""The best k, and rows of histories."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from teaser import Dataset
from teaser.baselines import EASE, EDLAE, Popularity
from teaser.errors import ParameterError
from teaser.model.base import as_histories, plain_parameters
from teaser.model.lists.ranking import top_k

NOBODY = np.array([], dtype=int)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.integers(1, 35),
    st.data(),
)
def test_the_best_k_are_those_of_a_full_sort(
    scores: list[int], k: int, data: st.DataObject
) -> None:
    n = len(scores)
    tie = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    out = data.draw(st.sets(st.integers(0, n - 1)))
    found = top_k(
        np.array(scores, float), k, exclude=np.array(sorted(out), int), tie=np.array(tie, float)
    )
    wanted = sorted(set(range(n)) - out, key=lambda i: (-scores[i], -tie[i], i))[:k]
    assert found.tolist() == wanted


def test_equal_scores_are_ordered_by_the_tie_breaker_then_by_place() -> None:
    found = top_k(np.zeros(4), 3, exclude=NOBODY, tie=np.array([0.1, 0.9, 0.1, 0.5]))
    assert found.tolist() == [1, 3, 0]


def test_when_everything_is_excluded_nothing_is_left() -> None:
    assert top_k(np.ones(3), 2, exclude=np.arange(3), tie=np.zeros(3)).tolist() == []


def test_histories_are_copied_and_stored_zeros_dropped() -> None:
    given_rows = sp.csr_array(
        (np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3)
    )
    found = as_histories(given_rows, 3)
    assert found.indices.tolist() == [0]
    assert given_rows.nnz == 2


@pytest.mark.parametrize("bad", ["abc", [["a"]], object()])
def test_what_is_no_matrix_is_refused(bad: Any) -> None:
    with pytest.raises(ParameterError):
        as_histories(bad, 1)


@dataclass(frozen=True)
class Options:
    share: float
    rng: Any


def test_parameters_that_json_cannot_hold_are_not_kept() -> None:
    model = EDLAE(l2_weights=np.float64(2), gram=np.eye(2), rng=np.random.default_rng(1))
    plain = plain_parameters(model.parameters())
    assert (plain["l2_weights"], plain["gram"], plain["rng"]) == (2.0, "auto", None)
    assert type(plain["l2_weights"]) is float
    assert plain_parameters({"device": "cuda"}) == {"device": "cpu"}
    options = Options(np.float64(0.5), np.random.default_rng(1))
    assert plain_parameters({"extra": options}) == {"extra": {"share": 0.5, "rng": None}}


def test_parameters_of_earlier_versions_get_their_new_names() -> None:
    assert EASE.upgrade({"l2": 5.0, "dtype": "float64"}) == {"l2_weights": 5.0, "dtype": "float64"}
    assert EASE.upgrade({"l2_weights": 5.0}) == {"l2_weights": 5.0}


def test_lists_have_no_reasons_and_an_item_twice_counts_once(dataset: Dataset) -> None:
    model = EASE(l2_weights=5.0).fit(dataset)
    found = model.recommend(["i1", "i5", "i1"], k=4)
    assert found == model.recommend(["i5", "i1"], k=4)
    assert all(r.reasons == () for r in found)


def test_what_callers_may_ask_any_model(dataset: Dataset) -> None:
    model = Popularity().fit(dataset)
    assert (model.gram, model.dtype, model.iterations_) == (None, "float32", None)
    assert (EASE().gram, EASE(dtype="float64").dtype) == ("auto", "float64")
    assert model.title(3) == "Event 3"
    assert len(model.table_) == len(model.items_) == len(model.popularity_) == 40


@pytest.mark.parametrize("n", [3, 700, 30_000])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_k_of_few_and_of_many_with_ties(n: int, seed: int) -> None:
    """Against sorting everything; few decimals make ties at the cut."""
    rng = np.random.default_rng(seed)
    scores, tie = np.round(rng.standard_normal(n), seed), np.round(rng.random(n), 1)
    exclude = rng.integers(0, n, 2)
    k = int(rng.integers(1, 50))
    free = np.setdiff1d(np.arange(n), exclude)
    wanted = free[np.lexsort((free, -tie[free], -scores[free]))][:k]
    before = scores.copy()
    assert_array_equal(top_k(scores, k, exclude=exclude, tie=tie), wanted)
    assert_array_equal(scores, before)
