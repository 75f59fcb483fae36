"""The plan of a fit: what is tried, and what is refused before any work."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from choose_data import record_of
from conftest import RULES, small_tables

import teaser
from teaser import Dataset, Teaser
from teaser.data.partitions import write_partitions
from teaser.errors import ParameterError, ResourceError
from teaser.evaluate.choose import run_plan
from teaser.evaluate.plan import make_plan
from teaser.evaluate.recipe import RECIPES
from teaser.extensions import Weights
from teaser.model import estimate as cost


def test_partitions_that_leave_no_room_take_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interactions, items = small_tables()
    write_partitions(interactions, tmp_path / "parts", user="user_id", item="item_id", parts=2)
    data = Dataset.from_partitions(tmp_path / "parts", items, rules=RULES)
    need = {
        name: Teaser(**RECIPES[name]).estimate(data).total_memory
        for name in ("weighted", "discovered")
    }
    monkeypatch.setattr(cost, "memory_of_machine", lambda: sum(need.values()) // 2)
    assert make_plan(data).stated.chosen == "weighted"
    monkeypatch.setattr(cost, "memory_of_machine", lambda: 10)
    assert make_plan(data).stated.chosen == "paper"


def test_what_does_not_fit_is_known_before_any_work(
    many: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = {name: Teaser(**own).estimate(many).total_memory for name, own in RECIPES.items()}
    assert need["weighted"] < need["discovered"] < need["neighbours"]
    limit = (need["weighted"] + need["discovered"]) // 2
    monkeypatch.setattr(cost, "memory_of_machine", lambda: limit)
    plan = make_plan(many)
    assert set(plan.parameters) == {"paper", "weighted"}
    assert all("this machine has" in why for why in plan.left_out.values())
    model = run_plan(plan)
    assert record_of(model).best("neighbours").reason == plan.left_out["neighbours"]
    monkeypatch.setattr(cost, "memory_of_machine", lambda: 100)
    with pytest.raises(ResourceError, match=r"paper: it needs .* this machine has 100 B"):
        make_plan(many)


def test_bad_input_is_refused_at_once(many: Dataset, dataset: Dataset) -> None:
    for given, said in (
        ({"recipe": "paprika"}, "'paprika'"),
        ({"l2_weight": 5.0}, "no parameter 'l2_weight'.*l2_weights"),
        ({"weights": Weights(user_power=3.0)}, "user_power"),
        ({"dtype": "int8"}, "dtype"),
        ({"rng": -1}, "rng"),
        ({"gram": np.eye(many.n_items)}, "gram"),
    ):
        with pytest.raises(ParameterError, match=said):
            teaser.fit(many, **given)
    with pytest.raises(ParameterError, match="rng"):
        teaser.fit(dataset, rng=-1)


def test_a_recipe_of_declared_tags_needs_some(many: Dataset) -> None:
    bare = replace(many, S=sp.csr_array((many.n_items, 0), dtype=np.float32), tags=())
    with pytest.raises(ParameterError, match=r"weighted needs declared tags.*'discovered'"):
        make_plan(bare, recipe="weighted")
