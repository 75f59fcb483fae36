"""The contract that is shipped: it passes a sound model and finds what is wrong with others."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from teaser import Dataset, Teaser
from teaser.baselines import Popularity
from teaser.testing import (
    RULES,
    ModelContract,
    TaggedModelContract,
    assert_same_lists,
    example_dataset,
    example_tables,
    user_histories,
)


class Deaf(Popularity, abstract=True):
    """A model that does not hear which items are wanted."""

    def recommend_batch(self, histories: Any, **how: Any) -> Any:
        return super().recommend_batch(histories, **{**how, "items": None, "where": None})


class Silent(Popularity, abstract=True):
    """A model that does not add boosts."""

    def recommend_batch(self, histories: Any, **how: Any) -> Any:
        return super().recommend_batch(histories, **{**how, "boost": None})


class Other(Popularity, abstract=True):
    """A model that lists other items for all users than for each."""

    def list_block(self, rows: Any, *rest: Any) -> Any:
        user, columns = super().list_block(rows, *rest)
        return user, {**columns, "score": columns["score"] + 1}


def test_histories_are_those_of_the_matrix() -> None:
    data = example_dataset()
    found = user_histories(data)
    assert len(found) == data.n_users
    assert sum(map(len, found)) == data.X.nnz
    assert found[3] == {data.items[i]: 1.0 for i in data.X[[3]].indices.tolist()}


def test_items_of_equal_scores_may_change_places() -> None:
    frame = pl.DataFrame(
        {"user_id": [1] * 40, "rank": range(40), "item_id": range(40), "score": 1.0, "match": 1.0}
    )
    swapped = frame.with_columns(item_id=pl.Series([1, 0, *range(2, 40)]))
    with pytest.raises(AssertionError):
        assert_same_lists(frame, frame.with_columns(score=pl.col("score") + 0.1))
    with pytest.raises(AssertionError):
        assert_same_lists(frame, swapped)
    assert_same_lists(
        pl.concat([frame] * 2).with_columns(rank=pl.int_range(80)),
        pl.concat([frame, swapped]).with_columns(rank=pl.int_range(80)),
    )


class Shaken(Popularity):
    """A model whose scores differ each time it is asked."""

    def score_batch(self, X: Any) -> Any:
        return super().score_batch(X) + np.random.default_rng().random()


class Greedy(Popularity):
    """A model that recommends what was viewed already."""

    def recommend_batch(self, histories: Any, **how: Any) -> Any:
        return super().recommend_batch(histories, **{**how, "exclude_history": False})


class Careless(Popularity):
    """A model that takes anything for a data set."""

    def fit(self, dataset: Any) -> Any:
        return super().fit(dataset if isinstance(dataset, Dataset) else example_dataset())


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (Shaken, "test_a_batch_equals_its_single_users"),
        (Greedy, "test_the_history_is_left_out_unless_asked_for"),
        (Careless, "test_only_a_data_set_can_be_learned_from"),
        (Deaf, "test_filters_leave_the_order_as_it_is"),
        (Silent, "test_a_boost_adds_to_scores_and_is_told"),
        (Other, "test_lists_of_all_users_are_those_of_each"),
    ],
)
def test_a_model_that_breaks_the_contract_is_found(model: Any, check: str) -> None:
    contract = ModelContract()
    getattr(contract, check)(Popularity().fit(example_dataset()))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(contract, check)(model().fit(example_dataset()))


def test_reasons_that_do_not_add_up_are_found() -> None:
    class Boastful(Teaser, abstract=True):
        def score_states(self, states: Any) -> Any:
            return 2 * super().score_states(states)

    with pytest.raises(AssertionError):
        TaggedModelContract().test_contributions_sum_to_what_the_reasons_cover(
            Boastful().fit(example_dataset())
        )


def test_the_library_itself_does_without_pytest() -> None:
    code = "import sys, teaser; teaser.steer.similar; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_test_class_of_three_lines_runs_the_contract(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from teaser.baselines import Popularity\n"
        "from teaser.testing import ModelContract\n"
        "class TestMine(ModelContract):\n"
        "    def make(self):\n"
        "        return Popularity()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_the_example_is_the_same_each_time() -> None:
    first, again = example_tables(), example_tables()
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    data = example_dataset()
    assert (data.n_users, data.n_items) == (300, 40)
    assert example_dataset() is data
    assert_array_equal(Dataset.from_tables(*first).X.toarray(), data.X.toarray())


def test_the_example_has_two_groups() -> None:
    interactions, items = example_tables()
    assert items["type"].value_counts()["count"].to_list() == [20, 20]
    assert interactions.columns == ["user_id", "item_id", "rating"]
    assert {rule.column for rule in RULES} == {"type", "town", "labels"}
    counts = example_dataset().item_counts
    assert int(np.argmax(counts)) < 5
