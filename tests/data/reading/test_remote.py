"""Parquet files in a folder or at a URL, checked against the folder's list."""

import os
from pathlib import Path

import polars as pl
import pytest
from conftest import RULES

from teaser import Dataset
from teaser.data.partitions import file_size, list_parts, read_columns, write_partitions
from teaser.errors import TableError

Tables = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture
def folder(tables: Tables, tmp_path: Path) -> Path:
    write_partitions(tables[0], tmp_path / "parts", parts=4)
    return tmp_path / "parts"


class TestList:
    def test_a_partition_that_is_missing_when_the_folder_is_opened(
        self, folder: Path, tables: Tables
    ) -> None:
        path = sorted(folder.glob("*.parquet"))[1]
        path.unlink()
        with pytest.raises(TableError, match=f"{path.name} is missing: partitions.json lists 4"):
            Dataset.from_partitions(folder, tables[1])

    def test_a_partition_that_nobody_listed(self, folder: Path, tables: Tables) -> None:
        tables[0].head(3).write_parquet(folder / "zz.parquet")
        with pytest.raises(TableError, match=r"zz\.parquet is not in partitions\.json"):
            Dataset.from_partitions(folder, tables[1])


class TestAddresses:
    @pytest.mark.parametrize("kind", ["file", "memory"])
    def test_partitions_behind_an_address(self, folder: Path, tables: Tables, kind: str) -> None:
        fsspec = pytest.importorskip("fsspec")
        address = f"file://{folder}"
        if kind == "memory":
            address = "memory://bucket/parts"
            system = fsspec.filesystem("memory")
            for path in folder.iterdir():
                system.pipe_file(f"/bucket/parts/{path.name}", path.read_bytes())
        here = Dataset.from_partitions(folder, tables[1], rules=RULES)
        there = Dataset.from_partitions(address, tables[1], rules=RULES)
        assert all(part.source.startswith(f"{kind}://") for part in there.X.parts)
        assert there.X.sizes == here.X.sizes
        assert (there.X.matrix(2) != here.X.matrix(2)).nnz == 0

    def test_a_missing_file_behind_an_address(self, folder: Path, tables: Tables) -> None:
        parted = Dataset.from_partitions(f"file://{folder}", tables[1], rules=RULES)
        Path(parted.X.parts[1].source.removeprefix("file://")).unlink()
        with pytest.raises(TableError, match=r"file://.*part-00001.parquet is missing"):
            parted.X.matrix(1)


def test_a_table_in_memory_has_no_file() -> None:
    frame = pl.DataFrame({"a": [1], "b": [2], "c": [3]})
    assert read_columns(frame, ["c", "a"]).columns == ["a", "c"]
    assert read_columns(frame, ["z"]).columns == ["a", "b", "c"]
    assert file_size(frame) == 0


def test_a_list_of_parts_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "partitions.json")
    with pytest.raises(TableError, match="it is a pipe"):
        list_parts(tmp_path)
