"""Names that resemble a wrong one: typing errors find theirs, and the work is bounded."""

import difflib
from typing import Any

import numpy as np
import pytest

from teaser.closeness import COMPARED, LETTERS, closest_names

RNG = np.random.default_rng(14)
HEXES = [RNG.bytes(16).hex() for _ in range(20_000)]
NUMBERS = [f"item-{i:05d}" for i in range(20_000)]
TITLES = [f"The {word} story of {i} friends" for i in range(10_000) for word in ("odd", "old")]


def mistakes(name: str) -> list[str]:
    """Return a name with a letter changed, left out, doubled and swapped, in several places."""
    places = (0, 1, len(name) // 2, len(name) - 2)
    return [
        wrong
        for i in places
        for wrong in (
            f"{name[:i]}?{name[i + 1 :]}",
            name[:i] + name[i + 1 :],
            name[:i] + name[i] + name[i:],
            name[:i] + name[i + 1] + name[i] + name[i + 2 :],
        )
        if wrong != name
    ]


@pytest.mark.parametrize("names", [HEXES, TITLES])
def test_a_typing_error_anywhere_finds_its_name_among_very_many(names: list[str]) -> None:
    for wrong in mistakes(names[7_777]):
        if wrong not in names:
            assert names[7_777] in closest_names(wrong, names), wrong


def test_among_numbers_a_name_with_one_letter_more_or_less_is_found() -> None:
    for wrong in ("item-0777", "itm-07777", "?tem-07777", "item-07777?"):
        best = closest_names(wrong, NUMBERS)[0]
        assert difflib.SequenceMatcher(None, wrong, best).ratio() > 0.85


def test_names_that_differ_beyond_what_is_compared_are_all_named() -> None:
    long = "x" * LETTERS
    assert set(closest_names(long + "d", [long + "a", long + "b"])) == {long + "a", long + "b"}


@pytest.mark.parametrize("names", [HEXES, NUMBERS, ["ab" * 45 + name for name in HEXES]])
def test_few_names_are_compared_and_few_letters(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    class Matcher(difflib.SequenceMatcher[str]):
        def set_seq1(self, a: Any) -> None:
            super().set_seq1(a)
            compared.append((len(a), len(getattr(self, "b", None) or "")))

    monkeypatch.setattr(difflib, "SequenceMatcher", Matcher)
    for wrong in ("x" * 90, "item-" * 18, HEXES[0] * 3, "0" * 90, "ab" * 50_000):
        compared.clear()
        closest_names(wrong, names)
        assert len(compared) <= COMPARED + 1  # the first is of two empty texts
        assert all(max(pair) <= LETTERS for pair in compared)
