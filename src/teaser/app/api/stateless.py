"""Routes that store nothing: lists, profiles and steering for a history, and the catalogue."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request

from teaser.app.api import requests, responses
from teaser.app.api.model_input import ModelInput
from teaser.app.http import catalogue_of, services_of
from teaser.app.i18n.texts import choose_language, texts_in
from teaser.app.search import find_group, find_names, read_words
from teaser.steer import say, statements, undo_presses
from teaser.steer.similarity import similar as similar_items

router = APIRouter(tags=["stateless"])
catalogue_router = APIRouter(tags=["catalogue"])
admin_router = APIRouter(tags=["admin"])


def _given(request: Request, asked: requests.Taste) -> ModelInput:
    return ModelInput.from_request(catalogue_of(request), asked)


@router.post("/recommend")
def recommend(request: Request, asked: requests.RecommendRequest) -> responses.Recommendations:
    """Return the best items for this history and these presses, each with its reasons."""
    found = _given(request, asked).recommend(asked, asked.variety, asked.boost)
    return responses.Recommendations.from_library(found)


@router.post("/profile")
def profile(request: Request, asked: requests.ProfileRequest) -> responses.Profile:
    """Return the profile that the model computes from this history and these presses."""
    return responses.Profile.from_library(_given(request, asked).profile(), asked)


@router.post("/explain")
def explain(request: Request, asked: requests.ExplainRequest) -> responses.Explanation:
    """Return the whole score of one item: the contributions of its reasons sum to it."""
    found = _given(request, asked).explain(asked.item_id, asked.boost)
    return responses.Explanation.model_validate(found)


@router.post("/compare")
def compare(request: Request, asked: requests.CompareRequest) -> responses.Difference:
    """Return why one item stands above another: the difference of their scores, part by part."""
    found = _given(request, asked).compare(asked.item_id, asked.other_id, asked.boost)
    return responses.Difference.from_library(found)


@router.post("/origins")
def origins(request: Request, asked: requests.OriginsRequest) -> responses.Origins:
    """Return where an affinity comes from: the part of each item of the history."""
    return _given(request, asked).origins(asked.tag)


@router.post("/similar")
def similar(request: Request, asked: requests.SimilarRequest) -> responses.SimilarItems:
    """Return the items that share most tags with one, rare tags counting more."""
    found = similar_items(catalogue_of(request).model, asked.item_id, k=asked.k)
    return responses.SimilarItems.model_validate({"similar": list(found)})


@router.post("/variation")
def vary_item(request: Request, asked: requests.VariationRequest) -> responses.Variation:
    """Return a list like an item, with some of its tags changed."""
    changes = {change.old: change.new for change in asked.changes}
    return responses.Variation.from_library(_given(request, asked).vary(asked, changes))


@router.post("/tag-examples")
def tag_examples(request: Request, asked: requests.TagExamplesRequest) -> responses.TagExamples:
    """Return what a tag brings up, what one press more would, and which tags come with it."""
    return responses.TagExamples.model_validate(_given(request, asked).examples(asked))


@router.post("/lift")
def lift(request: Request, asked: requests.LiftRequest) -> responses.LiftAnswer:
    """Return the fewest presses that bring an item among the first k."""
    return _given(request, asked).lift(asked.item_id, asked.k)


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
    given = _given(request, asked)
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
