"""Readers of public data sets: each official layout written by hand, and the real copies."""

import gzip
import json
import logging
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from teaser.data.dataset import Dataset
from teaser.data.sources.source import (
    READERS,
    Source,
    detect,
    read_amazon,
    read_amazon_video_games,
    read_goodbooks,
    read_movielens,
    read_movielens_1m,
    read_source,
)
from teaser.data.tagging.one_hot import build_tags
from teaser.data.tagging.rule_set import ListOf, Number, Rules, Text, Year
from teaser.data.tagging.tag import Tag
from teaser.errors import DataError, ParameterError, TableError

REAL = Path(os.environ.get("TEASER_DATA") or Path(__file__).parents[4] / "shared" / "data")

RATINGS_DAT = "1::10::5::978300760\n1::11::3::978302109\n2::10::4::978301968\n"
MOVIES_DAT = (
    "10::Lantern, The (1995)::Animation|Children's\n"
    "11::Café of Rain (Café de la pluie, Le) (1971)::Drama\n"
)
USERS_DAT = "1::F::1::10::48067\n2::M::56::16::70072-1234\n"
EXTRAS_DAT = (
    "10::The Lantern::1995::PG::22 Nov 1995::Animation, Family::Ann Ox, Bo Ey(co-director)"
    '::Ann Ox (story), Cy Du (story), Ann Ox (screenplay), Di Em (novel "Up, Down")'
    "::Ed Fa, Gil Ho::A boy: he says:: hello.::https://pictures.example/10.jpg\r\n"
    "11::N/A::1970::UNRATED::N/A::N/A::N/A::N/A::N/A::N/A::N/A\r\n"
)
RATINGS_CSV = "userId,movieId,rating,timestamp\n1,1,4.0,964982703\n1,2,2.5,964981247\n2,1,5.0,7\n"
MOVIES_CSV = (
    "movieId,title,genres\n"
    '1,"Lantern, The (Lanterne, La) (1995)",Adventure|Animation\n'
    "2,Night Office (2006–2007),Drama\n"
    "3,Nameless,(no genres listed)\n"
)
TAGS_CSV = 'userId,movieId,tag,timestamp\n1,1,Fun,1\n2,1, fun ,2\n2,1,"a|b, c",3\n2,2,dark,4\n'
LINKS_CSV = "movieId,imdbId,tmdbId\n1,0114709,862\n2,10048342,\n3,0000003,5\n"
IMDB = {
    "title.basics.tsv": "tconst\ttitleType\tprimaryTitle\tstartYear\truntimeMinutes\n"
    'tt0114709\tmovie\t"Lantern\t1995\t81\n'
    "tt10048342\ttvSeries\tNight Office\t2006\t\\N\n"
    "tt0000003\tmovie\tNameless\t1892\t4\n"
    "tt0000009\tmovie\tOther\t1894\t45\n",
    "title.crew.tsv": "tconst\tdirectors\twriters\n"
    "tt0114709\tnm0000002,nm0000001\tnm0000003\n"
    "tt10048342\tnm0000001\t\\N\n"
    "tt0000009\tnm0000004\tnm0000004\n",
    "title.principals.tsv": "tconst\tordering\tnconst\tcategory\tjob\tcharacters\n"
    "tt0114709\t10\tnm0000001\tactress\t\\N\t\\N\n"
    "tt0114709\t2\tnm0000003\tactor\t\\N\t\\N\n"
    "tt0114709\t3\tnm0000001\tdirector\t\\N\t\\N\n"
    "tt0114709\t4\tnm0000003\twriter\t\\N\t\\N\n"
    "tt0000009\t1\tnm0000004\tactor\t\\N\t\\N\n",
    "name.basics.tsv": "nconst\tprimaryName\tbirthYear\n"
    "nm0000001\tAnn Ox\t1960\nnm0000002\tBo Ey\t\\N\nnm0000003\tCy Du\t\\N\nnm0000004\tNo One\t1\n",
}
REVIEWS_2014 = [
    {"reviewerID": "A1", "asin": "B01", "overall": 5.0, "unixReviewTime": 1341792000},
    {"reviewerID": "A2", "asin": "B01", "overall": 3.0, "unixReviewTime": 1341792001},
    {"reviewerID": "A2", "asin": "B02", "overall": 4.0, "unixReviewTime": 1341792002},
]
META_2014: list[dict[str, Any]] = [
    {
        "asin": "B01",
        "title": "Knight&#39;s <b>Quest</b>",
        "description": "A &quot;game&quot;<br />for  two, 3 < 4.",
        "price": 12.99,
        "brand": "Ox & Ey",
        "categories": [["Video Games", "PC", "Games"], ["Toys", "Puzzles"], ["Else", "Games"]],
        "imUrl": "http://pictures.example/B01.jpg",
    },
    {"asin": "B09", "title": "never reviewed"},
    {"asin": "B02", "price": -1, "brand": "", "categories": []},
]


def write(folder: Path, **files: str) -> Path:
    """Write texts into a folder; `__` in a keyword stands for the dot of the file's name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def write_imdb(folder: Path, *names: str, zipped: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or IMDB:
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(IMDB[name].encode()))
        else:
            (folder / name).write_text(IMDB[name], encoding="utf-8")
    return folder


def jsonl(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def literals(records: list[dict[str, Any]]) -> str:
    return "".join(repr(record) + "\n" for record in records)


def features(rules: Rules) -> dict[str, int]:
    return {rule.name: rule.min_items for rule in rules.tags}


def dataset(source: Source) -> Dataset:
    return Dataset.from_tables(
        source.interactions,
        source.items,
        user=source.user,
        item=source.item,
        rules=source.rules,
        positive=source.positive,
    )


@pytest.fixture
def ml_1m(tmp_path: Path) -> Path:
    return write(
        tmp_path / "ml-1m", ratings__dat=RATINGS_DAT, movies__dat=MOVIES_DAT, users__dat=USERS_DAT
    )


@pytest.fixture
def movielens(tmp_path: Path) -> Path:
    return write(
        tmp_path / "ml",
        ratings__csv=RATINGS_CSV,
        movies__csv=MOVIES_CSV,
        tags__csv=TAGS_CSV,
        links__csv=LINKS_CSV,
    )


@pytest.fixture
def amazon(tmp_path: Path) -> Path:
    return write(
        tmp_path / "amazon",
        reviews_Games_5__json=jsonl(REVIEWS_2014),
        meta_Games__json=literals(META_2014),
    )


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

    def test_users_are_optional(self, ml_1m: Path) -> None:
        (ml_1m / "users.dat").unlink()
        assert read_movielens_1m(ml_1m).users is None

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
    def test_either_encoding(self, ml_1m: Path, encoding: str) -> None:
        (ml_1m / "movies.dat").write_bytes(MOVIES_DAT.encode(encoding))
        assert read_movielens_1m(ml_1m).items["title"][1] == "Café of Rain (Le Café de la pluie)"

    def test_latin_1_control_characters_end_no_line(self, ml_1m: Path) -> None:
        (ml_1m / "movies.dat").write_bytes(b"10::A\x85B\xe9 (1990)::Drama\r\n11::C (1991)::War\r\n")
        items = read_movielens_1m(ml_1m).items
        assert items["title"].to_list() == ["A\x85Bé", "C"]
        assert items["genres"].to_list() == [["Drama"], ["War"]]

    def test_csv_ratings(self, ml_1m: Path) -> None:
        (ml_1m / "ratings.dat").unlink()
        write(ml_1m, ratings__csv="userId,movieId,rating\n1,10,5\n2,11,3\n")
        assert read_movielens_1m(ml_1m).interactions.rows() == [(1, 10, 5.0), (2, 11, 3.0)]

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
        people = {"director": 3, "writer": 3, "actor": 3}
        assert features(source.rules) == {"genre": 3, "year": 3, "certificate": 3, **people}

    def test_lost_accents_are_taken_from_the_extra_title(self, ml_1m: Path) -> None:
        write(
            ml_1m,
            movies__dat=MOVIES_DAT.replace("é", "\ufffd").replace("Lantern, The", "Lamp, The"),
            movies_extrainfos__dat=EXTRAS_DAT.replace("11::N/A", "11::Café of Rain"),
        )
        assert read_movielens_1m(ml_1m).items["title"].to_list() == ["The Lamp", "Café of Rain"]

    def test_few_bad_lines_are_counted_and_named(
        self, ml_1m: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write(ml_1m, ratings__dat=RATINGS_DAT * 100 + "\n7::8\n" + RATINGS_DAT)
        with caplog.at_level(logging.WARNING, logger="teaser"):
            source = read_movielens_1m(ml_1m)
        assert source.interactions.height == 303
        assert "1 of 304 lines" in caplog.text
        assert "line 302" in caplog.text

    def test_many_bad_lines_are_refused(self, ml_1m: Path) -> None:
        write(ml_1m, ratings__dat=RATINGS_DAT + "7::8\n")
        with pytest.raises(
            TableError, match=r"1 of 4 lines of .*ratings\.dat .*: line 4\. At most 1%"
        ):
            read_movielens_1m(ml_1m)

    def test_ids_that_are_no_numbers_are_refused_later_not_lost(self, ml_1m: Path) -> None:
        write(ml_1m, ratings__dat=RATINGS_DAT.replace("::3::", "::three::"))
        source = read_movielens_1m(ml_1m)
        assert source.interactions["rating"].to_list() == ["5", "three", "4"]
        assert source.interactions["userId"].to_list() == [1, 1, 2]

    def test_missing_file_says_what_is_there(self, ml_1m: Path) -> None:
        (ml_1m / "movies.dat").unlink()
        with pytest.raises(
            TableError, match=r"looked for movies\.dat .*Found: ratings\.dat, users\.dat"
        ):
            read_movielens_1m(ml_1m)

    def test_empty_file(self, ml_1m: Path) -> None:
        write(ml_1m, movies__dat="\n")
        with pytest.raises(TableError, match=r"movies\.dat is empty"):
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

    @pytest.mark.parametrize(
        ("raw", "shown"),
        [
            ("Matrix, The (1999)", "The Matrix"),
            ("Affair, An (1999) ", "An Affair"),
            ("Avventura, L' (Adventure, The) (1960)", "L'Avventura (The Adventure)"),
            ("Guard (a.k.a. Watch, The) (Garde, La) (1994)", "Guard (a.k.a. The Watch) (La Garde)"),
            ("Wonderful, Horrible Life, The (1993)", "The Wonderful, Horrible Life"),
            ("Girl, Interrupted (1999)", "Girl, Interrupted"),
            ("Associate, The (L'Associe)(1982)", "The Associate (L'Associe)"),
            ("Show (2011– )", "Show"),
            ("1984", "1984"),
        ],
    )
    def test_titles(self, movielens: Path, raw: str, shown: str) -> None:
        write(movielens, movies__csv=f'movieId,title,genres\n1,"{raw}",Drama\n')
        assert read_movielens(movielens).items["title"].to_list() == [shown]

    def test_tags_and_links_are_optional(self, movielens: Path) -> None:
        (movielens / "tags.csv").unlink()
        (movielens / "links.csv").unlink()
        source = read_movielens(movielens)
        assert source.items.columns == ["movieId", "title", "year", "genres"]
        assert features(source.rules) == {"genre": 3, "year": 3}

    def test_rows_without_a_tag_are_counted(
        self, movielens: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write(movielens, tags__csv=TAGS_CSV + "3,1,,5\n3,1,  ,5\n")
        with caplog.at_level(logging.WARNING, logger="teaser"):
            tags = read_movielens(movielens).items["tags"].to_list()
        assert tags == [["fun", "a|b, c"], ["dark"], None]
        assert "2 rows" in caplog.text

    def test_gzipped_tables(self, movielens: Path) -> None:
        plain = read_movielens(movielens)
        for path in list(movielens.iterdir()):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        zipped = read_movielens(movielens)
        assert_frame_equal(zipped.items, plain.items)
        assert_frame_equal(zipped.interactions, plain.interactions)

    def test_an_odd_cell_is_refused_and_named_by_the_data_set(self, movielens: Path) -> None:
        write(movielens, ratings__csv=RATINGS_CSV + "3,1,many,8\n")
        source = read_movielens(movielens)
        rules = Rules((ListOf("genres", feature="genre"),))
        made = Dataset.from_tables(
            source.interactions,
            source.items,
            user="userId",
            item="movieId",
            rules=rules,
            positive="rating >= 4",
        )
        assert [str(r) for r in made.report.refused] == [
            "1 rows refused, rating is not a number: row 4 ('many')"
        ]
        assert made.report.interactions == 2

    def test_missing_column(self, movielens: Path) -> None:
        write(movielens, ratings__csv="user,movieId,rating\n1,1,4\n")
        with pytest.raises(TableError, match=r"'userId', needed for the ratings .*Closest: user"):
            read_movielens(movielens)

    def test_empty_and_header_only(self, movielens: Path) -> None:
        write(movielens, ratings__csv="")
        with pytest.raises(TableError, match="is empty"):
            read_movielens(movielens)
        write(movielens, ratings__csv="userId,movieId,rating\n")
        with pytest.raises(TableError, match="no rows"):
            read_movielens(movielens)

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(TableError, match="does not exist"):
            read_movielens(tmp_path / "nowhere")
        (tmp_path / "file").write_text("x")
        with pytest.raises(TableError, match="is a file, not a folder"):
            read_movielens(tmp_path / "file")


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
        assert "1 of 3 people have no name" in caplog.text
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


class TestAmazon:
    def test_2014(self, amazon: Path) -> None:
        source = read_amazon(amazon)
        assert_frame_equal(
            source.interactions,
            pl.DataFrame(
                {
                    "user_id": ["A1", "A2", "A2"],
                    "item_id": ["B01", "B01", "B02"],
                    "rating": [5.0, 3.0, 4.0],
                    "timestamp": [1341792000, 1341792001, 1341792002],
                }
            ),
        )
        assert_frame_equal(
            source.items,
            pl.DataFrame(
                {
                    "item_id": ["B01", "B02"],
                    "title": ["Knight's Quest", None],
                    "description": ['A "game" for two, 3 < 4.', None],
                    "price": [12.99, None],
                    "brand": ["Ox & Ey", None],
                    "categories": [["Games", "Puzzles"], None],
                    "picture": ["http://pictures.example/B01.jpg", None],
                    "link": ["https://www.amazon.com/dp/B01", "https://www.amazon.com/dp/B02"],
                }
            ),
        )
        assert (source.user, source.item, source.positive) == ("user_id", "item_id", "rating >= 4")

    def test_rules_of_the_paper(self, amazon: Path) -> None:
        rules = read_amazon(amazon).rules
        assert rules.tags[0] == Number("price", bins=10, unit="dollars")
        assert features(rules) == {"price": 1, "brand": 3, "category": 3, "keyword": 1}
        assert rules.tags[3] == Text(
            ("title", "description"), feature="keyword", min_share=0.01, max_share=0.3
        )
        shown = ("title", "description", "picture", "link")
        assert rules.roles == {role: role for role in shown}

    def test_2018_gzipped(self, tmp_path: Path) -> None:
        meta: list[dict[str, Any]] = [
            {
                "asin": "B01",
                "title": "Puzzle",
                "description": ["One.", "", "<p>Two.</p>"],
                "price": "$1,012.50",
                "brand": "by\n    \n    Ox",
                "category": ["Video Games", "PC", "</span></span>", "Ships fast"],
                "imageURL": ["http://pictures.example/small.jpg"],
                "imageURLHighRes": ["http://pictures.example/large.jpg"],
            },
            {"asin": "B02", "price": ".a-box-inner{color:red}", "category": [], "imageURL": []},
        ]
        for name, records in (("Games_5", REVIEWS_2014), ("meta_Games", meta)):
            (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress(jsonl(records).encode()))
        source = read_amazon(tmp_path)
        assert source.interactions.height == 3
        assert source.items.drop("link").rows() == [
            (
                "B01",
                "Puzzle",
                "One. Two.",
                1012.5,
                "Ox",
                ["PC"],
                "http://pictures.example/large.jpg",
            ),
            ("B02", None, None, None, None, None, None),
        ]

    def test_2023(self, tmp_path: Path) -> None:
        reviews = [
            {
                "user_id": "U1",
                "asin": "B01X",
                "parent_asin": "B01",
                "rating": 4.0,
                "timestamp": 1588687728923,
            },
            {
                "user_id": "U2",
                "asin": "B02",
                "parent_asin": "B02",
                "rating": 1.0,
                "timestamp": 1588687728,
            },
        ]
        meta: list[dict[str, Any]] = [
            {
                "parent_asin": "B01",
                "title": "Puzzle",
                "description": ["One.", "Two."],
                "price": "from 14.99",
                "store": "Ox",
                "categories": ["Video Games", "PC", "Games"],
                "images": [{"thumb": "t.jpg", "large": "l.jpg", "hi_res": None}],
            },
            {
                "parent_asin": "B02",
                "price": "—",
                "store": None,
                "categories": [],
                "images": {"hi_res": ["h.jpg"], "large": []},
            },
        ]
        write(tmp_path, Games__jsonl=jsonl(reviews), meta_Games__jsonl=jsonl(meta))
        source = read_amazon(tmp_path)
        assert source.interactions.rows() == [
            ("U1", "B01", 4.0, 1588687728),
            ("U2", "B02", 1.0, 1588687728),
        ]
        assert source.items.drop("link").rows() == [
            ("B01", "Puzzle", "One. Two.", 14.99, "Ox", ["Games"], "l.jpg"),
            ("B02", None, None, None, None, None, "h.jpg"),
        ]

    @pytest.mark.parametrize(
        ("told", "price"),
        [
            (0, 0.0),
            ("$5", 5.0),
            ("$1.50 - $20.00", 1.5),
            ("1,299.00", 1299.0),
            (True, None),
            (float("nan"), None),
            ("", None),
            ("$12.99 each", None),
            ([1], None),
        ],
    )
    def test_prices(self, amazon: Path, told: Any, price: float | None) -> None:
        write(amazon, meta_Games__json=jsonl([{"asin": "B01", "price": told}]))
        assert read_amazon(amazon).items["price"].to_list() == [price]

    def test_odd_prices_are_counted(self, amazon: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="teaser"):
            read_amazon(amazon)
        assert "1 prices" in caplog.text
        assert "such as -1" in caplog.text
        assert "2 of 2 reviewed items" in caplog.text

    def test_scripts_and_comments_are_no_words(self, amazon: Path) -> None:
        text = "<SCRIPT>var x = 1;</script >Fun<!-- hidden --> &amp; games<style>p {}</style>"
        write(amazon, meta_Games__json=jsonl([{"asin": "B01", "description": text}]))
        assert read_amazon(amazon).items["description"].to_list() == ["Fun & games"]

    def test_few_bad_lines_are_counted_and_named(
        self, amazon: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        lines = jsonl(REVIEWS_2014 * 100)
        write(amazon, reviews_Games_5__json=lines + "{broken\n\n" + lines + "[1, 2]\n")
        with caplog.at_level(logging.WARNING, logger="teaser"):
            source = read_amazon(amazon)
        assert source.interactions.height == 600
        assert "line 301, line 603" in caplog.text
        assert "2 of 603 lines" in caplog.text

    def test_many_bad_lines_are_refused(self, amazon: Path) -> None:
        write(amazon, reviews_Games_5__json=jsonl(REVIEWS_2014) + "{'a': open('x')}\n")
        with pytest.raises(
            TableError, match=r"1 of 4 lines of .*reviews_Games_5\.json .*: line 4\."
        ):
            read_amazon(amazon)

    def test_chunks_keep_every_row(self, amazon: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("teaser.data._amazon._CHUNK", 2)
        users = [f"A{i}" for i in range(5)]
        write(
            amazon,
            reviews_Games_5__json=jsonl([{**REVIEWS_2014[0], "reviewerID": u} for u in users]),
        )
        assert read_amazon(amazon).interactions["user_id"].to_list() == users

    def test_a_review_without_an_item_is_refused_by_the_data_set(self, amazon: Path) -> None:
        lost = {"reviewerID": "A9", "overall": 5.0}
        write(amazon, reviews_Games_5__json=jsonl([*REVIEWS_2014, lost]))
        source = read_amazon(amazon)
        made = Dataset.from_tables(
            source.interactions,
            source.items,
            rules=(Number("price", edges=(5,)),),
            positive="rating >= 4",
        )
        assert [r.reason for r in made.report.refused] == ["item_id is missing"]
        assert (made.n_users, made.n_items) == (2, 2)

    def test_files_given_by_name(self, amazon: Path, tmp_path: Path) -> None:
        reviews, meta = amazon / "reviews_Games_5.json", amazon / "meta_Games.json"
        assert_frame_equal(read_amazon(reviews=reviews, meta=meta).items, read_amazon(amazon).items)
        with pytest.raises(TableError, match=r"no file .*nothing\.json"):
            read_amazon(amazon, meta=tmp_path / "nothing.json")
        with pytest.raises(ParameterError, match="meta="):
            read_amazon(reviews=reviews)

    def test_several_candidates(self, amazon: Path) -> None:
        write(amazon, reviews_Toys_5__json=jsonl(REVIEWS_2014))
        with pytest.raises(TableError, match=r"2 files fit.*reviews_Toys_5\.json.*reviews="):
            read_amazon(amazon)

    def test_not_reviews(self, amazon: Path) -> None:
        write(amazon, reviews_Games_5__json=jsonl([{"name": "x", "stars": 5}]))
        with pytest.raises(
            TableError, match=r"No line .* has a user_id .*The first line holds: name, stars"
        ):
            read_amazon(amazon)

    def test_nothing_described(self, amazon: Path, caplog: pytest.LogCaptureFixture) -> None:
        write(amazon, meta_Games__json=jsonl([{"asin": "B77"}]))
        with caplog.at_level(logging.WARNING, logger="teaser"):
            source = read_amazon(amazon)
        assert source.items.height == 0
        assert "None of the 2 reviewed items" in caplog.text

    def test_truncated_and_empty_files(self, amazon: Path) -> None:
        whole = gzip.compress(os.urandom(2000))
        (amazon / "reviews_Games_5.json").unlink()
        (amazon / "reviews_Games_5.json.gz").write_bytes(whole[:1000])
        with pytest.raises(TableError, match="Is the download complete"):
            read_amazon(amazon)
        (amazon / "reviews_Games_5.json.gz").write_bytes(gzip.compress(b"\n"))
        with pytest.raises(TableError, match="is empty"):
            read_amazon(amazon)


class TestAmazonVideoGames:
    ITEMS = (
        "item_id,price,sales_type,sales_rank,categories,title,brand,asin_rank\n"
        "1,9.5,Video Games,3.0,Games|PC|Video Games,Ox &amp; Ey,Ox,1\n"
        "2,,Video Games,,Accessories|Video Games,,,2\n"
    )

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        pairs = "user_id,item_id,position,timestamp\n1,1,0,1341792000\n1,2,1,\n"
        return write(tmp_path / "games", interactions__csv=pairs, items__csv=self.ITEMS)

    def test_tables(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO, logger="teaser"):
            source = read_amazon_video_games(folder)
        assert source.interactions.rows() == [(1, 1, 0, 1341792000), (1, 2, 1, None)]
        assert source.positive is None
        items = source.items.select("item_id", "price", "categories", "title", "brand")
        assert items.rows() == [
            (1, 9.5, ["Games", "PC"], "Ox & Ey", "Ox"),
            (2, None, ["Accessories"], None, None),
        ]
        assert "Video Games is left out of categories" in caplog.text
        assert features(source.rules) == {"price": 1, "category": 3, "brand": 3}
        assert "popular" in source.rules.skipped["sales_rank"]

    def test_a_column_of_nothing_has_no_rule(self, folder: Path) -> None:
        write(folder, items__csv=self.ITEMS.replace("9.5", "").replace(",Ox,1", ",,1"))
        rules = read_amazon_video_games(folder).rules
        assert features(rules) == {"category": 3}
        assert rules.skipped["price"] == rules.skipped["brand"] == "it is empty"

    def test_missing_column(self, folder: Path) -> None:
        write(folder, items__csv="item_id,cost\n1,2\n")
        with pytest.raises(TableError, match=r"'price', needed for the items of .*items\.csv"):
            read_amazon_video_games(folder)


class TestGoodbooks:
    RATINGS = "user_id,book_id,rating\n7,1,5\n7,2,3\n8,1,4\n"
    BOOKS = (
        "book_id,goodreads_book_id,authors,original_publication_year,title,language_code,"
        "average_rating,ratings_count,image_url\n"
        '1,501,"Ann  Ox, Bo Ey, Ann Ox",1997.0,Night  Office,en-GB,4.4,10,https://p.example/1.jpg\n'
        "2,502,Old Poet,-720.0,Songs,fre,4.0,9,https://p.example/nophoto/x.png\n"
        "3,503,Cy Du,,Else,xyz,3.0,8,https://p.example/3.jpg\n"
    )

    def read(self, folder: Path) -> Source:
        return read_goodbooks(write(folder, ratings__csv=self.RATINGS, books__csv=self.BOOKS))

    def test_with_genres(self, tmp_path: Path) -> None:
        genres = 'book_id,genres\n2,poetry\n1,"fantasy,to-read-fiction,star-wars"\n'
        source = self.read(write(tmp_path, book_genres__csv=genres))
        assert source.interactions.rows() == [(7, 1, 5.0), (7, 2, 3.0), (8, 1, 4.0)]
        site = "https://www.goodreads.com/book/show/"
        assert_frame_equal(
            source.items.drop("average_rating", "ratings_count"),
            pl.DataFrame(
                {
                    "book_id": [1, 2, 3],
                    "goodreads_book_id": [501, 502, 503],
                    "title": ["Night Office", "Songs", "Else"],
                    "authors": [["Ann Ox", "Bo Ey"], ["Old Poet"], ["Cy Du"]],
                    "year": [1997, None, None],
                    "language": ["English", "French", "xyz"],
                    "picture": ["https://p.example/1.jpg", None, "https://p.example/3.jpg"],
                    "link": [f"{site}501", f"{site}502", f"{site}503"],
                    "genres": [["fantasy", "star-wars"], ["poetry"], None],
                }
            ),
        )
        assert features(source.rules) == {"genre": 3, "author": 3, "year": 3, "language": 3}
        assert Year("year", width=10, min_items=3) in source.rules.tags
        assert set(source.rules.skipped) == {"average_rating", "ratings_count"}

    def test_official_shelves(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("teaser.data._goodbooks._MIN_BOOKS", 2)
        names = ["fantasy", "to-read", "rare", "alone"]
        tags = "tag_id,tag_name\n" + "".join(f"{i},{name}\n" for i, name in enumerate(names))
        rows = [(501, 0, 90), (502, 0, 20), (503, 0, 19), (501, 1, 900), (502, 1, 900)]
        rows += [(501, 2, 19), (502, 2, -1), (501, 3, 500)]
        given = "goodreads_book_id,tag_id,count\n" + "".join(f"{b},{t},{n}\n" for b, t, n in rows)
        source = self.read(write(tmp_path, tags__csv=tags, book_tags__csv=given))
        assert source.items["genres"].to_list() == [["fantasy"], ["fantasy"], None]

    @pytest.mark.parametrize(
        ("shelf", "kept"),
        [
            ("science-fiction", True),
            ("star-wars", True),
            ("20th-century", True),
            ("books-about-books-and-libraries", True),
            ("to-read", False),
            ("currently-reading", False),
            ("books-i-own", False),
            ("all-time-favorites", False),
            ("favourites", False),
            ("book-club", False),
            ("series", False),
            ("2016-challenge", False),
            ("e-books", False),
        ],
    )
    def test_shelves_that_are_genres(self, tmp_path: Path, shelf: str, kept: bool) -> None:
        genres = f'book_id,goodreads_book_id,genres\n1,501,"poetry,{shelf}"\n'
        source = self.read(write(tmp_path, book_genres__csv=genres))
        assert source.items["genres"][0].to_list() == ["poetry", *([shelf] if kept else [])]

    def test_names_of_the_first_release(self, tmp_path: Path) -> None:
        books = self.BOOKS.replace("book_id,goodreads_book_id", "id,book_id")
        write(tmp_path, ratings__csv=self.RATINGS, books__csv=books)
        write(tmp_path, book_genres__csv="book_id,genres\n1,poetry\n")
        items = read_goodbooks(tmp_path).items
        assert items["book_id"].to_list() == [1, 2, 3]
        assert items["goodreads_book_id"].to_list() == [501, 502, 503]

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(
            TableError, match=r"book_genres\.csv or book_tags\.csv .*Found: books\.csv"
        ):
            self.read(tmp_path)
        write(tmp_path, book_tags__csv="goodreads_book_id,tag_id,count\n501,0,90\n")
        with pytest.raises(TableError, match=r"names of shelves .*tags\.csv"):
            self.read(tmp_path)


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
        assert "Found: interactions.csv, items.csv" in said
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


def real(name: str) -> Path:
    folder = REAL / name
    if not folder.is_dir():
        pytest.skip(f"The real data {name} are not at {folder}; set TEASER_DATA to their folder.")
    return folder


class TestRealData:
    def read(self, name: str, reader: Callable[..., Source]) -> Source:
        folder = real(name)
        assert READERS[detect(folder)] is reader
        return reader(folder)

    def test_movielens_1m(self) -> None:
        source = self.read("ml-1m", read_movielens_1m)
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
        people = source.items["writers"].explode().drop_nulls()
        assert not people.str.contains(r"[()]|^N/A$").any()
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

    def test_movielens_latest_small(self) -> None:
        source = self.read("ml-latest-small", read_movielens)
        ratings = source.interactions
        assert ratings.height == 100_836
        assert (ratings["userId"].n_unique(), ratings["movieId"].n_unique()) == (610, 9_724)
        tags = build_tags(source.items, source.rules.tags)
        assert dict(tags.report.tags) == {"genre": 19, "year": 97, "tag": 324}
        assert source.items["link"].null_count() == 0

    def test_amazon_video_games(self) -> None:
        source = self.read("amazon-video-games", read_amazon_video_games)
        pairs = source.interactions
        assert pairs.height == 231_780
        assert (pairs["user_id"].n_unique(), pairs["item_id"].n_unique()) == (24_303, 10_672)
        assert len(pairs["timestamp"].drop_nulls()) == 183_134
        # 207 in the file; the one that every item has tells nothing apart.
        assert source.items["categories"].explode().drop_nulls().n_unique() == 206
        tags = build_tags(source.items, source.rules.tags)
        assert dict(tags.report.tags) == {"price": 9, "category": 117, "brand": 11}

    def test_goodbooks(self) -> None:
        source = self.read("goodbooks-5pct", read_goodbooks)
        ratings = source.interactions
        assert ratings.height == 298_176
        assert (ratings["user_id"].n_unique(), ratings["book_id"].n_unique()) == (2_672, 9_990)
        tags = build_tags(source.items, source.rules.tags)
        assert dict(tags.report.tags) == {"genre": 539, "author": 1_126, "year": 32, "language": 12}
        assert not any(tag.value.startswith("-") for tag in tags.tags)

    @pytest.mark.parametrize(
        "name", ["ml-1m", "ml-latest-small", "amazon-video-games", "goodbooks-5pct"]
    )
    def test_becomes_a_data_set(self, name: str) -> None:
        source = read_source(detect(real(name)), real(name))
        made = dataset(source)
        assert made.report.refused == ()
        assert made.items_refused == ()
        assert made.report.rows == source.interactions.height
        assert made.n_items >= source.items.height
        assert made.table[made.rules.roles["title"]].dtype == pl.String
