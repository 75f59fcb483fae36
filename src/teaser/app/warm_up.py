"""Fill the caches of a catalogue before it is served, so that no visitor waits for them."""

from collections.abc import Iterator

from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.people.events import State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.site.filters import Filters, filter_form
from teaser.app.site.home import quick_start
from teaser.app.site.preferences import about_view
from teaser.app.site.view.card_view import card_views, plain_card
from teaser.app.site.view.profile_view import profile_view


def warm_up(catalogue: Catalogue) -> None:
    """Make what the first pages of a catalogue need, for a few usual visitors, in each language."""
    picks = quick_start(catalogue, (), ())
    for language in LANGUAGES:
        texts = texts_in(language)
        filter_form(catalogue, texts, Filters())
        find_names(catalogue, "a", texts)
        for item_id in picks:
            plain_card(catalogue, item_id, texts)
        for personal in _usual(catalogue):
            profile_view(personal, texts)
            about_view(personal)
            card_views(personal, personal.recommend(), texts)


def _usual(catalogue: Catalogue) -> Iterator[PersonalModel]:
    """Yield somebody new, and somebody who viewed the first item and pressed the first tag."""
    yield PersonalModel(catalogue, State())
    items, tags = catalogue.model.items_, catalogue.model.tags_
    if len(items) > 1:
        presses = {str(tags[0]): 1} if tags else {}
        yield PersonalModel(catalogue, State(history=(items[0],), presses=presses))
