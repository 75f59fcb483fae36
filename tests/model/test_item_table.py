"""The items of a model: positions, titles, further items, saved and read back."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from teaser import Dataset, Teaser, artifact
from teaser.data.matrix import Ids
from teaser.errors import ArtifactError, ParameterError
from teaser.model import load
from teaser.model.tables import ItemTable, liked_part, popularity
from teaser.profile import GENERAL, POPULARITY


def test_popularity_is_a_share_of_the_highest_count(dataset: Dataset) -> None:
    counts = dataset.X.toarray().sum(axis=0, dtype=np.float64)
    assert_array_equal(popularity(dataset), counts / counts.max())


def test_a_history_is_positions_each_once(dataset: Dataset) -> None:
    table = ItemTable.from_dataset(dataset)
    assert table.positions(["i7", "i2", "i7"]) == [7, 2]
    rows = table.rows([[7, 2], []]).toarray()
    assert rows.shape == (2, 40)
    assert np.flatnonzero(rows[0]).tolist() == [2, 7]
    assert not rows[1].any()
    wrong: Any = 5
    with pytest.raises(ParameterError, match="found 5"):
        table.positions(wrong)


def test_strengths_belong_to_items(dataset: Dataset) -> None:
    table = ItemTable.from_dataset(dataset)
    found = table.strengths({"i7": 0.5, "i2": 3, "i4": 0})
    assert found == {7: 0.5, 2: 3.0}
    assert list(found) == table.positions({"i7": 0.5, "i2": 3, "i4": 0}) == [7, 2]
    assert table.strengths(["i7", "i2", "i7"]) == {7: 1.0, 2: 1.0}
    rows = table.rows([found, [3, 1]])
    assert rows.toarray()[0, [2, 7]].tolist() == [3.0, 0.5]
    assert rows.toarray()[1].nonzero()[0].tolist() == [1, 3]
    assert rows.nnz == 4
    assert table.strengths({"i7": -0.25, "i2": 1}) == {7: -0.25, 2: 1.0}
    wrong: list[Any] = [float("nan"), float("inf"), float("-inf"), "1", None, True]
    for bad in wrong:
        with pytest.raises(ParameterError, match="'i2'"):
            table.strengths({"i7": 1, "i2": bad})


def test_items_that_are_not_allowed_are_barred(dataset: Dataset) -> None:
    table = ItemTable.from_dataset(dataset)
    assert table.barred(np.arange(40) != 3).tolist() == [3]
    assert not len(table.barred(None))
    with pytest.raises(ParameterError, match="each of 40 items"):
        table.barred(np.ones(39, dtype=bool))


def test_titles_and_new_items_follow_the_metadata(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    assert model.title(7) == "Event 7"
    new = pl.DataFrame({"item_id": ["n"], "title": ["Fresh"], "town": ["Ghent"]})
    new = new.with_columns(type=pl.lit("film"), labels=pl.lit("free|late"))
    assert model.add_items(new) is model
    assert model.title(40) == "Fresh"
    assert model.popularity_[40] == 0.0
    assert model.decoder_.shape == (41, len(dataset.tags) + 2)
    assert model.tags_[-2:] == (POPULARITY, GENERAL)
    assert dataset.n_items == 40


def test_a_failed_addition_changes_nothing(dataset: Dataset) -> None:
    model = Teaser().fit(dataset)
    with pytest.raises(ParameterError, match="needs a list of tags"):
        model.add_items({"n": "town=Ghent"})
    assert len(model.items_) == model.decoder_.shape[0] == len(model.table_) == 40


@pytest.mark.parametrize(
    ("name", "cut", "said"),
    [("popularity", 39, "of different sizes"), ("decoder.indptr", 40, "is not whole")],
)
def test_parts_of_different_sizes_are_refused(
    model: Teaser, tmp_path: Path, name: str, cut: int, said: str
) -> None:
    model.save(tmp_path / "m")
    content = artifact.read(tmp_path / "m")
    arrays = {**content.arrays, name: content.arrays[name][:cut]}
    artifact.write(
        tmp_path / "m", kind=content.kind, settings=content.settings, arrays=arrays,
        tables=content.tables,
    )  # fmt: skip
    with pytest.raises(ArtifactError, match=said):
        load(tmp_path / "m")


def test_a_table_of_other_items_is_refused(model: Teaser, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    content = artifact.read(tmp_path / "m")
    tables = {**content.tables, "items": content.tables["items"][:30]}
    artifact.write(
        tmp_path / "m", kind=content.kind, settings=content.settings, arrays=content.arrays,
        tables=tables,
    )  # fmt: skip
    with pytest.raises(ArtifactError, match="of different sizes"):
        load(tmp_path / "m")


def test_the_liked_part_of_histories(dataset: Dataset) -> None:
    table = ItemTable.from_dataset(dataset)
    rows = table.rows([{3: 1.0, 5: -0.25}, {2: 0.5}, {1: -1.0}])
    liked = liked_part(rows)
    assert liked.toarray().nonzero()[1].tolist() == [3, 2]
    assert liked[1, 2] == 0.5
    assert rows.nnz == 4  # the input is untouched
    plain = table.rows([{3: 1.0}])
    assert liked_part(plain) is plain


def test_a_title_of_spaces_is_none() -> None:
    titles = pl.DataFrame({"item_id": ["a", "b", "c", "d"], "title": [" A ", "  ", "", None]})
    table = ItemTable(Ids(["a", "b", "c", "d"]), titles, np.ones(4), "title")
    assert [table.title(i) for i in range(4)] == [" A ", None, None, None]
