"""Splits by users and by time: what is learned from, and what is held out."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from teaser import Category, Dataset
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split, split_last, split_time
from teaser.errors import DataError, ParameterError


def of_lengths(lengths: list[int], seed: int = 0) -> Dataset:
    """People with so many choices each among 40 items."""
    rng = np.random.default_rng(seed)
    rows = [(f"u{u}", int(i)) for u, n in enumerate(lengths) for i in rng.permutation(40)[:n]]
    interactions = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    items = pl.DataFrame({"item_id": range(40), "kind": ["a", "b"] * 20})
    return Dataset.from_tables(interactions, items, rules=(Category("kind"),))


def choices(matrix: sp.csr_array, users: Ids) -> dict[Any, set[int]]:
    """Return the chosen places by the name of the person."""
    return {
        user: set(matrix.indices[matrix.indptr[u] : matrix.indptr[u + 1]].tolist())
        for u, user in enumerate(users)
    }


def same(a: Fold, b: Fold) -> bool:
    return (
        a.users == b.users
        and (a.history != b.history).nnz == 0
        and (a.held_out != b.held_out).nnz == 0
    )


@given(
    lengths=st.lists(st.integers(1, 40), min_size=8, max_size=40),
    seed=st.integers(0, 2**32),
    share=st.floats(0.05, 0.95),
)
def test_every_choice_is_in_exactly_one_place(lengths: list[int], seed: int, share: float) -> None:
    dataset = of_lengths([7, 7, 7, *lengths])
    parts = split(dataset, n_validation=1, n_test=2, held_out=share, rng=seed)
    whole = choices(dataset.X, dataset.users)
    found = choices(parts.training.X, parts.training.users)
    for fold in (parts.validation, parts.test):
        history = choices(fold.history, fold.users)
        held_out = choices(fold.held_out, fold.users)
        for user in fold.users:
            assert user not in found
            assert history[user]
            assert held_out[user]
            assert not history[user] & held_out[user]
            assert len(whole[user]) >= 5
            found[user] = history[user] | held_out[user]
    assert found == whole


def test_training_knows_the_whole_catalogue_and_counts_its_own_users() -> None:
    dataset = of_lengths([10] * 30)
    parts = split(dataset, n_validation=8, n_test=9, rng=3)
    training = parts.training
    assert (training.n_users, parts.validation.n_users, parts.test.n_users) == (13, 8, 9)
    assert training.items == dataset.items
    assert training.tags == dataset.tags
    assert (training.S != dataset.S).nnz == 0
    assert_array_equal(training.item_counts, training.X.toarray().sum(axis=0))
    assert training.item_counts.sum() == 130
    assert dataset.item_counts.sum() == 300


def test_the_same_seed_splits_the_same_way_and_another_does_not() -> None:
    dataset = of_lengths([12] * 40)
    first, again, other = (
        split(dataset, n_validation=10, n_test=10, rng=rng)
        for rng in (7, np.random.default_rng(7), 8)
    )
    assert same(first.test, again.test)
    assert same(first.validation, again.validation)
    assert not same(first.test, other.test)


def test_the_test_users_do_not_depend_on_how_many_validate() -> None:
    dataset = of_lengths([12] * 40)
    few, many = (split(dataset, n_validation=n, n_test=10, rng=2) for n in (0, 25))
    assert same(few.test, many.test)
    assert few.validation.n_users == 0


def test_too_few_users_are_told_with_numbers() -> None:
    dataset = of_lengths([4] * 10 + [5] * 6)
    with pytest.raises(DataError, match=r"4 validation and 3 test users are 7, but only 6 of 16"):
        split(dataset, n_validation=4, n_test=3, rng=0)
    with pytest.raises(DataError, match="must be left for training"):
        split(of_lengths([5] * 6), n_validation=3, n_test=3, rng=0)


def test_senseless_arguments_are_refused() -> None:
    cases: list[Any] = [
        ({"n_test": 1.5}, "n_test must be"),
        ({"n_test": -1}, "n_test must be"),
        ({"n_test": True}, "n_test must be"),
        ({"n_validation": "5"}, "n_validation must be"),
        ({"n_validation": float("nan")}, "n_validation must be"),
        ({"held_out": 0.0}, "held_out must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"min_interactions": 1}, "min_interactions must be"),
        ({"min_interactions": 2.5}, "min_interactions must be"),
        ({"rng": None}, "rng must be"),
        ({"rng": -1}, "rng must be"),
    ]
    for wrong, said in cases:
        given = {"n_validation": 2, "n_test": 2, "rng": 0} | wrong
        with pytest.raises(ParameterError, match=said):
            split(of_lengths([6] * 10), **given)


def test_a_fold_of_ones_own_is_checked() -> None:
    a, b = np.array([[1, 0, 0], [0, 0, 0]]), np.array([[0, 1, 0], [0, 0, 1]])
    fold = Fold(a, b, Ids(["x", "y"]))
    assert (fold.n_users, fold.n_items) == (2, 3)
    for wrong in ((a, b[:1], ["x", "y"]), (a, b, ["x"]), (a, 2 * b, ["x", "y"])):
        with pytest.raises(DataError, match="for the same users and items"):
            Fold(wrong[0], wrong[1], Ids(wrong[2]))
    with pytest.raises(DataError, match="1 are in both, and 0 of 2"):
        Fold(a, b + a, Ids(["x", "y"]))
    with pytest.raises(DataError, match="0 are in both, and 1 of 2"):
        Fold(b, a, Ids(["x", "y"]))


class TestStrengths:
    @pytest.fixture
    def weighted(self) -> Dataset:
        plain = of_lengths([9, 7, 12, 8, 10, 6])
        values = np.random.default_rng(0).uniform(0.1, 3, plain.X.nnz).astype(np.float32)
        X = sp.csr_array((values, plain.X.indices, plain.X.indptr), shape=plain.X.shape)
        return replace(plain, X=X)

    def test_histories_keep_them_and_held_out_is_membership(self, weighted: Dataset) -> None:
        found = split(weighted, n_validation=1, n_test=3, held_out=0.4, rng=0)
        for fold in (found.validation, found.test):
            rows = [weighted.users.index_of(user) for user in fold.users]
            X = weighted.X[rows].toarray()
            history, held_out = fold.history.toarray(), fold.held_out.toarray()
            assert set(np.unique(held_out)) == {0, 1}
            assert_array_equal(history, np.where(held_out > 0, 0, X))
            assert_array_equal((history > 0) | (held_out > 0), X > 0)
        rows = [weighted.users.index_of(user) for user in found.training.users]
        assert_array_equal(found.training.X.toarray(), weighted.X[rows].toarray())

    def test_disliked_items_are_history_and_never_held_out(self, weighted: Dataset) -> None:
        free = np.argwhere(weighted.X.toarray() == 0)
        some = free[np.random.default_rng(1).permutation(len(free))[:20]]
        shape = weighted.X.shape
        disliked = sp.csr_array((np.full(20, -0.25), (some[:, 0], some[:, 1])), shape=shape)
        found = split(replace(weighted, disliked=disliked), n_validation=1, n_test=3, rng=0)
        plain = split(weighted, n_validation=1, n_test=3, rng=0)
        assert_array_equal(found.test.held_out.toarray(), plain.test.held_out.toarray())
        rows = [weighted.users.index_of(user) for user in found.test.users]
        own = disliked[rows].toarray()
        assert (own < 0).any()
        assert_array_equal(found.test.history.toarray() - plain.test.history.toarray(), own)
        short = found.test.shortened(0, rng=1)
        assert_array_equal(short.history.toarray(), own)
        assert (short.held_out.data == 1).all()
        assert_array_equal(short.held_out.toarray(), weighted.X[rows].toarray() > 0)
        rest = [weighted.users.index_of(user) for user in found.training.users]
        assert found.training.disliked is not None
        assert_array_equal(found.training.disliked.toarray(), disliked[rest].toarray())


class TestUserFeatures:
    def test_a_shorter_history_leaves_the_rest_to_be_found(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=40, rng=0).test
        short = fold.shortened(2, rng=3)
        lengths = np.diff(fold.history.indptr)
        assert_array_equal(np.diff(short.history.indptr), np.minimum(lengths, 2))
        before = (fold.history + fold.held_out).toarray()
        assert_array_equal((short.history + short.held_out).toarray(), before)
        assert (short.history.toarray() <= fold.history.toarray()).all()
        assert short.user_features is not None
        assert fold.user_features is not None
        assert_array_equal(short.user_features.toarray(), fold.user_features.toarray())
        again = fold.shortened(2, rng=3).history
        assert_array_equal(short.history.toarray(), again.toarray())
        other = fold.shortened(2, rng=4).history
        assert (short.history != other).nnz > 0


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
