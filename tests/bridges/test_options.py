"""The options of a bridge: rules, bad values, and a model that is pickled."""

import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal
from pydantic import ValidationError, create_model

import teaser
from teaser import Dataset, Rules, Teaser
from teaser.artifact import Content
from teaser.bridges._options import GivenOptions, PackedState, option_fields

Options: Any = create_model("Options", __base__=GivenOptions, **option_fields(strength="weight"))


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
