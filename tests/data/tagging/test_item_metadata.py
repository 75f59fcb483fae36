"""Described and chosen items are joined by id, and their metadata become tags."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from teaser.data.dataset import Dataset
from teaser.data.tagging.item_metadata import describe_items
from teaser.data.tagging.rule_set import Category, Rules
from teaser.errors import DataError

HUGE = 2**64 - 1


class TestIdsOfTwoTables:
    """An item is the same item however each of the tables writes its id."""

    def test_ids_meet(self) -> None:
        cases: list[tuple[Any, Any, list[Any]]] = [
            ([1, 2], [2, 1], [2, 1]),
            ([1, 2], ["2", " 1"], ["2", "1"]),
            (["1", "2"], [2, 1], ["2", "1"]),
            ([1.0, 2.0], [2, 1], [2, 1]),
            (pl.Series([1, 2], dtype=pl.UInt64), pl.Series([2, 1], dtype=pl.Int8), [2, 1]),
            (pl.Series(["a", "b"], dtype=pl.Categorical), ["b", "a"], ["b", "a"]),
            (["007", "7"], ["7", "007"], ["7", "007"]),
            (pl.Series([HUGE, 1], dtype=pl.UInt64), [str(HUGE), "1"], [str(HUGE), "1"]),
        ]
        for choices, described, ids in cases:
            dataset = Dataset.from_tables(
                {"user_id": ["u", "v"], "item_id": choices},
                {"item_id": described, "g": ["x", "y"]},
                rules=[Category("g")],
            )
            assert dataset.items == ids
            assert dataset.items_without_metadata == 0
            assert dataset.X.nnz == 2

    def test_pandas_ids_with_gaps_meet_whole_numbers(self) -> None:
        interactions = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, None, 11]})
        items = pd.DataFrame({"item_id": [10, 11], "g": ["x", "y"]})
        dataset = Dataset.from_tables(interactions, items, rules=[Category("g")])
        rows, columns = dataset.X.nonzero()
        pairs = {(dataset.users[u], dataset.items[i]) for u, i in zip(rows, columns, strict=True)}
        assert pairs == {(1, 10), (2, 11)}
        assert [r.count for r in dataset.report.refused] == [1]

    def test_tables_that_have_no_item_in_common_are_refused(self) -> None:
        with pytest.raises(
            DataError,
            match=r"None of the 2 chosen items .*interactions have '1', '2', the items 't1', 't2'",
        ):
            Dataset.from_tables(
                {"user_id": [1, 1], "item_id": [1, 2]}, {"item_id": ["t1", "t2"], "g": ["x", "y"]}
            )


def test_undescribed_items_come_last_without_tags() -> None:
    raw = pl.DataFrame({"g": ["x", "y", "x"], "id": ["b", "a", "b"], "name": ["B", "A", "C"]})
    found = describe_items(raw, pl.Series(["z", "a", "z"]), "id", [Category("g")])
    assert found["table"].columns == ["id", "g", "name"]
    assert found["table"]["id"].to_list() == ["b", "a", "z"]
    assert found["items_without_metadata"] == 1
    assert [refusal.count for refusal in found["items_refused"]] == [1]
    assert found["S"].toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert found["rules"].roles == {"title": "name"}


def test_given_roles_are_kept() -> None:
    raw = pl.DataFrame({"id": ["a"], "g": ["x"], "name": ["A"]})
    rules = Rules((Category("g"),), {"title": "g"}, {"name": "not wanted"})
    found = describe_items(raw, pl.Series(["a"]), "id", rules)
    assert found["rules"] == rules


def test_comments_of_a_rules_file_stay_with_its_resolved_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('# Ours.\n[[tags]]\nkind = "number"\ncolumn = "price"\nbins = 2  # halves\n')
    raw = pl.DataFrame({"id": [1, 2, 3, 4], "price": [1, 2, 3, 4], "name": list("abcd")})
    found = describe_items(raw, pl.Series([1]), "id", path)["rules"].to_toml()
    assert found.startswith("# Ours.\n[[tags]]\n")
    assert "bins = 2  # halves\nedges = [3.0]\n" in found
    assert '[roles]\ntitle = "name"\n' in found
