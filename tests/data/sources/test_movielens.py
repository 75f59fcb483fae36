"""MovieLens, with credits from IMDb."""

import gzip
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from source_files import (
    EXTRAS_DAT,
    IMDB,
    MOVIES_DAT,
    features,
    read_real,
    write,
    write_imdb,
)

from teaser.data.rules import Number
from teaser.data.sources import read_movielens, read_movielens_1m
from teaser.data.tags import Tag, build_tags
from teaser.errors import TableError


class TestMovieLens1M:
    def test_official_layout(self, ml_1m: Path) -> None:
        source = read_movielens_1m(ml_1m)
        assert_frame_equal(
            source.interactions,
            pl.DataFrame(
                {
                    "userId": [1, 1, 2],
                    "movieId": [10, 11, 10],
                    "rating": [5, 3, 4],
                    "timestamp": [978300760, 978302109, 978301968],
                }
            ),
        )
        assert_frame_equal(
            source.items,
            pl.DataFrame(
                {
                    "movieId": [10, 11],
                    "title": ["The Lantern", "Café of Rain (Le Café de la pluie)"],
                    "year": [1995, 1971],
                    "genres": [["Animation", "Children's"], ["Drama"]],
                }
            ),
        )
        assert (source.user, source.item, source.positive) == ("userId", "movieId", "rating >= 4")
        assert features(source.rules) == {"genre": 3, "year": 3}

    def test_users_in_words(self, ml_1m: Path) -> None:
        users = read_movielens_1m(ml_1m).users
        assert users is not None
        assert_frame_equal(
            users,
            pl.DataFrame(
                {
                    "userId": [1, 2],
                    "gender": ["female", "male"],
                    "age": ["under 18", "56 and over"],
                    "occupation": ["K-12 student", "self-employed"],
                    "zip": ["48067", "70072-1234"],
                }
            ),
        )

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
    def test_either_encoding(self, ml_1m: Path, encoding: str) -> None:
        (ml_1m / "movies.dat").write_bytes(MOVIES_DAT.encode(encoding))
        assert read_movielens_1m(ml_1m).items["title"][1] == "Café of Rain (Le Café de la pluie)"

    def test_extra_information(self, ml_1m: Path) -> None:
        write(ml_1m, movies_extrainfos__dat=EXTRAS_DAT)
        source = read_movielens_1m(ml_1m)
        first, second = source.items.rows(named=True)
        assert first == {
            "movieId": 10,
            "title": "The Lantern",
            "year": 1995,
            "genres": ["Animation", "Family"],
            "certificate": "PG",
            "release_date": date(1995, 11, 22),
            "directors": ["Ann Ox", "Bo Ey"],
            "writers": ["Ann Ox", "Cy Du", "Di Em"],
            "actors": ["Ed Fa", "Gil Ho"],
            "plot": "A boy: he says:: hello.",
            "poster": "https://pictures.example/10.jpg",
        }
        assert second["year"] == 1970
        assert second["genres"] == ["Drama"]
        missing = ("release_date", "directors", "writers", "actors", "plot", "poster")
        assert [second[column] for column in missing] == [None] * 6
        assert source.rules.roles == {"title": "title", "description": "plot", "picture": "poster"}
        credited = {"director": 3, "writer": 3, "actor": 3}
        assert features(source.rules) == {"genre": 3, "year": 3, "certificate": 3, **credited}

    def test_missing_file_says_what_is_there(self, ml_1m: Path) -> None:
        (ml_1m / "movies.dat").unlink()
        with pytest.raises(
            TableError, match=r"looked for movies\.dat .*Found: ratings\.dat, users\.dat"
        ):
            read_movielens_1m(ml_1m)


class TestMovieLens:
    def test_tables(self, movielens: Path) -> None:
        source = read_movielens(movielens)
        assert source.interactions.columns == ["userId", "movieId", "rating", "timestamp"]
        assert source.interactions["rating"].to_list() == [4.0, 2.5, 5.0]
        site = "https://www.imdb.com/title/"
        assert_frame_equal(
            source.items,
            pl.DataFrame(
                {
                    "movieId": [1, 2, 3],
                    "title": ["The Lantern (La Lanterne)", "Night Office", "Nameless"],
                    "year": [1995, 2006, None],
                    "genres": [["Adventure", "Animation"], ["Drama"], None],
                    "tags": [["fun", "a|b, c"], ["dark"], None],
                    "link": [f"{site}tt0114709/", f"{site}tt10048342/", f"{site}tt0000003/"],
                }
            ),
        )
        assert features(source.rules) == {"genre": 3, "year": 3, "tag": 3}
        assert source.rules.roles == {"title": "title", "link": "link"}

    def test_titles(self, movielens: Path) -> None:
        titles = {
            "Matrix, The (1999)": "The Matrix",
            "Affair, An (1999) ": "An Affair",
            "Avventura, L' (Adventure, The) (1960)": "L'Avventura (The Adventure)",
            "Guard (a.k.a. Watch, The) (Garde, La) (1994)": "Guard (a.k.a. The Watch) (La Garde)",
            "Wonderful, Horrible Life, The (1993)": "The Wonderful, Horrible Life",
            "Girl, Interrupted (1999)": "Girl, Interrupted",
            "Associate, The (L'Associe)(1982)": "The Associate (L'Associe)",
            "Show (2011– )": "Show",
            "1984": "1984",
        }
        rows = "".join(f'{i},"{raw}",Drama\n' for i, raw in enumerate(titles))
        write(movielens, movies__csv=f"movieId,title,genres\n{rows}")
        assert read_movielens(movielens).items["title"].to_list() == list(titles.values())

    def test_tags_and_links_are_optional(self, movielens: Path) -> None:
        (movielens / "tags.csv").unlink()
        (movielens / "links.csv").unlink()
        source = read_movielens(movielens)
        assert source.items.columns == ["movieId", "title", "year", "genres"]
        assert features(source.rules) == {"genre": 3, "year": 3}


def test_the_real_movielens_1m() -> None:
    source = read_real("ml-1m", read_movielens_1m)
    ratings = source.interactions
    assert ratings.height == 1_000_209
    assert (ratings["userId"].n_unique(), ratings["movieId"].n_unique()) == (6_040, 3_706)
    assert source.users is not None
    assert source.users.height == 6_040
    assert source.users["age"].n_unique() == 7
    assert source.users["occupation"].n_unique() == 21
    assert source.items.height == 3_881
    assert not source.items["title"].str.contains("\ufffd").any()
    assert source.items["year"].null_count() == 0
    credited = source.items["writers"].explode().drop_nulls()
    assert not credited.str.contains(r"[()]|^N/A$").any()
    # The figures of the experiments are over the movies that somebody liked.
    liked = ratings.filter(pl.col("rating") >= 4).select("movieId")
    table = build_tags(source.items.join(liked, on="movieId", how="semi"), source.rules.tags)
    assert dict(table.report.tags) == {
        "genre": 23,
        "year": 74,
        "certificate": 6,
        "director": 411,
        "writer": 676,
        "actor": 1_304,
    }
    assert Tag("director", "Alfred Hitchcock") in table.tags


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
