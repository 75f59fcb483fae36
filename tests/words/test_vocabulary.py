"""What a request can name, how words are put right, and interpreters of other packages."""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from words.catalogues import TODAY, event_model, vocabulary

from teaser import Dataset, Tag, Teaser
from teaser.errors import ParameterError, ResourceError
from teaser.profile import GENERAL
from teaser.words.interpreter import GROUP, find_interpreter, interpret
from teaser.words.phrases import LANGUAGES, Speller, lexicon, stem, tokenize
from teaser.words.vocabulary import Vocabulary, read_synonyms
from teaser.words.wishes import Reading, Wish


def test_tags_columns_bands_and_dates() -> None:
    known = vocabulary("events")
    assert known.counts[Tag("theme", "Jazz")] > 0
    assert known.appeal == GENERAL
    assert GENERAL in known.counts
    assert known.column_of("price") == "price"
    assert known.bands_of("price")[0].value == "free"
    assert known.has_dates
    assert not vocabulary("films").has_dates
    assert set(vocabulary("films").columns) == {"runtime", "rating"}
    assert vocabulary("films").column_of("length") == "runtime"
    assert known.column_of("length") is None


@pytest.mark.parametrize(
    ("phrase", "tag"),
    [
        ("jazz", "theme=Jazz"), ("toneel", "type=Theatre"), ("gand", "town=Ghent"),
        ("wheelchair", "labels=wheelchair accessible"), ("rondleiding", "type=Guided tour"),
    ],
)  # fmt: skip
def test_names_translations_and_synonyms(phrase: str, tag: str) -> None:
    assert Tag.parse(tag) in {name.tag for name in vocabulary("events").names.exact(phrase)}


def test_persons_are_known_by_their_surnames() -> None:
    names = vocabulary("films").names
    assert [n.tag.value for n in names.exact("kubrick")] == ["Stanley Kubrick"]
    assert [n.tag.value for n in names.exact("de sica")] == ["Vittorio De Sica"]
    assert [n.tag.value for n in names.exact("coen")] == ["Coen brothers"]


def test_the_owner_adds_synonyms(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.toml"
    path.write_text(
        '[Jazz]\nen = ["trad"]\n["theme=Folk"]\nnl = ["boombal"]\n[Opera]\nen = ["x"]\n'
    )
    known = Vocabulary.from_model(event_model(), synonyms=path)
    assert [n.tag for n in known.names.exact("trad")] == [Tag("theme", "Jazz")]
    assert [n.tag for n in known.names.exact("boombal")] == [Tag("theme", "Folk")]
    assert known.unmatched == ("Opera",)


@pytest.mark.parametrize(
    "text",
    [
        *("jazz = 3", '[Jazz]\nen = "trad"', '[Jazz]\nde = ["x"]', "[Jazz]\nen = [1]", "= no"),
        f"[Jazz]\nen = {'[' * 100_000}",
    ],
    ids=lambda text: text[:20],
)
def test_synonyms_of_another_form_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "synonyms.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match="synonyms"):
        read_synonyms(path)


def test_a_missing_file_is_told() -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        read_synonyms("no/such/file.toml")
    assert read_synonyms(None) == {}


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
        (None, "None in place of a Reading"),
        (Reading(cast(Any, ("press +2 theme=Jazz",))), "in place of a Reading of wishes"),
        (Reading((Wish("press", "theme=Opera", 1),)), "which no item has"),
        (Reading((Wish("at_most", "runtime", number=3),)), "which no item has"),
        (Reading((Wish("like", "e9999"),)), "which no item has"),
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


@pytest.fixture(scope="module")
def wines() -> Vocabulary:
    """A catalogue with percentages, and a column of yes and no."""
    n = 20
    items = pl.DataFrame(
        {
            "item_id": [f"w{i}" for i in range(n)],
            "alcohol": [11.5 + i % 7 / 2 for i in range(n)],
            "price": [5.0 + i for i in range(n)],
            "organic": [i % 3 == 0 for i in range(n)],
            "bottled": [date(2015 + i % 4, 3, 1) for i in range(n)],
        }
    )
    seen = [(f"u{u}", f"w{(u * 3 + i) % n}") for u in range(12) for i in range(5)]
    interactions = pl.DataFrame(seen, schema=["user_id", "item_id"], orient="row")
    return Vocabulary.from_model(Teaser().fit(Dataset.from_tables(interactions, items)))


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("no more than 13% alcohol", ["at_most alcohol 13"]),
        ("alcohol between 12 and 13 %", ["at_least alcohol 12", "at_most alcohol 13"]),
        ("alcohol at most 13 percent", ["at_most alcohol 13"]),
        ("under 13 %", []),
        ("tours", []),
        ("older than 2017", ["only bottled=2015", "only bottled=2016"]),
        ("under 13", ["at_most price 13"]),
        ("organic", ["press +4 organic=organic yes"]),
        ("not organic", ["without organic=organic yes"]),
    ],
)
def test_percentages_years_and_yes_or_no(text: str, wishes: list[str], wines: Vocabulary) -> None:
    reading = interpret(text, wines, today=TODAY)
    assert [str(wish) for wish in reading.wishes] == wishes
    assert bool(reading.unknown) == (not wishes)
