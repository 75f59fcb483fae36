"""The vocabulary of a catalogue."""

import logging
from pathlib import Path

import pytest

from teaser import Tag, Teaser
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.words import check_words, read_words, vocabulary_of
from teaser.app.settings import Settings
from teaser.errors import ParameterError


@pytest.fixture
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def test_translations_of_the_site_are_names(catalogue: Catalogue) -> None:
    names = vocabulary_of(catalogue, "").names
    assert [name.language for name in names.exact("gand") if name.rank == 0] == ["fr"]
    assert Tag("town", "Ghent") in {name.tag for name in names.exact("gent")}


def test_it_is_made_once(catalogue: Catalogue) -> None:
    assert vocabulary_of(catalogue, "") is vocabulary_of(catalogue, "")


def test_the_owners_words_and_what_they_name_in_vain(
    catalogue: Catalogue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "words.toml"
    path.write_text('[Ghent]\nen = ["arteveldetown"]\n[Atlantis]\nen = ["sunk"]\n')
    settings = Settings(model=tmp_path, synonyms=str(path))
    with caplog.at_level(logging.WARNING):
        reading = read_words(catalogue, "in Arteveldetown", "en", settings)
    assert [str(wish) for wish in reading.wishes] == ["only town=Ghent"]
    assert "Atlantis" in caplog.text


def test_an_interpreter_that_is_not_installed_is_told(catalogue: Catalogue, tmp_path: Path) -> None:
    settings = Settings(model=tmp_path, interpreter="nobody")
    with pytest.raises(ParameterError, match="Unknown interpreter 'nobody'"):
        read_words(catalogue, "jazz", "en", settings)


@pytest.mark.parametrize("wrong", [{"interpreter": "nobody"}, {"synonyms": "no/such/file.toml"}])
def test_wrong_settings_are_refused_at_the_start(wrong: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        check_words(Settings(model=tmp_path, **wrong))
    check_words(Settings(model=tmp_path))
