"""The data set: matrices that agree with its names, that cannot be changed, and that last."""

import json
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from teaser import artifact
from teaser.data.dataset import Dataset, pack, unpack
from teaser.data.ids import Ids
from teaser.data.tagging.rule_set import Category, ListOf, Number, Rules, Year
from teaser.data.tagging.tag import Tag
from teaser.errors import (
    ArtifactError,
    DataError,
    ParameterError,
    RuleError,
    TableError,
    UnknownItemError,
)

INTERACTIONS = pl.DataFrame(
    {
        "user_id": ["ann", "bob", "ann", "ann", "cy", None],
        "item_id": ["a", "b", "b", "a", "z", "a"],
        "rating": [5, 4, 2, 5, 4, 5],
    }
)
ITEMS = pl.DataFrame(
    {
        "item_id": ["a", "b", "c", "a"],
        "title": ["Alpha", "Beta", "Gamma", "Again"],
        "genre": ["jazz|rock", "jazz", None, "folk"],
        "year": [1990, 2000, 2010, 2020],
    }
)
HUGE = 2**64 - 1
RULES = (ListOf("genre"), Year("year", width=10))


@pytest.fixture
def dataset() -> Dataset:
    return Dataset.from_tables(INTERACTIONS, ITEMS, rules=RULES, positive="rating >= 3")


def chosen(dataset: Dataset) -> set[tuple[Any, Any]]:
    """Return who chose what, by name."""
    return {(dataset.users[u], dataset.items[i]) for u, i in zip(*dataset.X.nonzero(), strict=True)}


def carried(dataset: Dataset) -> set[tuple[Any, str]]:
    """Return which item carries which tag, by name."""
    return {
        (dataset.items[i], str(dataset.tags[j])) for i, j in zip(*dataset.S.nonzero(), strict=True)
    }


def assert_same(first: Dataset, second: Dataset) -> None:
    for name in ("X", "S"):
        a, b = getattr(first, name), getattr(second, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    assert first.users == second.users
    assert first.items == second.items
    assert_frame_equal(first.table, second.table)
    for name in ("tags", "rules", "report", "tag_report", "items_without_metadata"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.items_refused == second.items_refused
    assert first.lines() == second.lines()


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

    def test_item_counts_count_people(self, dataset: Dataset) -> None:
        assert dataset.item_counts.tolist() == [1, 1, 0, 1]

    def test_everything_left_out_is_told(self, dataset: Dataset) -> None:
        assert dataset.lines() == [
            "6 rows read: 3 interactions of 3 users with 3 items",
            "1 rows not positive, 1 duplicates merged",
            "1 rows refused, user_id is missing: row 6 (None)",
            "items: 1 rows refused, the item is described twice, the first row stands: row 4 ('a')",
            "4 items: 1 without metadata, 1 that nobody chose",
            "5 tags: 2 genre, 3 year",
            "1 items carry no tag",
        ]

    def test_rules_are_inferred_when_not_given(self) -> None:
        dataset = Dataset.from_tables(INTERACTIONS, ITEMS)
        assert Tag("genre", "jazz") in dataset.tags
        assert dataset.rules.roles == {"title": "title"}
        assert dataset.rules.skipped == {"title": "it is shown as the title"}

    def test_rules_keep_what_they_learnt(self) -> None:
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


class TestIdsOfTwoTables:
    """An item is the same item however each of the tables writes its id."""

    @pytest.mark.parametrize(
        ("choices", "catalogue", "ids"),
        [
            ([1, 2], [2, 1], [2, 1]),
            ([1, 2], ["2", " 1"], ["2", "1"]),
            (["1", "2"], [2, 1], ["2", "1"]),
            ([1.0, 2.0], [2, 1], [2, 1]),
            (pl.Series([1, 2], dtype=pl.UInt64), pl.Series([2, 1], dtype=pl.Int8), [2, 1]),
            (pl.Series(["a", "b"], dtype=pl.Categorical), ["b", "a"], ["b", "a"]),
            (["007", "7"], ["7", "007"], ["7", "007"]),
            (pl.Series([HUGE, 1], dtype=pl.UInt64), [str(HUGE), "1"], [str(HUGE), "1"]),
        ],
    )
    def test_ids_meet(self, choices: Any, catalogue: Any, ids: list[Any]) -> None:
        dataset = Dataset.from_tables(
            {"user_id": ["u", "v"], "item_id": choices},
            {"item_id": catalogue, "g": ["x", "y"]},
            rules=[Category("g")],
        )
        assert dataset.items == ids
        assert dataset.items_without_metadata == 0
        assert dataset.X.nnz == 2

    def test_pandas_ids_with_gaps_meet_whole_numbers(self) -> None:
        interactions = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, None, 11]})
        items = pd.DataFrame({"item_id": [10, 11], "g": ["x", "y"]})
        dataset = Dataset.from_tables(interactions, items, rules=[Category("g")])
        assert chosen(dataset) == {(1, 10), (2, 11)}
        assert [r.count for r in dataset.report.refused] == [1]

    def test_tables_that_have_no_item_in_common_are_refused(self) -> None:
        with pytest.raises(
            DataError,
            match=r"None of the 2 items .*interactions name '1', '2', the items 't1', 't2'",
        ):
            Dataset.from_tables(
                {"user_id": [1, 1], "item_id": [1, 2]}, {"item_id": ["t1", "t2"], "g": ["x", "y"]}
            )


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

    def test_nothing_to_infer_tags_from_says_why(self) -> None:
        with pytest.raises(RuleError, match=r"No column .*'title': it is shown as the title"):
            Dataset.from_tables(INTERACTIONS, ITEMS.select("item_id", "title"))
        with pytest.raises(RuleError, match=r"No column .*there is none"):
            Dataset.from_tables(INTERACTIONS, ITEMS.select("item_id"))

    def test_a_role_on_a_missing_column(self) -> None:
        with pytest.raises(TableError, match=r"'titel', needed for the role 'title'.*Closest"):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=Rules(RULES, {"title": "titel"}))

    @pytest.mark.parametrize("rules", [5, Category("genre"), ["genre"]])
    def test_rules_that_are_none(self, rules: Any) -> None:
        with pytest.raises(RuleError):
            Dataset.from_tables(INTERACTIONS, ITEMS, rules=rules)


class TestImmutable:
    @pytest.mark.parametrize("name", ["X", "S"])
    @pytest.mark.parametrize("part", ["data", "indices", "indptr"])
    def test_the_arrays_are_read_only(self, dataset: Dataset, name: str, part: str) -> None:
        with pytest.raises(ValueError, match="read-only"):
            getattr(getattr(dataset, name), part)[0] = 1

    @pytest.mark.parametrize("name", ["X", "S"])
    def test_the_matrices_take_no_entries_old_or_new(self, dataset: Dataset, name: str) -> None:
        matrix = getattr(dataset, name)
        before = matrix.toarray()
        for row in range(matrix.shape[0]):
            with pytest.raises(ValueError, match="read-only"):
                matrix[row, 0] = 7
        with pytest.raises(ValueError, match="read-only"):
            matrix.setdiag(7)
        with pytest.raises(ValueError, match="read-only"):
            matrix *= 2
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
            dataset.tags = ()  # type: ignore[misc]

    def test_a_data_set_is_equal_to_itself_alone(self, dataset: Dataset) -> None:
        other = Dataset.from_tables(INTERACTIONS, ITEMS, rules=RULES, positive="rating >= 3")
        assert dataset == dataset
        assert dataset != other


class TestSaving:
    def test_a_data_set_comes_back(self, dataset: Dataset, tmp_path: Path) -> None:
        dataset.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), dataset)

    def test_so_does_one_with_whole_numbers_as_ids(self, tmp_path: Path) -> None:
        dataset = Dataset.from_tables(
            {"user_id": [7, 8], "item_id": [10, 30]}, {"item_id": [10, 20], "g": ["x", "y"]}
        )
        dataset.save(tmp_path / "d")
        found = Dataset.load(tmp_path / "d")
        assert_same(found, dataset)
        assert found.users[:] == (7, 8)

    def test_so_does_one_with_unreadable_cells_and_columns_of_many_types(
        self, tmp_path: Path
    ) -> None:
        items = pl.DataFrame(
            {
                "item_id": ["a", "b"],
                "price": ["5", "free"],
                "nothing": [None, None],
                "list": [["x"], []],
                "struct": [{"k": 1}, None],
                "colour": pl.Series(["red", None], dtype=pl.Categorical),
            }
        )
        dataset = Dataset.from_tables(INTERACTIONS, items, rules=[Number("price"), ListOf("list")])
        dataset.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), dataset)
        assert Dataset.load(tmp_path / "d").tag_report.unreadable == {"price": (1, ("free",))}

    def test_what_is_loaded_cannot_be_changed(self, dataset: Dataset, tmp_path: Path) -> None:
        dataset.save(tmp_path / "d")
        with pytest.raises(ValueError, match="read-only"):
            Dataset.load(tmp_path / "d").X[0, 0] = 5

    def test_saving_again_replaces(self, dataset: Dataset, tmp_path: Path) -> None:
        Dataset.from_tables(INTERACTIONS, ITEMS, rules=[Category("genre")]).save(tmp_path / "d")
        dataset.save(tmp_path / "d")
        assert_same(Dataset.load(tmp_path / "d"), dataset)

    def test_a_table_that_cannot_be_saved_is_an_error(self, tmp_path: Path) -> None:
        items = ITEMS.with_columns(pl.Series("empty", [{}] * 4, dtype=pl.Struct([])))
        dataset = Dataset.from_tables(INTERACTIONS, items, rules=RULES)
        with pytest.raises(ArtifactError, match="could not be written"):
            dataset.save(tmp_path / "d")

    def test_a_folder_of_another_kind_is_refused(self, tmp_path: Path) -> None:
        artifact.write(tmp_path / "m", kind="teaser", settings={}, arrays={}, tables={})
        with pytest.raises(ArtifactError, match="holds a teaser, not a data set"):
            Dataset.load(tmp_path / "m")

    def test_a_folder_of_something_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "manifest.json").write_text(json.dumps({"name": "page"}))
        with pytest.raises(ArtifactError, match="was not written by this program"):
            Dataset.load(tmp_path)


class TestIncompleteFolders:
    """A folder that says it holds a data set, with every checksum right, may still hold none."""

    @pytest.fixture
    def content(self, dataset: Dataset, tmp_path: Path) -> dict[str, Any]:
        dataset.save(tmp_path / "d")
        found = artifact.read(tmp_path / "d")
        return {
            "kind": found.kind,
            "settings": found.settings,
            "arrays": {name: np.array(array) for name, array in found.arrays.items()},
            "tables": found.tables,
        }

    @pytest.mark.parametrize(
        ("place", "name"),
        [
            ("settings", "rules"),
            ("settings", "report"),
            ("settings", "tag_report"),
            ("settings", "skipped"),
            ("arrays", "X.indices"),
            ("arrays", "S.indptr"),
            ("tables", "users"),
            ("tables", "items"),
            ("tables", "tags"),
        ],
    )
    def test_a_missing_part(
        self, content: dict[str, Any], tmp_path: Path, place: str, name: str
    ) -> None:
        del content[place][name]
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match=f"{name.split('.')[0]}.* Make it again"):
            Dataset.load(tmp_path / "e")

    @pytest.mark.parametrize("value", [99, -1])
    def test_a_matrix_that_points_outside_of_itself(
        self, content: dict[str, Any], tmp_path: Path, value: int
    ) -> None:
        content["arrays"]["X.indices"][0] = value
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match="matrix X is not whole"):
            Dataset.load(tmp_path / "e")

    def test_names_that_do_not_fit_the_matrix(
        self, content: dict[str, Any], tmp_path: Path
    ) -> None:
        content["tables"]["users"] = pl.DataFrame({"user": ["ann"]})
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match="matrix X is not whole"):
            Dataset.load(tmp_path / "e")

    def test_rules_that_make_no_sense(self, content: dict[str, Any], tmp_path: Path) -> None:
        content["settings"]["rules"]["tags"][0]["kind"] = "spell"
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match="Unknown kind 'spell'"):
            Dataset.load(tmp_path / "e")


class TestPacking:
    def test_ones_are_not_stored(self, dataset: Dataset) -> None:
        assert pack("X", dataset.X).keys() == {"X.indices", "X.indptr"}

    def test_other_values_are(self, dataset: Dataset) -> None:
        parts = pack("W", dataset.X * 2)
        np.testing.assert_array_equal(
            unpack("W", parts, dataset.X.shape).toarray(), dataset.X.toarray() * 2
        )


class TestIds:
    def test_they_are_a_sequence_that_equals_its_names(self) -> None:
        ids = Ids(["a", "b"])
        assert list(ids) == ["a", "b"]
        assert ids == ["a", "b"] == list(ids)
        assert ids == Ids(("a", "b"))
        assert ids != ["b", "a"]
        assert ids != "ab"

    @pytest.mark.parametrize("name", [17, "17", " 17 ", np.int64(17), np.int8(17)])
    def test_a_number_is_found_as_number_and_as_text(self, name: Any) -> None:
        assert Ids([3, 17]).find(name) == 1

    @pytest.mark.parametrize("name", ["17", 17, np.int64(17)])
    def test_so_is_a_text_that_is_a_number(self, name: Any) -> None:
        assert Ids(["3", "17"]).find(name) == 1

    @pytest.mark.parametrize(
        "name",
        [None, True, 1.0, "x", "", "-", "--1", "1.0", "²", "9" * 5000, b"1", [1], float("nan")],
    )
    def test_what_is_not_there_is_not_found(self, name: Any) -> None:
        assert Ids([1, -1]).find(name) is None
        assert name not in Ids([1, -1])

    def test_negative_numbers_are_found(self) -> None:
        assert Ids([1, -1]).find("-1") == 1

    @given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(), unique_by=str))
    def test_every_name_is_found_at_its_place(self, names: list[int | str]) -> None:
        ids = Ids(names)
        assert [ids.index_of(name) for name in names] == list(range(len(names)))

    def test_an_unknown_item_is_named_with_the_closest(self) -> None:
        with pytest.raises(
            UnknownItemError, match=r"Unknown item 'alpa'; .*2 items\. Closest: alpha"
        ):
            Ids(["alpha", "zzz"]).index_of("alpa")

    def test_more_names_make_new_ids(self) -> None:
        ids = Ids(["a"])
        assert ids.extended(["b"]) == ["a", "b"]
        assert ids == ["a"]

    def test_only_the_first_names_are_shown(self) -> None:
        assert repr(Ids(range(5))) == "Ids(5: 0, 1, 2, ...)"
        assert repr(Ids(["a"])) == "Ids(1: 'a')"
