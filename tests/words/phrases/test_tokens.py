"""Requests as tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.words.phrases import fold, keys, tokenize


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
