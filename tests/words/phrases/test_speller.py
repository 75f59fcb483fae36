"""Small misspellings are understood, other words are not."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.words.phrases import Speller, edit_distance

LETTERS = st.text("abcde", max_size=8)


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


@cache
def distance(one: str, other: str) -> int:
    """The same by its recursion."""
    if not one or not other:
        return len(one) + len(other)
    found = [
        distance(one[:-1], other) + 1,
        distance(one, other[:-1]) + 1,
        distance(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    ]
    if len(one) > 1 and len(other) > 1 and one[-1] == other[-2] and one[-2] == other[-1]:
        found.append(distance(one[:-2], other[:-2]) + 1)
    return min(found)


@given(LETTERS, LETTERS)
def test_the_distance_is_that_of_its_definition(one: str, other: str) -> None:
    assert edit_distance(one, other) == distance(one, other)


@given(st.text("abcdefgh", min_size=5, max_size=12), st.data())
def test_one_wrong_letter_inside_a_word_is_put_right(word: str, data: st.DataObject) -> None:
    speller = Speller()
    speller.add(word)
    place = data.draw(st.integers(1, len(word) - 1))
    assert speller.correct(word[:place] + "z" + word[place + 1 :]) == word


WORDS = st.dictionaries(st.text("abcd", min_size=4, max_size=9), st.integers(1, 99), max_size=20)


@given(own=WORDS, shared=WORDS, word=st.text("abcd", min_size=3, max_size=9))
def test_words_that_several_share_are_known_as_own_ones(
    own: dict[str, int], shared: dict[str, int], word: str
) -> None:
    base, whole = Speller(), Speller()
    for each, weight in shared.items():
        base.add(each, weight)
    parted = Speller(base=base)
    for each, weight in own.items():
        parted.add(each, weight)
    for each, weight in (*own.items(), *shared.items()):
        whole.add(each, weight)
    assert parted.correct(word) == whole.correct(word)
    assert parted.weights.keys() == own.keys()
