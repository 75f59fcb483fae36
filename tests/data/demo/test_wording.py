"""Titles and descriptions: finished, distinct, and true to the event."""

import re

import polars as pl
import pytest

from teaser.data.demo.places import neighbours, towns


def test_titles_are_distinct_and_finished(items: pl.DataFrame) -> None:
    assert items["title"].is_unique().all()
    assert not items["title"].str.contains(r"[{}|]|  |, ,| $").any()
    assert not items["title"].str.contains(r"\bin (\S+) in \b").any()
    assert items["title"].str.len_chars().is_between(8, 75).all()


def test_titles_name_no_other_town(items: pl.DataFrame) -> None:
    # A title may link a town with a neighbour ("The last tram to Enghien"), not with a far one.
    names = [town.name for town in towns()]
    near = {
        name: {name, *(town.name for town in neighbours(index, 4))}
        for index, name in enumerate(names)
    }
    long_names = [name for name in names if len(name) > 4]
    for town, title in items.select("town", "title").iter_rows():
        for name in long_names:
            if re.search(rf"\b{name}\b(?!-)", title):
                inside = any(name in other for other in near[town])
                assert inside, (town, title)


@pytest.mark.parametrize(
    ("words", "months"),
    [
        ("Christmas|carols|nutcracker", {12}),
        ("asparagus", {5, 6}),
        ("mushrooms of|Mushrooms, look", {9, 10, 11}),
        ("New Year's jog", {1}),
        ("Winter geese|thousand geese", {1, 2, 12}),
        ("Lantern tour|By lantern", {1, 2, 10, 11, 12}),
        ("under the stars|Open-air cinema", {6, 7, 8}),
    ],
)
def test_titles_agree_with_the_season(items: pl.DataFrame, words: str, months: set[int]) -> None:
    named = items.filter(pl.col("title").str.contains(words))
    assert named.height > 0
    assert set(named["date"].dt.month()) <= months


def test_descriptions_are_two_to_three_sentences(items: pl.DataFrame) -> None:
    assert not items["description"].str.contains(r"[{}|]|  ").any()
    assert items["description"].str.ends_with(".").all()
    assert items["description"].str.len_chars().is_between(40, 330).all()
    assert items["description"].n_unique() > 2300


def test_text_is_true_utf_8(items: pl.DataFrame) -> None:
    text = " ".join([*items["title"], *items["description"], *items["venue"], *items["town"]])
    for word in ("Liège", "Agnès", "Église", "Dvořák"):
        assert word in text
    assert "Ã" not in text
    assert "\ufffd" not in text


def test_weekday_named_in_the_text_is_that_of_the_date(items: pl.DataFrame) -> None:
    lessons = items.filter(pl.col("type") == "Course")
    assert lessons.height > 100
    for row in lessons.iter_rows(named=True):
        assert f"{row['date']:%A}" in row["description"]
        assert (row["end_date"] - row["date"]).days % 7 == 0


def test_free_in_the_text_is_free(items: pl.DataFrame) -> None:
    charged = items.filter(pl.col("description").str.contains("free of charge"))
    assert charged.height > 100
    assert (charged["price"] == 0).all()
