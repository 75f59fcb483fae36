"""What a request can name: tags, synonyms, bands of numbers, decades."""

from pathlib import Path

import pytest
from words.catalogues import event_model, vocabulary

from teaser import Tag
from teaser.errors import ParameterError
from teaser.profile import GENERAL
from teaser.words.vocabulary import (
    Vocabulary,
    read_synonyms,
)


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
    "text", ["jazz = 3", '[Jazz]\nen = "trad"', '[Jazz]\nde = ["x"]', "[Jazz]\nen = [1]", "= no"]
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
