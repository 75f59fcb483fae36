"""What the lists of every model must do: filters, boosts, frames, lists of all users."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from teaser.data.dataset import Dataset
from teaser.errors import ParameterError
from teaser.reason import BoostReason
from teaser.testing.example import example_dataset


def user_histories(data: Dataset) -> list[dict[Any, float]]:
    """Return the history of each user of a data set: the strength of each item by its id."""
    rows = (data.X[[row]] for row in range(data.n_users))
    return [
        {data.items[i]: float(x) for i, x in zip(row.indices.tolist(), row.data, strict=True)}
        for row in rows
    ]


def assert_same_lists(found: pl.DataFrame, wanted: pl.DataFrame, rtol: float = 1e-9) -> None:
    """Assert that two frames of lists are the same up to rounding, in the columns of the first.

    Items may have changed places where their scores are equal up to rounding; reasons are
    compared where the items are the same.
    """
    assert found.height == wanted.height
    assert found.select("user_id", "rank").equals(wanted.select("user_id", "rank"))
    for name in ("score", "match"):
        assert_allclose(found[name], wanted[name], rtol=rtol, atol=rtol)
    same = (found["item_id"] == wanted["item_id"]).to_numpy()
    assert same.mean() > 0.95
    if "reasons" not in found.columns:
        return
    for name in ("general", "boost"):
        assert_allclose(
            found[name].to_numpy()[same], wanted[name].to_numpy()[same], rtol=rtol, atol=rtol
        )
    pairs = zip(found["reasons"].to_list(), wanted["reasons"].to_list(), same, strict=True)
    for ours, theirs in ((ours, theirs) for ours, theirs, is_same in pairs if is_same):
        assert_allclose([r["share"] for r in ours], [r["share"] for r in theirs], atol=rtol)
        # Equal shares may have changed places too.
        names = [{(r["kind"], r["value"], r["item_id"]) for r in own} for own in (ours, theirs)]
        assert names[0] == names[1]


class ListContract:
    """What the lists of a model must do; it is a part of `ModelContract`.

    Attributes
    ----------
    rtol
        See `ModelContract`.
    """

    rtol = 1e-12

    def test_filters_leave_the_order_as_it_is(self, fitted: Any) -> None:
        every = fitted.recommend(["i1", "i5"], k=100)
        some = {f"i{i}" for i in range(8, 30)}
        found = fitted.recommend(
            ["i1", "i5"], k=100, items=some, exclude=["i9"], where=pl.col("type") == "film"
        )
        films = set(example_dataset().table.filter(pl.col("type") == "film")["item_id"])
        assert found == [r for r in every if r.item_id in (some & films) - {"i9"}]
        assert found == fitted.recommend(
            ["i1", "i5"], k=100, items=some, exclude=["i9"], where={"type": "film"}
        )
        with pytest.raises(ParameterError, match="'tpye'"):
            fitted.recommend(["i1"], where=pl.col("tpye") == "film")

    def test_a_boost_adds_to_scores_and_is_told(self, fitted: Any) -> None:
        plain = {r.item_id: r for r in fitted.recommend(["i1", "i5"], k=100)}
        found = fitted.recommend(["i1", "i5"], k=100, boost={"i9": 50.0, "town=Ghent": 0.25})
        assert found[0].item_id == "i9"
        assert any(r.boost == 0.25 for r in found)
        for r in found:
            told = sum(x.contribution for x in r.reasons if isinstance(x, BoostReason))
            assert r.boost == 0 or not r.reasons or told != 0
            if not hasattr(r, "cover"):
                assert r.score == pytest.approx(plain[r.item_id].score + r.boost)

    def test_unknown_items_are_ignored_if_asked(self, fitted: Any) -> None:
        found = fitted.recommend_batch([["i1", "nope"], ["i5"]], k=4, unknown="ignore")
        assert found == fitted.recommend_batch([["i1"], ["i5"]], k=4)
        assert found.ignored == 1

    def test_lists_become_frames(self, fitted: Any) -> None:
        found = fitted.recommend(["i1", "i5"], k=4)
        frame = found.to_frame()
        assert frame["item_id"].to_list() == [r.item_id for r in found]
        assert frame["rank"].to_list() == [1, 2, 3, 4]
        assert frame["title"].to_list() == [r.title for r in found]

    def test_lists_of_all_users_are_those_of_each(self, fitted: Any) -> None:
        data = example_dataset().at(np.arange(40))
        filters = {"boost": {"i4": 0.5}, "exclude": ["i7"]}
        found = fitted.recommend_all(data, k=6, reasons=True, **filters)
        wanted = fitted.recommend_batch(user_histories(data), k=6, **filters)
        assert_same_lists(found, wanted.to_frame(data.users[:]), max(self.rtol, 1e-6))
