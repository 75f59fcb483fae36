"""Tables of items and users meet the interactions and become tags."""

from typing import Any

import polars as pl
import pytest
from numpy.testing import assert_array_equal

from teaser import ListOf
from teaser.data.dataset import Dataset
from teaser.data.metadata import UserFeatures, describe_items, describe_user_features
from teaser.data.reading import Table
from teaser.data.rules import Category, Rules, RulesLike, Text
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

    def test_tables_that_have_no_item_in_common_are_refused(self) -> None:
        with pytest.raises(
            DataError,
            match=r"None of the 2 chosen items .*interactions have '1', '2', the items 't1', 't2'",
        ):
            Dataset.from_tables(
                {"user_id": [1, 1], "item_id": [1, 2]}, {"item_id": ["t1", "t2"], "g": ["x", "y"]}
            )


class TestNoTags:
    RAW = pl.DataFrame({"id": [1, 2], "title": ["A", "B"]})

    def test_rules_that_are_empty_on_purpose_are_taken(self) -> None:
        for rules in ((), Rules((), {"title": "title"})):
            found = describe_items(Table(self.RAW), chosen([1]), "id", rules)
            assert found["tags"] == ()
            assert found["rules"].roles == {"title": "title"}


def test_ids_that_differ_by_leading_zeros_are_told() -> None:
    for ids, said in ((["001", "020"], "differ by leading zeros"), (["x", "y"], "belong together")):
        items = pl.DataFrame({"item_id": ids, "genre": ["a", "b"]})
        with pytest.raises(DataError, match=said):
            describe_items(Table(items), chosen([1, 20]), "item_id", None)


USERS = pl.Series("user", ["a", "b", "c", "d"])
TABLE = pl.DataFrame(
    {
        "user_id": ["c", "a", "x", "b"],
        "age": ["young", "old", "young", "young"],
        "hobbies": ["chess|tea", None, "chess", "tea"],
    }
)
BOTH = (Category("age"), ListOf("hobbies"))


def features_of(table: pl.DataFrame = TABLE, rules: RulesLike = BOTH) -> UserFeatures:
    return describe_user_features(Table(table), USERS, "user_id", rules)


class TestUserTags:
    def test_rows_follow_the_users_and_columns_the_tags(self) -> None:
        features = features_of()
        assert list(map(str, features.tags)) == [
            "age=old", "age=young", "hobbies=chess", "hobbies=tea",
        ]  # fmt: skip
        wanted = [[1, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]]
        assert_array_equal(features.Q.toarray(), wanted)

    def test_who_is_not_known_and_who_chose_nothing_is_counted_and_named(self) -> None:
        report = features_of().report
        assert (report.rows, report.known, report.unknown, report.unused) == (4, 3, 1, 1)
        said = "\n".join(report.lines())
        assert "4 rows of users: 3 with interactions, 1 without, such as x" in said
        assert "1 users have interactions but no row" in said
        assert "4 user tags: 2 age, 2 hobbies" in said
        assert "1 user has no tag" in said


class TestBadInput:
    def test_a_table_of_other_users_is_refused_with_both_ids(self) -> None:
        with pytest.raises(DataError, match="interactions have 'a', 'b', 'c', the table 'x'"):
            features_of(TABLE.filter(pl.col("user_id") == "x"))

    def test_roles_have_no_meaning(self) -> None:
        with pytest.raises(RuleError, match="role 'title' has no meaning"):
            features_of(rules=Rules(BOTH, {"title": "age"}))

    def test_nothing_to_infer_says_why(self) -> None:
        table = pl.DataFrame({"user_id": ["a", "b", "c", "d"], "same": ["x"] * 4})
        with pytest.raises(RuleError, match="'same': every user has the same value"):
            features_of(table, None)


class TestInference:
    def test_names_and_free_text_are_passed_over(self) -> None:
        n = 400
        users = pl.Series("user", [f"u{i}" for i in range(n)])
        table = pl.DataFrame(
            {
                "user_id": users,
                "name": [f"Person {i}" for i in range(n)],
                "bio": [f"likes very many good things and also number {i % 9}" for i in range(n)],
                "group": [("red", "blue")[i % 2] for i in range(n)],
                "club": ["big" if i >= 9 else "small" for i in range(n)],
            }
        )
        features = describe_user_features(Table(table), users, "user_id", None)
        assert set(map(str, features.tags)) == {"group=red", "group=blue", "club=big"}
        assert features.rules.skipped["name"] == "it looks like the title of a user"
        assert features.rules.skipped["bio"] == "free text can identify a user"
        assert not any(isinstance(rule, Text) for rule in features.rules.tags)
