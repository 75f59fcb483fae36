"""The API under `/api/v1`: routes that store nothing, the catalogue, persons; keys and errors."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request, Security
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from teaser.app.actions import LIMIT, act, decide_wishes, event_of
from teaser.app.api import requests, responses
from teaser.app.api.model_input import ModelInput
from teaser.app.api.responses import ErrorAnswer, Person
from teaser.app.catalogue import PersonalModel
from teaser.app.http import StoreRoute, catalogue_of, services_of, store_of
from teaser.app.i18n.texts import choose_language, texts_in
from teaser.app.search import find_group, find_names, read_words
from teaser.app.settings import Settings, is_loopback
from teaser.app.state import Event, State, ending, parts_of
from teaser.app.store import Decided
from teaser.errors import ParameterError, UnknownNameError
from teaser.steer import say, statements, undo_presses
from teaser.steer.similarity import similar as similar_items
from teaser.words.wishes import Wish

router = APIRouter(tags=["stateless"])
catalogue_router = APIRouter(tags=["catalogue"])
admin_router = APIRouter(tags=["admin"])


def _asked(request: Request, asked: requests.Taste) -> ModelInput:
    return ModelInput.from_request(catalogue_of(request), asked)


@router.post("/recommend")
def recommend(request: Request, asked: requests.RecommendRequest) -> responses.Recommendations:
    """Return the best items for this history and these presses, each with its reasons."""
    found = _asked(request, asked).recommend(asked, asked.variety, asked.boost)
    return responses.Recommendations.from_library(found)


@router.post("/profile")
def profile(request: Request, asked: requests.ProfileRequest) -> responses.Profile:
    """Return the profile that the model computes from this history and these presses."""
    return responses.Profile.from_library(_asked(request, asked).profile(), asked)


@router.post("/explain")
def explain(request: Request, asked: requests.ExplainRequest) -> responses.Explanation:
    """Return the whole score of one item: the contributions of its reasons sum to it."""
    found = _asked(request, asked).explain(asked.item_id, asked.boost)
    return responses.Explanation.model_validate(found)


@router.post("/compare")
def compare(request: Request, asked: requests.CompareRequest) -> responses.Difference:
    """Return why one item stands above another: the difference of their scores, part by part."""
    found = _asked(request, asked).compare(asked.item_id, asked.other_id, asked.boost)
    return responses.Difference.from_library(found)


@router.post("/origins")
def origins(request: Request, asked: requests.OriginsRequest) -> responses.Origins:
    """Return where an affinity comes from: the part of each item of the history."""
    return _asked(request, asked).origins(asked.tag)


@router.post("/similar")
def similar(request: Request, asked: requests.SimilarRequest) -> responses.SimilarItems:
    """Return the items that share most tags with one, rare tags counting more."""
    found = similar_items(catalogue_of(request).model, asked.item_id, k=asked.k)
    return responses.SimilarItems.model_validate({"similar": list(found)})


@router.post("/variation")
def vary_item(request: Request, asked: requests.VariationRequest) -> responses.Variation:
    """Return a list like an item, with some of its tags changed."""
    changes = {change.old: change.new for change in asked.changes}
    return responses.Variation.from_library(_asked(request, asked).vary(asked, changes))


@router.post("/tag-examples")
def tag_examples(request: Request, asked: requests.TagExamplesRequest) -> responses.TagExamples:
    """Return what a tag brings up, what one press more would, and which tags come with it."""
    return responses.TagExamples.model_validate(_asked(request, asked).examples(asked))


@router.post("/lift")
def lift(request: Request, asked: requests.LiftRequest) -> responses.LiftAnswer:
    """Return the fewest presses that bring an item among the first k."""
    return _asked(request, asked).lift(asked.item_id, asked.k)


@router.post("/picks")
def picks(request: Request, asked: requests.PicksRequest) -> responses.Picks:
    """Return items to offer a new person: those whose choice is most informative about a taste."""
    catalogue = catalogue_of(request)
    model = catalogue.model
    found = catalogue.quick_start.picks(asked.picks, shown=asked.shown, k=asked.k)
    titled = [{"item_id": i, "title": model.title(model.items_.index_of(i))} for i in found]
    return responses.Picks.model_validate({"picks": titled})


@router.post("/statements")
def state(request: Request, asked: requests.Taste) -> responses.Statements:
    """Return what the profile for this history and these presses says, in plain sentences."""
    given = _asked(request, asked)
    learned = given.profile({})
    found = [
        {
            **vars(each),
            "leaning": "towards" if each.leaning > 0 else "away",
            "said": say(each),
            "denial": undo_presses(each, learned, given.taste["presses"]),
        }
        for each in statements(given.profile())
    ]
    return responses.Statements.model_validate({"statements": found})


@router.post("/words")
def read_request(request: Request, asked: requests.WordsRequest) -> responses.WordsAnswer:
    """Return the wishes in a request in words; nothing is applied.

    Their text forms can be applied by `POST /people/{person_id}/wishes`.
    """
    settings = services_of(request).settings
    reading = read_words(catalogue_of(request), asked.text, asked.language, settings)
    return responses.WordsAnswer.from_reading(reading)


@catalogue_router.get("/items")
def show_item(request: Request, asked: Annotated[requests.ItemOptions, Query()]) -> responses.Card:
    """Return the data of an item."""
    return responses.Card.model_validate(catalogue_of(request).card(asked.item_id))


@catalogue_router.get("/search")
def search(request: Request, asked: Annotated[requests.SearchOptions, Query()]) -> responses.Found:
    """Return items and tags whose names contain every word, with or without accents."""
    catalogue = catalogue_of(request)
    texts = texts_in(choose_language(None, request.headers.get("accept-language")))
    return responses.Found.from_matches(find_names(catalogue, asked.q, texts), catalogue, asked.k)


@catalogue_router.get("/groups")
def show_group(
    request: Request, asked: Annotated[requests.GroupOptions, Query()]
) -> responses.Group:
    """Return the group of items behind a discovered tag, also by an earlier name of it."""
    catalogue = catalogue_of(request)
    return responses.Group.from_group(find_group(catalogue, asked.tag), catalogue, asked.k)


@catalogue_router.get("/model")
def show_model(request: Request) -> responses.Model:
    """Return the kind of model that is served, its size and its parameters."""
    return responses.Model.from_catalogue(catalogue_of(request))


@catalogue_router.get("/transparency")
def transparency(request: Request) -> responses.Transparency:
    """Return what decides in lists, measured on the model, and where its data come from."""
    learns = services_of(request).settings.learn
    return responses.Transparency.from_catalogue(catalogue_of(request), learns=learns)


@admin_router.post(
    "/admin/reload",
    responses={409: {"model": responses.ErrorAnswer, "description": "A model is being loaded."}},
)
async def reload_model(request: Request) -> responses.Model:
    """Read the model's folder again; if it is damaged, the present model stays."""
    # Not in a thread of the requests: there are few of them, and it may take long.
    await asyncio.to_thread(services_of(request).holder.refresh, force=True)
    return show_model(request)


# Persons whose state is stored

people_router = APIRouter(prefix="/people", tags=["people"], route_class=StoreRoute)

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


@people_router.post("", status_code=201)
def create_person(request: Request) -> Person:
    """Add a person without history; with the id, the state can be read and changed."""
    person_id = store_of(request).create_person()
    return Person.from_state(person_id, State(), catalogue_of(request))


@people_router.get("/{person_id}")
def show_person(request: Request, person_id: PersonId) -> Person:
    """Return what a person viewed, pressed and hid, as it is now."""
    return Person.from_state(person_id, store_of(request).state(person_id), catalogue_of(request))


@people_router.delete("/{person_id}", status_code=204)
def delete_person(request: Request, person_id: PersonId) -> None:
    """Remove a person and all that is stored for them."""
    store_of(request).delete_person(person_id)


# Lists, profiles and explanations


@people_router.get("/{person_id}/recommendations")
def recommend_to_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonListOptions, Query()]
) -> responses.Recommendations:
    """Return the best items for a person; hidden ones are left out."""
    personal = _personal_model(request, person_id)
    variety = personal.state.variety if asked.variety is None else asked.variety
    given = ModelInput.from_person(personal, asked.scale, asked.balance)
    return responses.Recommendations.from_library(given.recommend(asked, variety, asked.boosts()))


@people_router.get("/{person_id}/profile")
def profile_of_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonProfileOptions, Query()]
) -> responses.Profile:
    """Return the profile of a person."""
    return responses.Profile.from_library(_given(request, person_id, asked).profile(), asked)


@people_router.get("/{person_id}/explanation")
def explain_to_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonExplainOptions, Query()]
) -> responses.Explanation:
    """Return the whole score of one item for a person, also if it is hidden or viewed."""
    found = _given(request, person_id, asked).explain(asked.item_id, asked.boosts())
    return responses.Explanation.model_validate(found)


@people_router.get("/{person_id}/comparison")
def compare_for_person(
    request: Request, person_id: PersonId, asked: Annotated[requests.PersonCompareOptions, Query()]
) -> responses.Difference:
    """Return why one item stands above another for a person, also if one is hidden or viewed."""
    given = _given(request, person_id, asked)
    return responses.Difference.from_library(
        given.compare(asked.item_id, asked.other_id, asked.boosts())
    )


@people_router.get("/{person_id}/tag-examples")
def tag_examples_for_person(
    request: Request,
    person_id: PersonId,
    asked: Annotated[requests.PersonTagExamplesOptions, Query()],
) -> responses.TagExamples:
    """Return what a tag brings up in a person's list; hidden items are left out."""
    found = _given(request, person_id, asked).examples(asked)
    return responses.TagExamples.model_validate(found)


@people_router.get("/{person_id}/origins")
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


@people_router.post("/{person_id}/views")
def add_view(request: Request, person_id: PersonId, asked: requests.NewView) -> Person:
    """Add an item to the history; an item that is in it already becomes the latest.

    Its strength replaces the one that it had.
    """
    return _act(request, person_id, "view", item=asked.item_id, strength=asked.strength)


@people_router.post("/{person_id}/history")
def add_views(request: Request, person_id: PersonId, asked: requests.NewViews) -> Person:
    """Add several items to the history, the latest last; one undo takes them back."""
    items = catalogue_of(request).model.items_
    views = [v for v in asked.views if asked.unknown == "raise" or v.item_id in items]
    if not views:
        raise ParameterError("The model has none of these items, so nothing was added.")
    actions = [["view", {"item": v.item_id, "strength": v.strength}] for v in views]
    return _act(request, person_id, "several", actions=actions)


@people_router.delete("/{person_id}/views")
def remove_view(
    request: Request, person_id: PersonId, asked: Annotated[requests.ItemOptions, Query()]
) -> Person:
    """Remove an item from the history, also one that the model does not have any more."""
    return _act(request, person_id, "remove", item=asked.item_id)


@people_router.post("/{person_id}/presses")
def press(request: Request, person_id: PersonId, asked: requests.NewPress) -> Person:
    """Press + or - on a tag; the net presses on one stay within -5 and 5.

    A press that moves nothing, because the affinity or the presses are at their limit, is not
    stored: `note` says so.
    """
    ends = ending(asked.lasts, services_of(request).settings.zone)
    return _act(request, person_id, "press", presses={asked.tag: asked.steps}, **ends)


@people_router.post("/{person_id}/hidden")
def hide(request: Request, person_id: PersonId, asked: requests.NewHidden) -> Person:
    """Never show an item, or items with a tag, in any list; it can last for a while."""
    ends = ending(asked.lasts, services_of(request).settings.zone)
    return _act(request, person_id, "hide", **_item_or_tag(asked), **ends)


@people_router.delete("/{person_id}/hidden")
def unhide(
    request: Request, person_id: PersonId, asked: Annotated[requests.HiddenOptions, Query()]
) -> Person:
    """Let an item, or items with a tag, be recommended again."""
    return _act(request, person_id, "unhide", **_item_or_tag(asked))


def _item_or_tag(asked: requests.NewHidden | requests.HiddenOptions) -> dict[str, Any]:
    if (asked.item_id is None) == (asked.tag is None):
        raise ParameterError("Name an item_id or a tag, and not both.")
    return {"item": asked.item_id} if asked.tag is None else {"tag": asked.tag}


@people_router.put("/{person_id}/variety")
def vary(request: Request, person_id: PersonId, asked: requests.Variety) -> Person:
    """Set how much the person's lists are varied."""
    return _act(request, person_id, "vary", variety=asked.variety)


@people_router.put("/{person_id}/balance")
def balance(request: Request, person_id: PersonId, asked: requests.NewBalance) -> Person:
    """Set how much tags count for the person, and how much viewed items beside them."""
    return _act(request, person_id, "balance", balance=asked.balance)


@people_router.put("/{person_id}/about")
def set_about(request: Request, person_id: PersonId, asked: requests.About) -> Person:
    """Set the facts about the person, where the model has user features."""
    return _act(request, person_id, "about", about=asked.about)


@people_router.put("/{person_id}/filters")
def set_filters(request: Request, person_id: PersonId, asked: requests.NewFilters) -> Person:
    """Set the conditions on the current list; an empty request removes them."""
    return _act(request, person_id, "filter", filters=asked.model_dump(exclude_defaults=True))


@people_router.put("/{person_id}/profiling")
def set_profiling(request: Request, person_id: PersonId, asked: requests.Profiling) -> Person:
    """Set whether the lists follow the person's profile; filters and hidden items hold anyway."""
    return _act(request, person_id, "profiling", **asked.model_dump(exclude_none=True))


@people_router.post("/{person_id}/wishes")
def apply_wishes(request: Request, person_id: PersonId, asked: requests.Wishes) -> Person:
    """Apply wishes to the current list, all of them or none; one undo takes them back."""
    catalogue = catalogue_of(request)
    wishes = [Wish.parse(text) for text in asked.wishes]
    done = store_of(request).decide(person_id, lambda s: decide_wishes(wishes, s, catalogue))
    note = None if done.event else _note(done, event_of(wishes, done.after, catalogue))
    return Person.from_state(person_id, done.after, catalogue, note=note)


@people_router.post("/{person_id}/undo")
def undo(request: Request, person_id: PersonId) -> Person:
    """Undo the last action, whatever it was."""
    return _act(request, person_id, "undo")


@people_router.post("/{person_id}/redo")
def redo(request: Request, person_id: PersonId) -> Person:
    """Redo the action that was undone last."""
    return _act(request, person_id, "redo")


@people_router.post("/{person_id}/reset")
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


@people_router.get("/{person_id}/feeds")
def list_feeds(request: Request, person_id: PersonId) -> responses.Feeds:
    """Return the lists of a person, each with its presses, filters, balance and variety."""
    found = show_person(request, person_id)
    return responses.Feeds(feed=found.feed, feeds=found.feeds)


@people_router.post("/{person_id}/feeds")
def make_feed(request: Request, person_id: PersonId, asked: requests.NewFeed) -> Person:
    """Make a list and switch to it; history, facts and what is hidden hold for all lists."""
    copied: dict[str, Any] = {} if asked.start is None else {"copy": asked.start.stored()}
    return _act(request, person_id, "make_feed", feed=asked.feed, **copied)


@people_router.patch("/{person_id}/feeds")
def rename_feed(request: Request, person_id: PersonId, asked: requests.NewFeedName) -> Person:
    """Give a list another name."""
    return _act(request, person_id, "rename_feed", feed=asked.feed, name=asked.name)


@people_router.delete("/{person_id}/feeds")
def drop_feed(
    request: Request, person_id: PersonId, asked: Annotated[requests.FeedOptions, Query()]
) -> Person:
    """Drop a list; if it is the current one, the main list becomes it. Undo brings it back."""
    return _act(request, person_id, "drop_feed", feed=asked.feed)


@people_router.put("/{person_id}/feed")
def switch_feed(request: Request, person_id: PersonId, asked: requests.FeedChoice) -> Person:
    """Make a list the current one: presses, filters, balance and variety are then its own."""
    return _act(request, person_id, "switch_feed", feed=asked.feed)


@people_router.post("/{person_id}/feeds/from-share")
def copy_shared_feed(request: Request, person_id: PersonId, asked: requests.SharedFeed) -> Person:
    """Make a list that begins as one that somebody shared, and switch to it."""
    # The link may be that of a visitor of the site: whoever has it may read it.
    found = services_of(request).store.shared_feed(asked.token)
    if found is None:
        raise UnknownNameError("share")
    name = asked.feed or found[0] or "shared"
    return _act(request, person_id, "make_feed", feed=name, copy=found[1].to_json())


# Export, import and links


@people_router.get("/{person_id}/export", response_model=responses.Export)
def export_person(request: Request, person_id: PersonId) -> Response:
    """Return all that is stored for a person: since when, links in use, every action; the state."""
    found = responses.export_of(store_of(request), person_id, catalogue_of(request))
    return Response(found, media_type="application/json")


@people_router.post("/{person_id}/import")
def import_person(
    request: Request, person_id: PersonId, asked: requests.GivenExport
) -> responses.Imported:
    """Replace a person's state by that of an export, of this server or of another; undo ends it.

    Only `state` of the export is read. `unmatched` are the names that the model does not have.
    """
    catalogue = catalogue_of(request)
    done = act(store_of(request), person_id, asked.event(), catalogue)
    person = Person.from_state(person_id, done.after, catalogue)
    return responses.Imported(**dict(person), unmatched=person.unmatched_names())


@people_router.post("/{person_id}/shares", status_code=201)
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


@people_router.get("/{person_id}/shares")
def list_shares(request: Request, person_id: PersonId) -> responses.Links:
    """Return the links of a person that are in use."""
    found = store_of(request).shares(person_id)
    return responses.Links.model_validate({"shares": list(found)})


@people_router.delete("/{person_id}/shares/{share_id}", status_code=204)
def revoke_share(request: Request, person_id: PersonId, share_id: ShareId) -> None:
    """End a link: from now on it shows nothing."""
    store_of(request).revoke_share(person_id, share_id)


# All of them

_ERRORS = {
    400: "The request could not be read.",
    401: "A key is needed, or the one given is not known.",
    403: "Without keys: a page of another site may change nothing, and read nothing of a person.",
    404: "Nothing has that name; the closest names are given.",
    413: "The request is too large.",
    421: "The server does not answer under that name.",
    422: "The request is not valid, or not possible now.",
    429: "Too many requests.",
    503: "The database or the model cannot be used now.",
}
# It only declares in the OpenAPI document where a key is needed; `Guard` checks it.
_KEY = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="tk_...",
    description="A key that `teaser keys create` made. Not needed where keys are off.",
    auto_error=False,
)


def _operation_id(route: APIRoute) -> str:
    return route.name


def api_router(settings: Settings) -> APIRouter:
    """Return the routes of the API."""
    api = APIRouter(
        prefix="/api/v1",
        generate_unique_id_function=_operation_id,
        responses={
            status: {"model": ErrorAnswer, "description": description}
            for status, description in _ERRORS.items()
        },
    )
    key = [Security(_KEY)]
    for part in (router, people_router, catalogue_router):
        api.include_router(part, dependencies=key if settings.needs_keys else [])
    reload_needs_key = settings.needs_keys or not is_loopback(settings.host)
    api.include_router(admin_router, dependencies=key if reload_needs_key else [])
    return api
