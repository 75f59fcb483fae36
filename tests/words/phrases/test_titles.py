"""Titles named in a request."""

import pytest

from teaser.words.phrases import TitleIndex

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
    return TitleIndex.of(TITLES, frozenset({"the", "a"}))


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
