"""Routes about two items side by side, an item as a start, and examples under a tag."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from teaser.app.api.auth import check_reader
from teaser.app.api.model_input import ModelInput
from teaser.app.api.people import PersonId
from teaser.app.api.schema import guidance, requests
from teaser.app.dependencies import catalogue_of, store_of, uses_store
from teaser.app.serving.personal_model import PersonalModel

router = APIRouter()


@router.post("/compare", tags=["stateless"])
def compare(request: Request, asked: guidance.CompareRequest) -> guidance.Difference:
    """Return why one item stands above another: the difference of their scores, part by part."""
    given = ModelInput.of_request(catalogue_of(request), asked)
    return guidance.Difference.of(given.compare(asked.item_id, asked.other_id, asked.boost))


@router.get("/people/{person_id}/comparison", tags=["people"], dependencies=[Depends(check_reader)])
@uses_store
def compare_for_person(
    request: Request,
    person_id: PersonId,
    asked: Annotated[guidance.PersonCompareOptions, Query()],
) -> guidance.Difference:
    """Return why one item stands above another for a person, also if one is hidden or viewed."""
    given = _given(request, person_id, asked)
    boost = requests.read_boosts(asked.boost)
    return guidance.Difference.of(given.compare(asked.item_id, asked.other_id, boost))


@router.post("/variation", tags=["stateless"])
def vary_item(request: Request, asked: guidance.VariationRequest) -> guidance.Variation:
    """Return a list like an item, with some of its tags changed."""
    given = ModelInput.of_request(catalogue_of(request), asked)
    return given.vary(asked, {change.old: change.new for change in asked.changes})


@router.post("/tag-examples", tags=["stateless"])
def tag_examples(request: Request, asked: guidance.TagExamplesRequest) -> guidance.TagExamples:
    """Return what a tag brings up, what one press more would, and which tags come with it."""
    given = ModelInput.of_request(catalogue_of(request), asked)
    return guidance.TagExamples.of(given.examples(asked.tag, asked.k, asked.places))


@router.get(
    "/people/{person_id}/tag-examples", tags=["people"], dependencies=[Depends(check_reader)]
)
@uses_store
def tag_examples_for_person(
    request: Request,
    person_id: PersonId,
    asked: Annotated[guidance.PersonTagExamplesOptions, Query()],
) -> guidance.TagExamples:
    """Return what a tag brings up in a person's list; hidden items are left out."""
    given = _given(request, person_id, asked)
    return guidance.TagExamples.of(given.examples(asked.tag, asked.k, asked.places))


def _given(
    request: Request,
    person_id: str,
    asked: guidance.PersonCompareOptions | guidance.PersonTagExamplesOptions,
) -> ModelInput:
    personal = PersonalModel(catalogue_of(request), store_of(request).state(person_id))
    return ModelInput.of_person(personal, asked.scale, asked.balance)
