"""The API under `/api/v1`: the model's powers without state, and people whose state is kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from teaser import explain as why
from teaser.app import answers, schemas
from teaser.app.catalogue import Catalogue
from teaser.app.services import Services, catalogue_of, services_of
from teaser.app.session import Session
from teaser.app.settings import is_loopback
from teaser.app.state import Event, State
from teaser.app.visitor import need_own_origin
from teaser.data.dataset import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError, UnknownItemError
from teaser.guide.similar import similar as similar_items
from teaser.guide.variety import varied
from teaser.profile import Steering

_ERRORS = {
    400: "The request could not be read.",
    401: "A key is needed, or the one given is not known.",
    404: "Nobody or nothing of that name; the closest are said.",
    413: "The request is too large.",
    422: "The request is not valid, or cannot happen now.",
    429: "Too many requests.",
    503: "The database or the model cannot be used now.",
}

_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="tk_...",
    description="A key that `teaser keys create` made. Not needed where keys are off.",
    auto_error=False,
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
PersonId = Annotated[
    str, Path(pattern="^[A-Za-z0-9_-]{43}$", description="As `POST /people` gave it; keep it safe.")
]
# Ids may hold slashes, so routes that end in one take the whole rest of the path.
ItemName = Annotated[str, Path(min_length=1, max_length=schemas.MAX_TEXT, examples=["e0001"])]


def check_key(request: Request, credentials: Credentials) -> None:
    """Refuse a request without a known key, where keys are asked for."""
    services = services_of(request)
    if services.settings.needs_keys:
        _need_key(services, credentials)
    elif request.method not in ("GET", "HEAD") and "origin" in request.headers:
        need_own_origin(request)  # without keys, a page of another site could write here


def check_admin(request: Request, credentials: Credentials) -> None:
    """Refuse a request without a known key, but where only this machine can make one."""
    services = services_of(request)
    if services.settings.needs_keys or not is_loopback(services.settings.host):
        _need_key(services, credentials)


def _need_key(services: Services, credentials: HTTPAuthorizationCredentials | None) -> None:
    if credentials is None:
        said = "A key is needed. Send it as Authorization: Bearer tk_..."
    elif not services.store.has_key(credentials.credentials):
        said = "This key is not known, or was revoked."
    else:
        return
    raise HTTPException(401, said, headers={"WWW-Authenticate": "Bearer"})


def _operation_id(route: APIRoute) -> str:
    return route.name


router = APIRouter(
    prefix="/api/v1",
    dependencies=[Depends(check_key)],
    generate_unique_id_function=_operation_id,
    responses={
        status: {"model": answers.ErrorAnswer, "description": said}
        for status, said in _ERRORS.items()
    },
)


@router.post("/recommend", tags=["stateless"])
def recommend(request: Request, asked: schemas.RecommendRequest) -> answers.Recommendations:
    """Return the best items for whoever viewed and pressed this, each with its reasons."""
    catalogue = catalogue_of(request)
    wanted = _Wanted(catalogue, asked.history, asked.net_presses(), asked, asked.scale)
    return wanted.answer(asked.variety, _allowed(catalogue, asked))


@router.post("/profile", tags=["stateless"])
def profile(request: Request, asked: schemas.ProfileRequest) -> answers.Profile:
    """Return what the model believes of whoever viewed and pressed this."""
    model = catalogue_of(request).model
    found = model.profile(asked.history, asked.net_presses(), steering=Steering(scale=asked.scale))
    return answers.Profile.of(found, asked)


@router.post("/explain", tags=["stateless"])
def explain(request: Request, asked: schemas.ExplainRequest) -> answers.Explanation:
    """Return the whole score of one item: the contributions of its tags sum to it."""
    found = catalogue_of(request).model.explain(
        asked.item_id, asked.history, asked.net_presses(), steering=Steering(scale=asked.scale)
    )
    return answers.Explanation.of(found)


@router.post("/origins", tags=["stateless"])
def origins(request: Request, asked: schemas.OriginsRequest) -> answers.Origins:
    """Return where an affinity comes from: which items of the history, and how much each."""
    catalogue = catalogue_of(request)
    model = catalogue.model
    tag = _known_tag(catalogue, asked.tag)
    found = model.profile(asked.history, asked.net_presses(), steering=Steering(scale=asked.scale))
    parts = model.origins(tag, asked.history)
    return answers.Origins(
        **answers.named(tag),
        affinity=found.affinities[tag],
        raw=sum(parts.values()),
        origins=[
            answers.Origin(item_id=i, title=model.title(model.items_.index_of(i)), part=part)
            for i, part in sorted(parts.items(), key=lambda pair: -abs(pair[1]))
        ],
    )


@router.post("/similar", tags=["stateless"])
def similar(request: Request, asked: schemas.SimilarRequest) -> answers.SimilarItems:
    """Return the items that share most with one, the rarer tags counting more."""
    found = similar_items(catalogue_of(request).model, asked.item_id, k=asked.k)
    return answers.SimilarItems(similar=[answers.SimilarItem.of(s) for s in found])


@router.post("/people", tags=["people"], status_code=201)
def create_person(request: Request) -> answers.Person:
    """Add a person without history; whoever knows the id can see and change the state."""
    person_id, _ = services_of(request).store.create_person()
    return answers.Person.of(person_id, State(), catalogue_of(request))


@router.get("/people/{person_id}", tags=["people"])
def show_person(request: Request, person_id: PersonId) -> answers.Person:
    """Return what a person viewed, pressed and hid, as it is now."""
    state = services_of(request).store.state(person_id)
    return answers.Person.of(person_id, state, catalogue_of(request))


@router.delete("/people/{person_id}", tags=["people"], status_code=204)
def delete_person(request: Request, person_id: PersonId) -> None:
    """Remove a person and all that is kept of them."""
    services_of(request).store.delete_person(person_id)


@router.get("/people/{person_id}/export", tags=["people"])
def export_person(request: Request, person_id: PersonId) -> answers.Export:
    """Return every action of a person, with its time."""
    events = services_of(request).store.events(person_id)
    found = [answers.ExportedEvent.of(event) for event in events]
    return answers.Export(person_id=person_id, events=found)


@router.get("/people/{person_id}/recommendations", tags=["people"])
def recommend_to_person(
    request: Request, person_id: PersonId, asked: Annotated[schemas.PersonListOptions, Query()]
) -> answers.Recommendations:
    """Return the best items for a person; hidden ones are left out."""
    session = _session(request, person_id)
    wanted = _Wanted(session.catalogue, session.history, session.presses, asked, asked.scale)
    variety = session.state.variety if asked.variety is None else asked.variety
    return wanted.answer(variety, session.shown(_allowed(session.catalogue, asked)))


@router.get("/people/{person_id}/profile", tags=["people"])
def profile_of_person(
    request: Request, person_id: PersonId, asked: Annotated[schemas.PersonProfileOptions, Query()]
) -> answers.Profile:
    """Return what the model believes of a person."""
    session = _session(request, person_id)
    found = session.catalogue.model.profile(
        session.history, session.presses, steering=Steering(scale=asked.scale)
    )
    return answers.Profile.of(found, asked)


@router.post("/people/{person_id}/views", tags=["people"])
def add_view(request: Request, person_id: PersonId, asked: schemas.ItemChoice) -> answers.Person:
    """Add an item to the history; one that is in it becomes the latest."""
    return _act(request, person_id, "view", item=_known_item(request, asked.item_id))


@router.delete("/people/{person_id}/views/{item_id:path}", tags=["people"])
def remove_view(request: Request, person_id: PersonId, item_id: ItemName) -> answers.Person:
    """Remove an item from the history, also one that the model no longer knows."""
    state = services_of(request).store.state(person_id)
    return _act(request, person_id, "remove", item=_kept(item_id, state.history, "in the history"))


@router.post("/people/{person_id}/presses", tags=["people"])
def press(request: Request, person_id: PersonId, asked: schemas.NewPress) -> answers.Person:
    """Press + or - on a tag; the net presses on one stay within -5 and 5."""
    tag = _known_tag(catalogue_of(request), asked.tag)
    return _act(request, person_id, "press", presses={str(tag): asked.steps})


@router.post("/people/{person_id}/hidden", tags=["people"])
def hide(request: Request, person_id: PersonId, asked: schemas.ItemChoice) -> answers.Person:
    """Keep an item out of the person's recommendations."""
    return _act(request, person_id, "hide", item=_known_item(request, asked.item_id))


@router.delete("/people/{person_id}/hidden/{item_id:path}", tags=["people"])
def unhide(request: Request, person_id: PersonId, item_id: ItemName) -> answers.Person:
    """Let an item be recommended again."""
    state = services_of(request).store.state(person_id)
    return _act(request, person_id, "unhide", item=_kept(item_id, state.hidden, "hidden"))


@router.put("/people/{person_id}/variety", tags=["people"])
def vary(request: Request, person_id: PersonId, asked: schemas.Variety) -> answers.Person:
    """Say how much the person's lists are varied."""
    return _act(request, person_id, "vary", variety=asked.variety)


@router.post("/people/{person_id}/undo", tags=["people"])
def undo(request: Request, person_id: PersonId) -> answers.Person:
    """Take the last action back, whatever it was."""
    return _act(request, person_id, "undo")


@router.post("/people/{person_id}/redo", tags=["people"])
def redo(request: Request, person_id: PersonId) -> answers.Person:
    """Make the action again that was taken back last."""
    return _act(request, person_id, "redo")


@router.post("/people/{person_id}/reset", tags=["people"])
def reset(request: Request, person_id: PersonId) -> answers.Person:
    """Begin again with nothing viewed, pressed or hidden; undo brings it back."""
    return _act(request, person_id, "reset")


@router.get("/items/{item_id:path}", tags=["catalogue"])
def show_item(request: Request, item_id: ItemName) -> answers.Card:
    """Return what is known of an item."""
    return answers.Card.of(catalogue_of(request).card(item_id))


@router.get("/search", tags=["catalogue"])
def search(request: Request, asked: Annotated[schemas.SearchOptions, Query()]) -> answers.Found:
    """Return items and tags whose names hold every word."""
    catalogue = catalogue_of(request)
    model = catalogue.model
    items, tags = catalogue.search(asked.q, limit=asked.limit)
    sizes = dict(zip(model.tags_, catalogue.tag_sizes.tolist(), strict=True))
    titles = [model.title(model.items_.index_of(i)) or str(i) for i in items]
    return answers.Found(
        items=[answers.FoundItem(item_id=i, title=t) for i, t in zip(items, titles, strict=True)],
        tags=[answers.FoundTag(**answers.named(tag), n_items=sizes[tag]) for tag in tags],
    )


@router.get("/model", tags=["catalogue"])
def show_model(request: Request) -> answers.Model:
    """Return what is served: the kind of model, its size and parameters."""
    return answers.Model(**catalogue_of(request).model.describe())


@router.post("/admin/reload", tags=["admin"], dependencies=[Depends(check_admin)])
def reload_model(request: Request) -> answers.Model:
    """Read the model's folder again; a damaged one leaves the present model in place."""
    services_of(request).holder.refresh(force=True)
    return show_model(request)


@dataclass(frozen=True)
class _Wanted:
    """A list that somebody wants."""

    catalogue: Catalogue
    history: Iterable[ItemId]
    presses: Any
    options: schemas.ListOptions
    scale: str

    def answer(self, variety: float, allowed: NDArray[np.bool_]) -> answers.Recommendations:
        """Return the list among what is allowed."""
        found = self._varied(variety, allowed) if variety else self._ranked(allowed)
        made = [answers.Recommendation.of(place) for place in found]
        return answers.Recommendations(recommendations=made)

    def _ranked(self, allowed: NDArray[np.bool_]) -> list[why.Recommendation]:
        return self.catalogue.model.recommend(
            self.history,
            self.presses,
            k=self.options.k,
            exclude_history=self.options.exclude_history,
            negative_reasons=self.options.negative_reasons,
            allowed=allowed,
            steering=Steering(scale=self.scale),
        )

    def _varied(self, variety: float, allowed: NDArray[np.bool_]) -> list[why.Recommendation]:
        if not self.options.exclude_history:
            raise ParameterError(
                "A varied list leaves out the history. Set variety to 0 or exclude_history to true."
            )
        model = self.catalogue.model
        found = varied(
            model,
            self.history,
            self.presses,
            variety=variety,
            k=self.options.k,
            allowed=allowed,
            steering=Steering(scale=self.scale),
        )
        if self.options.negative_reasons:
            return found
        chosen = np.zeros(len(model.items_), dtype=bool)
        chosen[[model.items_.index_of(place.item_id) for place in found]] = True
        again = {place.item_id: place for place in self._ranked(chosen)}
        return [again[place.item_id] for place in found]


def _session(request: Request, person_id: str) -> Session:
    return Session(catalogue_of(request), services_of(request).store.state(person_id))


def _act(request: Request, person_id: str, kind: str, **data: Any) -> answers.Person:
    state = services_of(request).store.act(person_id, Event(kind, data))
    return answers.Person.of(person_id, state, catalogue_of(request))


def _allowed(catalogue: Catalogue, asked: schemas.ListOptions) -> NDArray[np.bool_]:
    if catalogue.dates is None and (asked.first_date or asked.last_date):
        raise ParameterError("This catalogue has no dates. Leave first_date and last_date out.")
    tags = [_known_tag(catalogue, text) for text in asked.only_tags]
    return catalogue.allowed(tags, first=asked.first_date, last=asked.last_date)


def _known_tag(catalogue: Catalogue, text: str) -> Tag:
    """Return the tag of the model that a text names."""
    tags = catalogue.model.tags_
    return tags[resolve_tag(text, {tag: place for place, tag in enumerate(tags)})]


def _known_item(request: Request, item_id: ItemId) -> ItemId:
    """Return the item as the model names it."""
    items = catalogue_of(request).model.items_
    found: ItemId = items[items.index_of(item_id)]
    return found


def _kept(text: str, kept: Iterable[ItemId], where: str) -> ItemId:
    """Return the item of a state that a text names; the model need not know it."""
    for item_id in kept:
        if str(item_id) == text:
            return item_id
    raise UnknownItemError(f"The item {text!r} is not {where}.")
