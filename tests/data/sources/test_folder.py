"""Folders of public data sets: which reader fits, and what is said where none does."""

import gzip
import logging
from pathlib import Path

import pytest
from source_files import MOVIES_CSV, RATINGS_CSV, write

from teaser.data.sources.folder import (
    READERS,
    Folder,
    detect,
    read_source,
    report_bad,
)
from teaser.errors import DataError, ParameterError, TableError


def test_files_are_found_by_name_zipped_or_not(tmp_path: Path) -> None:
    write(tmp_path, b__csv="x")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x"))
    folder = Folder(tmp_path)
    assert folder.names == ["a.csv.gz", "b.csv"]
    assert folder.find("a.csv", "b.csv") == tmp_path / "a.csv.gz"
    assert folder.find("c.csv") is None
    with pytest.raises(TableError, match=r"c\.csv or d\.csv .*Found: a\.csv\.gz, b\.csv"):
        folder.need("tables", "c.csv", "d.csv")


def test_a_few_bad_lines_are_logged_and_more_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="teaser"):
        report_bad(Path("x"), [], 10, "are bad")
        assert not caplog.text
        report_bad(Path("x"), [7], 100, "are bad")
    assert "1 of 100 lines of x are bad: line 7" in caplog.text
    with pytest.raises(TableError, match="2 of 100 lines of x are bad: line 7, line 8"):
        report_bad(Path("x"), [7, 8], 100, "are bad")


class TestChoosing:
    def test_detects_each_layout(
        self, ml_1m: Path, movielens: Path, amazon: Path, tmp_path: Path
    ) -> None:
        assert [detect(f) for f in (ml_1m, movielens, amazon)] == ["ml-1m", "movielens", "amazon"]
        games = write(
            tmp_path / "g", interactions__csv="user_id\n", items__csv="item_id,sales_rank\n"
        )
        assert detect(games) == "amazon-video-games"
        assert detect(write(tmp_path / "b", books__csv="x", ratings_random__csv="y")) == "goodbooks"

    def test_tables_of_ones_own_fit_no_reader(self, tmp_path: Path) -> None:
        own = write(tmp_path / "own", interactions__csv="user_id\n", items__csv="item_id,price\n")
        with pytest.raises(TableError) as caught:
            detect(own)
        said = str(caught.value)
        assert "fits no reader" in said
        assert "Found: interactions.csv, items.csv. Name your own tables: teaser prepare" in said
        assert "Name the reader" not in said
        for name in READERS:
            assert f"{name}: " in said

    def test_two_layouts_in_one_folder(self, ml_1m: Path) -> None:
        write(ml_1m, movies__csv=MOVIES_CSV, ratings__csv=RATINGS_CSV)
        with pytest.raises(TableError, match="fits ml-1m and movielens"):
            detect(ml_1m)

    def test_unknown_name_and_option(self, movielens: Path) -> None:
        with pytest.raises(DataError, match=r"Unknown source 'movielen'.*Closest: movielens"):
            read_source("movielen", movielens)
        with pytest.raises(ParameterError, match=r"no option 'imbd'.*Closest: imdb"):
            read_source("movielens", movielens, imbd="x")
        with pytest.raises(ParameterError, match="Known: none"):
            read_source("ml-1m", movielens, imdb="x")
