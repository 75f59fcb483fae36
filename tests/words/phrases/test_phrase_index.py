"""Phrases by their words."""

import pytest

from teaser.words.phrases import PhraseIndex, keys


@pytest.fixture
def index() -> PhraseIndex[str]:
    made: PhraseIndex[str] = PhraseIndex({"en": ["the", "my"], "nl": ["de"]})
    for phrase, value in [
        ("jazz", "Jazz"), ("street food", "Street food"), ("with the dog", "dogs"),
        ("The Shining", "film"), ("food", "Food"), ("food", "Meal"),
    ]:  # fmt: skip
        made.add(keys(phrase), value)
    return made


def found(index: PhraseIndex[str], text: str, language: str = "en") -> list[tuple[object, ...]]:
    at = index.at(keys(text), 0, language)
    return [(each.values, each.length, each.quality) for each in at]


def test_the_longest_phrase_comes_first(index: PhraseIndex[str]) -> None:
    assert found(index, "street food here") == [(("Street food",), 2, 0)]
    assert found(index, "food") == [(("Food", "Meal"), 1, 0)]


def test_articles_inside_do_not_count_but_a_first_one_does(index: PhraseIndex[str]) -> None:
    assert found(index, "with my dog") == [(("dogs",), 3, 0)]
    assert found(index, "with dog") == [(("dogs",), 2, 0)]
    assert found(index, "the shining") == [(("film",), 2, 0)]
    assert found(index, "shining") == []
    assert found(index, "with my dog", "nl") == []


def test_endings_and_words_written_as_one(index: PhraseIndex[str]) -> None:
    assert found(index, "street foods") == [(("Street food",), 2, 1)]
    assert found(index, "streetfood") == [(("Street food",), 1, 2)]
    assert index.joined("streetfoods", "en") == ("Street food",)
    assert index.single("foods", "en") == ("Food", "Meal")


def test_a_mark_ends_a_phrase(index: PhraseIndex[str]) -> None:
    assert index.at(["street", "", "food"], 0, "en") == []


def test_nothing_is_added_for_no_words(index: PhraseIndex[str]) -> None:
    before = len(index)
    index.add((), "nothing")
    assert len(index) == before
    assert dict(index.items())["street food"] == ("Street food",)
    assert index.exact("no such phrase") == ()
