"""goodbooks-10k in its official layout, and the real copy."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from source_files import features, read_real, write

from teaser.data.rules import Year
from teaser.data.sources import read_goodbooks
from teaser.data.sources.folder import Source
from teaser.data.tags import build_tags
from teaser.errors import TableError


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
        monkeypatch.setattr("teaser.data.sources.goodbooks._MIN_BOOKS", 2)
        names = ["fantasy", "to-read", "rare", "alone"]
        tags = "tag_id,tag_name\n" + "".join(f"{i},{name}\n" for i, name in enumerate(names))
        rows = [(501, 0, 90), (502, 0, 20), (503, 0, 19), (501, 1, 900), (502, 1, 900)]
        rows += [(501, 2, 19), (502, 2, -1), (501, 3, 500)]
        given = "goodreads_book_id,tag_id,count\n" + "".join(f"{b},{t},{n}\n" for b, t, n in rows)
        source = self.read(write(tmp_path, tags__csv=tags, book_tags__csv=given))
        assert source.items["genres"].to_list() == [["fantasy"], ["fantasy"], None]

    def test_shelves_that_are_genres(self, tmp_path: Path) -> None:
        kept = [
            "science-fiction",
            "star-wars",
            "20th-century",
            "books-about-books-and-libraries",
            "poetry",
        ]
        others = [
            "to-read",
            "currently-reading",
            "books-i-own",
            "all-time-favorites",
            "favourites",
            "book-club",
            "series",
            "2016-challenge",
            "e-books",
        ]
        genres = f'book_id,goodreads_book_id,genres\n1,501,"{",".join(others + kept)}"\n'
        source = self.read(write(tmp_path, book_genres__csv=genres))
        assert source.items["genres"][0].to_list() == kept

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


def test_the_real_goodbooks() -> None:
    source = read_real("goodbooks-5pct", read_goodbooks)
    ratings = source.interactions
    assert ratings.height == 298_176
    assert (ratings["user_id"].n_unique(), ratings["book_id"].n_unique()) == (2_672, 9_990)
    tags = build_tags(source.items, source.rules.tags)
    assert dict(tags.report.tags) == {"genre": 539, "author": 1_126, "year": 32, "language": 12}
    assert not any(tag.value.startswith("-") for tag in tags.tags)
