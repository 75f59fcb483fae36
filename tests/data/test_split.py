"""The split: users apart, choices apart, nothing lost, and the same again with the same seed."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from teaser import Category, Dataset
from teaser.data.matrix import Ids
from teaser.data.split import Fold, Split, split
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


def test_how_many_are_held_out() -> None:
    cases: list[Any] = [
        (5, 0.2, 1),
        (9, 0.2, 1),
        (10, 0.2, 2),
        (35, 0.2, 7),
        (6, 0.05, 1),
        (6, 0.99, 5),
        (6, 1 - 1e-12, 5),
        (30, 0.1, 3),
    ]
    for length, share, expected in cases:
        fold = split(of_lengths([length] * 6), n_validation=0, n_test=5, held_out=share, rng=1).test
        assert_array_equal(np.diff(fold.held_out.indptr), expected)
        assert_array_equal(np.diff(fold.history.indptr), length - expected)


def test_a_product_that_falls_short_by_a_rounding_counts_whole() -> None:
    rows = [(f"u{u}", i) for u in range(3) for i in range(100)]
    interactions = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    items = pl.DataFrame({"item_id": range(100), "kind": ["a", "b"] * 50})
    dataset = Dataset.from_tables(interactions, items, rules=(Category("kind"),))
    assert 0.29 * 100 < 29
    fold = split(dataset, n_validation=0, n_test=1, held_out=0.29, rng=0).test
    assert fold.held_out.nnz == 29


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


def test_users_with_too_few_choices_are_learned_from_only() -> None:
    dataset = of_lengths([4] * 10 + [5] * 6)
    parts = split(dataset, n_validation=3, n_test=3, rng=0)
    assert set(parts.training.users) == {f"u{u}" for u in range(10)}
    more = split(dataset, n_validation=3, n_test=3, min_interactions=4, rng=0)
    assert set(more.training.users) != set(parts.training.users)


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


def test_every_choice_of_a_person_is_as_likely_to_be_held_out() -> None:
    dataset = of_lengths([10] * 2)
    drawn: dict[Any, Any] = {user: np.zeros(40) for user in dataset.users}
    for seed in range(600):
        fold = split(dataset, n_validation=0, n_test=1, rng=seed).test
        drawn[fold.users[0]] += fold.held_out.toarray()[0]
    for user, places in choices(dataset.X, dataset.users).items():
        shares = drawn[user][sorted(places)] / (drawn[user].sum() / 2)
        # About 300 draws of 2 in 10: a standard error of 0.023.
        assert np.abs(shares - 0.2).max() < 0.1


def test_fractions_are_of_those_who_can_be_evaluated() -> None:
    parts = split(of_lengths([3] * 30 + [8] * 20), n_validation=0.1, n_test=0.25, rng=0)
    assert (parts.validation.n_users, parts.test.n_users) == (2, 5)
    small = split(of_lengths([3] * 30 + [8] * 20), n_validation=0.001, n_test=0.5, rng=0)
    assert (small.validation.n_users, small.test.n_users) == (1, 10)


def test_too_few_users_are_told_with_numbers() -> None:
    dataset = of_lengths([4] * 10 + [5] * 6)
    with pytest.raises(DataError, match=r"4 validation and 3 test users are 7, but only 6 of 16"):
        split(dataset, n_validation=4, n_test=3, rng=0)
    with pytest.raises(DataError, match="leave none of 6 users"):
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


def test_a_split_cannot_be_changed_and_leaves_the_data_set_alone() -> None:
    dataset = of_lengths([6] * 10)
    before = dataset.X.copy()
    parts = split(dataset, n_validation=2, n_test=2, rng=0)
    assert isinstance(parts, Split)
    with pytest.raises(FrozenInstanceError):
        setattr(parts, "test", parts.validation)  # noqa: B010, a type checker refuses the assignment
    with pytest.raises(ValueError, match="read-only"):
        parts.test.history.data[0] = 5
    assert (before != dataset.X).nnz == 0


def test_a_fold_of_ones_own_is_checked() -> None:
    a, b = np.array([[1, 0, 0], [0, 0, 0]]), np.array([[0, 1, 0], [0, 0, 1]])
    fold = Fold(a, b, Ids(["x", "y"]))
    assert (fold.n_users, fold.n_items) == (2, 3)
    with pytest.raises(DataError, match="2 x 3, the held-out part 1 x 3"):
        Fold(a, b[:1], Ids(["x", "y"]))
    with pytest.raises(DataError, match="there are 1 users"):
        Fold(a, b, Ids(["x"]))
    with pytest.raises(DataError, match="1 are in both, and 0 of 2"):
        Fold(a, b + a, Ids(["x", "y"]))
    with pytest.raises(DataError, match="0 are in both, and 1 of 2"):
        Fold(b, a, Ids(["x", "y"]))
    with pytest.raises(DataError, match="held-out part of a fold must contain only 0 and 1"):
        Fold(a, 2 * b, Ids(["x", "y"]))


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

    def test_the_draw_does_not_depend_on_them(self, weighted: Dataset) -> None:
        plain = of_lengths([9, 7, 12, 8, 10, 6])
        one, other = (split(d, n_validation=1, n_test=2, rng=3) for d in (plain, weighted))
        assert one.test.users == other.test.users
        assert_array_equal(one.test.held_out.toarray(), other.test.held_out.toarray())

    def test_a_shorter_history_keeps_them(self, weighted: Dataset) -> None:
        fold = split(weighted, n_validation=0, n_test=3, rng=0).test
        short = fold.shortened(2, rng=1)
        history = short.history.toarray()
        assert_array_equal(np.diff(short.history.indptr), 2)
        assert_array_equal(history[history > 0], fold.history.toarray()[history > 0])
        assert (short.held_out.data == 1).all()

    @pytest.mark.parametrize("value", [-np.inf, np.nan, np.inf])
    def test_others_are_refused(self, value: float) -> None:
        history, held_out = np.array([[value, 0.0]]), np.array([[0.0, 1.0]])
        with pytest.raises(DataError, match="history of a fold must contain only finite numbers"):
            Fold(sp.csr_array(history), sp.csr_array(held_out), Ids(["u"]))


class TestUserFeatures:
    def test_features_go_with_their_users(self, known: Dataset) -> None:
        parts = split(known, n_validation=20, n_test=30, rng=0)
        position = {user: i for i, user in enumerate(known.users)}
        assert known.Q is not None
        every = known.Q.toarray()
        for features, users in (
            (parts.training.Q, parts.training.users),
            (parts.validation.user_features, parts.validation.users),
            (parts.test.user_features, parts.test.users),
        ):
            assert features is not None
            assert_array_equal(features.toarray(), every[[position[u] for u in users]])

    def test_a_fold_without_features_has_none(self, dataset: Dataset) -> None:
        assert split(dataset, n_validation=5, n_test=5, rng=0).test.user_features is None

    def test_a_fold_needs_features_of_as_many_users(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=9, rng=0).test
        with pytest.raises(DataError, match=r"fold of 9 users .*found 3"):
            replace(fold, user_features=sp.csr_array((3, 2)))

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

    def test_without_history_all_choices_are_held_out(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=40, rng=0).test
        cold = fold.shortened(0, rng=0)
        assert cold.history.nnz == 0
        assert cold.held_out.nnz == fold.history.nnz + fold.held_out.nnz

    def test_a_length_that_is_none_is_refused(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=5, rng=0).test
        wrong: list[Any] = [-1, 1.5, True, None]
        for most in wrong:
            with pytest.raises(ParameterError, match="most must be a whole number"):
                fold.shortened(most, rng=0)
