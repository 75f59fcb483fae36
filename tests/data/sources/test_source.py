"""Readers are found by the files of a folder or by name, and make data sets."""

from pathlib import Path

import polars as pl
import pytest
from source_files import (
    MOVIES_CSV,
    RATINGS_CSV,
    real,
    write,
    write_imdb,
)

from teaser.data.dataset import Dataset
from teaser.data.rules import Rules
from teaser.data.sources import (
    read_amazon,
)
from teaser.data.sources.folder import READERS, Source, detect, read_source
from teaser.errors import DataError, ParameterError, TableError


def dataset(source: Source) -> Dataset:
    return Dataset.from_tables(
        source.interactions,
        source.items,
        user=source.user,
        item=source.item,
        rules=source.rules,
        positive=source.positive,
    )


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
        assert "Found: interactions.csv, items.csv. Name two tables: teaser prepare" in said
        assert "Name the reader" not in said
        for name in READERS:
            assert f"{name}: " in said

    def test_two_layouts_in_one_folder(self, ml_1m: Path) -> None:
        write(ml_1m, movies__csv=MOVIES_CSV, ratings__csv=RATINGS_CSV)
        with pytest.raises(TableError, match="fits ml-1m and movielens"):
            detect(ml_1m)

    def test_empty_folder(self, tmp_path: Path) -> None:
        with pytest.raises(TableError, match="Found: no file at all"):
            detect(tmp_path)

    def test_read_by_name(self, movielens: Path, tmp_path: Path) -> None:
        imdb = write_imdb(tmp_path / "imdb")
        source = read_source("movielens", str(movielens), imdb=str(imdb))
        assert source.name == "movielens"
        assert source.items["runtime"].to_list() == [81, None, 4]

    def test_unknown_name_and_option(self, movielens: Path) -> None:
        with pytest.raises(DataError, match=r"Unknown source 'movielen'.*Closest: movielens"):
            read_source("movielen", movielens)
        with pytest.raises(ParameterError, match=r"no option 'imbd'.*Closest: imdb"):
            read_source("movielens", movielens, imbd="x")
        with pytest.raises(ParameterError, match="Known: none"):
            read_source("ml-1m", movielens, imdb="x")

    def test_rules_survive_being_written(self, amazon: Path) -> None:
        rules = read_amazon(amazon).rules
        assert Rules.from_dict(rules.as_dict()).tags == rules.tags


@pytest.mark.parametrize(
    "name", ["ml-1m", "ml-latest-small", "amazon-video-games", "goodbooks-5pct"]
)
def test_the_real_copies_become_data_sets(name: str) -> None:
    source = read_source(detect(real(name)), real(name))
    made = dataset(source)
    assert made.report.refused == ()
    assert made.items_refused == ()
    assert made.report.rows == source.interactions.height
    assert made.n_items >= source.items.height
    assert made.table[made.rules.roles["title"]].dtype == pl.String
