"""A wish has one text form, and what is impossible cannot be made."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.errors import ParameterError, WishError
from teaser.words.wishes import LASTS, MAX_BOUND, NAMES, Wish

TEXTS = [
    "press +2 theme=Jazz",
    "press -3 theme=Jazz for today",
    "press +1 labels=dogs welcome for week",
    "press -2 general appeal=general appeal",
    "only town=Ghent",
    "without type=Workshop",
    "never type=Workshop",
    "never type=Workshop for week",
    "at_most price 20",
    "at_least user rating 7.5",
    "when weekend",
    "when 2026-11-20..2026-11-22",
    "when ..2026-12-24",
    "like e0123",
    "variety 0.6",
    "variety 0",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_form_is_read_and_written_alike(text: str) -> None:
    assert str(Wish.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "press", "press +2", "press 0 theme=Jazz", "press +6 theme=Jazz", "press +2 Jazz",
        "press two theme=Jazz", "press +2 =Jazz", "press +2 theme=", "only", "only Jazz",
        "at_most price", "at_most 20", "at_most price cheap", "at_most price inf",
        "at_most price nan", "when", "when someday", "when ..", "when 2026-02-30..",
        "when 2026-11-22..2026-11-20", "like", "like  ", "variety", "variety 2", "variety -0.1",
        "Press +2 theme=Jazz", "more jazz", "hide type=Workshop",
    ],
)  # fmt: skip
def test_what_is_no_wish_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ParameterError, match=r"\w.*\.$"):
        Wish.parse(text)


def test_an_error_repeats_only_the_beginning_of_a_long_text() -> None:
    with pytest.raises(WishError) as caught:
        Wish.parse("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_wishes_differ_by_what_they_ask_and_not_by_their_words() -> None:
    wish = Wish("only", "town=Ghent", words="in Gent")
    assert wish == Wish("only", "town=Ghent")
    assert wish != Wish("only", "town=Bruges")
    assert hash(wish) == hash(Wish("only", "town=Ghent"))


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "only", "name": "town=Ghent", "lasts": "week"},
        {"kind": "only", "name": "town=Ghent", "steps": 1},
        {"kind": "like", "name": "e1", "number": 3.0},
        {"kind": "press", "name": "theme=Jazz", "steps": 1, "lasts": "year"},
        {"kind": "wish", "name": "theme=Jazz"},
        {"kind": "variety", "name": "theme=Jazz", "number": 0.5},
        {"kind": "at_most", "name": " ", "number": 0.5},
    ],
)
def test_a_wish_with_a_field_of_another_kind_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(WishError):
        Wish(**fields)


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
tags = st.builds("{}={}".format, words.filter(lambda w: "=" not in w), words)
ends = st.sampled_from(["", " for today", " for week", " for always"])
numbers = st.floats(-MAX_BOUND, MAX_BOUND)
lasting = st.sampled_from(LASTS)
wishes = st.one_of(
    st.builds(
        Wish,
        st.just("press"),
        st.builds(str.__add__, tags, ends),
        st.integers(1, 3) | st.integers(-3, -1),
        lasts=lasting,
    ),
    st.builds(Wish, st.sampled_from(["only", "without"]), st.builds(str.__add__, tags, ends)),
    st.builds(Wish, st.just("never"), st.builds(str.__add__, tags, ends), lasts=lasting),
    st.builds(Wish, st.sampled_from(["at_most", "at_least"]), words, number=numbers),
    st.builds(Wish, st.just("when"), st.sampled_from(sorted(NAMES))),
    st.builds(Wish, st.just("like"), words),
    st.builds(Wish, st.just("variety"), number=st.floats(0, 1)),
)


@given(wishes)
def test_the_text_form_gives_every_wish_back(wish: Wish) -> None:
    assert Wish.parse(str(wish)) == wish
