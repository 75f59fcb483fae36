"""Routes about persons whose state is stored: what they do, their lists, links and data."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from teaser.app.actions import LIMIT, act
from teaser.app.api.auth import check_reader
from teaser.app.api.model_input import ModelInput
from teaser.app.api.schema import person_responses, requests, responses
from teaser.app.api.schema.person_responses import Person
from teaser.app.dependencies import catalogue_of, services_of, store_of, uses_store
from teaser.app.people.events import Event, State
from teaser.app.serving.personal_model import PersonalModel

router = APIRouter(prefix="/people", tags=["people"], dependencies=[Depends(check_reader)])

PersonId = Annotated[
    str, Path(pattern="^[A-Za-z0-9_-]{43}$", description="As `POST /people` gave it; keep it safe.")
]
ShareId = Annotated[
    str, Path(pattern="^[0-9a-f]{16}$", description="As `POST /people/{person_id}/shares` gave it.")
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


@router.get("/{person_id}/export", response_model=person_responses.Export)
@uses_store
def export_person(request: Request, person_id: PersonId) -> Response:
    """Return all that is stored for a person: since when, links in use, every action; the state.

    The response is sent in pieces, and its length is not told beforehand.
    """
    found = person_responses.export_of(store_of(request), person_id, catalogue_of(request))
    pieces = services_of(request).threads.iterate(found)
    return StreamingResponse(pieces, media_type="application/json")


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
    return _act(request, person_id, "view", item=asked.item_id, strength=asked.strength)


@router.delete("/{person_id}/views")
@uses_store
def remove_view(request: Request, person_id: PersonId, asked: ItemQuery) -> Person:
    """Remove an item from the history, also one that the model does not have any more."""
    return _act(request, person_id, "remove", item=asked.item_id)


@router.post("/{person_id}/presses")
@uses_store
def press(request: Request, person_id: PersonId, asked: requests.NewPress) -> Person:
    """Press + or - on a tag; the net presses on one stay within -5 and 5.

    A press that moves nothing, because the affinity or the presses are at their limit, is not
    stored: `note` says so.
    """
    return _act(request, person_id, "press", presses={asked.tag: asked.steps})


@router.post("/{person_id}/hidden")
@uses_store
def hide(request: Request, person_id: PersonId, asked: requests.ItemChoice) -> Person:
    """Leave an item out of the person's recommendations."""
    return _act(request, person_id, "hide", item=asked.item_id)


@router.delete("/{person_id}/hidden")
@uses_store
def unhide(request: Request, person_id: PersonId, asked: ItemQuery) -> Person:
    """Let an item be recommended again."""
    return _act(request, person_id, "unhide", item=asked.item_id)


@router.put("/{person_id}/variety")
@uses_store
def vary(request: Request, person_id: PersonId, asked: requests.Variety) -> Person:
    """Set how much the person's lists are varied."""
    return _act(request, person_id, "vary", variety=asked.variety)


@router.put("/{person_id}/balance")
@uses_store
def balance(request: Request, person_id: PersonId, asked: requests.NewBalance) -> Person:
    """Set how much tags count for the person, and how much viewed items beside them."""
    return _act(request, person_id, "balance", balance=asked.balance)


@router.put("/{person_id}/about")
@uses_store
def set_about(request: Request, person_id: PersonId, asked: requests.About) -> Person:
    """Set the facts about the person, where the model has user features."""
    return _act(request, person_id, "about", about=asked.about)


@router.post("/{person_id}/undo")
@uses_store
def undo(request: Request, person_id: PersonId) -> Person:
    """Undo the last action, whatever it was."""
    return _act(request, person_id, "undo")


@router.post("/{person_id}/redo")
@uses_store
def redo(request: Request, person_id: PersonId) -> Person:
    """Redo the action that was undone last."""
    return _act(request, person_id, "redo")


@router.post("/{person_id}/reset")
@uses_store
def reset(request: Request, person_id: PersonId) -> Person:
    """Begin again with nothing viewed, pressed or hidden; undo brings it back."""
    return _act(request, person_id, "reset")


@router.post("/{person_id}/shares", status_code=201)
@uses_store
def share(request: Request, person_id: PersonId) -> person_responses.NewLink:
    """Make a link that shows the current state, read-only; only this response contains it."""
    token, made = store_of(request).make_share(person_id)
    link = person_responses.Link.of(made)
    return person_responses.NewLink(**link.model_dump(), path=f"/s/{token}")


@router.get("/{person_id}/shares")
@uses_store
def list_shares(request: Request, person_id: PersonId) -> person_responses.Links:
    """Return the links of a person that are in use."""
    found = store_of(request).shares(person_id)
    return person_responses.Links(shares=[person_responses.Link.of(share) for share in found])


@router.delete("/{person_id}/shares/{share_id}", status_code=204)
@uses_store
def revoke_share(request: Request, person_id: PersonId, share_id: ShareId) -> None:
    """End a link: from now on it shows nothing."""
    store_of(request).revoke_share(person_id, share_id)


def _personal_model(request: Request, person_id: str) -> PersonalModel:
    return PersonalModel(catalogue_of(request), store_of(request).state(person_id))


def _act(request: Request, person_id: str, kind: str, **data: Any) -> Person:
    catalogue = catalogue_of(request)
    done = act(store_of(request), person_id, Event(kind, data), catalogue)
    note = None if done.event else f"{', '.join(data['presses'])}: {LIMIT}"
    return Person.of(person_id, done.after, catalogue, note=note)
