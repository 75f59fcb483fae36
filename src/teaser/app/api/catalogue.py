"""Routes about the items and tags that are served, and the model behind them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from teaser.app.api.schema import requests, responses
from teaser.app.api.schema.reason_responses import named
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.i18n.texts import choose_language, texts_in
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.found_group import find_group
from teaser.app.serving.name_search import find_names
from teaser.data.matrix import ItemId

router = APIRouter()


@router.get("/items", tags=["catalogue"])
def show_item(request: Request, asked: Annotated[requests.ItemOptions, Query()]) -> responses.Card:
    """Return the data of an item."""
    return responses.Card.of(catalogue_of(request).card(asked.item_id))


@router.get("/search", tags=["catalogue"])
def search(request: Request, asked: Annotated[requests.SearchOptions, Query()]) -> responses.Found:
    """Return items and tags whose names contain every word, with or without accents."""
    catalogue = catalogue_of(request)
    model = catalogue.model
    texts = texts_in(choose_language(None, request.headers.get("accept-language")))
    found = find_names(catalogue, asked.q, texts)
    return responses.Found(
        items=[
            responses.FoundItem(item_id=item_id, title=model.title(i) or str(item_id))
            for i, item_id in zip(found.item_places, found.items(0, asked.k), strict=False)
        ],
        tags=[
            responses.FoundTag(**named(model.tags_[j]), n_items=int(catalogue.tag_sizes[j]))
            for j in found.tag_places[: asked.k]
        ],
    )


@router.get("/groups", tags=["catalogue"])
def show_group(
    request: Request, asked: Annotated[requests.GroupOptions, Query()]
) -> responses.Group:
    """Return the group of items behind a discovered tag, also by an earlier name of it."""
    catalogue = catalogue_of(request)
    model = catalogue.model

    def title(item_id: ItemId) -> str:
        return model.title(model.items_.index_of(item_id)) or str(item_id)

    return responses.Group.of(find_group(catalogue, asked.tag), title, asked.k)


@router.get("/model", tags=["catalogue"])
def show_model(request: Request) -> responses.Model:
    """Return the kind of model that is served, its size and its parameters."""
    return describe(catalogue_of(request))


def describe(catalogue: Catalogue) -> responses.Model:
    """Return what the API tells about the model of a catalogue."""
    described = catalogue.model.describe()
    user_tags = {f: [tag.value for tag in tags] for f, tags in catalogue.user_features.items()}
    own = {"user_tags": user_tags, "weights": described["parameters"].get("weights")}
    return responses.Model(**{"recipe": None, **described, **own})


@router.post("/admin/reload", tags=["admin"])
def reload_model(request: Request) -> responses.Model:
    """Read the model's folder again; if it is damaged, the present model stays."""
    services = services_of(request)
    if services.reload is not None:
        return responses.Model.model_validate_json(services.reload())
    services.holder.refresh(force=True)
    return show_model(request)
