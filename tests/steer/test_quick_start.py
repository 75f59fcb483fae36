"""A quick start, and whether it helps people who are simulated from real choices."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from teaser import Dataset, Teaser
from teaser.data import demo
from teaser.data.matrix import Ids, ItemId
from teaser.errors import ParameterError, UnknownNameError
from teaser.steer import quick_picks
from teaser.steer.quick_start import _cover
from teaser.steer.similarity import rarity_rows

TRAINED = 1250
Choose = Callable[[list[ItemId], list[ItemId], int], list[ItemId]]
# The number of a person, the items of their taste, those to be predicted, likeness to the taste.
Person = tuple[int, set[int], set[int], "np.ndarray[Any, Any]"]


@pytest.fixture(scope="module")
def people() -> Dataset:
    return demo.dataset(n_events=600, n_users=2500, start=date(2026, 1, 1))


@pytest.fixture(scope="module")
def half(people: Dataset) -> Teaser:
    """A model that has seen half of the people."""
    train = replace(people, X=sp.csr_array(people.X[:TRAINED]), users=Ids(people.users[:TRAINED]))
    return Teaser().fit(train)


@pytest.fixture(scope="module")
def persons(half: Teaser, people: Dataset) -> list[Person]:
    """The people that the model has not seen.

    Half of what somebody chose is their taste, to which all items are more or less similar. The
    other half is to be predicted.
    """
    V = rarity_rows(half)
    found = []
    for number in range(TRAINED, people.n_users):
        chosen = people.X[[number]].indices
        if len(chosen) < 6:
            continue
        chosen = np.random.default_rng(number).permutation(chosen)
        taste, hidden = np.split(chosen, [len(chosen) // 2])
        likeness = (V @ V[taste].T).max(axis=1).toarray().ravel()
        found.append((number, set(taste), set(hidden), likeness))
    assert len(found) > 900
    return found


def mean_recall(model: Teaser, persons: list[Person], choose: Choose, rounds: int = 3) -> float:
    """Return recall@20 of what people chose, after they answered `rounds` times.

    Of six items they pick those that are in their taste, or else the one whose tags are most
    similar to it.
    """
    picked = sp.lil_array((len(persons), len(model.items_)))
    for row, (number, taste, _, likeness) in enumerate(persons):
        picks: list[ItemId] = []
        shown: list[ItemId] = []
        for _ in range(rounds):
            offered = choose(picks, shown, number)
            places = [model.items_.index_of(i) for i in offered]
            best = [i for i in places if i in taste] or [max(places, key=lambda i: likeness[i])]
            picks += [model.items_[i] for i in best]
            shown += offered
            picked[[row], best] = 1.0
    X = sp.csr_array(picked)
    scores = np.where(X.toarray() > 0, -np.inf, model.score_batch(X))
    found = []
    for row, (_, _, hidden, _) in enumerate(persons):
        wanted = hidden - set(X[[row]].indices)
        hits = wanted & set(np.argsort(-scores[row], kind="stable")[:20])
        found += [len(hits) / min(20, len(wanted))] if wanted else []
    assert len(found) > 900
    return float(np.mean(found))


def test_answers_tell_more_than_those_about_popular_or_random_items(
    half: Teaser, persons: list[Person]
) -> None:
    by_popularity = [half.items_[i] for i in np.argsort(-half.popularity_, kind="stable")]

    @cache
    def asked(picks: tuple[ItemId, ...], shown: tuple[ItemId, ...]) -> list[ItemId]:
        return quick_picks(half, picks, shown=shown)

    def guided(picks: list[ItemId], shown: list[ItemId], person: int) -> list[ItemId]:
        return asked(tuple(picks), tuple(shown))

    def popular(picks: list[ItemId], shown: list[ItemId], person: int) -> list[ItemId]:
        return by_popularity[len(shown) : len(shown) + 6]

    def drawn(picks: list[ItemId], shown: list[ItemId], person: int) -> list[ItemId]:
        order = np.random.default_rng(person).permutation(len(half.items_))
        return [half.items_[i] for i in order[len(shown) : len(shown) + 6]]

    # Measured: 0.174 against 0.151 and 0.116.
    ours, theirs, chance = (mean_recall(half, persons, c) for c in (guided, popular, drawn))
    assert ours > theirs + 0.008, (ours, theirs, chance)
    assert ours > chance + 0.03, (ours, theirs, chance)


def test_nothing_is_offered_twice_until_all_was(model: Teaser) -> None:
    shown: list[ItemId] = []
    while offered := quick_picks(model, shown[:2], shown=shown, k=7):
        assert not set(offered) & set(shown)
        assert len(set(offered)) == len(offered) == min(7, 40 - len(shown))
        shown += offered
    assert sorted(shown, key=str) == sorted(model.items_, key=str)


def test_what_is_picked_changes_what_is_asked_next(half: Teaser) -> None:
    first = quick_picks(half)
    following = {tuple(quick_picks(half, [pick], shown=first)) for pick in first}
    assert len(following) > 1


def test_only_well_known_items_are_offered(half: Teaser) -> None:
    least = np.sort(half.popularity_)[-60]
    offered = quick_picks(half, k=30)
    assert min(half.popularity_[half.items_.index_of(i)] for i in offered) >= least


def test_the_two_camps_are_both_offered(model: Teaser) -> None:
    types = dict(model.table_.select("item_id", "type").iter_rows())
    assert {types[i] for i in quick_picks(model, k=2)} == {"concert", "film"}


def test_each_choice_adds_the_most() -> None:
    rng = np.random.default_rng(0)
    worth, nearness = rng.random(20), rng.random((20, 9))
    reached = rng.random(20) / 2
    taken = _cover(worth, nearness, reached, 4)
    for n in range(4):
        before = np.maximum(reached, nearness[:, taken[:n]].max(axis=1, initial=0))
        totals = [worth @ np.maximum(before, nearness[:, c]) for c in range(9)]
        assert totals[taken[n]] == pytest.approx(max(totals))
    assert len(set(_cover(worth, nearness, reached, 20))) == 9


def test_items_that_say_nothing_do_no_harm(dataset: Dataset) -> None:
    model = Teaser().fit(dataset).add_items({"new": ["type=film"]})
    offered = quick_picks(model, ["new"], shown=["new"])
    assert len(offered) == 6
    assert "new" not in offered


def test_bad_questions_are_refused(model: Teaser) -> None:
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        quick_picks(model, ["nowhere"])
    with pytest.raises(ParameterError, match="k must be"):
        quick_picks(model, k=0)
