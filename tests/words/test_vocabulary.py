"""What a request can name: tags, synonyms, bands of numbers, decades."""

from itertools import permutations
from pathlib import Path

import pytest
from words.catalogues import event_model, film_model, vocabulary

from teaser import Tag, Teaser
from teaser.errors import NotFittedError, ParameterError
from teaser.profile import GENERAL
from teaser.words.phrases import LANGUAGES
from teaser.words.vocabulary import (
    Vocabulary,
    band_start,
    common_synonyms,
    decade_names,
    find_bands,
    kind_of,
    read_synonyms,
    steps_of,
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


def test_counts_are_those_of_the_items() -> None:
    model = film_model()
    expected = model.table_.filter(model.table_["country"] == "Japan").height
    assert vocabulary("films").counts[Tag("country", "Japan")] == expected


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


def test_a_model_has_to_be_fitted() -> None:
    with pytest.raises(NotFittedError):
        Vocabulary.from_model(Teaser())


def test_common_synonyms_are_in_three_languages() -> None:
    for name, table in common_synonyms().items():
        assert set(table) == set(LANGUAGES), name


def test_the_known_words_of_a_language_are_made_once() -> None:
    known = vocabulary("films")
    assert known.speller("nl") is known.speller("nl")
    assert known.speller("en").correct("comdey") == "comedy"


PRICES = ["free", "under 10 euro", "10 to 20 euro", "20 to 40 euro", "over 40 euro"]


def test_bands_are_put_in_order() -> None:
    for given in permutations(PRICES):
        found = find_bands(Tag("price", value) for value in given)
        assert [tag.value for tag in found["price"]] == PRICES


def test_a_feature_with_other_texts_has_no_bands() -> None:
    assert find_bands([Tag("theme", "Jazz"), Tag("theme", "2 Tone")]) == {}
    assert find_bands([Tag("decade", "1980s")]) == {}
    assert band_start("Jazz") is None


@pytest.mark.parametrize(
    ("n", "direction", "expected"),
    [
        (5, -1, [2, 2, 0, -2, -2]),
        (5, 1, [-2, -2, 0, 2, 2]),
        (2, -1, [2, -2]),
        (3, 1, [-2, 0, 2]),
        (10, 1, [-2, -2, -2, -2, 0, 0, 2, 2, 2, 2]),
    ],
)
def test_the_outer_bands_get_steps(n: int, direction: int, expected: list[int]) -> None:
    bands = tuple(Tag("x", f"{i}0 to {i + 1}0") for i in range(n))
    steps = steps_of(bands, direction)
    assert [steps.get(tag, 0) for tag in bands] == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("price_band", "price"), ("ticket_price", "price"), ("Town", "town"), ("runtime", "length"),
        ("startYear", "age"), ("theme", None), ("directors", "person"), ("user_rating", "rating"),
        ("spoken_language", "language"), ("provinces", "region"),
    ],
)  # fmt: skip
def test_what_a_feature_is_about(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_decades_have_names() -> None:
    names = decade_names(Tag("decade", "1980s"))
    assert {"80s", "eighties"} <= set(names["en"])
    assert "années quatre-vingt" in names["fr"]
    assert decade_names(Tag("decade", "1780s"))["nl"] == ["jaren 1780"]
    assert decade_names(Tag("theme", "Jazz")) == {}
