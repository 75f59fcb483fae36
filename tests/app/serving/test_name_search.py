"""Name search: words, accents, languages, order."""

import polars as pl
import pytest

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names, normalize

TITLES = ["Été à Liège", "A summer in Liège", "The liegeman", "Liege waffles", None, "Jazz"]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """Six items, the first the most popular; the fifth has no title."""
    ids = ["a", "b", "c", "d", "xliege", "f"]
    items = pl.DataFrame(
        {
            "item_id": ids,
            "title": TITLES,
            "town": ["Liège", "Liège", "Namur", "Huy", "Huy", "Ghent"],
            "type": ["Exhibition", "Exhibition", "Exhibition", "Concert", "Concert", "Concert"],
        }
    )
    pairs = [(f"u{u}", item) for u in range(8) for item in ids[: 6 - u % 6]]
    people = pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row")
    rules = (Category("town"), Category("type"))
    return Catalogue(Teaser().fit(Dataset.from_tables(people, items, rules=rules)))


def found(catalogue: Catalogue, words: str, language: str = "en", limit: int = 9) -> list[str]:
    return [str(i) for i in find_names(catalogue, words, texts_in(language)).items(0, limit)]


def tags(catalogue: Catalogue, words: str, language: str = "en") -> list[Tag]:
    return find_names(catalogue, words, texts_in(language)).tags(0, 9)


def test_names_that_begin_so_come_first_then_words_that_do(catalogue: Catalogue) -> None:
    assert found(catalogue, "liege") == ["d", "a", "b", "c", "xliege"]
    assert found(catalogue, "liege", limit=2) == ["d", "a"]


@pytest.mark.parametrize("words", ["ete a", "ÉTÉ À", "  liège   été "])
def test_accents_capitals_and_spaces_do_not_matter(catalogue: Catalogue, words: str) -> None:
    assert found(catalogue, words) == ["a"]


def test_every_word_is_needed(catalogue: Catalogue) -> None:
    assert found(catalogue, "summer liege") == ["b"]
    assert found(catalogue, "summer jazz") == []


@pytest.mark.parametrize("words", ["", "   ", "\N{COMBINING ACUTE ACCENT}"])
def test_no_word_finds_nothing(catalogue: Catalogue, words: str) -> None:
    assert found(catalogue, words) == []
    assert tags(catalogue, words) == []


def test_tags_are_found_in_the_visitor_s_language_and_in_that_of_the_data(
    catalogue: Catalogue,
) -> None:
    exhibition = Tag("type", "Exhibition")
    assert tags(catalogue, "tentoon", "nl") == [exhibition]
    assert tags(catalogue, "tentoon", "en") == []
    assert tags(catalogue, "exhibition", "nl") == [exhibition]
    assert tags(catalogue, "type exhib") == [exhibition]


def test_common_tags_come_first_among_equals(catalogue: Catalogue) -> None:
    values = [tag.value for tag in tags(catalogue, "town")]
    assert set(values[:2]) == {"Liège", "Huy"}
    assert set(values[2:]) == {"Namur", "Ghent"}


def test_normalize() -> None:
    assert normalize("  Ærø  STRASSE\tŒuvre é ") == "ærø strasse œuvre e"
    assert normalize("Straße ﬁn") == "strasse fin"
