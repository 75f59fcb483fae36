"""The split that a study plans, for each kind."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from teaser import Dataset
from teaser.data.split import split
from teaser.errors import DataError
from teaser.evaluate.study.plan import SplitPlan
from teaser.evaluate.study.splitting import make_split
from teaser.testing import RULES


@pytest.fixture(scope="module")
def timed(tables: tuple[pl.DataFrame, pl.DataFrame]) -> Dataset:
    interactions, items = tables
    days = np.random.default_rng(0).integers(0, 100, interactions.height)
    dated = interactions.with_columns(at=1_700_000_000 + 86_400 * days)
    return Dataset.from_tables(dated, items, rules=RULES, time="at")


def test_by_users_is_the_split_of_the_library(timed: Dataset) -> None:
    found = make_split(timed, SplitPlan(30, 0.2, held_out=0.4, min_interactions=4, seed=3))
    same = split(timed, n_validation=30, n_test=0.2, held_out=0.4, min_interactions=4, rng=3)
    assert found.test.users == same.test.users
    assert (found.test.held_out != same.test.held_out).nnz == 0
    assert found.search_training is found.training
    few = make_split(timed, SplitPlan(30, 0.2, seed=3, training=7))
    assert few.training.n_users == 7


def test_the_kinds_by_time_learn_from_users_that_they_evaluate(timed: Dataset) -> None:
    last = make_split(timed, SplitPlan(kind="last", test=20))
    assert last.test.n_users == 20
    assert set(last.test.users) <= set(last.training.users)
    assert last.training.X.nnz > last.search_training.X.nnz
    assert last.training.times is not None
    by_time = make_split(timed, SplitPlan(kind="time", test_from=0.8, validation_from=0.5))
    assert by_time.training.X.nnz == pytest.approx(0.8 * timed.X.nnz, rel=0.05)
    assert by_time.training.n_users <= timed.n_users
    assert set(by_time.test.users) <= set(by_time.training.users)


def test_a_quick_run_draws_whole_users(timed: Dataset) -> None:
    for kind in ("last", "time"):
        few = make_split(timed, SplitPlan(kind=kind, training=60, test=10, validation=10))
        users = set(few.training.users) | set(few.test.users)
        assert len(users) <= 60
        assert 0 < few.test.n_users <= 10
        more = make_split(timed, SplitPlan(kind=kind, training=10**6))
        assert more.training.X.nnz > few.training.X.nnz


def test_a_split_by_time_without_time_is_a_sentence(dataset: Dataset) -> None:
    for kind in ("last", "time"):
        with pytest.raises(DataError, match=r"this data set has none\. Name the column"):
            make_split(dataset, replace(SplitPlan(), kind=kind))
