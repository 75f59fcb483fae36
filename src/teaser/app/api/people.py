"""Routes about persons whose state is stored: lists, actions, feeds, exports and links."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import Response

from teaser.app.actions import LIMIT, act, decide_wishes, event_of
from teaser.app.api import requests, responses
from teaser.app.api.model_input import ModelInput
from teaser.app.api.responses import Person
from teaser.app.catalogue import PersonalModel
from teaser.app.http import StoreRoute, catalogue_of, services_of, store_of
from teaser.app.state import Event, State, ending, parts_of
from teaser.app.store import Decided
from teaser.errors import ParameterError, UnknownNameError
from teaser.words.wishes import Wish

router = APIRouter(prefix="/people", tags=["people"], route_class=StoreRoute)

PersonId = Annotated[
    str,
    Path(
        pattern="^(own|[.A-Za-z0-9_-]{43})$",
        description="As `POST /people` gave it; keep it safe. Or `own`, for the user whom the "
        "header `User-Id` names: ids of your own, which belong to your key.",
    ),
]
ShareId = Annotated[
    str, Path(pattern="^[0-9a-f]{16}$", description="As `POST /people/{person_id}/shares` gave it.")
]
_WHOLE_PROFILE = requests.NewShare()


@router.post("", status_code=201)
def create_person(request: Request) -> Person:
    """Add a person without history; with the id, the state can be read and changed."""
    person_id = store_of(request).create_person()
    return Person.from_state(person_id, State(), catalogue_of(request))


@router.get("/{person_id}")
def show_person(request: Request, person_id: PersonId) -> Person:
    """Return what a person viewed, pressed and hid, as it is now."""
    return Person.from_state(person_id, store_of(request).state(person_id), catalogue_of(request))


@router.delete("/{person_id}", status_code=204)
def delete_person(request: Request, person_id: PersonId) -> None:
    """Remove a person and all that is stored for them."""
    store_of(request).delete_person(person_id)


# Lists, profiles and explanations


@router.get("/{person_id}/recommendations")
def recommend_to_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonListOptions, Query()]
) -> responses.Recommendations:
    """Return the best items for a person; hidden ones are left out."""
    personal = _personal_model(request, person_id)
    variety = personal.state.variety if asked.variety is None else asked.variety
    given = ModelInput.from_person(personal, asked.scale, asked.balance)
    return responses.Recommendations.from_library(given.recommend(asked, variety, asked.boosts()))


@router.get("/{person_id}/profile")
def profile_of_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonProfileOptions, Query()]
) -> responses.Profile:
    """Return the profile of a person."""
    return responses.Profile.from_library(_given(request, person_id, asked).profile(), asked)


@router.get("/{person_id}/explanation")
def explain_to_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonExplainOptions, Query()]
) -> responses.Explanation:
    """Return the whole score of one item for a person, also if it is hidden or viewed."""
    found = _given(request, person_id, asked).explain(asked.item_id, asked.boosts())
    return responses.Explanation.model_validate(found)


@router.get("/{person_id}/comparison")
def compare_for_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonCompareOptions, Query()]
) -> responses.Difference:
    """Return why one item stands above another for a person, also if one is hidden or viewed."""
    given = _given(request, person_id, asked)
    return responses.Difference.from_library(
        given.compare(asked.item_id, asked.other_id, asked.boosts())
    )


@router.get("/{person_id}/tag-examples")
def tag_examples_for_person(
    request: Request,
    person_id: PersonId,
    asked: Annotated[requests.PersonTagExamplesOptions, Query()],
) -> responses.TagExamples:
    """Return what a tag brings up in a person's list; hidden items are left out."""
    found = _given(request, person_id, asked).examples(asked)
    return responses.TagExamples.model_validate(found)


@router.get("/{person_id}/origins")
def origins_of_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonOriginsOptions, Query()]
) -> responses.Origins:
    """Return where a person's affinity with a tag comes from."""
    return ModelInput.from_person(_personal_model(request, person_id), asked.scale).origins(
        asked.tag
    )


def _personal_model(request: Request, person_id: str) -> PersonalModel:
    return PersonalModel(catalogue_of(request), store_of(request).state(person_id))


def _given(request: Request, person_id: str, asked: requests.PersonOptions) -> ModelInput:
    return ModelInput.from_person(_personal_model(request, person_id), asked.scale, asked.balance)


# Actions


@router.post("/{person_id}/views")
def add_view(request: Request, person_id: PersonId, asked: requests.NewView) -> Person:
    """Add an item to the history; an item that is in it already becomes the latest.

    Its strength replaces the one that it had.
    """
    return _act(request, person_id, "view", item=asked.item_id, strength=asked.strength)


@router.post("/{person_id}/history")
def add_views(request: Request, person_id: PersonId, asked: requests.NewViews) -> Person:
    """Add several items to the history, the latest last; one undo takes them back."""
    items = catalogue_of(request).model.items_
    views = [v for v in asked.views if asked.unknown == "raise" or v.item_id in items]
    if not views:
        raise ParameterError("The model has none of these items, so nothing was added.")
    actions = [["view", {"item": v.item_id, "strength": v.strength}] for v in views]
    return _act(request, person_id, "several", actions=actions)


@router.delete("/{person_id}/views")
def remove_view(
    request: Request, person_id: PersonId, asked: Annotated[requests.ItemOptions, Query()]
) -> Person:
    """Remove an item from the history, also one that the model does not have any more."""
    return _act(request, person_id, "remove", item=asked.item_id)


@router.post("/{person_id}/presses")
def press(request: Request, person_id: PersonId, asked: requests.NewPress) -> Person:
    """Press + or - on a tag; the net presses on one stay within -5 and 5.

    A press that moves nothing, because the affinity or the presses are at their limit, is not
    stored: `note` says so.
    """
    ends = ending(asked.lasts, services_of(request).settings.zone)
    return _act(request, person_id, "press", presses={asked.tag: asked.steps}, **ends)


@router.post("/{person_id}/hidden")
def hide(request: Request, person_id: PersonId, asked: requests.NewHidden) -> Person:
    """Never show an item, or items with a tag, in any list; it can last for a while."""
    ends = ending(asked.lasts, services_of(request).settings.zone)
    return _act(request, person_id, "hide", **_item_or_tag(asked), **ends)


@router.delete("/{person_id}/hidden")
def unhide(
    request: Request, person_id: PersonId, asked: Annotated[requests.HiddenOptions, Query()]
) -> Person:
    """Let an item, or items with a tag, be recommended again."""
    return _act(request, person_id, "unhide", **_item_or_tag(asked))


def _item_or_tag(asked: requests.NewHidden | requests.HiddenOptions) -> dict[str, Any]:
    if (asked.item_id is None) == (asked.tag is None):
        raise ParameterError("Name an item_id or a tag, and not both.")
    return {"item": asked.item_id} if asked.tag is None else {"tag": asked.tag}


@router.put("/{person_id}/variety")
def vary(request: Request, person_id: PersonId, asked: requests.Variety) -> Person:
    """Set how much the person's lists are varied."""
    return _act(request, person_id, "vary", variety=asked.variety)


@router.put("/{person_id}/balance")
def balance(request: Request, person_id: PersonId, asked: requests.NewBalance) -> Person:
    """Set how much tags count for the person, and how much viewed items beside them."""
    return _act(request, person_id, "balance", balance=asked.balance)


@router.put("/{person_id}/about")
def set_about(request: Request, person_id: PersonId, asked: requests.About) -> Person:
    """Set the facts about the person, where the model has user features."""
    return _act(request, person_id, "about", about=asked.about)


@router.put("/{person_id}/filters")
def set_filters(request: Request, person_id: PersonId, asked: requests.NewFilters) -> Person:
    """Set the conditions on the current list; an empty request removes them."""
    return _act(request, person_id, "filter", filters=asked.model_dump(exclude_defaults=True))


@router.put("/{person_id}/profiling")
def set_profiling(request: Request, person_id: PersonId, asked: requests.Profiling) -> Person:
    """Set whether the lists follow the person's profile; filters and hidden items hold anyway."""
    return _act(request, person_id, "profiling", **asked.model_dump(exclude_none=True))


@router.post("/{person_id}/wishes")
def apply_wishes(request: Request, person_id: PersonId, asked: requests.Wishes) -> Person:
    """Apply wishes to the current list, all of them or none; one undo takes them back."""
    catalogue = catalogue_of(request)
    wishes = [Wish.parse(text) for text in asked.wishes]
    done = store_of(request).decide(person_id, lambda s: decide_wishes(wishes, s, catalogue))
    note = None if done.event else _note(done, event_of(wishes, done.after, catalogue))
    return Person.from_state(person_id, done.after, catalogue, note=note)


@router.post("/{person_id}/undo")
def undo(request: Request, person_id: PersonId) -> Person:
    """Undo the last action, whatever it was."""
    return _act(request, person_id, "undo")


@router.post("/{person_id}/redo")
def redo(request: Request, person_id: PersonId) -> Person:
    """Redo the action that was undone last."""
    return _act(request, person_id, "redo")


@router.post("/{person_id}/reset")
def reset(request: Request, person_id: PersonId) -> Person:
    """Begin again with nothing viewed, pressed or hidden; undo brings it back."""
    return _act(request, person_id, "reset")


def _act(request: Request, person_id: str, kind: str, **data: Any) -> Person:
    """Make an action of a person, and return the state after it."""
    catalogue, event = catalogue_of(request), Event(kind, data)
    done = act(store_of(request), person_id, event, catalogue)
    return Person.from_state(person_id, done.after, catalogue, note=_note(done, event))


def _note(done: Decided, asked: Event) -> str | None:
    """Return why an action was not stored; None if it was."""
    if done.event:
        return None
    presses = [part.data["presses"] for part in parts_of(asked) if part.kind == "press"]
    return f"{', '.join(tag for each in presses for tag in each)}: {LIMIT}"


# Feeds


@router.get("/{person_id}/feeds")
def list_feeds(request: Request, person_id: PersonId) -> responses.Feeds:
    """Return the lists of a person, each with its presses, filters, balance and variety."""
    return responses.Feeds.from_state(store_of(request).state(person_id), catalogue_of(request))


@router.post("/{person_id}/feeds")
def make_feed(request: Request, person_id: PersonId, asked: requests.NewFeed) -> Person:
    """Make a list and switch to it; history, facts and what is hidden hold for all lists."""
    copied: dict[str, Any] = {} if asked.start is None else {"copy": asked.start.stored()}
    return _act(request, person_id, "make_feed", feed=asked.feed, **copied)


@router.patch("/{person_id}/feeds")
def rename_feed(request: Request, person_id: PersonId, asked: requests.NewFeedName) -> Person:
    """Give a list another name."""
    return _act(request, person_id, "rename_feed", feed=asked.feed, name=asked.name)


@router.delete("/{person_id}/feeds")
def drop_feed(
    request: Request, person_id: PersonId, asked: Annotated[requests.FeedOptions, Query()]
) -> Person:
    """Drop a list; if it is the current one, the main list becomes it. Undo brings it back."""
    return _act(request, person_id, "drop_feed", feed=asked.feed)


@router.put("/{person_id}/feed")
def switch_feed(request: Request, person_id: PersonId, asked: requests.FeedChoice) -> Person:
    """Make a list the current one: presses, filters, balance and variety are then its own."""
    return _act(request, person_id, "switch_feed", feed=asked.feed)


@router.post("/{person_id}/feeds/from-share")
def copy_shared_feed(request: Request, person_id: PersonId, asked: requests.SharedFeed) -> Person:
    """Make a list that begins as one that somebody shared, and switch to it."""
    # The link may be that of a visitor of the site: whoever has it may read it.
    found = services_of(request).store.shared_feed(asked.token)
    if found is None:
        raise UnknownNameError("share")
    name = asked.feed or found[0] or "shared"
    return _act(request, person_id, "make_feed", feed=name, copy=found[1].to_json())


# Export, import and links


@router.get("/{person_id}/export", response_model=responses.Export)
def export_person(request: Request, person_id: PersonId) -> Response:
    """Return all that is stored for a person: since when, links in use, every action; the state."""
    found = responses.export_of(store_of(request), person_id, catalogue_of(request))
    return Response(found, media_type="application/json")


@router.post("/{person_id}/import")
def import_person(
    request: Request, person_id: PersonId, asked: requests.GivenExport
) -> responses.Imported:
    """Replace a person's state by that of an export, of this server or of another; undo ends it.

    Only `state` of the export is read. `unmatched` are the names that the model does not have.
    """
    catalogue = catalogue_of(request)
    done = act(store_of(request), person_id, asked.event(), catalogue)
    return responses.Imported.after_import(person_id, done.after, catalogue)


@router.post("/{person_id}/shares", status_code=201)
def share(
    request: Request,
    person_id: PersonId,
    asked: Annotated[requests.NewShare, Body()] = _WHOLE_PROFILE,
) -> responses.NewLink:
    """Make a link that shows the current state, or one list; only this response contains it.

    A link to a list shows its presses, filters, balance and variety, never the history.
    """
    token, made = store_of(request).make_share(person_id, asked.feed)
    link = responses.Link.model_validate(made)
    return responses.NewLink(**dict(link), path=f"/s/{token}")


@router.get("/{person_id}/shares")
def list_shares(request: Request, person_id: PersonId) -> responses.Links:
    """Return the links of a person that are in use."""
    found = store_of(request).shares(person_id)
    return responses.Links.model_validate({"shares": list(found)})


@router.delete("/{person_id}/shares/{share_id}", status_code=204)
def revoke_share(request: Request, person_id: PersonId, share_id: ShareId) -> None:
    """End a link: from now on it shows nothing."""
    store_of(request).revoke_share(person_id, share_id)
