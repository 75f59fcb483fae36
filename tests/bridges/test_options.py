"""The options of a bridge: what they hold, how histories are read, how a model is pickled."""

import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from numpy.testing import assert_array_equal
from pydantic import ValidationError, create_model

import teaser
from teaser import Dataset, Rules, Teaser
from teaser.artifact import Content
from teaser.bridges._options import GivenOptions, PackedState, option_fields
from teaser.data.interactions import STRENGTH

Options: Any = create_model("Options", __base__=GivenOptions, **option_fields(strength="weight"))


def test_only_given_options_are_written_and_read_back() -> None:
    given = Options(l2_weights=3, remainder={"l2": 2.0}, discovered={"grains": [8, 4]}, rng=5)
    assert given.l2_encoder == 500.0
    plain = given.model_dump(mode="json")
    assert list(plain) == ["discovered", "l2_weights", "remainder", "rng"] or set(plain) == {
        *("l2_weights", "remainder", "discovered", "rng")
    }
    again = Options(**plain)
    assert again == given
    assert again.remainder == teaser.extensions.Remainder(l2=2.0)
    assert again.discovered.grains == (8, 4)
    assert given.given(["l2_weights", "l2_encoder"]) == {"l2_weights": 3.0}


def test_rules_are_read_from_a_file_a_table_or_objects(tmp_path: Path) -> None:
    rules = Rules((teaser.ListOf("genres", min_items=2),))
    rules.write(tmp_path / "rules.toml")
    ways = (rules, rules.tags, tmp_path / "rules.toml", str(tmp_path / "rules.toml"))
    for way in (*ways, rules.as_dict()):
        found = Options(rules=way)
        assert found.rules.tags == rules.tags
        assert Options(**found.model_dump(mode="json")).rules.tags == rules.tags
    assert Options(rules=None).model_dump() == {"rules": None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"l2": 1}, "Extra inputs"),
        ({"remainder": {"l3": 1}}, "no option 'l3'"),
        ({"remainder": 5}, "remainder"),
        ({"l2_weights": "many"}, "number"),
        ({"rules": {"tag": []}}, r"Unknown table \[tag\]"),
    ],
)
def test_bad_options_are_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Options(**given)


def test_a_fit_has_what_was_given(dataset: Dataset) -> None:
    model = Options(l2_weights=5, l2_encoder=6).fit(dataset, rng=4)
    found = model.parameters()
    assert (found["l2_weights"], found["l2_encoder"], found["rng"]) == (5.0, 6.0, 4)
    assert model.recipe_ is not None
    assert model.recipe_.chosen == "as given"
    named = Options(recipe="paper", rng=9).fit(dataset, rng=4)
    assert named.parameters()["rng"] == 9
    assert named.recipe_ is not None
    assert named.recipe_.chosen == "paper"


def test_histories_are_read_as_tables_are() -> None:
    rows = pl.DataFrame(
        {
            "user": [0, 0, 1, 1],
            "item": [2, 0, 1, 1],
            "rating": [5.0, 2.0, 4.0, 4.0],
            "weight": [0.5, 1.0, 2.0, 3.0],
            "day": ["2024-01-31", "2024-01-01", "2024-01-31", "2024-01-31"],
        }
    )
    shape = (2, 3)
    plain = rows.select("user", "item")
    assert Options().histories(plain, shape).toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert Options().histories(rows, shape).toarray().tolist() == [[1, 0, 0.5], [0, 3, 0]]
    liked = Options(positive="rating >= 4", strength=None)
    assert liked.columns() == ["rating"]
    assert liked.histories(rows, shape).toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
    assert liked.histories(plain, shape).nnz == 3
    aged = Options(strength=None, time="day", half_life=30)
    assert aged.columns() == ["day"]
    assert aged.histories(rows, shape).toarray().tolist() == [[0.5, 0, 1], [0, 1, 0]]
    assert aged.histories(plain, shape).toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert Options().histories(plain.clear(), shape).nnz == 0


def test_disliked_items_count_below_zero() -> None:
    rows = pl.DataFrame({"user": [0, 0], "item": [2, 0], "rating": [5.0, 2.0]})
    how = Options(positive="rating >= 4", negative="rating <= 2", strength=None)
    assert how.histories(rows, (1, 3)).toarray().tolist() == [[STRENGTH, 0, 1]]
    assert how.columns() == ["rating"]
    assert how.histories(rows.drop("rating"), (1, 3)).toarray().tolist() == [[1, 0, 1]]


class Holder(PackedState):
    def __init__(self, name: str) -> None:
        self.name = name


def test_a_model_survives_a_pickle(model: Teaser, dataset: Dataset) -> None:
    holder = Holder("a")
    assert pickle.loads(pickle.dumps(holder)).__dict__ == {"name": "a"}
    holder.model_ = model
    assert isinstance(holder.__getstate__()["model_"], Content)
    assert holder.model_ is model
    for again in (pickle.loads(pickle.dumps(holder)), deepcopy(holder)):
        assert isinstance(again.model_, Teaser)
        assert_array_equal(again.model_.score_batch(dataset.X), model.score_batch(dataset.X))
        assert again.model_.recommend(["i1"], k=3) == model.recommend(["i1"], k=3)
    assert pickle.dumps(holder) == pickle.dumps(holder)
