"""Splits by time: what is held out, that nothing later is learned from, and who is evaluated."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from teaser import Category, Dataset
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split_last, split_time
from teaser.errors import DataError, ParameterError
from teaser.model.baselines.popularity import Popularity

DAY = 86_400
START = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
ITEMS = pl.DataFrame({"item_id": range(12), "kind": ["a", "b"] * 6})


def of_rows(rows: Sequence[tuple[str, int, float]], **options: Any) -> Dataset:
    """Interactions as (user, item, day); days count from 2024-01-01."""
    table = pl.DataFrame(
        [(user, item, START + day * DAY) for user, item, day in rows],
        schema=["user_id", "item_id", "at"],
        orient="row",
    )
    rules = (Category("kind"),)
    return Dataset.from_tables(table, ITEMS, rules=rules, **{"time": "at", **options})


# By hand: ann has five, bob four, cat (new in March) two, dan three early ones.
HAND = [
    ("ann", 0, 1), ("ann", 1, 10), ("ann", 2, 35), ("ann", 3, 50), ("ann", 4, 70),
    ("bob", 2, 3), ("bob", 0, 40), ("bob", 5, 62), ("bob", 1, 61),
    ("cat", 6, 63), ("cat", 0, 64),
    ("dan", 7, 2), ("dan", 0, 4), ("dan", 1, 5),
]  # fmt: skip


def shown(matrix: sp.csr_array, users: Ids) -> dict[Any, set[int]]:
    """The chosen items by user."""
    return {user: set(matrix[[u]].indices.tolist()) for u, user in enumerate(users)}


def of_fold(fold: Fold) -> dict[Any, tuple[set[int], set[int]]]:
    history, held_out = shown(fold.history, fold.users), shown(fold.held_out, fold.users)
    return {user: (history[user], held_out[user]) for user in fold.users}


def test_the_last_is_tested_and_the_one_before_validated() -> None:
    parts = split_last(of_rows(HAND), min_interactions=4, rng=0)
    assert of_fold(parts.test) == {"ann": ({0, 1, 2, 3}, {4}), "bob": ({0, 1, 2}, {5})}
    assert of_fold(parts.validation) == {"ann": ({0, 1, 2}, {3}), "bob": ({0, 2}, {1})}
    training = shown(parts.training.X, parts.training.users)
    assert training["ann"] == {0, 1, 2, 3}
    assert training["cat"] == {0, 6}
    earlier = shown(parts.search_training.X, parts.search_training.users)
    assert earlier == {"ann": {0, 1, 2}, "bob": {0, 2}, "cat": {0, 6}, "dan": {0, 1, 7}}
    assert "2 of 4 users" in parts.notes[0]


def test_learning_stops_at_the_point_in_time() -> None:
    parts = split_time(of_rows(HAND), test_from="2024-03-01", validation_from="2024-02-01", rng=0)
    # 2024-03-01 is day 60, 2024-02-01 day 31.
    assert of_fold(parts.test) == {"ann": ({0, 1, 2, 3}, {4}), "bob": ({0, 2}, {1, 5})}
    assert of_fold(parts.validation) == {"ann": ({0, 1}, {2, 3}), "bob": ({2}, {0})}
    assert shown(parts.training.X, parts.training.users) == {
        "ann": {0, 1, 2, 3}, "bob": {0, 2}, "dan": {0, 1, 7},
    }  # fmt: skip
    assert shown(parts.search_training.X, parts.search_training.users) == {
        "ann": {0, 1}, "bob": {2}, "dan": {0, 1, 7},
    }  # fmt: skip
    first, second = parts.notes
    assert "from 2024-03-01 on: 2 users and 3 held-out interactions" in first
    assert "66.7% of them with items that nobody chose before" in first
    assert "1 of 3 users active from then on are new: they are not evaluated" in second


def test_new_users_can_be_evaluated_with_an_empty_history() -> None:
    parts = split_time(
        of_rows(HAND), test_from="2024-03-01", validation_from="2024-02-01", min_history=0, rng=0
    )
    assert of_fold(parts.test)["cat"] == (set(), {0, 6})
    assert "cat" not in parts.training.users
    assert "with an empty history" in parts.notes[1]
    more = split_time(
        of_rows(HAND), test_from="2024-03-01", validation_from="2024-02-01", n_validation=1,
        min_history=2, rng=0,
    )  # fmt: skip
    assert set(more.validation.users) == {"ann"}


def test_popularity_counts_what_lies_before_alone() -> None:
    parts = split_time(of_rows(HAND), test_from="2024-03-01", validation_from="2024-02-01", rng=0)
    assert parts.training.item_counts.tolist() == [3, 2, 2, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert Popularity().fit(parts.training).popularity_[:2].tolist() == pytest.approx([1, 2 / 3])
    last = split_last(of_rows(HAND), min_interactions=4, rng=0)
    assert last.training.item_counts.tolist() == [4, 3, 2, 1, 0, 0, 1, 1, 0, 0, 0, 0]


def test_a_point_is_a_date_seconds_or_a_share() -> None:
    data = of_rows(HAND)
    day = datetime(2024, 3, 1, tzinfo=UTC)
    points: list[Any] = [
        "2024-03-01", date(2024, 3, 1), day, datetime(2024, 3, 1), day.timestamp(),
        "2024-03-01T01:00:00+01:00",
    ]  # fmt: skip
    found = [
        of_fold(split_time(data, test_from=point, validation_from=0.5, rng=0).test)
        for point in points
    ]
    assert all(each == found[0] for each in found)
    # Of 14 interactions, 9 lie before that of the 10th: 0.65 x 14 = 9.1.
    parts = split_time(data, test_from=0.65, validation_from=0.5, rng=0)
    assert parts.training.X.nnz == 9


rows_of_people = st.lists(
    st.tuples(st.sampled_from(["u", "v", "w", "x"]), st.integers(0, 11), st.integers(0, 20)),
    min_size=8,
    max_size=60,
    unique_by=lambda row: row[:2],
)


def check_whole(dataset: Dataset, parts: Split) -> None:
    """History and held-out choices are a user's own, and apart."""
    whole = shown(dataset.X, dataset.users)
    for fold in (parts.test, parts.validation):
        for user, (history, held_out) in of_fold(fold).items():
            assert held_out
            assert not history & held_out
            assert history | held_out <= whole[user]


def times_by(dataset: Dataset) -> dict[tuple[Any, int], float]:
    row = np.repeat(np.arange(dataset.n_users), np.diff(dataset.X.indptr))
    assert dataset.times is not None
    return {
        (dataset.users[u], int(i)): t
        for u, i, t in zip(row.tolist(), dataset.X.indices, dataset.times.tolist(), strict=True)
    }


@settings(max_examples=30)
@given(rows=rows_of_people, share=st.floats(0.3, 0.95), seed=st.integers(0, 99))
def test_no_later_time_is_ever_learned_from(rows: Any, share: float, seed: int) -> None:
    dataset = of_rows(rows)
    try:
        parts = split_time(
            dataset, test_from=share, validation_from=share / 2, min_history=0, rng=seed
        )
    except (DataError, ParameterError):
        return  # too few different days
    check_whole(dataset, parts)
    times = times_by(dataset)
    for learned, fold in ((parts.training, parts.test), (parts.search_training, parts.validation)):
        newest = max(times_by(learned).values())
        for user, (history, held_out) in of_fold(fold).items():
            for item in held_out:
                assert times[user, item] > newest
                assert (user, item) not in times_by(learned)
            assert all(times[user, item] <= newest for item in history)
    # What is validated on is learned from before the test, never what is tested.
    assert times_by(parts.search_training).items() <= times_by(parts.training).items()
    assert times_by(parts.training).items() <= times.items()


@settings(max_examples=30)
@given(rows=rows_of_people, seed=st.integers(0, 99))
def test_nothing_after_the_held_out_choice_of_a_user_is_learned_from(rows: Any, seed: int) -> None:
    dataset = of_rows(rows)
    try:
        parts = split_last(dataset, min_interactions=3, rng=seed)
    except DataError:
        return  # nobody has three
    check_whole(dataset, parts)
    times = times_by(dataset)
    for learned, fold in ((parts.training, parts.test), (parts.search_training, parts.validation)):
        kept = shown(learned.X, learned.users)
        for user, (history, held_out) in of_fold(fold).items():
            (item,) = held_out
            assert kept[user] == history
            assert all(times[user, other] <= times[user, item] for other in history)


def test_equal_times_are_drawn_and_repeat_with_the_seed() -> None:
    rows = [(user, item, 5.0) for user in "abcdefgh" for item in range(6)]
    held = [
        split_last(of_rows(rows), rng=seed).test.held_out.indices.tolist() for seed in (0, 0, 1)
    ]
    assert held[0] == held[1]
    assert held[0] != held[2]
    assert len(set(held[0])) > 1


def test_fewer_users_are_drawn_and_the_others_learned_from() -> None:
    rows = [(user, item, item + 0.5) for user in "abcdefgh" for item in range(6)]
    parts = split_last(of_rows(rows), n_test=0.5, n_validation=2, rng=3)
    assert (parts.test.n_users, parts.validation.n_users) == (4, 2)
    assert set(parts.validation.users) <= set(parts.test.users)
    assert parts.training.X.nnz == 48 - 4
    assert parts.search_training.X.nnz == 48 - 8
    by_time = split_time(of_rows(rows), test_from=0.7, validation_from=0.4, n_test=3, rng=3)
    assert by_time.test.n_users == 3
    assert by_time.validation.n_users == 8
    assert split_last(of_rows(rows), n_test=100, rng=3).test.n_users == 8  # at most so many


def test_strengths_stay_in_history_and_user_features_with_the_users() -> None:
    table = pl.DataFrame(
        {"user_id": ["a"] * 4 + ["b"] * 4, "item_id": [0, 1, 2, 3] * 2,
         "at": [1e9, 2e9, 3e9, 4e9] * 2, "hours": [5.0, 1, 1, 2, 1, 1, 7, 1]}
    )  # fmt: skip
    people = pl.DataFrame({"user_id": ["a", "b"], "sex": ["f", "m"]})
    data = Dataset.from_tables(
        table, ITEMS, rules=(Category("kind"),), strength="hours", time="at", users=people,
        user_rules=(Category("sex"),),
    )  # fmt: skip
    parts = split_last(data, min_interactions=3, rng=0)
    assert parts.test.history.toarray()[:, :4].tolist() == [[5, 1, 1, 0], [1, 1, 7, 0]]
    assert parts.test.held_out.data.tolist() == [1, 1]
    assert parts.test.user_features is not None
    assert parts.test.user_features.shape == (2, 2)
    assert parts.training.Q is not None


def test_dislikes_whose_time_is_not_known_are_not_learned_from() -> None:
    table = pl.DataFrame(
        {"user_id": ["a"] * 5, "item_id": range(5), "at": [1e9, 2e9, 3e9, 4e9, 5e9],
         "rating": [5, 4, 5, 5, 1]}
    )  # fmt: skip
    data = Dataset.from_tables(
        table, ITEMS, rules=(Category("kind"),), time="at", positive="rating >= 4",
        negative="rating <= 2",
    )  # fmt: skip
    assert data.disliked is not None
    parts = split_last(data, min_interactions=3, rng=0)
    assert parts.training.disliked is None
    assert parts.test.history.indices.tolist() == [0, 1, 2]


@pytest.mark.parametrize("how", [split_last, split_time])
def test_interactions_without_a_time_are_left_out(how: Any) -> None:
    known = of_rows(HAND)
    options = (
        {"min_interactions": 4}
        if how is split_last
        else {"test_from": START + 60 * DAY, "validation_from": START + 30 * DAY}
    )
    wanted, unknown = how(known, rng=0, **options), [("ann", 9, np.nan), ("eve", 9, np.nan)]
    found = how(of_rows([*HAND, *unknown]), rng=0, **options)
    for part in ("test", "validation"):
        assert of_fold(getattr(found, part)) == of_fold(getattr(wanted, part))
    for part in ("training", "earlier"):
        assert shown(getattr(found, part).X, getattr(found, part).users) == shown(
            getattr(wanted, part).X, getattr(wanted, part).users
        )
    assert found.notes == (*wanted.notes, "2 interactions without a time left out.")


def test_a_split_by_time_without_a_single_time_is_refused() -> None:
    dataset = of_rows([("ann", 1, np.nan), ("bob", 1, 3)])
    with pytest.raises(DataError, match="No interaction has a time"):
        split_last(dataset.at(np.array([0])), rng=0)


def test_a_split_by_time_without_time_is_refused_in_a_sentence() -> None:
    timeless = of_rows(HAND, time=None)
    for splitting in (split_last, split_time):
        with pytest.raises(DataError, match="--time COLUMN"):
            splitting(timeless, rng=0)


def test_bad_arguments_say_what_was_found() -> None:
    data = of_rows(HAND)
    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (split_last, {"min_interactions": 2}, ParameterError, "at least 3, found 2"),
        (split_last, {"min_interactions": 9}, DataError, "None of 4 users has at least 9"),
        (split_last, {"n_test": "all"}, ParameterError, "n_test must be"),
        (split_time, {"test_from": "soon"}, ParameterError, "found 'soon'"),
        (split_time, {"test_from": True}, ParameterError, "found True"),
        (split_time, {"test_from": float("nan")}, ParameterError, "found nan"),
        (split_time, {"test_from": "2030-01-01"}, DataError, "2024-01-02 and 2024-03-11"),
        (split_time, {"test_from": 1e300}, DataError, "1e\\+300 s"),
        (split_time, {"test_from": 0.5}, ParameterError, "must lie before test_from"),
        (split_time, {"min_history": -1}, ParameterError, "min_history must be"),
        (split_time, {"min_history": 40}, DataError, "or lower min_history"),
    ]
    for splitting, given_options, kind, said in cases:
        with pytest.raises(kind, match=said):
            splitting(data, **{"rng": 0, **given_options})
