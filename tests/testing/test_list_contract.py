"""The contract of lists finds what is wrong with a list."""

from typing import Any

import polars as pl
import pytest

from teaser.baselines import Popularity
from teaser.testing import ListContract, assert_same_lists, example_dataset, user_histories


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


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (Deaf, "test_filters_leave_the_order_as_it_is"),
        (Silent, "test_a_boost_adds_to_scores_and_is_told"),
        (Other, "test_lists_of_all_users_are_those_of_each"),
    ],
)
def test_a_model_that_breaks_the_contract_is_found(model: Any, check: str) -> None:
    fitted = model().fit(example_dataset())
    with pytest.raises(AssertionError):
        getattr(ListContract(), check)(fitted)
    getattr(ListContract(), check)(Popularity().fit(example_dataset()))


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
