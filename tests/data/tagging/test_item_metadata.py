"""Described and chosen items are joined by id, and their metadata become tags."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from teaser.data.dataset import Dataset
from teaser.data.metadata import count_items, describe_items
from teaser.data.rules import Category, Rules
from teaser.errors import DataError, RuleError

HUGE = 2**64 - 1


def chosen(ids: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"item": ids, "count": [1] * len(ids)})


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
    found = describe_items(raw, chosen(["z", "a"]), "id", [Category("g")])
    assert found["table"].columns == ["id", "g", "name"]
    assert found["table"]["id"].to_list() == ["b", "a", "z"]
    assert found["items_without_metadata"] == 1
    assert [refusal.count for refusal in found["items_refused"]] == [1]
    assert found["S"].toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert found["rules"].roles == {"title": "name"}


def test_given_roles_are_kept() -> None:
    raw = pl.DataFrame({"id": ["a"], "g": ["x"], "name": ["A"]})
    rules = Rules((Category("g"),), {"title": "g"}, {"name": "not wanted"})
    found = describe_items(raw, chosen(["a"]), "id", rules)
    assert found["rules"] == rules


def test_comments_of_a_rules_file_stay_with_its_resolved_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('# Ours.\n[[tags]]\nkind = "number"\ncolumn = "price"\nbins = 2  # halves\n')
    raw = pl.DataFrame({"id": [1, 2, 3, 4], "price": [1, 2, 3, 4], "name": list("abcd")})
    found = describe_items(raw, chosen([1]), "id", path)["rules"].to_toml()
    assert found.startswith("# Ours.\n[[tags]]\n")
    assert "bins = 2  # halves\nedges = [3.0]\n" in found
    assert '[roles]\ntitle = "name"\n' in found


def test_items_alone_are_those_of_the_interactions() -> None:
    found = describe_items(None, chosen(["b", "a"]), "id", None)
    assert found["table"].rows() == [("b",), ("a",)]
    assert found["tags"] == ()
    assert found["S"].shape == (2, 0)
    assert found["items_without_metadata"] == 2


class TestNoTags:
    RAW = pl.DataFrame({"id": [1, 2], "title": ["A", "B"]})

    def test_inferred_rules_may_find_none(self, caplog: pytest.LogCaptureFixture) -> None:
        found = describe_items(self.RAW, chosen([1]), "id", None)
        assert found["rules"].tags == ()
        assert found["rules"].roles == {"title": "title"}
        (warning,) = found["tag_report"].warnings
        assert "'title': it is shown as the title" in warning
        assert "--discovered" in warning
        assert caplog.messages == [warning]

    def test_inferred_rules_may_leave_none(self) -> None:
        kinds = pl.DataFrame(
            {"id": range(40), "kind": [f"k{n // 2 * 2 + n % 2}" for n in range(40)]}
        )
        rare = kinds.with_columns(pl.when(pl.col("id") > 20).then("kind"))
        found = describe_items(rare, chosen([1]), "id", None)
        assert found["tags"] == ()
        assert found["tag_report"].warnings[0].startswith("no column became a tag")

    def test_rules_that_are_empty_on_purpose_are_taken(self) -> None:
        for rules in ((), Rules((), {"title": "title"})):
            found = describe_items(self.RAW, chosen([1]), "id", rules)
            assert found["tags"] == ()
            assert found["rules"].roles == {"title": "title"}

    def test_given_rules_that_leave_none_are_refused(self) -> None:
        with pytest.raises(RuleError, match="No tag is left"):
            describe_items(self.RAW, chosen([1]), "id", [Category("title", min_items=2)])


def test_counts_are_put_in_the_order_of_the_items() -> None:
    some = pl.DataFrame({"item": [3, 1], "count": [7, 5]})
    assert count_items(pl.Series(["1", "2", "3"]), some).to_list() == [5, 0, 7]


def test_item_counts_decide_what_is_popularity() -> None:
    heat = [n**2 / 7 for n in range(40)]
    raw = pl.DataFrame({"id": range(40), "heat": heat, "g": ["a", "b"] * 20})
    counts = pl.DataFrame({"item": range(40), "count": range(1, 41)})
    assert "heat" in describe_items(raw, counts, "id", None)["rules"].skipped
    shuffled = counts.with_columns(pl.col("count") * 7 % 41)
    assert "heat" not in describe_items(raw, shuffled, "id", None)["rules"].skipped


def test_warnings_are_logged_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    raw = pl.DataFrame({"id": [1, 2, 3], "a": ["x", "x", "y"], "b": ["u", "u", "v"]})
    found = describe_items(raw, chosen([1]), "id", [Category("a"), Category("b")])
    assert found["tag_report"].warnings == tuple(caplog.messages)
    assert len(caplog.messages) == 2
    assert "a=x and b=u (100 %)" in caplog.messages[0]
    assert "a=y, b=v" in caplog.messages[1]


def test_ids_that_differ_by_leading_zeros_are_told() -> None:
    for ids, said in ((["001", "020"], "differ by leading zeros"), (["x", "y"], "belong together")):
        items = pl.DataFrame({"item_id": ids, "genre": ["a", "b"]})
        with pytest.raises(DataError, match=said):
            describe_items(items, chosen([1, 20]), "item_id", None)
