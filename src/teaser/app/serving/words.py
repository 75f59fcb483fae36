"""Requests in words about a catalogue, in the words of the site's languages."""

import logging

from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.app.settings import Settings
from teaser.data.tags import Tag
from teaser.words.interpreter import find_interpreter, interpret
from teaser.words.vocabulary import Translations, Vocabulary, read_synonyms
from teaser.words.wishes import Reading

log = logging.getLogger("teaser")


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
    tags = catalogue.model.tags_
    found: dict[str, dict[Tag | str, str]] = {}
    for language in LANGUAGES:
        texts = texts_in(language)
        named: dict[Tag | str, str] = {tag: texts.tag(tag) for tag in tags}
        named |= {tag.feature: texts.feature(tag.feature) for tag in tags}
        found[language] = named
    return found
