"""Rules and roles are guessed from names and values; popularity is left out."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from teaser import Dataset
from teaser.data.infer import (
    address_warnings,
    free_text_notes,
    infer_roles,
    infer_rules,
    names_attention,
    rank_correlation,
)
from teaser.data.reading import read_table
from teaser.data.rules import FREE_TEXT, Category, ListOf, Number, Rule, Rules, Text, Year
from teaser.data.tags import build_tags

ATTENTION = "it counts attention, and the model learns popularity by itself"
PARTS = "each value has parts (from, to): make a column of each that is to become tags"
SENTENCE = "a long story about two friends who travel to the sea"


def guess(name: str, cells: Any) -> Rule | str:
    """Return what one column becomes, or why it is passed over."""
    frame = pl.DataFrame({name: cells})
    rules = infer_rules(frame.with_row_index("item_id"), item="item_id")
    return rules.tags[0] if rules.tags else rules.skipped[name]


class TestColumns:
    def test_a_column_becomes_the_rule_that_fits(self) -> None:
        cases: list[Any] = [
            ("genre", ["jazz", "rock", "jazz"], Category("genre")),
            ("genre", pl.Series(["a", "b"], dtype=pl.Categorical), Category("genre")),
            ("free", [True, False, None], Category("free", prefix="free")),
            ("stars", [1, 2, 2], Category("stars", prefix="stars")),
            ("genres", ["a|b", "a", "b|a"], ListOf("genres")),
            ("genres", ["a;b", "a", "b;a"], ListOf("genres", separator=";")),
            ("genres", ["x y, b", "x y", "b, x y"], ListOf("genres", separator=", ")),
            ("genres", [["a"], ["a", "b"], []], ListOf("genres")),
            ("price", [n / 2 for n in range(13)], Number("price", prefix="price")),
            ("price", [str(n) + ".50" for n in range(13)], Number("price", prefix="price")),
            ("max_players", [3, 4], Category("max_players", prefix="max players")),
            ("MaxPlayers", [3, 4], Category("MaxPlayers", prefix="Max players")),
            ("GameWeight", [n / 2 for n in range(13)], Number("GameWeight", prefix="Game weight")),
            (
                "average_rating",
                [n / 9 for n in range(13)],
                Number("average_rating", prefix="average rating"),
            ),
            ("year", [1990 + n for n in range(20)], Year("year")),
            ("Year-Of-Print", ["1990", "1991", "2000", "1999", "1998", "?"], Year("Year-Of-Print")),
            ("year", list(range(1600, 1800)), Year("year", width=10, min_items=2)),
            ("opens", [date(2020, 1, 1), date(2021, 1, 1)], Year("opens")),
            ("opens", [datetime(2020, 1, 1), datetime(2021, 1, 1)], Year("opens")),
        ]
        for name, cells, rule in cases:
            assert guess(name, cells) == rule, name

    def test_a_column_is_passed_over_for_a_reason(self) -> None:
        cases: list[Any] = [
            ("x", [None, None], "it is empty"),
            ("x", ["", "  "], "it is empty"),
            ("x", [float("nan"), None], "it is empty"),
            ("x", [float("inf"), float("nan")], "it is empty"),
            ("x", [5, 5], "every item has the same value"),
            ("x", ["a", "a", None], "every item has the same value"),
            ("x", [f"name {n}" for n in range(30)], "nearly every item has a value of its own"),
            ("", [1, 2], "it has no name"),
            (" ", ["a", "b"], "it has no name"),
            ("title", ["A", "B"], "it is shown as the title"),
            ("lat", [50.1, 50.2], "it is a coordinate"),
            ("imdb_id", list(range(30)), "it looks like an identifier"),
            ("imdbId", list(range(30)), "it looks like an identifier"),
            ("line", [n + 7 for n in reversed(range(21))], "it numbers the items"),
            ("ratings_count", [7, 9], ATTENTION),
            ("sales_rank", [7.5, 9.5], ATTENTION),
            ("numVotes", ["7.0", "9.5"], ATTENTION),
            ("page", ["https://a.b/c", "https://a.b/d"], "it is shown as the link"),
            ("page", ["https://a.b/c"] * 9 + ["Ballantine"], "it is shown as the link"),
            ("page", ["data:text/plain,a", "data:text/plain,b"], "it has links or pictures"),
            ("x", [{"from": 1, "to": 3}, {"from": 2, "to": None}], PARTS),
            ("x", [[{"a": 1}], []], "it has nested values"),
            ("x", [[[1]], []], "it has nested values"),
            ("x", [b"\xff", b"a"], "its values are bytes"),
            ("x", [time(8), time(9)], "its values are times of day"),
            ("x", [timedelta(1), timedelta(2)], "its values are durations"),
            ("story", [SENTENCE, SENTENCE + " again"], FREE_TEXT),
            ("description", [SENTENCE, SENTENCE + " again"], FREE_TEXT),
            (
                "description",
                ["An evening of jazz", "An evening of jazz", "For children"],
                FREE_TEXT,
            ),
        ]
        for name, cells, why in cases:
            assert guess(name, cells) == why

    def test_free_text_is_offered_as_a_rule_that_takes_it_in(self, tmp_path: Path) -> None:
        items = pl.DataFrame({"id": [1, 2], "plot": [SENTENCE, SENTENCE], "genre": ["a", "b"]})
        rules = infer_rules(items, item="id")
        (note,) = free_text_notes(rules.skipped)
        assert "'plot' is free text" in note
        assert 'kind = "text", column = "plot"' in note
        comments = [line.removeprefix("# ") for line in rules.to_toml().splitlines()]
        offered = "\n".join(comments[comments.index('kind = "text"') - 1 :])
        (tmp_path / "rules.toml").write_text(offered)
        assert Rules.read(tmp_path / "rules.toml").tags == (Text("plot"),)


class TestItemCounts:
    """Numbers that go with how often items are chosen are popularity."""

    def rules(self, numbers: list[float | None], counts: list[int] | None) -> Rules:
        items = pl.DataFrame({"id": range(len(numbers)), "heat": numbers, "g": ["a", "b"] * 20})
        given = None if counts is None else pl.Series(counts)
        return infer_rules(items, item="id", counts=given)

    def test_a_strong_rank_correlation_of_either_sign_is_told(self) -> None:
        heat: list[float | None] = [n**3 / 10 for n in range(40)]
        for counts, sign in ((list(range(40)), "+1.00"), (list(range(40, 0, -1)), "-1.00")):
            rules = self.rules(heat, counts)
            assert [rule.column for rule in rules.tags] == ["g"]
            assert f"rank correlation {sign}" in rules.skipped["heat"]

    def test_otherwise_the_numbers_are_tags(self) -> None:
        heat: list[float | None] = [n**3 / 10 for n in range(40)]
        for counts in (None, [0, 9] * 20, [5] * 40):
            assert [rule.column for rule in self.rules(heat, counts).tags] == ["heat", "g"]

    def test_a_category_of_numbers_is_looked_at_and_a_year_is_not(self) -> None:
        items = pl.DataFrame(
            {"id": range(40), "stars": [n // 10 for n in range(40)],
             "year": [1960 + n for n in range(40)], "town": ["a", "b"] * 20}
        )  # fmt: skip
        rules = infer_rules(items, item="id", counts=pl.Series(range(40)))
        assert [rule.column for rule in rules.tags] == ["year", "town"]


class TestYearInTitle:
    TITLES = ("Toy Story (1995)", "2001: A Space Odyssey (1968)", "Heat (1995) ", "Up (2009)")

    def test_it_becomes_a_tag(self) -> None:
        items = pl.DataFrame({"id": range(8), "title": [*self.TITLES, *self.TITLES]})
        rules = infer_rules(items, item="id")
        assert rules.tags == (Year("title", feature="year"),)
        assert rules.roles == {"title": "title"}
        assert rules.skipped == {}
        tags = {tag.value for tag in build_tags(items, rules.tags).tags}
        assert tags == {"1995", "1968", "2009"}

    def test_only_where_most_titles_have_one_and_no_column_has(self) -> None:
        few = pl.DataFrame({"id": range(8), "title": [*self.TITLES, *"abcd"]})
        assert infer_rules(few, item="id").tags == ()
        both = pl.DataFrame({"id": range(4), "title": self.TITLES, "year": [1, 2, 3, 3]})
        assert [rule.column for rule in infer_rules(both, item="id").tags] == ["year"]


cells = st.one_of(
    *(
        st.lists(st.none() | strategy, min_size=3, max_size=3)
        for strategy in (
            st.text(),
            st.integers(-(2**63), 2**63 - 1),
            st.floats(),
            st.booleans(),
            st.dates(),
            st.datetimes(min_value=datetime(1700, 1, 1), max_value=datetime(2200, 1, 1)),
            st.times(),
            st.binary(),
            st.lists(st.text(), max_size=3),
            st.lists(st.floats(), max_size=3),
            st.fixed_dictionaries({"a": st.integers(0, 3)}),
        )
    )
)


names = st.text(max_size=5).filter(lambda name: not (name[:1] == "^" and name[-1:] == "$"))


@given(columns=st.dictionaries(names, cells, max_size=4))
def test_whatever_is_guessed_can_be_used_and_written(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, list[Any]]
) -> None:
    items = pl.DataFrame({"item_id": [1, 2, 3], "anchor": ["a", "b", "a"], **columns})
    rules = infer_rules(items, item="item_id")
    assert {r.column for r in rules.tags} | set(rules.skipped) == set(items.columns) - {"item_id"}
    table = build_tags(items, rules.tags)
    assert len(table.tags) >= 2
    path = tmp_path_factory.mktemp("rules") / "rules.toml"
    rules.write(path)
    assert Rules.read(path).tags == rules.tags


def test_books_of_a_public_data_set_are_read_sensibly(shared_data: Path) -> None:
    books = read_table(shared_data / "goodbooks-5pct" / "books.csv")
    rules = infer_rules(books, item="book_id")
    assert {rule.name: rule.kind for rule in rules.tags} == {
        "books_count": "number",
        "authors": "list",
        "original_publication_year": "year",
        "language_code": "category",
        "average_rating": "number",
    }
    assert all(rule.min_items == 5 for rule in rules.tags)
    counts = [c for c, why in rules.skipped.items() if why == ATTENTION]
    assert counts == [
        "ratings_count", "work_ratings_count", "work_text_reviews_count",
        "ratings_1", "ratings_2", "ratings_3", "ratings_4", "ratings_5",
    ]  # fmt: skip


class TestNames:
    def test_roles_are_found_by_name_in_any_case(self) -> None:
        items = pl.DataFrame(
            {"item_id": [1], "Title": ["A"], "Plot": ["p"], "poster": ["x.jpg"], "URL": ["u"]}
        )
        assert infer_roles(items, item="item_id") == {
            "title": "Title",
            "description": "Plot",
            "picture": "poster",
            "link": "URL",
        }

    def test_a_date_is_a_date(self) -> None:
        cases: list[Any] = [
            ([date(2024, 1, 1)], True),
            ([datetime(2024, 1, 1)], True),
            (["2024-01-01", None], True),
            (["2024-01-01", "soon"], False),
            ([2024], False),
        ]
        for cells, is_date in cases:
            items = pl.DataFrame({"item_id": range(len(cells)), "start": cells})
            assert ("date" in infer_roles(items, item="item_id")) == is_date


def roles_of(**columns: Sequence[str | None]) -> dict[str, str]:
    frame = pl.DataFrame({"id": range(len(next(iter(columns.values())))), **columns})
    return infer_roles(frame, item="id")


class TestValues:
    @pytest.mark.parametrize(
        "cell",
        [
            "https://a.b/c.jpg", "http://a.b/c.PNG?size=3", "data:image/png;base64,AA==",
            "<svg></svg>", "https://a.b/c.webp#x",
        ],
    )  # fmt: skip
    def test_pictures_are_recognised(self, cell: str) -> None:
        assert roles_of(looks=[cell, cell, None]) == {"picture": "looks"}

    def test_links_are_recognised(self) -> None:
        assert roles_of(where=["https://a.b/c", "http://d"]) == {"link": "where"}
        assert roles_of(where=["https://a.b/c", "soon"]) == {}

    def test_a_name_alone_makes_no_picture(self) -> None:
        assert roles_of(cover=["paperback", "hardcover"]) == {}
        assert roles_of(cover=["a/1.jpg", "a/2.jpg"]) == {"picture": "cover"}

    @pytest.mark.parametrize(
        ("names", "wanted"),
        [
            (("Image-URL-S", "Image-URL-M", "Image-URL-L"), "Image-URL-L"),
            (("small_image_url", "image_url"), "image_url"),
            (("thumbnail", "poster"), "poster"),
            (("poster", "poster_full"), "poster_full"),
            (("picture", "image"), "picture"),
            (("imageM", "imageS"), "imageM"),
        ],
    )
    def test_the_largest_of_several_pictures_is_taken(
        self, names: tuple[str, ...], wanted: str
    ) -> None:
        for order in (names, names[::-1]):
            if wanted == "picture" and order != names:
                continue  # of equal size, the first
            found = roles_of(**{name: ["https://a.b/c.jpg"] for name in order})
            assert found["picture"] == wanted


class TestWarnings:
    def test_http_pictures_are_pointed_out(self) -> None:
        cells = ["http://a.b/1.jpg", "https://a.b/2.jpg", None, "", "http://a.b/3.jpg"]
        (said,) = address_warnings(pl.DataFrame({"p": cells}), {"picture": "p"})
        assert said.startswith("warning: 2 of 3 pictures in column 'p' are not shown by the site")
        assert "'http://a.b/1.jpg'" in said

    def test_relative_addresses_are_pointed_out(self) -> None:
        frame = pl.DataFrame({"p": ["img/1.jpg"], "l": ["/book/1"]})
        picture, link = address_warnings(frame, {"picture": "p", "link": "l"})
        assert "pictures need addresses that begin with https://" in picture
        assert "1 of 1 links in column 'l'" in link
        assert "whole addresses" in link

    def test_a_link_that_a_browser_might_run_is_pointed_out(self) -> None:
        (said,) = address_warnings(pl.DataFrame({"l": ["javascript:x()"]}), {"link": "l"})
        assert "whole addresses" in said


ATTENTION_NAMES = """
    ratings_count ratingsCount ratings-count work_text_reviews_count n_reviews num_votes
    numVotes numberOfReviews rating_number ratings_1 total_plays play_count playcount
    viewCount numratings members rank sales_rank salesRank popularity popularity_index
    popular_score views likes favorites favourites downloads plays followers
    monthly_listeners subscribers votes reviews ratings usersrated nb_fans sales installs
    attendees page_views Rank
"""
OTHER_NAMES = """
    rating average_rating avg_ratings score review_score mean_likes price pages num_pages
    number_of_players max_players year play_time runtime_minutes length n_seasons
    books_count stars members_per_group user_score weight age order heat
"""


def test_attention_is_known_by_its_name() -> None:
    for name in ATTENTION_NAMES.split():
        assert names_attention(name), name
    for name in OTHER_NAMES.split():
        assert not names_attention(name), name


def test_ranks_are_correlated_as_spearman_does() -> None:
    rng = np.random.default_rng(0)
    numbers, counts = rng.integers(0, 9, 200).astype(float), rng.integers(0, 50, 200)
    numbers += counts
    found = rank_correlation(pl.Series(numbers), pl.Series(counts))
    assert found == pytest.approx(spearmanr(numbers, counts).statistic, abs=1e-12)
    assert found > 0.9


@pytest.mark.parametrize("written", ["{:.2f}", "{:.0f}"])
def test_a_few_bad_cells_leave_a_price_a_number_and_are_named(written: str, tmp_path: Path) -> None:
    prices = [written.format(1 + n * 3.7) for n in range(1_000)]
    prices[17], prices[400], prices[500] = "n/a", "ask us", ""
    items = pl.DataFrame({"item_id": [f"i{n}" for n in range(1_000)], "price": prices})
    items.write_csv(tmp_path / "items.csv")
    chosen = pl.DataFrame({"user_id": ["u", "v"] * 500, "item_id": items["item_id"]})
    dataset = Dataset.from_tables(chosen, tmp_path / "items.csv")
    (rule,) = dataset.rules.tags
    assert isinstance(rule, Number)
    values = [tag.value for tag in dataset.tags]
    assert len(values) <= 10
    assert values == list(rule.declared()), "bins stand in the order of their numbers"
    said = "2 cells of the items' price could not be read, such as n/a, ask us"
    assert said in " ".join(dataset.lines())


@pytest.mark.parametrize("bad", [["0047"], ["x"] * 200])
def test_codes_and_columns_of_texts_stay_texts(bad: list[str]) -> None:
    cells = [*bad, "n/a", *(str(1000 + n % 300) for n in range(1_000))]
    items = pl.DataFrame({"item_id": [f"i{n}" for n in range(len(cells))], "area": cells})
    assert not [r for r in infer_rules(items, item="item_id").tags if isinstance(r, Number)]
