"""Fill the caches of a catalogue before it is served, so that no visitor waits for them."""

from collections.abc import Iterator

from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.people.state import State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.serving.words import vocabulary_of
from teaser.app.site.filters import Filters, filter_form
from teaser.app.site.home import quick_start
from teaser.app.site.preferences import about_view
from teaser.app.site.say import say_example
from teaser.app.site.view.card_view import card_views, plain_card
from teaser.app.site.view.profile_view import profile_view
from teaser.words.read import read

_UNKNOWN = "abracadabra"


def warm_up(catalogue: Catalogue, synonyms: str = "") -> Iterator[None]:
    """Make what the first pages of a catalogue need, for a few usual visitors, in each language.

    It yields after each small step, so that whoever runs it can let requests go first.

    Parameters
    ----------
    synonyms
        The owner's file of words for requests in words; see `Settings`.
    """
    picks = quick_start(catalogue, (), ())
    yield
    usual = list(_usual(catalogue))
    vocabulary = vocabulary_of(catalogue, synonyms)
    yield
    for language in LANGUAGES:
        texts = texts_in(language)
        filter_form(catalogue, texts, Filters())
        yield
        find_names(catalogue, "a", texts)
        yield
        say_example(catalogue, texts)
        read(_UNKNOWN, vocabulary, language=language)  # looks for names that are spelled alike
        yield
        for item_id in picks:
            plain_card(catalogue, item_id, texts)
            yield
        for personal in usual:
            profile_view(personal, texts)
            yield
            about_view(personal)
            shown = personal.recommend()
            yield
            card_views(personal, shown, texts)
            yield


def _usual(catalogue: Catalogue) -> Iterator[PersonalModel]:
    """Yield somebody new, and somebody who viewed the first item and pressed the first tag."""
    yield PersonalModel(catalogue, State())
    items, tags = catalogue.model.items_, catalogue.model.tags_
    if len(items) > 1:
        presses = {str(tags[0]): 1} if tags else {}
        yield PersonalModel(catalogue, State(history=(items[0],), presses=presses))
