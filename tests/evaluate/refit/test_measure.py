"""Comparisons: twins never learn from the people they are measured on; lists go by item id."""

import numpy as np
import pytest

from teaser import Dataset, Teaser
from teaser.data.matrix import Ids
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.refit.measure import (
    METRIC,
    Comparison,
    HeldOut,
    accuracy_of,
    compared,
    coverage_of,
    lists_of,
)
from teaser.evaluate.refit.site_interactions import join, no_views
from teaser.testing import example_dataset


@pytest.fixture(scope="module")
def joint(dataset: Dataset) -> Dataset:
    return join(dataset, no_views(dataset.items))


@pytest.fixture(scope="module")
def held(joint: Dataset) -> HeldOut:
    found = HeldOut.draw(joint, joint.n_users, rng=0)
    assert found is not None
    return found


def test_a_twin_learns_from_all_others_and_from_none_of_the_held_out(
    joint: Dataset, held: HeldOut, model: Teaser
) -> None:
    people = np.array(list(held.fold.users))
    assert len(people) == 50
    assert np.array_equal(np.sort([*people, *held.rest]), np.arange(joint.n_users))
    twin = held.fit_twin(model, joint)
    counts = joint.at(held.rest).item_counts
    assert np.allclose(twin.popularity_, counts / counts.max())
    # What the held-out people chose does not reach it.
    changed = joint.X.tolil()
    changed[people] = 1.0
    other = Dataset(**{**vars(joint), "X": changed.tocsr()})
    assert np.array_equal(held.fit_twin(model, other).encoder_, twin.encoder_)
    assert np.array_equal(held.values(twin), evaluate(twin, held.fold).values[METRIC])


def test_too_few_people_are_not_compared() -> None:
    few = example_dataset(n_users=18)
    assert HeldOut.draw(join(few, no_views(few.items)), few.n_users, rng=0) is None


def test_people_of_data_and_site_are_compared_apart(joint: Dataset, held: HeldOut) -> None:
    people = np.array(list(held.fold.users))
    parted = HeldOut(held.fold, held.rest, n_data=int(people[30]))
    before = np.linspace(0.1, 1, 50)
    found = parted.by_origin(before, np.where(np.arange(50) < 30, before, before / 2), rng=0)
    assert (found["data"].people, found["site"].people) == (30, 20)
    assert found["data"].change == 0
    assert found["site"].change == pytest.approx(-0.5)
    parted = HeldOut(held.fold, held.rest, n_data=int(people[45]))
    assert set(parted.by_origin(before, before, rng=0)) == {"data"}


def test_a_comparison_is_relative_and_finite() -> None:
    found = compared(np.array([0.2, 0.4, np.nan]), np.array([0.1, 0.4, 0.3]), rng=0)
    assert found.change == pytest.approx((0.8 / 3 - 0.3) / 0.3)
    assert found.people == 2
    assert found.low <= -1 / 6 <= found.high
    assert compared(np.zeros(3), np.zeros(3), rng=0) == Comparison(0, 0, 0, 0, 3)


def test_lists_of_a_model_with_other_items_are_those_of_the_same_ids(
    dataset: Dataset, held: HeldOut, model: Teaser
) -> None:
    same = lists_of(model, held.fold, dataset.items)
    assert np.allclose(accuracy_of(same, held.fold), held.values(model))
    assert 0 < coverage_of(same, dataset.n_items) <= 1
    # The model knows i0 by another name: it takes its place in lists, and is never found.
    known = Ids(["another", *dataset.items[1:]])
    moved = lists_of(model, held.fold, known)
    empty = np.diff(held.fold.history.indptr) == 0
    untouched = ~(held.fold.history[:, [0]].toarray().ravel() > 0) & ~empty
    assert untouched.any()
    assert np.array_equal(moved[untouched], np.where(same[untouched] == 0, -1, same[untouched]))
