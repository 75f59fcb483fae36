"""The data set: matrices that agree with its names, that cannot be changed, and that last."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES as TABLE_RULES
from data.three_users import INTERACTIONS, ITEMS, RULES, assert_same, chosen, three_users
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal

from teaser import Teaser, artifact
from teaser.data.dataset import Dataset
from teaser.data.rules import Category, ListOf, Number, Rules
from teaser.data.tags import Tag
from teaser.errors import (
    ArtifactError,
    DataError,
    ParameterError,
    RuleError,
    TableError,
)


@pytest.fixture
def dataset() -> Dataset:
    return three_users()


def carried(dataset: Dataset) -> set[tuple[Any, str]]:
    """Return which item carries which tag, by name."""
    return {
        (dataset.items[i], str(dataset.tags[j])) for i, j in zip(*dataset.S.nonzero(), strict=True)
    }


class TestFromTables:
    def test_matrices_say_who_chose_what_and_what_carries_what(self, dataset: Dataset) -> None:
        assert chosen(dataset) == {("ann", "a"), ("bob", "b"), ("cy", "z")}
        assert carried(dataset) == {
            ("a", "genre=jazz"),
            ("a", "genre=rock"),
            ("a", "year=1990s"),
            ("b", "genre=jazz"),
            ("b", "year=2000s"),
            ("c", "year=2010s"),
        }

    def test_items_come_as_described_and_then_the_undescribed(self, dataset: Dataset) -> None:
        assert dataset.items == ["a", "b", "c", "z"]
        assert dataset.items_without_metadata == 1
        assert dataset.table["title"].to_list() == ["Alpha", "Beta", "Gamma", None]
        assert dataset.table.columns[0] == "item_id"

    def test_sizes_agree_with_names(self, dataset: Dataset) -> None:
        assert (dataset.n_users, dataset.n_items, dataset.n_tags) == (3, 4, 5)
        assert dataset.X.shape == (len(dataset.users), len(dataset.items))
        assert dataset.S.shape == (len(dataset.items), len(dataset.tags))

    def test_item_counts_count_users(self, dataset: Dataset) -> None:
        assert dataset.item_counts.tolist() == [1, 1, 0, 1]

    def test_everything_left_out_is_told(self, dataset: Dataset) -> None:
        assert dataset.lines() == [
            "6 rows read: 3 interactions of 3 users with 3 items",
            "1 row not positive, 1 duplicate merged",
            "1 row refused, user_id is missing: row 6 (None)",
            "items: 1 row refused, the item is described twice, the first row is kept: row 4 ('a')",
            "4 items: 1 without metadata, 1 not chosen",
            "5 tags: 2 genre, 3 year",
            "1 item has no tag",
            "warning: 4 tags on one item alone, where nothing can be learned from other items: "
            "genre=rock, year=1990s, year=2000s, year=2010s. Raise min_items",
        ]

    def test_rules_are_inferred_when_not_given(self) -> None:
        dataset = Dataset.from_tables(INTERACTIONS, ITEMS)
        assert Tag("genre", "jazz") in dataset.tags
        assert dataset.rules.roles == {"title": "title"}
        assert dataset.rules.skipped == {"title": "it is shown as the title"}

    def test_rules_keep_what_they_learned(self) -> None:
        dataset = Dataset.from_tables(INTERACTIONS, ITEMS, rules=[Number("year", bins=2)])
        (rule,) = dataset.rules.tags
        assert isinstance(rule, Number)
        assert len(rule.edges) == 1

    def test_files_and_other_columns_are_read(self, tmp_path: Path) -> None:
        INTERACTIONS.rename({"user_id": "who", "item_id": "what"}).write_csv(tmp_path / "x.csv")
        ITEMS.rename({"item_id": "what"}).write_parquet(tmp_path / "y.parquet")
        Rules(RULES).write(tmp_path / "rules.toml")
        dataset = Dataset.from_tables(
            tmp_path / "x.csv",
            str(tmp_path / "y.parquet"),
            user="who",
            item="what",
            rules=tmp_path / "rules.toml",
        )
        assert chosen(dataset) == {("ann", "a"), ("ann", "b"), ("bob", "b"), ("cy", "z")}
        assert dataset.tags[0] == Tag("genre", "jazz")

    def test_the_given_frames_are_not_changed(self) -> None:
        before = INTERACTIONS.clone(), ITEMS.clone()
        Dataset.from_tables(INTERACTIONS, ITEMS, rules=RULES)
        assert_frame_equal(INTERACTIONS, before[0])
        assert_frame_equal(ITEMS, before[1])

    @given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
    def test_matrices_are_binary_and_canonical_whatever_the_duplicates(
        self, pairs: list[tuple[int, int]]
    ) -> None:
        interactions = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
        items = pl.DataFrame({"item_id": range(5), "g": [["x", "x"], ["y"], [], ["x", "y"], None]})
        dataset = Dataset.from_tables(interactions, items, rules=[ListOf("g")])
        assert chosen(dataset) == set(pairs)
        for matrix in (dataset.X, dataset.S):
            assert set(matrix.data) == {1.0}
            assert matrix.has_canonical_format
        assert dataset.X.nnz == dataset.report.interactions == len(set(pairs))
        assert dataset.report.duplicates == len(pairs) - len(set(pairs))


class TestWithoutTags:
    def test_items_may_have_an_id_and_a_title_alone(self, tmp_path: Path) -> None:
        found = Dataset.from_tables(INTERACTIONS, ITEMS.select("item_id", "title"))
        assert (found.n_tags, found.S.shape) == (0, (4, 0))
        assert found.rules.roles == {"title": "title"}
        assert "'title': it is shown as the title" in found.lines()[-1]
        assert "--discovered" in found.lines()[-1]
        found.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), found)

    def test_items_may_be_those_of_the_interactions(self, tmp_path: Path) -> None:
        found = Dataset.from_tables(INTERACTIONS)
        assert found.items == ["a", "b", "z"]
        assert chosen(found) == {("ann", "a"), ("bob", "b"), ("ann", "b"), ("cy", "z")}
        assert "3 items: 3 without metadata, 0 not chosen" in found.lines()
        assert found.table.columns == ["item_id"]
        found.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), found)

    def test_their_rules_make_them_again(self, tmp_path: Path) -> None:
        items = ITEMS.select("item_id", "title")
        found = Dataset.from_tables(INTERACTIONS, items)
        found.rules.write(tmp_path / "rules.toml")
        again = Dataset.from_tables(INTERACTIONS, items, rules=tmp_path / "rules.toml")
        assert (again.n_tags, again.rules.roles) == (0, {"title": "title"})

    def test_a_model_learns_popularity_alone(self) -> None:
        model = Teaser().fit(Dataset.from_tables(INTERACTIONS))
        assert sorted(r.item_id for r in model.recommend([], k=2)) == ["a", "b"]


class TestBadInput:
    def test_a_missing_column(self) -> None:
        with pytest.raises(TableError, match="'item_id', needed for the items, is missing"):
            Dataset.from_tables(INTERACTIONS, ITEMS.drop("item_id"))
        with pytest.raises(TableError, match="'user_id', needed for the interactions, is missing"):
            Dataset.from_tables(INTERACTIONS.drop("user_id"), ITEMS)

    def test_empty_tables(self) -> None:
        with pytest.raises(TableError, match="no rows of interactions"):
            Dataset.from_tables(INTERACTIONS.clear(), ITEMS)
        with pytest.raises(TableError, match="no rows of items"):
            Dataset.from_tables(INTERACTIONS, ITEMS.clear())

    def test_no_positive_row(self) -> None:
        with pytest.raises(DataError, match="No positive interaction is left"):
            Dataset.from_tables(INTERACTIONS, ITEMS, positive="rating > 5")

    def test_a_rule_for_positive_rows_that_cannot_be_read(self) -> None:
        with pytest.raises(ParameterError, match="Cannot read"):
            Dataset.from_tables(INTERACTIONS, ITEMS, positive="good ones")

    def test_no_tag_left(self) -> None:
        with pytest.raises(RuleError, match="No tag is left"):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=[Category("genre", min_items=9)])

    def test_a_role_on_a_missing_column(self) -> None:
        with pytest.raises(TableError, match=r"'titel', needed for the role 'title'.*Closest"):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=Rules(RULES, {"title": "titel"}))

    @pytest.mark.parametrize("rules", [5, Category("genre"), ["genre"]])
    def test_rules_that_are_none(self, rules: Any) -> None:
        with pytest.raises(RuleError):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=rules)


class TestImmutable:
    def test_the_matrices_are_read_only(self, dataset: Dataset) -> None:
        for matrix in (dataset.X, dataset.S):
            before = matrix.toarray()
            for part in (matrix.data, matrix.indices, matrix.indptr):
                with pytest.raises(ValueError, match="read-only"):
                    part[0] = 1
            with pytest.raises(ValueError, match="read-only"):
                matrix[1, 0] = 7
            np.testing.assert_array_equal(matrix.toarray(), before)

    def test_a_copy_can_be_changed(self, dataset: Dataset) -> None:
        copy = dataset.X.copy()
        copy[0, 0] = 0
        assert dataset.X[0, 0] == 1

    def test_counts_are_read_only(self, dataset: Dataset) -> None:
        with pytest.raises(ValueError, match="read-only"):
            dataset.item_counts[0] = 7

    def test_attributes_cannot_be_replaced(self, dataset: Dataset) -> None:
        with pytest.raises(FrozenInstanceError):
            setattr(dataset, "tags", ())  # noqa: B010, a type checker refuses the assignment

    def test_a_data_set_is_equal_to_itself_alone(self, dataset: Dataset) -> None:
        other = Dataset.from_tables(INTERACTIONS, ITEMS, rules=RULES, positive="rating >= 3")
        assert dataset == dataset
        assert dataset != other


class TestUserFeatures:
    def test_it_has_features_of_its_users(self, known: Dataset) -> None:
        assert list(map(str, known.user_tags)) == ["camp=c0", "camp=c1", "camp=c2"]
        wanted = [[int(str(u)[1:]) % 3 == j for j in range(3)] for u in known.users]
        assert known.Q is not None
        assert_array_equal(known.Q.toarray(), wanted)
        assert known.describe()["user_tags"] == {"camp": 3}
        assert any("310 rows of users: 300" in line for line in known.lines())

    def test_without_a_table_of_users_there_are_none(self, dataset: Dataset) -> None:
        assert dataset.Q is None
        assert dataset.user_tags == ()
        assert dataset.describe()["user_tags"] == {}

    def test_saved_and_loaded_it_knows_the_same(self, known: Dataset, tmp_path: Path) -> None:
        known.save(tmp_path / "d")
        loaded = Dataset.load(tmp_path / "d")
        assert known.Q is not None
        assert loaded.Q is not None
        assert_array_equal(loaded.Q.toarray(), known.Q.toarray())
        assert loaded.user_tags == known.user_tags
        assert loaded.lines() == known.lines()
        assert loaded.user_features is not None
        assert known.user_features is not None
        assert loaded.user_features.rules == known.user_features.rules
        assert loaded.user_features.report == known.user_features.report

    def test_a_saved_set_without_its_features_is_refused(
        self, known: Dataset, tmp_path: Path
    ) -> None:
        known.save(tmp_path / "d")
        content = artifact.read(tmp_path / "d")
        arrays = {name: a for name, a in content.arrays.items() if not name.startswith("F.")}
        artifact.write(
            tmp_path / "d", kind="dataset", settings=content.settings, arrays=arrays,
            tables=content.tables,
        )  # fmt: skip
        with pytest.raises(ArtifactError, match="matrix F"):
            Dataset.load(tmp_path / "d")

    def test_rules_without_users_are_refused(
        self, tables: tuple[pl.DataFrame, pl.DataFrame]
    ) -> None:
        with pytest.raises(ParameterError, match="without a table of users"):
            Dataset.from_tables(*tables, rules=TABLE_RULES, user_rules=[Category("camp")])

    def test_users_cannot_be_cut_without_what_is_known_of_them(self, known: Dataset) -> None:
        with pytest.raises(DataError, match="5 users and 300 rows"):
            replace(known, X=known.X[:5])

    def test_some_of_its_users_keep_what_is_known(self, known: Dataset) -> None:
        rows = np.array([7, 2, 30])
        few = known.at(rows)
        assert few.users == [known.users[i] for i in rows.tolist()]
        assert known.Q is not None
        assert few.Q is not None
        assert_array_equal(few.Q.toarray(), known.Q.toarray()[rows])
        assert_array_equal(few.X.toarray(), known.X.toarray()[rows])
