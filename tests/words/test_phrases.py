"""Tokens, stems, misspellings, titles, and the phrases of the three languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.words.phrases import (
    LANGUAGES,
    Speller,
    lexicon,
    stem,
    tokenize,
)
from teaser.words.wishes import Wish


@given(st.text())
def test_tokens_lie_in_the_text_one_after_another(text: str) -> None:
    tokens = tokenize(text)
    ends = [0, *(token.end for token in tokens)]
    for token, before in zip(tokens, ends, strict=False):
        assert before <= token.start < token.end <= len(text)
        assert not token.glued or not text[token.start - 1].isspace()


@given(st.text(), st.sampled_from(["en", "nl", "fr"]))
def test_a_stem_is_never_longer_and_never_empty(word: str, language: str) -> None:
    found = stem(word, language)
    assert len(found) <= len(word)
    assert bool(found) == bool(word)


@pytest.fixture
def speller() -> Speller:
    made = Speller()
    for word in [
        "jazz",
        "concert",
        "exhibition",
        "ghent",
        "peinture",
        "folk",
        "rock",
        "antwerp",
        "astronomy",
        "drama",
        "theatre",
        "photography",
        "concerts",
    ]:
        made.add(word)
    return made


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("jaz", "jazz"), ("concertt", "concert"), ("expositon", None), ("ghendt", "ghent"),
        ("peintrue", "peinture"), ("exibition", "exhibition"), ("exhibtiion", "exhibition"),
        ("flok", "folk"), ("fotography", "photography"), ("photografy", "photography"),
        ("fold", None), ("astrology", None), ("dragons", None), ("ro", None), ("", None),
        ("жазз", None), ("x" * 500, None), ("teatre", "theatre"), ("hteatre", "theatre"),
    ],
)  # fmt: skip
def test_words(speller: Speller, word: str, right: str | None) -> None:
    assert speller.correct(word) == right


@given(st.text("abcdefgh", min_size=5, max_size=12), st.data())
def test_one_wrong_letter_inside_a_word_is_put_right(word: str, data: st.DataObject) -> None:
    speller = Speller()
    speller.add(word)
    place = data.draw(st.integers(1, len(word) - 1))
    assert speller.correct(word[:place] + "z" + word[place + 1 :]) == word


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
