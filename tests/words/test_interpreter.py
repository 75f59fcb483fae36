"""Interpreters of our own and of other packages."""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
from words.catalogues import TODAY, vocabulary

from teaser.errors import ParameterError, ResourceError
from teaser.words.interpreter import GROUP, find_interpreter, interpret
from teaser.words.vocabulary import Vocabulary
from teaser.words.wishes import Reading, Wish

PACKAGE = """
from teaser.words import Reading, Wish

def interpret(text, vocabulary, language, today):
    wishes = [Wish("press", f"{tag.feature}={tag.value}", 2) for tag in vocabulary.counts
              if tag.value.lower() in text.lower().split()]
    return Reading(tuple(wishes), (language, str(today)))

def fail(text, vocabulary, language, today):
    raise RuntimeError("no connection")

number = 3
"""
POINTS = f"""[{GROUP}]
plain = foreign_words:interpret
broken = foreign_words:fail
missing = foreign_words:nowhere
number = foreign_words:number
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with entry points, as an installer leaves it."""
    (tmp_path / "foreign_words.py").write_text(PACKAGE)
    folder = tmp_path / "foreign_words-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-words\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    find_interpreter.cache_clear()
    yield
    find_interpreter.cache_clear()
    sys.modules.pop("foreign_words", None)


@pytest.mark.usefixtures("installed")
def test_an_installed_interpreter_gets_text_vocabulary_language_and_day() -> None:
    known = vocabulary("events")
    found = interpret("folk here", known, language="nl", today=TODAY, interpreter="plain")
    assert [str(wish) for wish in found.wishes] == ["press +2 theme=Folk"]
    assert found.unknown == ("nl", "2026-11-16")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "It failed: RuntimeError: no connection"),
        ("missing", "It cannot be loaded"),
        ("number", "It is no function, but int"),
    ],
)
def test_one_that_fails_is_told(name: str, said: str) -> None:
    with pytest.raises(ResourceError, match=said):
        interpret("folk", vocabulary("events"), interpreter=name)


@pytest.mark.usefixtures("installed")
def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"Unknown interpreter 'plane'.*Closest: plain"):
        find_interpreter("plane")


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "NoneType in place of a Reading"),
        (Reading(cast(Any, ("press +2 theme=Jazz",))), "str in place of a Wish"),
        (Reading((Wish("press", "theme=Opera", 1),)), "no such tag"),
        (Reading((Wish("at_most", "runtime", number=3),)), "no such column"),
        (Reading((Wish("like", "e9999"),)), "no such item"),
        (Reading((), cast(Any, (3,))), "unknown words are not texts"),
        (Reading((), tuple(map(str, range(501)))), "more than 500"),
    ],
)
def test_what_another_returns_is_checked(returned: Any, said: str) -> None:
    def other(text: str, known: Vocabulary, language: str, today: date) -> Reading:
        found: Reading = returned
        return found

    with pytest.raises(ResourceError, match=said):
        interpret("jazz", vocabulary("events"), interpreter=other)


def test_contradictions_are_found_whoever_reads() -> None:
    def other(text: str, known: Vocabulary, language: str, today: date) -> Reading:
        return Reading((Wish("only", "theme=Jazz"), Wish("without", "theme=Jazz")))

    found = interpret("jazz", vocabulary("events"), interpreter=other)
    assert len(found.contradictions) == 1
