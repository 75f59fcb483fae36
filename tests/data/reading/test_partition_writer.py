"""Any table becomes a folder of partitions in which every user is whole."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import small_tables

from teaser.data import partitions as partitioner
from teaser.data.partitions import write_partitions
from teaser.errors import DataError, ParameterError, TableError


def parts_of(folder: Path) -> list[pl.DataFrame]:
    return [pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))]


@pytest.fixture
def table() -> pl.DataFrame:
    return small_tables()[0]


@pytest.mark.parametrize("kind", ["frame", "lazy", "csv", "csv.gz", "parquet", "jsonl", "folder"])
def test_all_rows_of_a_user_come_into_one_part(
    kind: str, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioner, "_BATCH_ROWS", 100)
    source: Any = tmp_path / f"x.{kind}"
    if kind in ("frame", "lazy"):
        source = table if kind == "frame" else table.lazy()
    elif kind == "csv":
        table.write_csv(source)
    elif kind == "csv.gz":
        import gzip

        source.write_bytes(gzip.compress(table.write_csv().encode()))
    elif kind == "parquet":
        table.write_parquet(source)
    elif kind == "jsonl":
        table.write_ndjson(source)
    else:
        source.mkdir()
        for day, rows in enumerate(table.sample(fraction=1, shuffle=True, seed=1).iter_slices(300)):
            rows.write_parquet(source / f"{day}.parquet")
    written = write_partitions(source, tmp_path / "parts", parts=5)
    found = parts_of(tmp_path / "parts")
    assert written.parts == len(found) == 5
    assert written.rows == table.height
    assert written.largest == max(part.height for part in found)
    users = [set(part["user_id"]) for part in found]
    assert sum(map(len, users)) == len(set.union(*users)) == 300
    columns = table.columns
    assert pl.concat(found).sort(columns).equals(table.sort(columns))
    listed = json.loads((tmp_path / "parts" / "partitions.json").read_text())
    assert listed["rows"] == [part.height for part in found]


def test_rows_keep_their_order_within_a_part(table: pl.DataFrame, tmp_path: Path) -> None:
    numbered = table.with_row_index()
    write_partitions(numbered, tmp_path / "parts", parts=3)
    assert all(part["index"].is_sorted() for part in parts_of(tmp_path / "parts"))


def test_numbers_in_text_become_numbers_only_if_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user_id;item_id;zip\n1;007;10\n2;8;\n3;9;12\n")
    write_partitions(tmp_path / "x.csv", tmp_path / "parts", parts=1)
    (found,) = parts_of(tmp_path / "parts")
    assert found["user_id"].to_list() == [1, 2, 3]
    assert found["item_id"].to_list() == ["007", "8", "9"]
    assert found["zip"].to_list() == [10, None, 12]


def test_the_number_of_parts_follows_the_rows(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioner, "ROWS_PER_PART", 400)
    assert write_partitions(table, tmp_path / "parts").parts == 5


def test_no_more_than_a_batch_is_in_memory(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heights = []
    write = pl.DataFrame.write_parquet

    def watched(frame: pl.DataFrame, *args: Any, **options: Any) -> None:
        heights.append(frame.height)
        write(frame, *args, **options)

    monkeypatch.setattr(partitioner, "_BATCH_ROWS", 50)
    table.write_csv(tmp_path / "x.csv")
    monkeypatch.setattr(pl.DataFrame, "write_parquet", watched)
    write_partitions(tmp_path / "x.csv", tmp_path / "parts", parts=2)
    assert max(heights) <= 50
    assert sum(heights) == table.height


def test_a_number_of_parts_that_makes_no_sense(table: pl.DataFrame, tmp_path: Path) -> None:
    wrong: list[Any] = [0, -1, 1.5, True, "3", 10**6]
    for parts in wrong:
        with pytest.raises(ParameterError, match="from 1 to 10,000"):
            write_partitions(table, tmp_path / "parts", parts=parts)
        assert not (tmp_path / "parts").exists()


def test_a_folder_with_files_is_left_alone(table: pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="other files; nothing was written"):
        write_partitions(table, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_what_fails_half_way_leaves_nothing(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_parquet(tmp_path / "x.parquet")
    content = bytearray((tmp_path / "x.parquet").read_bytes())
    content[4:1000] = bytes(996)
    (tmp_path / "x.parquet").write_bytes(bytes(content))
    with pytest.raises(TableError, match=r"x\.parquet could not be partitioned"):
        write_partitions(tmp_path / "x.parquet", tmp_path / "parts")
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "There is no file"),
        ("none.xyz", "a", "no rows of interactions"),
        ("head.csv", "user_id,item_id\n", "no rows"),
        ("other.csv", "person,item_id\n1,2\n", "'user_id'.*Found: person, item_id.*--user person"),
    ],
)
def test_what_cannot_be_read(name: str, content: str | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(TableError, match=said):
        write_partitions(tmp_path / name, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def test_a_folder_without_parquet(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(TableError, match="no parquet file"):
        write_partitions(tmp_path / "in", tmp_path / "parts")
