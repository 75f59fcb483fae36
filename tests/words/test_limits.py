"""Bounds on numbers in three languages."""

import pytest
from words.catalogues import TODAY, vocabulary

from teaser.words.interpreter import read
from teaser.words.segmenter import Limit

PRICES = [
    ("en", "under 25 euro", "at_most price 25"),
    ("en", "less than €25", "at_most price 25"),
    ("en", "25 euros max", "at_most price 25"),
    ("en", "for 15 euro", "at_most price 15"),
    ("en", "no more than twenty bucks", "at_most price 20"),
    ("en", "nothing over 20 euro", "at_most price 20"),
    ("en", "over 15 euro", "at_least price 15"),
    ("en", "15 euro or more", "at_least price 15"),
    ("en", "between 10 and 25 euro", "at_least price 10; at_most price 25"),
    ("en", "10-25 euro", "at_least price 10; at_most price 25"),
    ("en", "12.50 euro at most", "at_most price 12.5"),
    ("en", "under 25", "at_most price 25"),
    ("nl", "hoogstens 25 euro", "at_most price 25"),
    ("nl", "niet meer dan 12,50 euro", "at_most price 12.5"),
    ("nl", "vanaf 15 euro", "at_least price 15"),
    ("nl", "tussen 15 en 30 euro", "at_least price 15; at_most price 30"),
    ("nl", "van 15 tot 30 euro", "at_least price 15; at_most price 30"),
    ("nl", "voor 15 euro", "at_most price 15"),
    ("nl", "niks boven de 20 euro", "at_most price 20"),
    ("fr", "moins de 25 euros", "at_most price 25"),
    ("fr", "plus de 25 euros", "at_least price 25"),
    ("fr", "25 € maximum", "at_most price 25"),
    ("fr", "entre 15 et 30 euros", "at_least price 15; at_most price 30"),
    ("fr", "de 15 à 30 euros", "at_least price 15; at_most price 30"),
    ("fr", "pas plus de 20 euros par personne", "at_most price 20"),
    ("fr", "à partir de 15 euros", "at_least price 15"),
]
FILMS = [
    ("en", "under 2 hours", "at_most runtime 120"),
    ("en", "shorter than 100 minutes", "at_most runtime 100"),
    ("en", "at most an hour and a half", "at_most runtime 90"),
    ("en", "rated above 8", "at_least rating 8"),
    ("en", "a rating of at least 7.5", "at_least rating 7.5"),
    ("en", "8+ stars", "at_least rating 8"),
    ("en", "between 1 and 2 hours", "at_least runtime 60; at_most runtime 120"),
    ("nl", "korter dan anderhalf uur", "at_most runtime 90"),
    ("nl", "een score van minstens 7", "at_least rating 7"),
    ("nl", "langer dan 2u30", "at_least runtime 150"),
    ("fr", "moins de deux heures", "at_most runtime 120"),
    ("fr", "note supérieure à 8", "at_least rating 8"),
    ("fr", "plus de 2h30", "at_least runtime 150"),
    ("fr", "une heure et demie maximum", "at_most runtime 90"),
]


@pytest.mark.parametrize(("language", "text", "wishes"), PRICES)
def test_prices(language: str, text: str, wishes: str) -> None:
    reading = read(text, vocabulary("events"), language=language, today=TODAY)
    assert "; ".join(map(str, reading.wishes)) == wishes
    assert reading.unknown == ()


@pytest.mark.parametrize(("language", "text", "wishes"), FILMS)
def test_lengths_and_ratings(language: str, text: str, wishes: str) -> None:
    reading = read(text, vocabulary("films"), language=language, today=TODAY)
    assert "; ".join(map(str, reading.wishes)) == wishes
    assert reading.unknown == ()


def test_a_unit_without_a_column_is_not_understood() -> None:
    reading = read("jazz under 90 minutes", vocabulary("events"), today=TODAY)
    assert [str(wish) for wish in reading.wishes] == ["press +4 theme=Jazz"]
    assert reading.unknown == ("under 90 minutes",)


def test_a_bound_has_an_opposite() -> None:
    limit = Limit("at_most", "price", 20)
    assert limit.reversed() == Limit("at_least", "price", 20)
    assert limit.reversed().reversed() == limit
