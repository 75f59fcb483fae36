"""IMDb's tables, joined to MovieLens."""

import gzip
import logging
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from source_files import (
    IMDB,
    features,
    write,
    write_imdb,
)

from teaser.data.rules import Number
from teaser.data.sources import (
    read_movielens,
)
from teaser.errors import ParameterError, TableError


class TestImdb:
    @pytest.mark.parametrize("zipped", [False, True])
    def test_join(self, movielens: Path, tmp_path: Path, zipped: bool) -> None:
        source = read_movielens(movielens, imdb=write_imdb(tmp_path / "imdb", zipped=zipped))
        assert_frame_equal(
            source.items.select("movieId", "year", "runtime", "directors", "writers"),
            pl.DataFrame(
                {
                    "movieId": [1, 2, 3],
                    "year": [1995, 2006, 1892],
                    "runtime": [81, None, 4],
                    "directors": [["Bo Ey", "Ann Ox"], ["Ann Ox"], None],
                    "writers": [["Cy Du"], None, None],
                }
            ),
        )
        assert features(source.rules)["director"] == features(source.rules)["writer"] == 3
        assert "actor" not in features(source.rules)
        assert Number("runtime", bins=10, unit="minutes") in source.rules.tags

    def test_without_crew_principals_stand_in(self, movielens: Path, tmp_path: Path) -> None:
        imdb = write_imdb(
            tmp_path / "imdb", "title.basics.tsv", "title.principals.tsv", "name.basics.tsv"
        )
        items = read_movielens(movielens, imdb=imdb).items
        assert items["directors"].to_list() == [["Ann Ox"], None, None]
        assert items["writers"].to_list() == [["Cy Du"], None, None]
        assert "actors" not in items.columns

    @pytest.mark.parametrize("crew", [False, True])
    def test_actors_in_the_order_of_billing(
        self, movielens: Path, tmp_path: Path, crew: bool
    ) -> None:
        names = [name for name in IMDB if crew or name != "title.crew.tsv"]
        imdb = write_imdb(tmp_path / "imdb", *names)
        source = read_movielens(movielens, imdb=imdb, actors=True)
        assert source.items["actors"].to_list() == [["Cy Du", "Ann Ox"], None, None]
        assert source.items["directors"][0].to_list() == (
            ["Bo Ey", "Ann Ox"] if crew else ["Ann Ox"]
        )
        assert features(source.rules)["actor"] == 3

    def test_counts_what_was_not_found(
        self, movielens: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        imdb = write_imdb(tmp_path / "imdb")
        write(imdb, title__basics__tsv=IMDB["title.basics.tsv"].replace("tt10048342", "tt7"))
        write(imdb, name__basics__tsv=IMDB["name.basics.tsv"].replace("nm0000002\t", "nm8\t"))
        with caplog.at_level(logging.INFO, logger="teaser"):
            items = read_movielens(movielens, imdb=imdb).items
        assert "2 of 3 movies were found in IMDb" in caplog.text
        assert "1 movies were not found in IMDb, such as 2." in caplog.text
        assert "1 of 3 credited names are not in" in caplog.text
        assert "nm0000002" in caplog.text
        assert items["directors"].to_list() == [["Ann Ox"], ["Ann Ox"], None]

    def test_warns_when_nothing_matches(
        self, movielens: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write(movielens, links__csv="movieId,imdbId\n1,5550001\n2,\n3,5550003\n")
        with caplog.at_level(logging.WARNING, logger="teaser"):
            source = read_movielens(movielens, imdb=write_imdb(tmp_path / "imdb"))
        assert "None of the 3 movies was found" in caplog.text
        assert features(source.rules) == {"genre": 3, "year": 3, "tag": 3}
        assert source.rules.skipped["runtime"] == "it is empty"

    def test_needs_links_and_tables(self, movielens: Path, tmp_path: Path) -> None:
        imdb = write_imdb(tmp_path / "imdb", "title.basics.tsv", "name.basics.tsv")
        with pytest.raises(TableError, match=r"title\.crew\.tsv or title\.principals\.tsv"):
            read_movielens(movielens, imdb=imdb)
        write_imdb(imdb, "title.crew.tsv")
        with pytest.raises(TableError, match=r"The actors are missing.*title\.principals\.tsv"):
            read_movielens(movielens, imdb=imdb, actors=True)
        (movielens / "links.csv").unlink()
        with pytest.raises(TableError, match=r"links\.csv"):
            read_movielens(movielens, imdb=imdb)

    def test_actors_need_imdb(self, movielens: Path) -> None:
        with pytest.raises(ParameterError, match="imdb="):
            read_movielens(movielens, actors=True)

    def test_foreign_and_broken_tables(self, movielens: Path, tmp_path: Path) -> None:
        imdb = write_imdb(tmp_path / "imdb")
        write(imdb, title__crew__tsv="tconst\tdirector\twriters\ntt1\tnm1\tnm2\n")
        with pytest.raises(TableError, match=r"title\.crew\.tsv lacks column 'directors'.*Closest"):
            read_movielens(movielens, imdb=imdb)
        (imdb / "title.crew.tsv").unlink()
        rows = "".join(
            f"tt{i * 7919 % 9999991}\tnm{i * 104729 % 9999973}\t\\N\n" for i in range(9999)
        )
        whole = gzip.compress(IMDB["title.crew.tsv"].encode() + rows.encode())
        (imdb / "title.crew.tsv.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(TableError, match=r"title\.crew\.tsv\.gz could not be read"):
            read_movielens(movielens, imdb=imdb)
