"""Items and tags by name: in the visitor's language, with or without accents, as they type."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from teaser.app.dependencies import catalogue_of
from teaser.app.http.identity import visitor_of
from teaser.app.i18n.texts import Texts, texts_in
from teaser.app.serving.catalogue import Catalogue
from teaser.app.site.rendering import render_part
from teaser.app.site.view import plain_card
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag

router = APIRouter()

MOST_WORDS = 200
N_TAGS = 4
N_ITEMS = 6
# A suggestion is the same for everybody who reads the same language.
_CACHED = {"cache-control": "private, max-age=60", "vary": "cookie, accept-language"}


@dataclass(frozen=True, slots=True)
class _Name:
    """A name as it is compared, and all text by which its bearer may be found."""

    place: int
    name: str
    text: str


@router.get("/suggest")
def suggest(request: Request, q: str = "") -> Response:
    """Return the options under the search field; the page /search shows the same and more."""
    visitor, catalogue = visitor_of(request, with_person=False), catalogue_of(request)
    texts, words = visitor.texts, q[:MOST_WORDS]
    item_ids, tags = find(catalogue, words, texts, limit=N_ITEMS)
    body = render_part(
        "suggest.html",
        t=texts,
        words=words,
        tags=[(tag, texts.tag(tag), texts.feature(tag.feature)) for tag in tags[:N_TAGS]],
        entries=[plain_card(catalogue, item_id, texts) for item_id in item_ids],
    )
    return HTMLResponse(body, headers={**_CACHED, "content-language": texts.language})


def find(
    catalogue: Catalogue, words: str, texts: Texts, *, limit: int
) -> tuple[list[ItemId], list[Tag]]:
    """Return items and tags whose names hold every word.

    Names that begin with the words come first, then names with a word that does; among equals the
    popular items and the common tags.
    """
    found = find_all(catalogue, words, texts)
    return found.items(0, limit), found.tags(0, limit)


@dataclass(frozen=True)
class Found:
    """All that has a name, by position, the best first."""

    catalogue: Catalogue
    item_places: list[int]
    tag_places: list[int]

    def items(self, start: int, stop: int) -> list[ItemId]:
        """Return some of the items."""
        return [self.catalogue.model.items_[i] for i in self.item_places[start:stop]]

    def tags(self, start: int, stop: int) -> list[Tag]:
        """Return some of the tags."""
        return [self.catalogue.model.tags_[j] for j in self.tag_places[start:stop]]


def find_all(catalogue: Catalogue, words: str, texts: Texts) -> Found:
    """Return everything whose name holds every word, in the order of `find`."""
    asked = plain(words)
    if not asked:
        return Found(catalogue, [], [])
    return Found(
        catalogue,
        _best(_titles(catalogue), asked),
        _best(_tags(catalogue, texts.language), asked),
    )


def plain(text: str) -> str:
    """Return a text as it is compared: no accents, no capitals, single spaces."""
    apart = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return " ".join(bare.casefold().split())


def _best(names: Iterable[_Name], asked: str) -> list[int]:
    words = asked.split()
    found = [name for name in names if all(word in name.text for word in words)]
    found.sort(key=lambda name: _worse(name.name, asked, words[0]))
    return [name.place for name in found]


def _worse(name: str, asked: str, word: str) -> int:
    if name.startswith(asked):
        return 0
    return 1 if f" {word}" in f" {name}" else 2


@lru_cache(maxsize=2)
def _titles(catalogue: Catalogue) -> list[_Name]:
    """Return the names of all items, the popular first."""
    model = catalogue.model
    order = np.argsort(-model.popularity_, kind="stable").tolist()
    titles = [plain(model.title(i) or "") for i in order]
    ids = [plain(str(model.items_[i])) for i in order]
    return [
        _Name(i, title or item_id, f"{title} {item_id}")
        for i, title, item_id in zip(order, titles, ids, strict=True)
    ]


@lru_cache(maxsize=6)
def _tags(catalogue: Catalogue, language: str) -> list[_Name]:
    """Return the names of all tags in a language, the common first; as the data have them too."""
    texts, tags = texts_in(language), catalogue.model.tags_
    order = np.argsort(-catalogue.tag_sizes, kind="stable").tolist()
    return [
        _Name(
            j,
            plain(texts.tag(tags[j])),
            plain(f"{texts.feature(tags[j].feature)} {texts.tag(tags[j])} {tags[j]}"),
        )
        for j in order
    ]
