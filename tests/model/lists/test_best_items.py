"""The best items without an array of all scores are those of it, to the bit."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from teaser.data.matrix import Ids
from teaser.model.lists import best_items, ranking
from teaser.model.lists.best_items import TagRanker
from teaser.model.lists.ranking import top_k
from teaser.model.lists.selection import Boosts, Placed
from teaser.model.tables import ItemTable
from teaser.model.user_state import UserStates

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_items, "kernels_for", lambda n_terms: ranking.kernels())


def make(seed: int, n_items: int, *, n_users: int = 70, remainder: bool) -> tuple[Any, Any]:
    """Return a ranker and users, with equal scores among many items."""
    rng = np.random.default_rng(seed)
    D = sp.random_array((n_items, 9), density=0.4, rng=rng, format="csr")
    D.data = rng.choice([1.0, 1.0, 0.25, -0.5], D.nnz)
    R = None
    if remainder:
        learned = max(1, n_items - 3)  # the last items were added after the fit
        R = sp.random_array((learned, learned), density=0.2, rng=rng, format="csr", dtype="f4")
    rows = sp.csr_array(sp.random_array((n_users, n_items), density=0.1, rng=rng, format="csr"))
    items = ItemTable(Ids(range(n_items)), pl.DataFrame(), rng.integers(0, 3, n_items) / 2)
    weight = rng.choice([1.0, 0.5], n_users)
    states = UserStates(
        rows,
        rng.normal(size=(n_users, 9)) * 10.0 ** rng.integers(-3, 4, (n_users, 1)),
        weight,
        rng.random(n_users) if remainder else np.zeros(n_users),
        rng.choice([0.0, 2.0], n_users),
    )
    return TagRanker(items, sp.csr_array(D), R), states


def all_scores(ranker: TagRanker, states: UserStates, placed: Placed) -> Any:
    """Return every score as `score_state` sums it."""
    n_items = len(ranker.items)
    out = np.empty((len(states.values), n_items))
    for user, state in enumerate(states):
        scores = ranker.decoder @ state.values
        if ranker.remainder is not None:
            viewed, R = np.zeros(n_items), ranker.remainder
            for i, x in zip(state.seen, state.strengths, strict=True):
                if i < R.shape[0]:
                    viewed[: R.shape[1]] += x * R[[i]].toarray()[0].astype(np.float64)
            scores = state.tags_weight * scores + state.viewed_weight * viewed
        else:
            scores = state.tags_weight * scores
        out[user] = placed.boosted(scores + state.offset)
    return out


# Each example is the lists of 70 users.
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(1, 300),
    k=st.integers(1, 30),
    remainder=st.booleans(),
    filtered=st.booleans(),
    exclude_history=st.booleans(),
)
def test_lists_are_those_of_all_scores(
    seed: int, n_items: int, k: int, remainder: bool, filtered: bool, exclude_history: bool
) -> None:
    ranker, states = make(seed, n_items, remainder=remainder)
    placed = Placed()
    if filtered:
        rng = np.random.default_rng(seed)
        parts = sp.csr_array(rng.choice([0.0, 0.5, -3.0], (n_items, 2)))
        placed = Placed(rng.random(n_items) < 0.6, Boosts(("a", "b"), parts))
    found = ranker.best(states, k, placed, exclude_history=exclude_history)
    assert found is not None
    scores = all_scores(ranker, states, placed)
    np.testing.assert_array_equal(found.highest, scores.max(axis=1))
    for user in range(len(scores)):
        barred = np.zeros(n_items, dtype=bool)
        if placed.allowed is not None:
            barred |= ~placed.allowed
        if exclude_history:
            barred[states[user].seen] = True
        wanted = top_k(scores[user], k, exclude=barred, tie=ranker.items.popularity)
        own = found.places[user]
        assert own[own >= 0].tolist() == wanted.tolist()
        np.testing.assert_array_equal(found.scores[user][own >= 0], scores[user][wanted])


def test_numbers_beyond_single_precision_are_left_to_others() -> None:
    ranker, states = make(1, 50, remainder=False)
    states.values[3] *= 1e40
    assert ranker.best(states, 5, Placed()) is None


def test_small_numbers_are_told_apart() -> None:
    ranker, states = make(2, 200, remainder=False)
    states.values[:] *= 1e-50
    states.offset[:] = 0.0
    found = ranker.best(states, 5, Placed(), exclude_history=False)
    assert found is not None
    scores = all_scores(ranker, states, Placed())
    for user in range(len(scores)):
        wanted = top_k(scores[user], 5, exclude=np.zeros(0, int), tie=ranker.items.popularity)
        assert found.places[user].tolist() == wanted.tolist()
