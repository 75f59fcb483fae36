"""Tests of what is known of people: tables of users become tags of people."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import RULES, small_tables
from numpy.testing import assert_array_equal

from teaser import Category, Dataset, ListOf
from teaser.data.sources.source import read_source
from teaser.data.split import split
from teaser.data.tagging.rule_set import Number, Rules, Text
from teaser.data.tagging.tag import Tag
from teaser.data.tagging.user_features import (
    UserFeatureReport,
    UserFeatures,
    describe_user_features,
    feature_values,
)
from teaser.errors import ArtifactError, DataError, ParameterError, RuleError, TableError

USERS = pl.Series("user", ["a", "b", "c", "d"])
TABLE = pl.DataFrame(
    {
        "user_id": ["c", "a", "x", "b"],
        "age": ["young", "old", "young", "young"],
        "hobbies": ["chess|tea", None, "chess", "tea"],
    }
)
BOTH = (Category("age"), ListOf("hobbies"))


def people_of(table: pl.DataFrame = TABLE, rules: object = BOTH) -> UserFeatures:
    return describe_user_features(table, USERS, "user_id", rules)  # type: ignore[arg-type]


class TestTagsOfPeople:
    def test_rows_follow_the_users_and_columns_the_tags(self) -> None:
        people = people_of()
        assert list(map(str, people.tags)) == [
            "age=old", "age=young", "hobbies=chess", "hobbies=tea",
        ]  # fmt: skip
        wanted = [[1, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]]
        assert_array_equal(people.F.toarray(), wanted)

    def test_who_is_not_known_and_who_chose_nothing_is_counted_and_named(self) -> None:
        report = people_of().report
        assert (report.rows, report.known, report.unknown, report.unused) == (4, 3, 1, 1)
        said = "\n".join(report.lines())
        assert "4 rows of users: 3 of people with interactions, 1 of others, such as x" in said
        assert "1 people have interactions and no row" in said
        assert "4 tags of people: 2 age, 2 hobbies" in said

    def test_a_second_row_of_one_user_is_refused_and_named(self) -> None:
        twice = pl.concat(
            [TABLE, TABLE.filter(pl.col("user_id") == "a").with_columns(age=pl.lit("young"))]
        )
        people = people_of(twice)
        assert people.F.toarray()[0].tolist() == [1, 0, 0, 0]
        (refusal,) = people.report.refused
        assert (refusal.count, refusal.examples) == (1, ("row 5 ('a')",))
        assert "users: 1 rows refused, the user is described twice" in "\n".join(
            people.report.lines()
        )

    def test_a_row_without_a_user_is_refused(self) -> None:
        people = people_of(TABLE.with_columns(user_id=pl.Series(["c", "a", None, "b"])))
        assert [r.reason for r in people.report.refused] == ["user_id is missing"]

    def test_whole_numbers_find_ids_that_are_texts(self) -> None:
        table = pl.DataFrame({"user_id": [1, 2], "age": ["old", "young"]})
        people = describe_user_features(table, pl.Series(["2", "1"]), "user_id", [Category("age")])
        assert_array_equal(people.F.toarray(), [[0, 1], [1, 0]])

    def test_values_of_those_who_chose_nothing_make_no_tag(self) -> None:
        table = TABLE.with_columns(age=pl.Series(["young", "old", "ancient", "young"]))
        assert "age=ancient" not in map(str, people_of(table).tags)

    def test_rare_values_are_left_out_and_counted(self) -> None:
        people = people_of(rules=[Category("age", min_items=2), ListOf("hobbies")])
        assert [t.value for t in people.tags if t.feature == "age"] == ["young"]
        assert "1 tags of people left out, of too few: 1 age" in people.report.lines()

    def test_cells_that_are_no_number_are_counted(self) -> None:
        table = TABLE.with_columns(years=pl.Series(["20", "30", "40", "many"]))
        report = people_of(table, [Number("years", bins=2)]).report
        assert "1 cells of the users' years could not be read, such as many" in report.lines()

    def test_the_matrix_cannot_be_changed(self) -> None:
        people = people_of()
        with pytest.raises(ValueError, match="read-only"):
            people.F[0, 0] = 0
        with pytest.raises(ValueError, match="read-only"):
            people.F.data[0] = 0

    def test_columns_and_tags_must_be_as_many(self) -> None:
        with pytest.raises(DataError, match="1 tags of people and 2 columns"):
            UserFeatures(
                sp.csr_array((3, 2)), (Tag("a", "b"),), Rules(()), UserFeatureReport(1, 1, 0, 0)
            )

    def test_values_are_listed_by_feature(self) -> None:
        found = feature_values(people_of().tags)
        assert found == {"age": ["old", "young"], "hobbies": ["chess", "tea"]}


class TestBadInput:
    def test_a_table_without_ids_says_what_it_has(self) -> None:
        with pytest.raises(TableError, match=r"'user_id', needed for the users, .*Found: age"):
            people_of(TABLE.select("age", "hobbies"))

    def test_a_table_of_other_people_is_refused_with_both_names(self) -> None:
        with pytest.raises(DataError, match="interactions name 'a', 'b', 'c', the table 'x'"):
            people_of(TABLE.filter(pl.col("user_id") == "x"))

    def test_rules_for_columns_that_are_not_there_name_the_closest(self) -> None:
        with pytest.raises(TableError, match=r"category rule of the users.*Closest: age"):
            people_of(rules=[Category("aged")])

    def test_roles_have_no_meaning(self) -> None:
        with pytest.raises(RuleError, match="role 'title' has no meaning"):
            people_of(rules=Rules(BOTH, {"title": "age"}))

    def test_rules_without_tags_are_refused(self) -> None:
        with pytest.raises(RuleError, match=r"no \[\[tags\]\]"):
            people_of(rules=[])

    def test_nothing_to_infer_says_why(self) -> None:
        table = pl.DataFrame({"user_id": ["a", "b", "c", "d"], "same": ["x"] * 4})
        with pytest.raises(RuleError, match="'same': everybody has the same value"):
            people_of(table, None)


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
        people = describe_user_features(table, users, "user_id", None)
        assert set(map(str, people.tags)) == {"group=red", "group=blue", "club=big"}
        assert people.rules.skipped["name"] == "it looks like the title of a person"
        assert people.rules.skipped["bio"] == "free text can tell who somebody is"
        assert not any(isinstance(rule, Text) for rule in people.rules.tags)

    def test_few_people_need_no_ten_of_a_kind(self) -> None:
        assert len(people_of(rules=None).tags) == 4


@pytest.fixture
def known() -> Dataset:
    interactions, items = small_tables()
    users = pl.DataFrame(
        {"user_id": [f"u{i}" for i in range(310)], "camp": [f"c{i % 3}" for i in range(310)]}
    )
    return Dataset.from_tables(
        interactions, items, rules=RULES, users=users, user_rules=[Category("camp")]
    )


class TestDataset:
    def test_it_knows_its_people(self, known: Dataset) -> None:
        assert list(map(str, known.user_tags)) == ["camp=c0", "camp=c1", "camp=c2"]
        wanted = [[int(str(u)[1:]) % 3 == j for j in range(3)] for u in known.users]
        assert known.F is not None
        assert_array_equal(known.F.toarray(), wanted)
        assert known.describe()["user_tags"] == {"camp": 3}
        assert any("310 rows of users: 300" in line for line in known.lines())

    def test_without_a_table_of_users_nothing_is_known(self, dataset: Dataset) -> None:
        assert dataset.F is None
        assert dataset.user_tags == ()
        assert dataset.describe()["user_tags"] == {}

    def test_saved_and_loaded_it_knows_the_same(self, known: Dataset, tmp_path: Path) -> None:
        known.save(tmp_path / "d")
        loaded = Dataset.load(tmp_path / "d")
        assert known.F is not None
        assert loaded.F is not None
        assert_array_equal(loaded.F.toarray(), known.F.toarray())
        assert loaded.user_tags == known.user_tags
        assert loaded.lines() == known.lines()
        assert loaded.user_features is not None
        assert known.user_features is not None
        assert loaded.user_features.rules == known.user_features.rules
        assert loaded.user_features.report == known.user_features.report

    def test_a_saved_set_without_its_features_is_refused(
        self, known: Dataset, tmp_path: Path
    ) -> None:
        from teaser import artifact

        known.save(tmp_path / "d")
        content = artifact.read(tmp_path / "d")
        arrays = {name: a for name, a in content.arrays.items() if not name.startswith("F.")}
        artifact.write(
            tmp_path / "d", kind="dataset", settings=content.settings, arrays=arrays,
            tables=content.tables,
        )  # fmt: skip
        with pytest.raises(ArtifactError, match="F is not whole"):
            Dataset.load(tmp_path / "d")

    def test_rules_without_users_are_refused(
        self, tables: tuple[pl.DataFrame, pl.DataFrame]
    ) -> None:
        with pytest.raises(ParameterError, match="without a table of users"):
            Dataset.from_tables(*tables, rules=RULES, user_rules=[Category("camp")])

    def test_users_cannot_be_cut_without_what_is_known_of_them(self, known: Dataset) -> None:
        with pytest.raises(DataError, match="5 users, and 300 rows"):
            replace(known, X=known.X[:5])

    def test_some_of_its_users_keep_what_is_known(self, known: Dataset) -> None:
        rows = np.array([7, 2, 30])
        few = known.at(rows)
        assert few.users == [known.users[i] for i in rows.tolist()]
        assert known.F is not None
        assert few.F is not None
        assert_array_equal(few.F.toarray(), known.F.toarray()[rows])
        assert_array_equal(few.X.toarray(), known.X.toarray()[rows])


class TestSplit:
    def test_features_go_with_their_people(self, known: Dataset) -> None:
        parts = split(known, n_validation=20, n_test=30, rng=0)
        place = {user: i for i, user in enumerate(known.users)}
        assert known.F is not None
        every = known.F.toarray()
        for people, users in (
            (parts.training.F, parts.training.users),
            (parts.validation.user_features, parts.validation.users),
            (parts.test.user_features, parts.test.users),
        ):
            assert people is not None
            assert_array_equal(people.toarray(), every[[place[u] for u in users]])

    def test_a_fold_of_people_not_known_says_so(self, dataset: Dataset) -> None:
        assert split(dataset, n_validation=5, n_test=5, rng=0).test.user_features is None

    def test_a_fold_needs_features_of_as_many_people(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=9, rng=0).test
        with pytest.raises(DataError, match="fold of 9 people cannot hold what is known of 3"):
            replace(fold, user_features=sp.csr_array((3, 2)))

    def test_a_shorter_history_leaves_the_rest_to_be_found(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=40, rng=0).test
        short = fold.shortened(2, rng=3)
        lengths = np.diff(fold.history.indptr)
        assert_array_equal(np.diff(short.history.indptr), np.minimum(lengths, 2))
        before = (fold.history + fold.held_out).toarray()
        assert_array_equal((short.history + short.held_out).toarray(), before)
        assert (short.history.toarray() <= fold.history.toarray()).all()
        assert short.user_features is not None
        assert fold.user_features is not None
        assert_array_equal(short.user_features.toarray(), fold.user_features.toarray())
        again = fold.shortened(2, rng=3).history
        assert_array_equal(short.history.toarray(), again.toarray())
        other = fold.shortened(2, rng=4).history
        assert (short.history != other).nnz > 0

    def test_without_history_all_choices_are_held_out(self, known: Dataset) -> None:
        fold = split(known, n_validation=5, n_test=40, rng=0).test
        cold = fold.shortened(0, rng=0)
        assert cold.history.nnz == 0
        assert cold.held_out.nnz == fold.history.nnz + fold.held_out.nnz

    @pytest.mark.parametrize("most", [-1, 1.5, True, None])
    def test_a_length_that_is_none_is_refused(self, known: Dataset, most: object) -> None:
        fold = split(known, n_validation=5, n_test=5, rng=0).test
        with pytest.raises(ParameterError, match="most must be a whole number"):
            fold.shortened(most, rng=0)  # type: ignore[arg-type]


class TestMovieLens:
    def test_its_users_have_age_gender_and_occupation(self, shared_data: Path) -> None:
        found = read_source("ml-1m", shared_data / "ml-1m")
        assert found.user_rules is not None
        assert "post code" in found.user_rules.skipped["zip"]
        assert found.users is not None
        users = found.users["userId"].cast(pl.Int64)
        people = describe_user_features(found.users, users, "userId", found.user_rules)
        assert people.report.tags.tags == {"age": 7, "gender": 2, "occupation": 21}
        assert (np.diff(people.F.indptr) == 3).all()
        males = [str(t) for t in people.tags].index("gender=male")
        assert people.F.toarray()[:, males].sum() == 4331
