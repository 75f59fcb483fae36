"""Interactions in partitions: written by user, read one at a time, the same as one table."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import RULES, small_tables
from numpy.testing import assert_array_equal

from teaser import Dataset, Teaser
from teaser.data import partitions as partitioner
from teaser.data.partitions import Partitions, write_partitions
from teaser.errors import DataError, ParameterError, TableError

Tables = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture
def folder(tables: Tables, tmp_path: Path) -> Path:
    write_partitions(tables[0], tmp_path / "parts", parts=4)
    return tmp_path / "parts"


def whole(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


def rewrite(path: Path, **changes: pl.Expr) -> None:
    pl.read_parquet(path).with_columns(**changes).write_parquet(path)


class TestDataset:
    def test_it_is_that_of_the_whole_table_but_for_users(
        self, folder: Path, tables: Tables
    ) -> None:
        parted = Dataset.from_partitions(folder, tables[1], rules=RULES, positive="rating >= 4")
        local = Dataset.from_tables(whole(folder), tables[1], rules=RULES, positive="rating >= 4")
        assert parted.items == local.items
        assert parted.tags == local.tags
        assert (parted.n_users, parted.n_items) == (local.n_users, local.n_items)
        assert_array_equal(parted.item_counts, local.item_counts)
        assert (parted.S != local.S).nnz == 0
        assert parted.describe() == local.describe()
        rows = np.vstack([parted.X.matrix(k).toarray() for k in range(4)])
        assert_array_equal(rows, local.X.toarray())

    def test_strengths_are_those_of_the_whole_table(
        self, folder: Path, tables: Tables, tmp_path: Path
    ) -> None:
        for number, path in enumerate(sorted(folder.glob("*.parquet"))):
            day = pl.date(2024, 1, 1) + pl.duration(days=pl.int_range(pl.len()) % 20 + number)
            again = pl.read_parquet(path).with_columns(day=day)
            pl.concat([again, again.head(9)]).write_parquet(path)
        options: dict[str, Any] = {
            "rules": RULES, "positive": "rating >= 2", "strength": "rating", "counts": "log",
            "time": "day", "half_life": 5,
        }  # fmt: skip
        parted = Dataset.from_partitions(folder, tables[1], **options)
        local = Dataset.from_tables(whole(folder), tables[1], **options)
        # Partitions keep no times.
        assert parted.describe() == replace(local, times=None).describe()
        assert "age counted from 2024-01-2" in " ".join(parted.lines())
        assert_array_equal(parted.item_counts, local.item_counts)
        rows = np.vstack([parted.X.matrix(k).toarray() for k in range(4)])
        assert_array_equal(rows, local.X.toarray())
        assert len(np.unique(rows)) > 20
        assert not parted.X.is_binary
        parted.save(tmp_path / "data")
        back = Dataset.load(tmp_path / "data")
        assert back.X.partitions == parted.X.partitions
        assert (back.X.matrix(1) != parted.X.matrix(1)).nnz == 0

    def test_refused_rows_are_counted_and_named_with_their_part(
        self, folder: Path, tables: Tables
    ) -> None:
        path = sorted(folder.glob("*.parquet"))[2]
        rewrite(path, item_id=pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("item_id"))
        report = Dataset.from_partitions(folder, tables[1], rules=RULES).report
        assert report.rows == tables[0].height == report.interactions + 1
        assert f"item_id is missing: {path} row 6" in str(report.refused[0])

    def test_a_part_without_rows_or_positives_is_no_fault(
        self, folder: Path, tables: Tables
    ) -> None:
        path = sorted(folder.glob("*.parquet"))[0]
        empty = pl.read_parquet(path).clear()
        (folder / "partitions.json").unlink()
        empty.write_parquet(folder / "part-none.parquet")
        rewrite(path, rating=pl.lit(1))
        parted = Dataset.from_partitions(folder, tables[1], rules=RULES, positive="rating >= 3")
        assert parted.X.sizes[0].interactions == 0
        assert parted.X.matrix(0).shape == (0, 40)
        assert parted.X.matrix(4).shape == (0, 40)
        Teaser(gram="sparse").fit(parted)


class TestBadInput:
    def test_a_user_in_two_partitions(self, folder: Path, tables: Tables) -> None:
        one, other = sorted(folder.glob("*.parquet"))[1:3]
        stray = pl.read_parquet(one).head(1)
        pl.concat([pl.read_parquet(other), stray]).write_parquet(other)
        with pytest.raises(DataError) as caught:
            Dataset.from_partitions(folder, tables[1], rules=RULES)
        for name in (repr(stray["user_id"][0]), str(one), str(other), "teaser partition"):
            assert name in str(caught.value)

    @pytest.mark.parametrize("column", ["user_id", "item_id"])
    def test_ids_of_another_type(self, folder: Path, tables: Tables, column: str) -> None:
        paths = sorted(folder.glob("*.parquet"))
        rewrite(paths[3], **{column: pl.int_range(pl.len())})
        with pytest.raises(DataError) as caught:
            Dataset.from_partitions(folder, tables[1], rules=RULES)
        assert str(paths[3]) in str(caught.value)
        assert str(paths[0]) in str(caught.value)
        assert "Int64" in str(caught.value)

    @pytest.mark.parametrize("damage", ["cut", "other", "empty", "list"])
    def test_a_corrupt_partition(self, folder: Path, tables: Tables, damage: str) -> None:
        path = sorted(folder.glob("*.parquet"))[1]
        content = path.read_bytes()
        if damage == "list":
            path = folder / "partitions.json"
        path.write_bytes(
            {"cut": content[:-40], "other": b"no parquet", "empty": b"", "list": b"{"}[damage]
        )
        with pytest.raises(TableError) as caught:
            Dataset.from_partitions(folder, tables[1], rules=RULES)
        assert str(path) in str(caught.value)

    @pytest.mark.parametrize("change", ["gone", "fewer", "items"])
    def test_a_partition_that_changed_after_the_data_set_was_made(
        self, folder: Path, tables: Tables, change: str
    ) -> None:
        parted = Dataset.from_partitions(folder, tables[1], rules=RULES)
        path = Path(parted.X.parts[1].source)
        if change == "gone":
            path.unlink()
        elif change == "fewer":
            pl.read_parquet(path).head(-1).write_parquet(path)
        else:
            rewrite(path, item_id=pl.lit("j") + pl.col("item_id").str.slice(1))
        with pytest.raises(DataError) as caught:
            Teaser(gram="sparse").fit(parted)
        assert str(path) in str(caught.value)
        assert "repare the data set again" in str(caught.value)

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("nowhere", "no folder nowhere"),
            ([], "at least one partition"),
            (["a.parquet", "a.parquet"], "each of them once"),
            ([3], "found a int"),
            ("nosuch://bucket/x", "nosuch://bucket/x cannot be opened"),
        ],
    )
    def test_what_is_no_partitions(self, source: Any, said: str) -> None:
        with pytest.raises((TableError, ParameterError), match=said):
            Partitions.open(source)


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


def test_numbers_in_text_become_numbers_only_if_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user_id;item_id;zip\n1;007;10\n2;8;\n3;9;12\n")
    write_partitions(tmp_path / "x.csv", tmp_path / "parts", parts=1)
    (found,) = parts_of(tmp_path / "parts")
    assert found["user_id"].to_list() == [1, 2, 3]
    assert found["item_id"].to_list() == ["007", "8", "9"]
    assert found["zip"].to_list() == [10, None, 12]


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
        with pytest.raises(TableError, match=r"zz\.parquet is one too many: partitions\.json"):
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
