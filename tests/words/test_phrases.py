"""Tokens, stems, misspellings, titles, and the phrases of the three languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.words.phrases import (
    LANGUAGES,
    Speller,
    TitleIndex,
    fold,
    keys,
    lexicon,
    split_compound,
    stem,
    tokenize,
)
from teaser.words.wishes import Wish


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("More JAZZ, please!", ["more", "jazz", ",", "please", "!"]),
        ("Stand-up in Louvain-la-Neuve", ["stand", "up", "in", "louvain", "la", "neuve"]),
        ("j'aime l’électro", ["j", "aime", "l", "electro"]),
        ("I don't like it", ["i", "dont", "like", "it"]),
        ("aujourd'hui", ["aujourdhui"]),
        ("€20,50", ["€", "20,50"]),
        ("80s", ["80", "s"]),
        ("5/12 or 2026-12-05", ["5/12", "or", "2026-12-05"]),
        ("10-20 euro", ["10", "-", "20", "euro"]),
        ("one\ntwo", ["one", ";", "two"]),
        ("“quoted”", ["quoted"]),
        ("джаз 爵士", ["джаз", "爵士"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert [token.key for token in tokenize(text)] == expected


def test_numbers() -> None:
    values = [token.number for token in tokenize("7 7.5 7,5 1.2.3 5/12 seven")]
    assert values == [7.0, 7.5, 7.5, None, None, None]


def test_a_name_has_no_marks() -> None:
    assert keys("Mad Max: Fury Road") == ("mad", "max", "fury", "road")
    assert fold("Œuvre À LIÈGE") == "oeuvre a liege"


@given(st.text())
def test_tokens_lie_in_the_text_one_after_another(text: str) -> None:
    tokens = tokenize(text)
    ends = [0, *(token.end for token in tokens)]
    for token, before in zip(tokens, ends, strict=False):
        assert before <= token.start < token.end <= len(text)
        assert not token.glued or not text[token.start - 1].isspace()


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


def test_the_more_frequent_of_two_equally_near_words_is_meant() -> None:
    speller = Speller()
    speller.add("dance", 5)
    speller.add("dunce", 50)
    assert speller.correct("dince") == "dunce"


@given(st.text("abcdefgh", min_size=5, max_size=12), st.data())
def test_one_wrong_letter_inside_a_word_is_put_right(word: str, data: st.DataObject) -> None:
    speller = Speller()
    speller.add(word)
    place = data.draw(st.integers(1, len(word) - 1))
    assert speller.correct(word[:place] + "z" + word[place + 1 :]) == word


TITLES = [
    ("1", "The Godfather"),
    ("2", "No Country for Old Men"),
    ("3", "The Lord of the Rings: The Fellowship of the Ring"),
    ("4", "Dune"),
    ("5", "Dune"),
    ("6", ""),
    ("7", "Portrait of a Lady on Fire"),
    ("8", "Men"),
]


@pytest.fixture(scope="module")
def index() -> TitleIndex:
    return TitleIndex.from_titles(TITLES, frozenset({"the", "a"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the godfather but cheaper", ("1", 2)),
        ("godfather", ("1", 1)),
        ("no country for old men but in french", ("2", 5)),
        ("dune", ("4", 1)),
        ("the fellowship of the ring please", ("3", 5)),
        ("portrait of a lady in fire", ("7", 6)),
        ("portriat of a lady on fire", ("7", 6)),
        ("something else entirely", None),
        ("the of a", None),
        ("", None),
    ],
)
def test_titles(index: TitleIndex, text: str, expected: tuple[str, int] | None) -> None:
    assert index.find(text.split()) == expected


def test_without_titles_nothing_is_found() -> None:
    assert TitleIndex().find(["dune"]) is None


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
