"""Files of a folder: found by name, read, and bad lines reported."""

import gzip
import logging
from pathlib import Path

import polars as pl
import pytest
from source_files import write

from teaser import files as named
from teaser.data.sources import folder
from teaser.data.sources.folder import (
    Folder,
    add_list,
    as_numbers,
    read_csv,
    read_dat,
    read_lines,
    report_bad,
)
from teaser.errors import TableError


def test_files_are_found_by_name_zipped_or_not(tmp_path: Path) -> None:
    write(tmp_path, b__csv="x")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x"))
    folder = Folder(tmp_path)
    assert folder.names == ["a.csv.gz", "b.csv"]
    assert folder.find("a.csv", "b.csv") == tmp_path / "a.csv.gz"
    assert folder.find("c.csv") is None
    with pytest.raises(TableError, match=r"c\.csv or d\.csv .*Found: a\.csv\.gz, b\.csv"):
        folder.need("tables", "c.csv", "d.csv")


def test_long_folders_are_listed_in_short(tmp_path: Path) -> None:
    assert Folder(tmp_path).listing() == "no file at all"
    for i in range(25):
        (tmp_path / f"{i:02d}").touch()
    assert Folder(tmp_path).listing().endswith("18, 19 and 5 more")


def test_one_field_may_contain_the_separator(tmp_path: Path) -> None:
    write(tmp_path, x__dat="1::a::b::2\r\n3::c::4\n")
    frame = read_dat(tmp_path / "x.dat", ["n", "title", "m"], wide="title")
    assert frame.rows() == [("1", "a::b", "2"), ("3", "c", "4")]
    assert as_numbers(frame, "n", "title").rows()[0] == (1, "a::b", "2")


def test_a_column_with_an_odd_cell_stays_text(tmp_path: Path) -> None:
    write(tmp_path, x__csv="a,b\n1,2\nx,3\n")
    frame = read_csv(tmp_path / "x.csv", "rows", {"a": pl.Int64, "b": pl.Int64})
    assert frame.rows() == [("1", 2), ("x", 3)]


def test_lists_are_distinct_and_in_order() -> None:
    items = pl.DataFrame({"id": [2, 1, 3]})
    pairs = pl.DataFrame({"id": [1, 2, 1, 1], "tag": ["b", "x", "a", "b"]})
    found = add_list(items, pairs, "tags")
    assert found.rows() == [(2, ["x"]), (1, ["b", "a"]), (3, None)]


def test_a_few_bad_lines_are_logged_and_more_are_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="teaser"):
        report_bad(Path("x"), [], 10, "are bad")
        assert not caplog.text
        report_bad(Path("x"), [7], 100, "are bad")
    assert "1 of 100 lines of x are bad: line 7" in caplog.text
    with pytest.raises(TableError, match="2 of 100 lines of x are bad: line 7, line 8"):
        report_bad(Path("x"), [7, 8], 100, "are bad")


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "_LONGEST", 2**16)
    write(tmp_path, a__dat="1::2\n" + "x" * 2**17)
    with pytest.raises(TableError, match="has more than 65,536 bytes"):
        list(read_lines(tmp_path / "a.dat"))


def test_a_gzipped_table_does_not_expand_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named, "_SMALL", 2**20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n" + b"0\n" * 2**22))
    with pytest.raises(TableError, match="expands to more than"):
        read_csv(tmp_path / "a.csv.gz", "rows", {"a": pl.Int64})
