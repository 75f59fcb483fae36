"""Bands of numbers, in order."""

from itertools import permutations

import pytest

from teaser import Tag
from teaser.words.phrases import keys, lexicon
from teaser.words.vocabulary import (
    Years,
    band_start,
    decade_names,
    find_bands,
    kind_of,
    steps_of,
    years_at,
)

PRICES = ["free", "under 10 euro", "10 to 20 euro", "20 to 40 euro", "over 40 euro"]


def test_bands_are_put_in_order() -> None:
    for given in permutations(PRICES):
        found = find_bands(Tag("price", value) for value in given)
        assert [tag.value for tag in found["price"]] == PRICES


def test_a_feature_with_other_texts_has_no_bands() -> None:
    assert find_bands([Tag("theme", "Jazz"), Tag("theme", "2 Tone")]) == {}
    assert find_bands([Tag("decade", "1980s")]) == {}
    assert band_start("Jazz") is None


@pytest.mark.parametrize(
    ("n", "direction", "expected"),
    [
        (5, -1, [2, 2, 0, -2, -2]),
        (5, 1, [-2, -2, 0, 2, 2]),
        (2, -1, [2, -2]),
        (3, 1, [-2, 0, 2]),
        (10, 1, [-2, -2, -2, -2, 0, 0, 2, 2, 2, 2]),
    ],
)
def test_the_outer_bands_get_steps(n: int, direction: int, expected: list[int]) -> None:
    bands = tuple(Tag("x", f"{i}0 to {i + 1}0") for i in range(n))
    steps = steps_of(bands, direction)
    assert [steps.get(tag, 0) for tag in bands] == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("price_band", "price"), ("ticket_price", "price"), ("Town", "town"), ("runtime", "length"),
        ("startYear", "age"), ("theme", None), ("directors", "person"), ("user_rating", "rating"),
        ("spoken_language", "language"), ("provinces", "region"),
    ],
)  # fmt: skip
def test_what_a_feature_is_about(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_decades_have_names() -> None:
    names = decade_names(Tag("decade", "1980s"))
    assert {"80s", "eighties"} <= set(names["en"])
    assert "années quatre-vingt" in names["fr"]
    assert decade_names(Tag("decade", "1780s"))["nl"] == ["jaren 1780"]
    assert decade_names(Tag("theme", "Jazz")) == {}


@pytest.mark.parametrize(
    ("years", "opposite"),
    [
        (Years(None, 1979), Years(1980, None)),
        (Years(1980, None), Years(None, 1979)),
        (Years(1980, 1989), None),
    ],
)
def test_the_years_that_are_left(years: Years, opposite: Years | None) -> None:
    assert years.opposite() == opposite
    bands = [Tag("year", str(year)) for year in range(1970, 1995)]
    if opposite:
        assert sorted([*years.among(bands), *opposite.among(bands)], key=str) == bands


@pytest.mark.parametrize(
    ("text", "years", "length"),
    [
        ("before 1980", Years(None, 1979), 2), ("until 1980", Years(None, 1980), 2),
        ("after the 80s", Years(1990, None), 4), ("from 1994 onwards", Years(1994, None), 3),
        ("the 1990s", Years(1990, 1999), 3),
    ],
)  # fmt: skip
def test_years_are_read(text: str, years: Years, length: int) -> None:
    assert years_at(keys(text), 0, lexicon("en")) == (years, length)


@pytest.mark.parametrize("text", ["1994", "from 1994", "before 20", "between 1995 and 1990", ""])
def test_what_is_no_run_of_years(text: str) -> None:
    assert years_at(keys(text), 0, lexicon("en")) is None
