"""Looking things up in a catalogue: names, groups that the system found, requests in words."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from teaser.app.catalogue import Catalogue, cached_per_catalogue
from teaser.app.i18n.texts import LANGUAGES, Texts, texts_in
from teaser.app.settings import Settings
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.model.extensions.groups import Group
from teaser.words.interpreter import find_interpreter, interpret
from teaser.words.phrases import fold
from teaser.words.vocabulary import Translations, Vocabulary, read_synonyms
from teaser.words.wishes import Reading

log = logging.getLogger("teaser")


@dataclass(frozen=True)
class NameMatches:
    """Items and tags whose names match, the best match first."""

    items: list[ItemId] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)
    items_first: bool = False


def find_names(catalogue: Catalogue, words: str, texts: Texts) -> NameMatches:
    """Return the items and tags whose names contain every word.

    Names that are the words come first, then names that start with them, then names in which a
    word starts with the first of them. Ties are ordered by popularity (items) or by number of items
    (tags). Groups that the system found follow all other tags: they are named by titles, which many
    words match. An item id that is a number is found by the whole number only. Items come before
    tags if an item has this very name, and no tag does.
    """
    query, model = normalize(words), catalogue.model
    if not query:
        return NameMatches()
    items = _matches(_item_names(catalogue), query)
    tags = _matches(_tag_names(catalogue, texts), query)
    is_item, is_tag = ([n.name for n in found[:1]] == [query] for found in (items, tags))
    return NameMatches(
        [model.items_[n.place] for n in items],
        [model.tags_[n.place] for n in tags],
        is_item and not is_tag,
    )


def normalize(text: str) -> str:
    """Return a text as it is compared: no accents, no capitals, single spaces."""
    return " ".join(fold(text).split())


@dataclass(frozen=True, slots=True)
class _Name:
    """A position, the normalized name that orders the matches, and the text that is searched.

    `whole` is a further name, which is found only as a whole; `is_last` puts it after the others.
    """

    place: int
    name: str
    text: str
    whole: str = ""
    is_last: bool = False


def _matches(names: Iterable[_Name], query: str) -> list[_Name]:
    words = query.split()
    found = [n for n in names if all(word in n.text for word in words) or n.whole == query]
    found.sort(key=lambda name: (name.is_last, _rank(name.name, query, words[0])))
    return found


def _rank(name: str, query: str, word: str) -> int:
    if name.startswith(query):
        return -1 if name == query else 0
    return 1 if f" {word}" in f" {name}" else 2


@cached_per_catalogue(1)
def _item_names(catalogue: Catalogue) -> list[_Name]:
    """Return the names of all items, the most popular first."""
    model = catalogue.model
    order = np.argsort(-model.popularity_, kind="stable").tolist()
    titles = [normalize(model.title(i) or "") for i in order]
    ids = [normalize(str(model.items_[i])) for i in order]
    return [
        _Name(i, title, title, item_id)
        if title and item_id.isdigit()
        else _Name(i, title or item_id, f"{title} {item_id}")
        for i, title, item_id in zip(order, titles, ids, strict=True)
    ]


@cached_per_catalogue(len(LANGUAGES))
def _tag_names(catalogue: Catalogue, texts: Texts) -> list[_Name]:
    """Return the names of all tags, translated and as in the data, the most common first."""
    tags = catalogue.model.tags_
    order = np.argsort(-catalogue.tag_sizes, kind="stable").tolist()
    return [
        _Name(
            j,
            normalize(texts.tag(tags[j])),
            normalize(f"{texts.feature(tags[j].feature)} {texts.tag(tags[j])} {tags[j]}"),
            is_last=tags[j].discovered,
        )
        for j in order
    ]


@dataclass(frozen=True)
class FoundGroup:
    """A group that the system found from what people chose.

    Attributes
    ----------
    group
        Its tag, exemplars, and the declared tag that is over-represented in it.
    members
        Its items with how much each belongs to it, the most first; of equal ones the more popular.
    aliases
        Its earlier names, presses on which count for it too.
    """

    group: Group
    members: tuple[tuple[ItemId, float], ...]
    aliases: tuple[str, ...]


def find_group(catalogue: Catalogue, tag: Tag | str) -> FoundGroup:
    """Return the group of a discovered tag, named as it is today or as it was.

    Raises
    ------
    UnknownNameError
        If the model does not have the tag.
    ParameterError
        If the tag is not a discovered one.
    """
    model = catalogue.model
    known = catalogue.tag(tag)
    if not known.discovered or model.groups_ is None:
        raise ParameterError(
            f"{known} is not a group that the system found. Name a tag of the feature discovered."
        )
    groups = model.groups_
    column = groups.members[:, [groups.tags.index(known)]].tocoo()
    places, weights = column.coords[0], column.data
    order = np.lexsort((places, -model.popularity_[places], -weights))
    return FoundGroup(
        groups.of(known),
        tuple((groups.items[int(places[n])], float(weights[n])) for n in order),
        tuple(old.value for old, new in groups.aliases.items() if new == known),
    )


def read_words(catalogue: Catalogue, text: str, language: str, settings: Settings) -> Reading:
    """Return what a request asks for; nothing is applied.

    Parameters
    ----------
    language
        The language of the site, in which the request is most likely written.
    settings
        Which interpreter and which synonyms the owner chose.
    """
    return interpret(
        text,
        vocabulary_of(catalogue, settings.synonyms),
        language=language,
        today=catalogue.today,
        interpreter=settings.interpreter,
    )


def check_words(settings: Settings) -> None:
    """Raise `TeaserError` if the interpreter or the synonyms that the owner chose are not there."""
    if settings.interpreter:
        find_interpreter(settings.interpreter)
    read_synonyms(settings.synonyms)


@cached_per_catalogue(1)
def vocabulary_of(catalogue: Catalogue, synonyms: str = "") -> Vocabulary:
    """Return the words that requests can use in a catalogue, with those of the site's languages.

    Parameters
    ----------
    synonyms
        The owner's TOML file of further words.
    """
    found = Vocabulary.from_model(
        catalogue.model, translations=_translations(catalogue), synonyms=synonyms or None
    )
    if found.unmatched:
        log.warning("synonyms for what is no tag: %s", ", ".join(found.unmatched))
    return found


def _translations(catalogue: Catalogue) -> Translations:
    found: dict[str, dict[Tag | str, str]] = {}
    for texts in map(texts_in, LANGUAGES):
        found[texts.language] = {tag: texts.tag(tag) for tag in catalogue.model.tags_}
        names = {tag.feature: texts.feature(tag.feature) for tag in catalogue.model.tags_}
        found[texts.language].update(names)
    return found
