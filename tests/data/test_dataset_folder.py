"""Folders of data sets: they come back whole or are refused, also those of earlier versions."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ROOT
from data.three_users import INTERACTIONS, ITEMS, RULES, assert_same, three_users

from teaser import artifact
from teaser.data.dataset import Dataset
from teaser.data.rules import Category, ListOf, Number
from teaser.errors import (
    ArtifactError,
)


@pytest.fixture
def dataset() -> Dataset:
    return three_users()


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
        with pytest.raises(ArtifactError, match="is a teaser, not a data set"):
            Dataset.load(tmp_path / "m")

    def test_a_folder_of_something_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "manifest.json").write_text(json.dumps({"name": "page"}))
        with pytest.raises(ArtifactError, match="was not written by teaser"):
            Dataset.load(tmp_path)


class TestSavedBefore:
    """A folder that version 0.1 wrote: 60 events, 200 users, tags of three columns."""

    def test_it_loads(self) -> None:
        found = Dataset.load(ROOT / "tests" / "data" / "saved" / "events")
        assert (found.n_users, found.n_items, found.n_tags) == (200, 60, 73)
        assert found.X.nnz == found.report.interactions == 2864
        assert dict(found.tag_report.tags) == {"type": 16, "town": 45, "labels": 12}
        assert found.rules.tags == (Category("type"), Category("town"), ListOf("labels"))
        assert found.table.height == 60
        assert np.diff(found.S.indptr).min() >= 2

    def test_it_is_saved_again_as_it_was(self, tmp_path: Path) -> None:
        before = ROOT / "tests" / "data" / "saved" / "events"
        Dataset.load(before).save(tmp_path / "d")
        old, new = artifact.read(before), artifact.read(tmp_path / "d")
        assert new.settings == old.settings
        assert new.arrays.keys() == old.arrays.keys()
        for name, array in old.arrays.items():
            np.testing.assert_array_equal(new.arrays[name], array)


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
        with pytest.raises(ArtifactError, match="matrix X"):
            Dataset.load(tmp_path / "e")

    def test_names_that_do_not_fit_the_matrix(
        self, content: dict[str, Any], tmp_path: Path
    ) -> None:
        content["tables"]["users"] = pl.DataFrame({"user": ["ann"]})
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match="matrix X"):
            Dataset.load(tmp_path / "e")

    def test_rules_that_make_no_sense(self, content: dict[str, Any], tmp_path: Path) -> None:
        content["settings"]["rules"]["tags"][0]["kind"] = "spell"
        artifact.write(tmp_path / "e", **content)
        with pytest.raises(ArtifactError, match="Unknown kind 'spell'"):
            Dataset.load(tmp_path / "e")
