"""Name search: words, accents, languages, order."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.model_holder import ModelHolder
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


def test_a_number_as_id_is_found_as_a_whole(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    numbered = [t.with_columns(pl.col("item_id").str.slice(1).cast(pl.Int64)) for t in tables]
    bare = numbered[1].with_columns(title=pl.when(pl.col("item_id") != 12).then("title"))
    model = Teaser(tol=1e-3).fit(Dataset.from_tables(numbered[0], bare, rules=[Category("type")]))
    catalogue = Catalogue(model)
    titles = {str(i) for i in range(40) if i != 12 and "2" in f"Event {i}"}
    # The title of the item 12 is its id.
    assert set(found(catalogue, "2", limit=40)) == {*titles, "12"}
    assert "7" in found(catalogue, "7", limit=40)
    swapped = bare.with_columns(title=pl.lit("Event"))
    model = Teaser(tol=1e-3).fit(
        Dataset.from_tables(numbered[0], swapped, rules=[Category("type")])
    )
    assert found(Catalogue(model), "2", limit=40) == ["2"]


def test_groups_follow_declared_tags(events_folder: Path) -> None:
    catalogue = ModelHolder(events_folder).current
    groups = [tag.discovered for tag in find_names(catalogue, "a", texts_in("en")).tags(0, 10**6)]
    assert any(groups)
    assert groups == sorted(groups)
    assert not groups[0]


def test_common_tags_come_first_among_equals(catalogue: Catalogue) -> None:
    values = [tag.value for tag in tags(catalogue, "town")]
    assert set(values[:2]) == {"Liège", "Huy"}
    assert set(values[2:]) == {"Namur", "Ghent"}


def test_normalize() -> None:
    assert normalize("  Ærø  STRASSE\tŒuvre é ") == "ærø strasse œuvre e"
    assert normalize("Straße ﬁn") == "strasse fin"


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_names_without_accents_are_compared_as_with_one(text: str) -> None:
    assert normalize(text) == normalize(f"{text}\u0301")
