"""The phrases of the three languages."""

import pytest

from teaser.words.phrases import LANGUAGES, SECTIONS, feature_kinds, lexicon
from teaser.words.wishes import Wish


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_section_has_phrases(language: str) -> None:
    known = lexicon(language)
    assert set(known.sections) == set(SECTIONS)
    assert len(known.phrases) > 1_000


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sign_makes_a_wish(language: str) -> None:
    signs = {m.key for _, found in lexicon(language).phrases.items() for m in found
             if m.section == "sign"}  # fmt: skip
    assert {"without", "never", "only", "press +5", "press -5"} <= signs
    for sign in signs - {"bare", "nor", "than"}:
        kind, _, end = sign.partition(" for ")
        assert Wish.parse(f"{kind} theme=Jazz" + (f" for {end}" if end else ""))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_languages_say_the_same(language: str) -> None:
    def keys(name: str) -> set[str]:
        found = lexicon(name).phrases.items()
        dropped = {"coming", "next", "next_after"}
        return {
            f"{m.section} {m.key}" for _, values in found for m in values
            if m.section not in ("number", "feast") and m.key not in dropped
            and m.key != "never for today"
        }  # fmt: skip

    assert keys(language) == keys("en")


def test_phrases_are_found_by_section_and_key() -> None:
    words = ["not", "more", "than", "twenty", "euro"]
    english = lexicon("en")
    assert english.find("bound", words, 0) == ("at_most", 3)
    assert english.find_key("bound", "at_least", words, 1) == 2
    assert english.find_key("bound", "between", words, 0) == 0
    assert english.find("number", words, 3) == ("20", 1)
    assert english.find("month", words, 0) is None


def test_an_unknown_language_is_read_as_english() -> None:
    assert lexicon("de") is lexicon("en")


def test_features_have_kinds() -> None:
    kinds = feature_kinds()
    assert kinds["town"] == "town"
    assert kinds["price band"] == "price"
