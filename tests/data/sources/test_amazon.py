"""Amazon, as published in 2014, 2018 and 2023, and a copy of Video Games."""

import gzip
import logging
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from source_files import REVIEWS_2014, features, jsonl, read_real, write

from teaser.data.sources import read_amazon, read_amazon_video_games
from teaser.data.tags import build_tags
from teaser.errors import ParameterError, TableError


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

    def test_prices(self, amazon: Path) -> None:
        cases: list[tuple[Any, float | None]] = [
            (0, 0.0),
            ("$5", 5.0),
            ("$1.50 - $20.00", 1.5),
            ("1,299.00", 1299.0),
            (True, None),
            (float("nan"), None),
            ("", None),
            ("$12.99 each", None),
            ([1], None),
        ]
        reviews = [{**REVIEWS_2014[0], "asin": f"B{i}"} for i in range(len(cases))]
        meta = [{"asin": f"B{i}", "price": price} for i, (price, _) in enumerate(cases)]
        write(amazon, reviews_Games_5__json=jsonl(reviews), meta_Games__json=jsonl(meta))
        assert read_amazon(amazon).items["price"].to_list() == [price for _, price in cases]

    def test_files_given_by_name(self, amazon: Path, tmp_path: Path) -> None:
        reviews, meta = amazon / "reviews_Games_5.json", amazon / "meta_Games.json"
        assert_frame_equal(read_amazon(reviews=reviews, meta=meta).items, read_amazon(amazon).items)
        with pytest.raises(TableError, match=r"no file .*nothing\.json"):
            read_amazon(amazon, meta=tmp_path / "nothing.json")
        with pytest.raises(ParameterError, match="meta="):
            read_amazon(reviews=reviews)

    def test_not_reviews(self, amazon: Path) -> None:
        write(amazon, reviews_Games_5__json=jsonl([{"name": "x", "stars": 5}]))
        with pytest.raises(
            TableError, match=r"No line .* has a user_id .*The first line has: name, stars"
        ):
            read_amazon(amazon)

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


def test_the_real_amazon_video_games() -> None:
    source = read_real("amazon-video-games", read_amazon_video_games)
    pairs = source.interactions
    assert pairs.height == 231_780
    assert (pairs["user_id"].n_unique(), pairs["item_id"].n_unique()) == (24_303, 10_672)
    assert len(pairs["timestamp"].drop_nulls()) == 183_134
    # 207 in the file; the one that every item has tells nothing apart.
    assert source.items["categories"].explode().drop_nulls().n_unique() == 206
    tags = build_tags(source.items, source.rules.tags)
    assert dict(tags.report.tags) == {"price": 9, "category": 117, "brand": 11}
