"""The tools that change a state: presses, views, undo; by the one path of site and API."""

from dataclasses import replace

from teaser.app.actions import LIMIT, act, decide
from teaser.app.api.schema.person_responses import Person
from teaser.app.mcp import sentences
from teaser.app.mcp.arguments import Nothing, OnePerson, PressArguments, ViewArguments
from teaser.app.mcp.results import Pressed, Undone
from teaser.app.mcp.source import Source
from teaser.app.mcp.tool import Answer, Tool
from teaser.app.people.events import Event, ending
from teaser.app.people.fold import state_after
from teaser.app.people.state import State
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError

NO_PROFILE = "It is stored, but the lists of this person are without profile: it changes none now."


def press(source: Source, asked: PressArguments) -> Answer:
    """Press + or - on a tag: stored for a person, else on the presses that were given."""
    catalogue = source.catalogue()
    tag = catalogue.model.tags_[resolve_tag(Tag.parse(asked.tag), catalogue.tag_index)]
    ends = ending(asked.lasts, catalogue.zone)
    event = Event("press", {"presses": {asked.tag: asked.steps}, **ends})
    if asked.person_id is None:
        if ends:
            raise ParameterError(
                f"lasts can be {asked.lasts!r} only with a person_id: nothing else is stored. "
                "Leave it out, and drop the press yourself when it ends."
            )
        before = source.state(asked, catalogue)
        decided = decide(before, event, catalogue)
        after = state_after(before, decided) if decided else before
    else:
        done = act(*source.find(asked.person_id), event, catalogue)
        before, decided, after = done.before, done.event, done.after
    found = Pressed(
        tag=str(tag),
        affinity_before=_affinity(tag, before, catalogue),
        affinity_after=_affinity(tag, after, catalogue),
        presses=Person.of("", after, catalogue).presses,
        stored=asked.person_id is not None and decided is not None,
        note=_note(str(tag), decided, after),
    )
    return Answer(found, sentences.of_press(found))


def _affinity(tag: Tag, state: State, catalogue: Catalogue) -> float:
    """Return an affinity, also of somebody whose lists are without profile at present."""
    return PersonalModel(catalogue, replace(state, profiling=True)).affinity(tag)


def _note(tag: str, decided: Event | None, after: State) -> str | None:
    if decided is None:
        return f"{tag}: {LIMIT}"
    return None if after.profiling else NO_PROFILE


def view(source: Source, asked: ViewArguments) -> Answer:
    """Add an item to the history of a person."""
    return _act(source, asked, Event("view", {"item": asked.item_id, "strength": asked.strength}))


def undo(source: Source, asked: OnePerson) -> Answer:
    """Undo the last action of a person, whatever it was."""
    catalogue = source.catalogue()
    store, person_id = source.find(asked.person_id)
    done = act(store, person_id, Event("undo"), catalogue)
    undone = sentences.of_event(done.before.undoable or Event("nothing"))
    person = Person.of(asked.person_id, done.after, catalogue)
    said = [f"Taken back: {undone}.", *sentences.of_person(person)]
    return Answer(Undone(undone=undone, person=person), said)


def person(source: Source, asked: OnePerson) -> Answer:
    """Return the state of a person."""
    store, person_id = source.find(asked.person_id)
    found = Person.of(asked.person_id, store.state(person_id), source.catalogue())
    return Answer(found, sentences.of_person(found))


def new_person(source: Source, asked: Nothing) -> Answer:
    """Add a person without history."""
    if source.people is None:
        raise ParameterError("This server stores nothing, so it has no persons.")
    person_id, _ = source.people.store.create_person()
    found = Person.of(person_id, State(), source.catalogue())
    return Answer(found, [f"A new person was made. The person_id is {person_id}: keep it safe."])


def _act(source: Source, asked: OnePerson, event: Event) -> Answer:
    catalogue = source.catalogue()
    done = act(*source.find(asked.person_id), event, catalogue)
    found = Person.of(asked.person_id, done.after, catalogue)
    return Answer(found, [f"Stored: {sentences.of_event(event)}.", *sentences.of_person(found)])


PERSON_TOOLS = (
    Tool(
        "press",
        "Press + or -",
        "Press + (positive steps) or - (negative) on a tag, so that lists hold more or less of it. "
        "With a person_id the press is stored; without one it is only computed, and you keep the "
        "presses that it returns.",
        PressArguments,
        Pressed,
        press,
        changes=True,
    ),
    Tool(
        "view",
        "Add a view",
        "Add an item to what a person viewed or chose; a strength below 0 says it was disliked.",
        ViewArguments,
        Person,
        view,
        changes=True,
        needs_people=True,
    ),
    Tool(
        "undo",
        "Undo",
        "Take back the last action of a person, whatever it was.",
        OnePerson,
        Undone,
        undo,
        changes=True,
        needs_people=True,
    ),
    Tool(
        "person",
        "Show a person's state",
        "Show what is stored for a person: views, presses, hidden items.",
        OnePerson,
        Person,
        person,
        needs_people=True,
    ),
    Tool(
        "new_person",
        "New person",
        "Make a person whose views and presses are stored, and return the person_id.",
        Nothing,
        Person,
        new_person,
        changes=True,
        needs_people=True,
    ),
)
