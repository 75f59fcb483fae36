"""The tools for requests in words: what one means as wishes, and wishes applied together."""

from collections.abc import Iterable

from teaser.app.actions import LIMIT, decide
from teaser.app.api.schema.person_responses import Person
from teaser.app.api.words import WordsAnswer
from teaser.app.i18n.texts import texts_in
from teaser.app.mcp import sentences
from teaser.app.mcp.arguments import ApplyArguments, SayArguments
from teaser.app.mcp.source import Source
from teaser.app.mcp.tool import Answer, Tool
from teaser.app.pages.view.wish_view import describe_wish
from teaser.app.people.events import Event
from teaser.app.people.state import State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.words import read_words
from teaser.app.wishes import event_of
from teaser.words.wishes import Wish


def say(source: Source, asked: SayArguments) -> Answer:
    """Return what a request in words means, as wishes; nothing is applied."""
    catalogue = source.catalogue()
    reading = read_words(catalogue, asked.text, asked.language, source.settings)
    found = WordsAnswer.of(reading)
    return Answer(found, sentences.of_reading(found, _labels(reading.wishes, catalogue)))


def apply(source: Source, asked: ApplyArguments) -> Answer:
    """Apply wishes to the current list of a person, all of them or none."""
    catalogue = source.catalogue()
    wishes = [Wish.parse(text) for text in asked.wishes]

    def decision(state: State) -> Event | None:
        return decide(state, event_of(wishes, state, catalogue), catalogue)

    store, person_id = source.find(asked.person_id)
    done = store.decide(person_id, decision)
    note = None if done.event else f"Nothing was stored: {LIMIT}"
    found = Person.of(asked.person_id, done.after, catalogue, note=note)
    if note:
        return Answer(found, sentences.of_person(found))
    told = "; ".join(_labels(wishes, catalogue))
    applied = f"Applied: {told}. One undo takes all of it back."
    return Answer(found, [applied, *sentences.of_person(found)])


def _labels(wishes: Iterable[Wish], catalogue: Catalogue) -> list[str]:
    """Return wishes in words."""
    texts, today = texts_in("en"), catalogue.today
    return [describe_wish(wish, catalogue, texts, today) for wish in wishes]


WISH_TOOLS = (
    Tool(
        "say",
        "Understand a request",
        "Turn a request in words (English, Dutch or French) into wishes of this catalogue: "
        "presses, filters, dates, bounds. It applies nothing: show the wishes to the person, and "
        "give those that stay to apply.",
        SayArguments,
        WordsAnswer,
        say,
    ),
    Tool(
        "apply",
        "Apply wishes",
        "Apply wishes to a person's list, all of them or none; one undo takes them back. A wish is "
        "a text: press +4 theme=Jazz (steps -5 to 5: 2 is a bit, 4 plain, 5 much; may end in for "
        "today or for week), only town=Ghent, without type=Workshop, never type=Workshop (in all "
        "lists), at_most price 20, at_least price 10, when weekend (or tomorrow, next_week, "
        "2026-11-20..2026-11-22), like ITEM_ID, variety 0.6.",
        ApplyArguments,
        Person,
        apply,
        changes=True,
        needs_people=True,
    ),
)
