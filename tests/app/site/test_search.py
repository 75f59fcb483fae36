"""Search by name: words, accents, languages, order; and the suggestions under the field."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from app.conftest import TestClient

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.serving.catalogue import Catalogue
from teaser.app.site.search import N_ITEMS, N_TAGS, find, plain

_MARKUP = r"(?s)<svg.*?</svg>|<[^>]+>"
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
    return [str(i) for i in find(catalogue, words, texts_in(language), limit=limit)[0]]


def tags(catalogue: Catalogue, words: str, language: str = "en") -> list[Tag]:
    return find(catalogue, words, texts_in(language), limit=9)[1]


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
    assert find(catalogue, words, texts_in("en"), limit=9) == ([], [])


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


def test_plain() -> None:
    assert plain("  Ærø  STRASSE\tŒuvre é ") == "ærø strasse œuvre e"
    assert plain("Straße ﬁn") == "strasse fin"


class TestSuggest:
    def options(self, page: str) -> list[tuple[str, str]]:
        pairs = re.findall(r'role="option"[^>]*data-href="([^"]+)">(.*?)</div>', page, re.S)
        return [(unescape(h), unescape(re.sub(_MARKUP, "", text)).strip()) for h, text in pairs]

    def test_tags_items_and_all(self, client: TestClient) -> None:
        page = client.get("/suggest?q=event+1").text
        options = self.options(page)
        assert all(path.startswith("/item/i1") for path, _ in options[:-1])
        assert all(text.startswith("Event 1") for _, text in options[:-1])
        assert len(options) == N_ITEMS + 1
        assert options[-1] == ("/search?q=event%201", "All that is found for “event 1”")
        assert f'data-said="{N_ITEMS} suggestions"' in page
        tagged = self.options(client.get("/suggest?q=type").text)
        assert 1 < len([path for path, _ in tagged if path.startswith("/tag?tag=")]) <= N_TAGS

    def test_every_option_leads_somewhere(self, client: TestClient) -> None:
        for words in ("event", "film", "Liège"):
            for path, _ in self.options(client.get("/suggest", params={"q": words}).text):
                assert client.get(path).status_code == 200, path

    def test_nothing_found_is_an_empty_list(self, client: TestClient) -> None:
        page = client.get("/suggest?q=nosuchname").text
        assert self.options(page) == []
        assert 'data-said="0 suggestions"' in page

    def test_what_is_typed_is_never_markup(self, client: TestClient) -> None:
        page = client.get("/suggest", params={"q": 'event "><script>'}).text
        assert "<script" not in page
        page = client.get("/suggest", params={"q": "event " + "x" * 5000}).text
        assert len(page) < 1000

    def test_it_asks_nothing_of_the_store_and_may_be_kept_a_while(
        self, serve: Callable[..., TestClient], tmp_path: Path
    ) -> None:
        client = serve(database_url=f"sqlite:///{tmp_path / 'gone.db'}")
        client.post("/act", data={"view": "i1"}, headers={"origin": "http://testserver"})
        for path in tmp_path.glob("gone.db*"):
            path.unlink()
        response = client.get("/suggest?q=event")
        assert response.status_code == 200
        assert response.headers["cache-control"] == "private, max-age=60"

    def test_the_page_of_results_finds_the_same(self, client: TestClient) -> None:
        first = self.options(client.get("/suggest?q=event+1").text)[:N_ITEMS]
        page = client.get("/search?q=event+1").text
        assert re.findall(r'class="name"><a href="([^"]+)"', page)[:N_ITEMS] == [
            p for p, _ in first
        ]
