"""Routes that store nothing: lists, profiles and explanations for a history and presses."""

from fastapi import APIRouter, Request

from teaser.app.api.model_input import ModelInput
from teaser.app.api.schema import requests, responses
from teaser.app.dependencies import catalogue_of
from teaser.steer.similarity import similar as similar_items

router = APIRouter(tags=["stateless"])


@router.post("/recommend")
def recommend(request: Request, asked: requests.RecommendRequest) -> responses.Recommendations:
    """Return the best items for this history and these presses, each with its reasons."""
    return ModelInput.of_request(catalogue_of(request), asked).recommend(
        asked, asked.variety, asked.boost
    )


@router.post("/profile")
def profile(request: Request, asked: requests.ProfileRequest) -> responses.Profile:
    """Return the profile that the model computes from this history and these presses."""
    found = ModelInput.of_request(catalogue_of(request), asked).profile()
    return responses.Profile.of(found, asked)


@router.post("/explain")
def explain(request: Request, asked: requests.ExplainRequest) -> responses.Explanation:
    """Return the whole score of one item: the contributions of its reasons sum to it."""
    return ModelInput.of_request(catalogue_of(request), asked).explain(asked.item_id, asked.boost)


@router.post("/origins")
def origins(request: Request, asked: requests.OriginsRequest) -> responses.Origins:
    """Return where an affinity comes from: the part of each item of the history."""
    return ModelInput.of_request(catalogue_of(request), asked).origins(asked.tag)


@router.post("/similar")
def similar(request: Request, asked: requests.SimilarRequest) -> responses.SimilarItems:
    """Return the items that share most tags with one, rare tags counting more."""
    found = similar_items(catalogue_of(request).model, asked.item_id, k=asked.k)
    return responses.SimilarItems(similar=[responses.SimilarItem.of(s) for s in found])
