"""Requests as atoms."""

import pytest
from words.catalogues import TODAY, vocabulary

from teaser.words.interpreter import read
from teaser.words.segmenter import Atom, Segmenter


def atoms(text: str, language: str = "en", catalogue: str = "events") -> list[Atom]:
    return Segmenter(text, vocabulary(catalogue), language, TODAY).atoms()


def kinds(text: str, language: str = "en", catalogue: str = "events") -> list[str]:
    return [atom.kind for atom in atoms(text, language, catalogue) if atom.kind != "filler"]


def values(text: str, language: str) -> list[str]:
    return [str(a.value[0].tag) for a in atoms(text, language) if a.kind == "name"]


def test_the_longest_phrases_win() -> None:
    assert kinds("more street food in nature") == ["degree", "name", "name"]
    assert kinds("not too expensive") == ["scale"]
    assert kinds("under canvas, under 20 euro") == ["name", "comma", "limit"]


def test_a_phrase_does_not_take_a_word_that_the_next_needs() -> None:
    assert values("with materials included", "en") == ["labels=materials included"]


def test_atoms_say_where_they_stand() -> None:
    text = "Jazz in Ghent!"
    found = [text[atom.start : atom.end] for atom in atoms(text)]
    assert found == ["Jazz", "in", "Ghent", "!"]


def test_dutch_compounds_are_two_names() -> None:
    assert values("jazzconcerten", "nl") == ["theme=Jazz", "type=Concert"]
    assert values("kerstmarkt", "nl") == ["theme=Christmas", "type=Market"]


def test_names_in_other_languages_are_known() -> None:
    assert values("gigs in Gand", "nl") == ["type=Concert", "town=Ghent"]


def test_titles_follow_like() -> None:
    text = "something like No Country for Old Men, but older"
    assert kinds(text, catalogue="films") == ["item", "comma", "join", "scale"]
    assert kinds("no country for old men", catalogue="films") == ["item"]
    assert "item" not in kinds("no country for old", catalogue="films")


def test_signs_before_a_word_and_marks() -> None:
    assert kinds("+jazz -rock") == ["degree", "name", "sign", "name"]
    assert kinds("jazz & folk / rock") == ["name", "join", "name", "join", "name"]
    assert kinds("<b>jazz</b>")[:2] == ["unknown", "name"]


@pytest.mark.parametrize(
    ("text", "expected", "unknown"),
    [
        ("pulp fiction", "like m0", ""),
        ("Pulp Fiction but older", "like m0; at_most year 1971.5", ""),
        ("like m1", "like m1", ""),
        ("something like m1, no crime", "like m1; without genre=Crime", ""),
        ("no pulp fiction", "", "pulp fiction"),
        ("no black and white", "", "black white"),
        ("no Black", "without actor=Karen Black", ""),
        ("karen black", "press +4 actor=Karen Black", ""),
        ("bergman", "press +4 actor=Ingmar Bergman", ""),
        ("m99", "", "m 99"),
    ],
)
def test_items_and_surnames(text: str, expected: str, unknown: str) -> None:
    reading = read(text, vocabulary("year_numbers"), today=TODAY)
    assert "; ".join(map(str, reading.wishes)) == expected
    assert " ".join(reading.unknown) == unknown
