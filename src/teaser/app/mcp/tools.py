"""The tools of assistants: arguments as the API takes them, results as the API returns them.

A tool is a function. Its docstring is what an assistant reads; its annotations give the schemas.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import anyio.to_thread
import mcp_types as types
from pydantic import BaseModel, Field, ValidationError, create_model

from teaser.app.actions import LIMIT, act, decide, decide_wishes
from teaser.app.api import requests, responses, validation
from teaser.app.api.model_input import ModelInput
from teaser.app.api.requests import BodySchema, Conditions, ItemChoice, K, NewPress, NewView
from teaser.app.api.responses import Person
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.database import StoreThreads
from teaser.app.errors import sentence_of
from teaser.app.i18n.texts import texts_in
from teaser.app.monitoring import current_request
from teaser.app.pages.describe import describe_wish, filter_wishes
from teaser.app.search import find_names, read_words
from teaser.app.settings import Settings
from teaser.app.state import Event, State, ending, parts_of, state_after
from teaser.app.store import Store
from teaser.data.tags import Tag
from teaser.errors import ParameterError, TeaserError, counted
from teaser.explain import (
    affinity_text,
    general_sentence,
    join_names,
    join_values,
    share_text,
    tell_reasons,
)
from teaser.steer import say as say_statement
from teaser.steer import statements
from teaser.steer.similarity import similar as similar_items
from teaser.templates import environment
from teaser.words.interpreter import LONGEST
from teaser.words.wishes import Wish

log = logging.getLogger("teaser")
T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
ME = "me"
NO_PROFILE = "It is stored, but the lists of this person are without profile: it changes none now."
_FAILED = "Something went wrong on our side."
_SENTENCES = "The result in plain English."
# The most parts of a difference that sentences name; the result has all.
_MOST_PARTS = 8


# What tools use


@dataclass(frozen=True)
class People:
    """Persons in a store.

    Attributes
    ----------
    store
        Where their events are. Those whom the site knows by a cookie are never reached by an id.
    threads
        The threads for work that uses the store.
    own_id
        The person that `me` stands for; None on a server of many persons.
    """

    store: Store
    threads: StoreThreads
    own_id: str | None = None


@dataclass(frozen=True)
class Source:
    """What the tools of one server use.

    Attributes
    ----------
    catalogue
        Returns the catalogue being served; a call uses one until it ends.
    settings
        How requests in words are read, and whether the site learns from its visitors.
    people
        The persons; None where nothing is stored.
    """

    catalogue: Callable[[], Catalogue]
    settings: Settings
    people: People | None = None

    async def run(self, work: Callable[[], T], *, uses_store: bool) -> T:
        """Return what the work returns, done in a thread: the store's own for what uses it."""
        if uses_store and self.people is not None:
            return await self.people.threads.run(work)
        return await anyio.to_thread.run_sync(work)

    def find(self, name: str) -> tuple[Store, str]:
        """Return a person's store and id.

        Raises
        ------
        ParameterError
            If nothing is stored, or the name is `me` and this server has no person of its own.
        """
        if self.people is None:
            raise ParameterError(
                "This server stores nothing. Leave person_id out, and give history and presses."
            )
        if name != ME:
            return self.people.store.without_site, name
        if self.people.own_id is None:
            raise ParameterError(
                f"This server has no person {ME!r}: it serves many. Make a person with new_person, "
                "and give the person_id that it returns."
            )
        return self.people.store, self.people.own_id

    def model_input(self, asked: "Whose") -> ModelInput:
        """Return the input of the model: the state of a person, or what the caller keeps."""
        catalogue = self.catalogue()
        if asked.person_id is None:
            return ModelInput.from_request(catalogue, asked.taste())
        return _input_of(self.state(asked, catalogue), catalogue)

    def state(self, asked: "Whose", catalogue: Catalogue) -> State:
        """Return the state of a person, or what the caller keeps as one."""
        if asked.person_id is not None:
            store, person_id = self.find(asked.person_id)
            return store.state(person_id)
        # The profile refuses names that the model does not have; a state would accept them.
        ModelInput.from_request(catalogue, asked.taste()).profile()
        given = asked.history
        history = given if isinstance(given, dict) else dict.fromkeys(given, 1.0)
        return State(
            history=tuple(item for item, x in history.items() if x != 0),
            strengths={item: float(x) for item, x in history.items() if x not in (0, 1)},
            presses={str(tag): steps for tag, steps in asked.taste().net_presses().items()},
            about=tuple(asked.about),
        )


def _input_of(state: State, catalogue: Catalogue) -> ModelInput:
    return ModelInput.from_person(PersonalModel(catalogue, state))


# A tool


# What a tool returns: a result of the API, and sentences that say it.
Answer = tuple[R, list[str]]


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes
    ----------
    title
        What a client shows.
    answer
        Computes the answer, in a thread.
    changes
        Whether it stores something for a person.
    needs_people
        Whether it is of use only where persons are stored.
    """

    title: str
    answer: Callable[[Source, Any], Answer[Any]]
    changes: bool
    needs_people: bool

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.answer.__name__

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The schema of its arguments."""
        found: type[BaseModel] = get_type_hints(self.answer)["asked"]
        return found

    @cached_property
    def described(self) -> types.Tool:
        """The tool as the protocol describes it."""
        result = get_args(get_type_hints(self.answer)["return"])[0]
        answered: Any = create_model(
            result.__name__, __base__=result, sentences=(list[str], Field(description=_SENTENCES))
        )
        return types.Tool(
            name=self.name,
            title=self.title,
            description=" ".join((self.answer.__doc__ or "").split()),
            input_schema=without_examples(self.arguments.model_json_schema()),
            output_schema=without_examples(answered.model_json_schema(mode="serialization")),
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=not self.changes,
                destructive_hint=False,
                idempotent_hint=not self.changes,
                open_world_hint=False,
            ),
        )

    async def call(self, source: Source, given: Mapping[str, Any]) -> types.CallToolResult:
        """Return the answer; every error is a result with a sentence."""
        try:
            asked = self.arguments.model_validate(dict(given))
            if isinstance(asked, Whose):
                asked.check()
            uses_store = self.needs_people or getattr(asked, "person_id", None) is not None
            work = partial(self.answer, source, asked)
            result, said = await source.run(work, uses_store=uses_store)
        except ValidationError as error:
            return _refused(validation.describe(error.errors(include_url=False)))
        except TeaserError as error:
            return _refused(sentence_of(error))
        except Exception:
            log.exception("a tool failed")
            record = current_request()
            named = f" Its id is {record.request_id}." if record is not None else ""
            return _refused(_FAILED + named)
        return types.CallToolResult(
            content=[types.TextContent(text="\n".join(said))],
            structured_content={"sentences": said, **result.model_dump(mode="json")},
        )


def without_examples(schema: Any) -> Any:
    """Return a JSON schema without examples and generated titles.

    An assistant could take the ids and tags of an example for those of the catalogue.
    """
    if isinstance(schema, dict):
        # A field may have one of these names; its value is a schema, not a text or a list.
        left_out = {k for k, v in schema.items() if k == "title" and isinstance(v, str)}
        left_out |= {k for k, v in schema.items() if k == "examples" and isinstance(v, list)}
        return {k: without_examples(v) for k, v in schema.items() if k not in left_out}
    return [without_examples(value) for value in schema] if isinstance(schema, list) else schema


def _refused(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)


TOOLS: list[Tool] = []
Function = TypeVar("Function", bound=Callable[..., Answer[Any]])


def tool(
    title: str, *, changes: bool = False, needs_people: bool = False
) -> Callable[[Function], Function]:
    """Add a function to the tools."""

    def add(function: Function) -> Function:
        TOOLS.append(Tool(title, function, changes, needs_people))
        return function

    return add


# Arguments


PersonName = Annotated[
    str,
    Field(
        pattern=f"^({ME}|[A-Za-z0-9_-]{{43}})$",
        description="Whose state is used: an id that new_person gave; it opens all that is stored "
        "for the person, so keep it as a secret. A local server knows its own person as me.",
    ),
]
Language = Annotated[Literal["en", "nl", "fr"], Field(description="The language of the words.")]


class Nothing(BodySchema):
    """No arguments."""


class OnePerson(BodySchema):
    """A person whose state is stored."""

    person_id: PersonName


class Whose(BodySchema):
    """A person whose state is stored, or a history and presses that the caller keeps."""

    person_id: PersonName | None = None
    """Whose stored state is used; then give no history, presses or about."""
    history: requests.History = Field([])
    presses: Annotated[list[requests.Press], Field(max_length=requests.MAX_TAGS)] = Field([])
    """Net presses on tags, where nothing is stored."""
    about: requests.AboutTags = Field([])

    def taste(self) -> requests.Taste:
        """Return what the caller keeps, as the API takes it."""
        return requests.Taste(history=self.history, presses=self.presses, about=self.about)

    def check(self) -> None:
        """Raise `ParameterError` if a person and something of the caller's own are given."""
        own = [name for name in ("history", "presses", "about") if getattr(self, name)]
        if self.person_id is not None and own:
            raise ParameterError(
                f"person_id and {' and '.join(own)} were given. Give a person_id to use what is "
                "stored, or leave it out to use what you give."
            )


class SearchArguments(BodySchema):
    """Words to search for in names of items and tags."""

    words: Annotated[str, Field(min_length=1, max_length=200)]
    """Every word must be in the name; accents and capitals do not matter."""
    k: K = 10
    """How many items, and how many tags, at most."""
    language: Language = "en"


class RecommendArguments(Whose, requests.ListOptions):
    """A list for a person, or for a history and presses."""

    k: K = 10
    """How many items, at most."""
    variety: requests.Share | None = None
    """0 is the plain ranking, 1 the most variety; by default the person's."""
    wishes: Annotated[requests.WishTexts, Field(max_length=requests.MAX_TAGS)] = Field([])
    """Wishes for this list alone, as say returns them; nothing is stored."""


class ProfileArguments(Whose, requests.ProfileOptions):
    """The profile of a person, or of a history and presses."""

    top: K = 5
    """Tags of each feature, at most."""


class PressArguments(Whose, NewPress):
    """A press on a tag: stored for a person, else for the presses that the caller keeps."""


class ViewArguments(OnePerson, NewView):
    """An item that a person viewed, or disliked."""


class SayArguments(BodySchema):
    """A request in words."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    """What is wanted, as a person says it: more jazz around Ghent, no workshops, cheaper, this
    weekend."""
    language: Language = "en"


class ApplyArguments(OnePerson, requests.Wishes):
    """Wishes of a person, applied together."""


class ItemArguments(Whose, ItemChoice):
    """An item, for a person or for a history and presses."""


class CompareArguments(ItemArguments):
    """Two items, for a person or for a history and presses."""

    other_id: requests.OtherId


class LikeArguments(ItemArguments):
    """An item as a start, and what should be otherwise."""

    changes: requests.Changes = Field([])
    where: Conditions = Field([])
    k: K = 10
    """How many items, at most."""


class LiftArguments(ItemArguments):
    """An item that should rise, and how far."""

    k: K = 10
    """The item should be among the first k."""


# Results that the API does not have


class Pressed(responses.Schema):
    """What a press changed. `presses` are the net presses on all tags after it.

    `stored` tells whether it was stored for a person. Otherwise the caller keeps `presses` and
    gives them with the next call. `note` says why a press moved nothing.
    """

    tag: str
    affinity_before: float
    affinity_after: float
    presses: list[responses.Steps]
    stored: bool
    note: str | None


class Undone(responses.Schema):
    """What was undone, and the state of the person after it."""

    undone: str = Field(description="The action that was taken back.")
    person: Person


# Tools that read


@tool("Search items and tags")
def search(source: Source, asked: SearchArguments) -> Answer[responses.Found]:
    """Find items and tags by words in their names.

    Use it first: all other tools need item ids and tags (feature=value) exactly as the catalogue
    has them.
    """
    catalogue = source.catalogue()
    matches = find_names(catalogue, asked.words, texts_in(asked.language))
    found = responses.Found.from_matches(matches, catalogue, asked.k)
    return found, _lines("search", found=found)


@tool("Show an item")
def item(source: Source, asked: ItemChoice) -> Answer[responses.Card]:
    """Show what the data say of an item: title, description, date, link, tags."""
    card = responses.Card.model_validate(source.catalogue().card(asked.item_id))
    return card, _lines("card", card=card)


@tool("Recommend")
def recommend(source: Source, asked: RecommendArguments) -> Answer[responses.Recommendations]:
    """List the best items, each with the reasons that make up its score.

    They are for a person, or for a history and presses that you give. Without any of these the
    list follows general appeal.
    """
    given = _with_wishes(source, asked) if asked.wishes else source.model_input(asked)
    own = given.personal.state.variety if given.personal is not None else 0.0
    found = given.recommend(asked, own if asked.variety is None else asked.variety)
    return (responses.Recommendations.from_library(found), _lines("list", entries=found))


def _with_wishes(source: Source, asked: RecommendArguments) -> ModelInput:
    """Return the input of the model as if wishes were applied; nothing is stored."""
    catalogue = source.catalogue()
    wishes = [Wish.parse(text) for text in asked.wishes]
    state = source.state(asked, catalogue)
    event = decide_wishes(wishes, state, catalogue)
    return _input_of(state_after(state, event) if event else state, catalogue)


@tool("Show a profile")
def profile(source: Source, asked: ProfileArguments) -> Answer[responses.Profile]:
    """Show what the model knows of a taste.

    These are plain statements, and for each tag the leaning (how far items with it stand above the
    person's average item) and the affinity (what it adds by itself).
    """
    learned = source.model_input(asked).profile()
    found = responses.Profile.from_library(learned, asked)
    said = map(say_statement, statements(learned))
    return found, _lines("profile", found=found, said=said)


@tool("Explain a score")
def explain(source: Source, asked: ItemArguments) -> Answer[responses.Explanation]:
    """Show why an item is where it is: all parts of its score, which sum to it."""
    found = source.model_input(asked).explain(asked.item_id)
    said = _lines("explanation", found=found)
    return responses.Explanation.model_validate(found), said


@tool("Compare two items")
def compare(source: Source, asked: CompareArguments) -> Answer[responses.Difference]:
    """Show why one item stands above another.

    Each part adds something to the difference of their scores; all parts sum to it.
    """
    found = source.model_input(asked).compare(asked.item_id, asked.other_id)
    labelled = zip(found.parts, found.labels(), strict=True)
    parts = [(part, label) for part, label in labelled if part.difference][:_MOST_PARTS]
    said = _lines("difference", found=found, parts=parts)
    return responses.Difference.from_library(found), said


@tool("Like this, but")
def like(source: Source, asked: LikeArguments) -> Answer[responses.Variation]:
    """List items like one, with some of its tags changed or left out.

    Like this, but in another town. It presses nothing.
    """
    options = requests.VariationRequest(item_id=asked.item_id, where=asked.where, k=asked.k)
    changes = {change.old: change.new for change in asked.changes}
    found = source.model_input(asked).vary(options, changes)
    said = _lines("variation", found=found)
    return responses.Variation.from_library(found), said


@tool("Presses that bring an item up")
def lift(source: Source, asked: LiftArguments) -> Answer[responses.LiftAnswer]:
    """Find the fewest presses that would bring an item among the first k. It presses nothing."""
    given = source.model_input(asked)
    found = given.lift(asked.item_id, asked.k)
    shown = _name_of(asked.item_id, given.catalogue.title(asked.item_id))
    return found, _lines("lift", item=shown, k=asked.k, found=found)


@tool("Similar items")
def similar(source: Source, asked: requests.SimilarRequest) -> Answer[responses.SimilarItems]:
    """List the items that share most tags with an item, rare tags counting more."""
    catalogue = source.catalogue()
    found = list(similar_items(catalogue.model, asked.item_id, k=asked.k))
    result = responses.SimilarItems.model_validate({"similar": found})
    shown = _name_of(asked.item_id, catalogue.title(asked.item_id))
    return result, _lines("similar", item=shown, found=found)


# Tools that change a state, by the one path of site and API


@tool("Press + or -", changes=True)
def press(source: Source, asked: PressArguments) -> Answer[Pressed]:
    """Press + (positive steps) or - (negative) on a tag, so that lists hold more or less of it.

    With a person_id the press is stored; without one it is only computed, and you keep the presses
    that it returns.
    """
    catalogue = source.catalogue()
    tag = catalogue.tag(Tag.parse(asked.tag))
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
    note = None if after.profiling else NO_PROFILE
    found = Pressed(
        tag=str(tag),
        affinity_before=_affinity(tag, before, catalogue),
        affinity_after=_affinity(tag, after, catalogue),
        presses=Person.from_state("", after, catalogue).presses,
        stored=asked.person_id is not None and decided is not None,
        note=f"{tag}: {LIMIT}" if decided is None else note,
    )
    return found, _lines("press", found=found)


def _affinity(tag: Tag, state: State, catalogue: Catalogue) -> float:
    """Return an affinity, also of somebody whose lists are without profile at present."""
    return PersonalModel(catalogue, state).own.affinity(tag)


@tool("Add a view", changes=True, needs_people=True)
def view(source: Source, asked: ViewArguments) -> Answer[Person]:
    """Add an item to what a person viewed or chose; a strength below 0 says it was disliked."""
    catalogue = source.catalogue()
    event = Event("view", {"item": asked.item_id, "strength": asked.strength})
    done = act(*source.find(asked.person_id), event, catalogue)
    found = Person.from_state(asked.person_id, done.after, catalogue)
    said = f"Stored: {_event_text(event)}."
    return found, [said, *_lines("person", person=found)]


@tool("Undo", changes=True, needs_people=True)
def undo(source: Source, asked: OnePerson) -> Answer[Undone]:
    """Take back the last action of a person, whatever it was."""
    catalogue = source.catalogue()
    done = act(*source.find(asked.person_id), Event("undo"), catalogue)
    undone = _event_text(done.before.undoable or Event("nothing"))
    found = Person.from_state(asked.person_id, done.after, catalogue)
    said = [f"Undone: {undone}.", *_lines("person", person=found)]
    return Undone(undone=undone, person=found), said


@tool("Show a person's state", needs_people=True)
def person(source: Source, asked: OnePerson) -> Answer[Person]:
    """Show what is stored for a person: views, presses, hidden items."""
    store, person_id = source.find(asked.person_id)
    found = Person.from_state(asked.person_id, store.state(person_id), source.catalogue())
    return found, _lines("person", person=found)


@tool("New person", changes=True, needs_people=True)
def new_person(source: Source, asked: Nothing) -> Answer[Person]:
    """Make a person whose views and presses are stored, and return the person_id."""
    if source.people is None:
        raise ParameterError("This server stores nothing, so it has no persons.")
    person_id = source.people.store.create_person()
    found = Person.from_state(person_id, State(), source.catalogue())
    return found, [f"A new person was made. The person_id is {person_id}: keep it safe."]


# Requests in words


@tool("Understand a request")
def say(source: Source, asked: SayArguments) -> Answer[responses.WordsAnswer]:
    """Turn a request in words (English, Dutch or French) into wishes of this catalogue.

    Wishes are presses, filters, dates and bounds. It applies nothing: show the wishes to the
    person, and give those that stay to apply.
    """
    catalogue = source.catalogue()
    reading = read_words(catalogue, asked.text, asked.language, source.settings)
    found = responses.WordsAnswer.from_reading(reading)
    labels = _labels(reading.wishes, catalogue)
    return found, _lines("reading", found=found, labels=labels)


@tool("Apply wishes", changes=True, needs_people=True)
def apply(source: Source, asked: ApplyArguments) -> Answer[Person]:
    """Apply wishes to a person's list, all of them or none; one undo takes them back.

    A wish is a text: press +4 theme=Jazz (steps -5 to 5: 2 is a bit, 4 plain, 5 much; may end in
    for today or for week), only town=Ghent, without type=Workshop, never type=Workshop (in all
    lists), at_most price 20, at_least price 10, when weekend (or tomorrow, next_week,
    2026-11-20..2026-11-22), like ITEM_ID, variety 0.6.
    """
    catalogue = source.catalogue()
    wishes = [Wish.parse(text) for text in asked.wishes]
    store, person_id = source.find(asked.person_id)
    done = store.decide(person_id, lambda state: decide_wishes(wishes, state, catalogue))
    note = None if done.event else f"Nothing was stored: {LIMIT}"
    found = Person.from_state(asked.person_id, done.after, catalogue, note=note)
    if note:
        return found, _lines("person", person=found)
    applied = f"Applied: {'; '.join(_labels(wishes, catalogue))}. One undo takes all of it back."
    return found, [applied, *_lines("person", person=found)]


def _labels(wishes: Iterable[Wish], catalogue: Catalogue) -> list[str]:
    """Return wishes in words."""
    texts, today = texts_in("en"), catalogue.today
    return [describe_wish(wish, catalogue, texts, today) for wish in wishes]


# The sentences that tell results; `sentences.txt` has their words


def _lines(kind: str, **values: Any) -> list[str]:
    """Return the sentences of a macro of `sentences.txt`."""
    text: str = getattr(_macros(), kind)(**values)
    return [line.strip() for line in text.splitlines() if line.strip()]


@cache
def _macros() -> Any:
    templates = environment(Path(__file__).parent)
    templates.filters |= {
        "affinity": affinity_text,
        "appeal": general_sentence,
        "conditions": lambda filters: list(map(str, filter_wishes(filters))),
        "counted": counted,
        "listed": join_names,
        "named": lambda entry: _name_of(entry.item_id, entry.title),
        "other_named": lambda entry: _name_of(entry.other_id, entry.other_title),
        "pressed": _presses,
        "share": share_text,
        "told": lambda reasons: tell_reasons(list(reasons)),
        "values": lambda tags: join_values(list(tags)),
    }
    return templates.get_template("sentences.txt").module


def _name_of(item_id: int | str, title: str | None) -> str:
    """Return the name of an item: its title and its id."""
    return f"{title} ({item_id})" if title and title != str(item_id) else str(item_id)


def _event_text(event: Event) -> str:
    """Return an action in a few words, or several as a list."""
    if event.kind == "several":
        return join_names([_event_text(part) for part in parts_of(event)])
    presses = event.data.get("presses")
    if presses:
        return _presses(presses)
    kind = event.kind.replace("_", " ")
    item = event.data.get("item", event.data.get("tag"))
    return kind if item is None else f"{kind} {item}"


def _presses(presses: Any) -> str:
    """Return presses in words: once or several times + or - on each tag."""
    if not isinstance(presses, Mapping):
        presses = {press.tag: press.steps for press in presses}
    times = {1: "once", 2: "twice"}
    return join_names(
        [
            f"{'+' if n > 0 else '-'} {times.get(abs(n), f'{abs(n)} times')} on {tag}"
            for tag, n in presses.items()
        ]
    )
