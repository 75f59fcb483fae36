"""Routes about persons whose state is stored: what they do, and what they are recommended."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from teaser.app.actions import LIMIT, act
from teaser.app.api.auth import check_reader
from teaser.app.api.model_input import ModelInput
from teaser.app.api.schema import requests, responses
from teaser.app.api.schema.person_requests import HiddenOptions, NewHidden
from teaser.app.api.schema.person_responses import Person
from teaser.app.dependencies import catalogue_of, services_of, store_of, uses_store
from teaser.app.people.event_log import Decided
from teaser.app.people.events import Event, ending, parts_of
from teaser.app.people.state import State
from teaser.app.serving.personal_model import PersonalModel
from teaser.errors import ParameterError

router = APIRouter(prefix="/people", tags=["people"], dependencies=[Depends(check_reader)])

PersonId = Annotated[
    str, Path(pattern="^[A-Za-z0-9_-]{43}$", description="As `POST /people` gave it; keep it safe.")
]
# An item id may be any text, also with slashes or '..', so it is never part of a path.
ItemQuery = Annotated[requests.ItemOptions, Query()]


@router.post("", status_code=201)
@uses_store
def create_person(request: Request) -> Person:
    """Add a person without history; with the id, the state can be read and changed."""
    person_id, _ = store_of(request).create_person()
    return Person.of(person_id, State(), catalogue_of(request))


@router.get("/{person_id}")
@uses_store
def show_person(request: Request, person_id: PersonId) -> Person:
    """Return what a person viewed, pressed and hid, as it is now."""
    state = store_of(request).state(person_id)
    return Person.of(person_id, state, catalogue_of(request))


@router.delete("/{person_id}", status_code=204)
@uses_store
def delete_person(request: Request, person_id: PersonId) -> None:
    """Remove a person and all that is stored for them."""
    store_of(request).delete_person(person_id)


@router.get("/{person_id}/recommendations")
@uses_store
def recommend_to_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonListOptions, Query()]
) -> responses.Recommendations:
    """Return the best items for a person; hidden ones are left out."""
    personal = _personal_model(request, person_id)
    variety = personal.state.variety if asked.variety is None else asked.variety
    boost = requests.read_boosts(asked.boost)
    given = ModelInput.of_person(personal, asked.scale, asked.balance)
    return given.recommend(asked, variety, boost)


@router.get("/{person_id}/profile")
@uses_store
def profile_of_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonProfileOptions, Query()]
) -> responses.Profile:
    """Return the profile of a person."""
    personal = _personal_model(request, person_id)
    found = ModelInput.of_person(personal, asked.scale, asked.balance).profile()
    return responses.Profile.of(found, asked)


@router.get("/{person_id}/explanation")
@uses_store
def explain_to_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonExplainOptions, Query()]
) -> responses.Explanation:
    """Return the whole score of one item for a person, also if it is hidden or viewed."""
    personal = _personal_model(request, person_id)
    boost = requests.read_boosts(asked.boost)
    given = ModelInput.of_person(personal, asked.scale, asked.balance)
    return given.explain(asked.item_id, boost)


@router.get("/{person_id}/origins")
@uses_store
def origins_of_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonOriginsOptions, Query()]
) -> responses.Origins:
    """Return where a person's affinity with a tag comes from."""
    return ModelInput.of_person(_personal_model(request, person_id), asked.scale).origins(asked.tag)


@router.post("/{person_id}/views")
@uses_store
def add_view(request: Request, person_id: PersonId, asked: requests.NewView) -> Person:
    """Add an item to the history; an item that is in it already becomes the latest.

    Its strength replaces the one that it had.
    """
    return act_for(request, person_id, "view", item=asked.item_id, strength=asked.strength)


@router.delete("/{person_id}/views")
@uses_store
def remove_view(request: Request, person_id: PersonId, asked: ItemQuery) -> Person:
    """Remove an item from the history, also one that the model does not have any more."""
    return act_for(request, person_id, "remove", item=asked.item_id)


@router.post("/{person_id}/presses")
@uses_store
def press(request: Request, person_id: PersonId, asked: requests.NewPress) -> Person:
    """Press + or - on a tag; the net presses on one stay within -5 and 5.

    A press that moves nothing, because the affinity or the presses are at their limit, is not
    stored: `note` says so.
    """
    ends = ending(asked.lasts, services_of(request).settings.zone)
    return act_for(request, person_id, "press", presses={asked.tag: asked.steps}, **ends)


@router.post("/{person_id}/hidden")
@uses_store
def hide(request: Request, person_id: PersonId, asked: NewHidden) -> Person:
    """Never show an item, or items with a tag, in any list; it can last for a while."""
    ends = ending(asked.lasts, services_of(request).settings.zone)
    return act_for(request, person_id, "hide", **_named(asked), **ends)


@router.delete("/{person_id}/hidden")
@uses_store
def unhide(
    request: Request, person_id: PersonId, asked: Annotated[HiddenOptions, Query()]
) -> Person:
    """Let an item, or items with a tag, be recommended again."""
    return act_for(request, person_id, "unhide", **_named(asked))


@router.put("/{person_id}/variety")
@uses_store
def vary(request: Request, person_id: PersonId, asked: requests.Variety) -> Person:
    """Set how much the person's lists are varied."""
    return act_for(request, person_id, "vary", variety=asked.variety)


@router.put("/{person_id}/balance")
@uses_store
def balance(request: Request, person_id: PersonId, asked: requests.NewBalance) -> Person:
    """Set how much tags count for the person, and how much viewed items beside them."""
    return act_for(request, person_id, "balance", balance=asked.balance)


@router.put("/{person_id}/about")
@uses_store
def set_about(request: Request, person_id: PersonId, asked: requests.About) -> Person:
    """Set the facts about the person, where the model has user features."""
    return act_for(request, person_id, "about", about=asked.about)


@router.post("/{person_id}/undo")
@uses_store
def undo(request: Request, person_id: PersonId) -> Person:
    """Undo the last action, whatever it was."""
    return act_for(request, person_id, "undo")


@router.post("/{person_id}/redo")
@uses_store
def redo(request: Request, person_id: PersonId) -> Person:
    """Redo the action that was undone last."""
    return act_for(request, person_id, "redo")


@router.post("/{person_id}/reset")
@uses_store
def reset(request: Request, person_id: PersonId) -> Person:
    """Begin again with nothing viewed, pressed or hidden; undo brings it back."""
    return act_for(request, person_id, "reset")


def _personal_model(request: Request, person_id: str) -> PersonalModel:
    return PersonalModel(catalogue_of(request), store_of(request).state(person_id))


def act_for(request: Request, person_id: str, kind: str, **data: Any) -> Person:
    """Make an action of a person, and return the state after it."""
    catalogue = catalogue_of(request)
    done = act(store_of(request), person_id, Event(kind, data), catalogue)
    return Person.of(person_id, done.after, catalogue, note=note_of(done, Event(kind, data)))


def note_of(done: Decided, asked: Event) -> str | None:
    """Return why an action was not stored; None if it was."""
    if done.event:
        return None
    presses = [part.data["presses"] for part in parts_of(asked) if part.kind == "press"]
    return f"{', '.join(tag for each in presses for tag in each)}: {LIMIT}"


def _named(asked: NewHidden | HiddenOptions) -> dict[str, Any]:
    """Return the item or the tag of a request, which must name one of them."""
    if (asked.item_id is None) == (asked.tag is None):
        raise ParameterError("Name an item_id or a tag, and not both.")
    return {"item": asked.item_id} if asked.tag is None else {"tag": asked.tag}
