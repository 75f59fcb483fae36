"""Tables of users become user tags."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from teaser import Category, ListOf
from teaser.data.metadata import (
    UserFeatureReport,
    UserFeatures,
    describe_user_features,
)
from teaser.data.rules import Number, Rules, RulesLike, Text
from teaser.data.sources.folder import read_source
from teaser.data.tags import Tag
from teaser.errors import DataError, RuleError, TableError

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
    return describe_user_features(table, USERS, "user_id", rules)


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

    def test_a_second_row_of_one_user_is_refused_and_named(self) -> None:
        twice = pl.concat(
            [TABLE, TABLE.filter(pl.col("user_id") == "a").with_columns(age=pl.lit("young"))]
        )
        features = features_of(twice)
        assert features.Q.toarray()[0].tolist() == [1, 0, 0, 0]
        (refusal,) = features.report.refused
        assert (refusal.count, refusal.examples) == (1, ("row 5 ('a')",))
        assert "users: 1 row refused, the user is described twice" in "\n".join(
            features.report.lines()
        )

    def test_a_row_without_a_user_is_refused(self) -> None:
        features = features_of(TABLE.with_columns(user_id=pl.Series(["c", "a", None, "b"])))
        assert [r.reason for r in features.report.refused] == ["user_id is missing"]

    def test_whole_numbers_find_ids_that_are_texts(self) -> None:
        table = pl.DataFrame({"user_id": [1, 2], "age": ["old", "young"]})
        features = describe_user_features(
            table, pl.Series(["2", "1"]), "user_id", [Category("age")]
        )
        assert_array_equal(features.Q.toarray(), [[0, 1], [1, 0]])

    def test_values_of_those_who_chose_nothing_make_no_tag(self) -> None:
        table = TABLE.with_columns(age=pl.Series(["young", "old", "ancient", "young"]))
        assert "age=ancient" not in map(str, features_of(table).tags)

    def test_rare_values_are_left_out_and_counted(self) -> None:
        features = features_of(rules=[Category("age", min_items=2), ListOf("hobbies")])
        assert [t.value for t in features.tags if t.feature == "age"] == ["young"]
        assert "1 user tags left out, with too few users: 1 age" in features.report.lines()

    def test_cells_that_are_no_number_are_counted(self) -> None:
        table = TABLE.with_columns(years=pl.Series(["20", "30", "40", "many"]))
        report = features_of(table, [Number("years", bins=2)]).report
        assert "1 cells of the users' years could not be read, such as many" in report.lines()

    def test_the_matrix_cannot_be_changed(self) -> None:
        features = features_of()
        with pytest.raises(ValueError, match="read-only"):
            features.Q[0, 0] = 0
        with pytest.raises(ValueError, match="read-only"):
            features.Q.data[0] = 0

    def test_columns_and_tags_must_be_as_many(self) -> None:
        with pytest.raises(DataError, match="1 user tags and 2 columns"):
            UserFeatures(
                sp.csr_array((3, 2)), (Tag("a", "b"),), Rules(()), UserFeatureReport(1, 1, 0, 0)
            )


class TestBadInput:
    def test_a_table_without_ids_says_what_it_has(self) -> None:
        with pytest.raises(TableError, match=r"'user_id', needed for the users, .*Found: age"):
            features_of(TABLE.select("age", "hobbies"))

    def test_a_table_of_other_users_is_refused_with_both_ids(self) -> None:
        with pytest.raises(DataError, match="interactions have 'a', 'b', 'c', the table 'x'"):
            features_of(TABLE.filter(pl.col("user_id") == "x"))

    def test_rules_for_columns_that_are_not_there_name_the_closest(self) -> None:
        with pytest.raises(TableError, match=r"category rule of the users.*Closest: age"):
            features_of(rules=[Category("aged")])

    def test_roles_have_no_meaning(self) -> None:
        with pytest.raises(RuleError, match="role 'title' has no meaning"):
            features_of(rules=Rules(BOTH, {"title": "age"}))

    def test_rules_without_tags_are_refused(self) -> None:
        with pytest.raises(RuleError, match=r"no \[\[tags\]\]"):
            features_of(rules=[])

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
        features = describe_user_features(table, users, "user_id", None)
        assert set(map(str, features.tags)) == {"group=red", "group=blue", "club=big"}
        assert features.rules.skipped["name"] == "it looks like the title of a user"
        assert features.rules.skipped["bio"] == "free text can identify a user"
        assert not any(isinstance(rule, Text) for rule in features.rules.tags)

    def test_few_users_need_no_ten_of_a_kind(self) -> None:
        assert len(features_of(rules=None).tags) == 4


class TestMovieLens:
    def test_its_users_have_age_gender_and_occupation(self, shared_data: Path) -> None:
        found = read_source("ml-1m", shared_data / "ml-1m")
        assert found.user_rules is not None
        assert "post code" in found.user_rules.skipped["zip"]
        assert found.users is not None
        users = found.users["userId"].cast(pl.Int64)
        features = describe_user_features(found.users, users, "userId", found.user_rules)
        assert features.report.tags.tags == {"age": 7, "gender": 2, "occupation": 21}
        assert (np.diff(features.Q.indptr) == 3).all()
        males = [str(t) for t in features.tags].index("gender=male")
        assert features.Q.toarray()[:, males].sum() == 4331
