"""The API under `/api/v1`: the model's powers without state, and people whose state is kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from teaser.app.actions import LIMIT, settled
from teaser.app.api import guide as guide_api
from teaser.app.api import person_response as record
from teaser.app.api import requests as schemas
from teaser.app.api import responses as answers
from teaser.app.api.reason_response import named
from teaser.app.dependencies import Services, catalogue_of, services_of, store_of
from teaser.app.http.identity import need_own_origin
from teaser.app.i18n.texts import choose_language, texts_in
from teaser.app.people.events import Event, State, check
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names
from teaser.app.serving.personal_model import Session, read_about
from teaser.app.settings import is_loopback
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.errors import ParameterError, UnknownItemError
from teaser.guide.similarity import similar as similar_items
from teaser.guide.variety import varied
from teaser.profile import Profile, Steering

_ERRORS = {
    400: "The request could not be read.",
    401: "A key is needed, or the one given is not known.",
    403: "Without keys: a page of another site may not change anything.",
    404: "Nobody or nothing of that name; the closest are said.",
    413: "The request is too large.",
    421: "The server does not answer under that name.",
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
ShareId = Annotated[
    str, Path(pattern="^[0-9a-f]{16}$", description="As `POST /people/{person_id}/shares` gave it.")
]
# Ids of items are any text, also with slashes or '..', so they never stand in a path.
ItemQuery = Annotated[schemas.ItemOptions, Query()]


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


router.include_router(guide_api.router)


@router.post("/recommend", tags=["stateless"])
def recommend(request: Request, asked: schemas.RecommendRequest) -> answers.Recommendations:
    """Return the best items for whoever viewed and pressed this, each with its reasons."""
    catalogue = catalogue_of(request)
    taste = _Taste.asked(catalogue, asked)
    return taste.recommend(asked, asked.variety, _allowed(catalogue, asked))


@router.post("/profile", tags=["stateless"])
def profile(request: Request, asked: schemas.ProfileRequest) -> answers.Profile:
    """Return what the model believes of whoever viewed and pressed this."""
    taste = _Taste.asked(catalogue_of(request), asked)
    return answers.Profile.of(taste.profile(), asked)


@router.post("/explain", tags=["stateless"])
def explain(request: Request, asked: schemas.ExplainRequest) -> answers.Explanation:
    """Return the whole score of one item: the contributions of its reasons sum to it."""
    taste = _Taste.asked(catalogue_of(request), asked)
    return taste.explain(asked.item_id)


@router.post("/origins", tags=["stateless"])
def origins(request: Request, asked: schemas.OriginsRequest) -> answers.Origins:
    """Return where an affinity comes from: which items of the history, and how much each."""
    taste = _Taste.asked(catalogue_of(request), asked)
    return taste.origins(asked.tag)


@router.post("/similar", tags=["stateless"])
def similar(request: Request, asked: schemas.SimilarRequest) -> answers.SimilarItems:
    """Return the items that share most with one, the rarer tags counting more."""
    found = similar_items(catalogue_of(request).model, asked.item_id, k=asked.k)
    return answers.SimilarItems(similar=[answers.SimilarItem.of(s) for s in found])


@router.post("/people", tags=["people"], status_code=201)
def create_person(request: Request) -> record.Person:
    """Add a person without history; whoever knows the id can see and change the state."""
    person_id, _ = store_of(request).create_person()
    return record.Person.of(person_id, State(), catalogue_of(request))


@router.get("/people/{person_id}", tags=["people"])
def show_person(request: Request, person_id: PersonId) -> record.Person:
    """Return what a person viewed, pressed and hid, as it is now."""
    state = store_of(request).state(person_id)
    return record.Person.of(person_id, state, catalogue_of(request))


@router.delete("/people/{person_id}", tags=["people"], status_code=204)
def delete_person(request: Request, person_id: PersonId) -> None:
    """Remove a person and all that is kept of them."""
    store_of(request).delete_person(person_id)


@router.get("/people/{person_id}/export", tags=["people"])
def export_person(request: Request, person_id: PersonId) -> record.Export:
    """Return all that is kept of a person: what is now, links in use, every action."""
    return record.export_of(store_of(request), person_id, catalogue_of(request))


@router.get("/people/{person_id}/recommendations", tags=["people"])
def recommend_to_person(
    request: Request, person_id: PersonId, asked: Annotated[schemas.PersonListOptions, Query()]
) -> answers.Recommendations:
    """Return the best items for a person; hidden ones are left out."""
    session = _session(request, person_id)
    variety = session.state.variety if asked.variety is None else asked.variety
    allowed = session.shown(_allowed(session.catalogue, asked))
    return _Taste.of(session, asked.scale, asked.balance).recommend(asked, variety, allowed)


@router.get("/people/{person_id}/profile", tags=["people"])
def profile_of_person(
    request: Request, person_id: PersonId, asked: Annotated[schemas.PersonProfileOptions, Query()]
) -> answers.Profile:
    """Return what the model believes of a person."""
    taste = _Taste.of(_session(request, person_id), asked.scale, asked.balance)
    return answers.Profile.of(taste.profile(), asked)


@router.get("/people/{person_id}/explanation", tags=["people"])
def explain_to_person(
    request: Request, person_id: PersonId, asked: Annotated[schemas.PersonExplainOptions, Query()]
) -> answers.Explanation:
    """Return the whole score of one item for a person, also of one that is hidden or viewed."""
    session = _session(request, person_id)
    return _Taste.of(session, asked.scale, asked.balance).explain(asked.item_id)


@router.get("/people/{person_id}/origins", tags=["people"])
def origins_of_person(
    request: Request, person_id: PersonId, asked: Annotated[schemas.PersonOriginsOptions, Query()]
) -> answers.Origins:
    """Return where a person's affinity with a tag comes from."""
    return _Taste.of(_session(request, person_id), asked.scale).origins(asked.tag)


@router.post("/people/{person_id}/views", tags=["people"])
def add_view(request: Request, person_id: PersonId, asked: schemas.ItemChoice) -> record.Person:
    """Add an item to the history; one that is in it becomes the latest."""
    return _act(request, person_id, "view", item=_known_item(request, asked.item_id))


@router.delete("/people/{person_id}/views", tags=["people"])
def remove_view(request: Request, person_id: PersonId, asked: ItemQuery) -> record.Person:
    """Remove an item from the history, also one that the model no longer knows."""
    state = store_of(request).state(person_id)
    item = _kept(asked.item_id, state.history, "in the history")
    return _act(request, person_id, "remove", item=item)


@router.post("/people/{person_id}/presses", tags=["people"])
def press(request: Request, person_id: PersonId, asked: schemas.NewPress) -> record.Person:
    """Press + or - on a tag; the net presses on one stay within -5 and 5.

    A press that moves nothing, as the affinity is at its bound, is not kept: `note` says so.
    """
    catalogue, store = catalogue_of(request), store_of(request)
    event = Event("press", {"presses": {str(_known_tag(catalogue, asked.tag)): asked.steps}})
    check(now := store.state(person_id), event)
    if kept := settled(catalogue, now, event):
        return _act(request, person_id, "press", **kept.data)
    return record.Person.of(person_id, now, catalogue, note=f"{asked.tag}: {LIMIT}")


@router.post("/people/{person_id}/hidden", tags=["people"])
def hide(request: Request, person_id: PersonId, asked: schemas.ItemChoice) -> record.Person:
    """Keep an item out of the person's recommendations."""
    return _act(request, person_id, "hide", item=_known_item(request, asked.item_id))


@router.delete("/people/{person_id}/hidden", tags=["people"])
def unhide(request: Request, person_id: PersonId, asked: ItemQuery) -> record.Person:
    """Let an item be recommended again."""
    state = store_of(request).state(person_id)
    return _act(request, person_id, "unhide", item=_kept(asked.item_id, state.hidden, "hidden"))


@router.put("/people/{person_id}/variety", tags=["people"])
def vary(request: Request, person_id: PersonId, asked: schemas.Variety) -> record.Person:
    """Say how much the person's lists are varied."""
    return _act(request, person_id, "vary", variety=asked.variety)


@router.put("/people/{person_id}/balance", tags=["people"])
def balance(request: Request, person_id: PersonId, asked: schemas.NewBalance) -> record.Person:
    """Say how much tags count for the person, and how much viewed items beside them."""
    return _act(request, person_id, "balance", balance=asked.balance)


@router.put("/people/{person_id}/about", tags=["people"])
def tell(request: Request, person_id: PersonId, asked: schemas.About) -> record.Person:
    """Say what is known of the person, where the model makes use of it."""
    known = read_about(asked.about, catalogue_of(request))
    return _act(request, person_id, "about", about=known)


@router.post("/people/{person_id}/undo", tags=["people"])
def undo(request: Request, person_id: PersonId) -> record.Person:
    """Take the last action back, whatever it was."""
    return _act(request, person_id, "undo")


@router.post("/people/{person_id}/redo", tags=["people"])
def redo(request: Request, person_id: PersonId) -> record.Person:
    """Make the action again that was taken back last."""
    return _act(request, person_id, "redo")


@router.post("/people/{person_id}/reset", tags=["people"])
def reset(request: Request, person_id: PersonId) -> record.Person:
    """Begin again with nothing viewed, pressed or hidden; undo brings it back."""
    return _act(request, person_id, "reset")


@router.post("/people/{person_id}/shares", tags=["people"], status_code=201)
def share(request: Request, person_id: PersonId) -> record.NewLink:
    """Make a link under which the site shows the state of now, read-only; it is said only once."""
    token, made = store_of(request).make_share(person_id)
    return record.NewLink(**record.Link.of(made).model_dump(), path=f"/s/{token}")


@router.get("/people/{person_id}/shares", tags=["people"])
def list_shares(request: Request, person_id: PersonId) -> record.Links:
    """Return the links of a person that are in use."""
    found = store_of(request).shares(person_id)
    return record.Links(shares=[record.Link.of(share) for share in found])


@router.delete("/people/{person_id}/shares/{share_id}", tags=["people"], status_code=204)
def revoke_share(request: Request, person_id: PersonId, share_id: ShareId) -> None:
    """End a link: whoever follows it from now on sees nothing."""
    store_of(request).revoke_share(person_id, share_id)


@router.get("/items", tags=["catalogue"])
def show_item(request: Request, asked: ItemQuery) -> answers.Card:
    """Return what is known of an item."""
    return answers.Card.of(catalogue_of(request).card(asked.item_id))


@router.get("/search", tags=["catalogue"])
def search(request: Request, asked: Annotated[schemas.SearchOptions, Query()]) -> answers.Found:
    """Return items and tags whose names hold every word, with or without accents."""
    catalogue = catalogue_of(request)
    model = catalogue.model
    texts = texts_in(choose_language(None, request.headers.get("accept-language")))
    found = find_names(catalogue, asked.q, texts)
    items, tags = found.items(0, asked.limit), found.tags(0, asked.limit)
    sizes = dict(zip(model.tags_, catalogue.tag_sizes.tolist(), strict=True))
    titles = [model.title(model.items_.index_of(i)) or str(i) for i in items]
    return answers.Found(
        items=[answers.FoundItem(item_id=i, title=t) for i, t in zip(items, titles, strict=True)],
        tags=[answers.FoundTag(**named(tag), n_items=sizes[tag]) for tag in tags],
    )


@router.get("/model", tags=["catalogue"])
def show_model(request: Request) -> answers.Model:
    """Return what is served: the kind of model, its size and parameters."""
    catalogue = catalogue_of(request)
    known = {f: [tag.value for tag in tags] for f, tags in catalogue.user_features.items()}
    return answers.Model(**{**catalogue.model.describe(), "user_tags": known})


@router.post("/admin/reload", tags=["admin"], dependencies=[Depends(check_admin)])
def reload_model(request: Request) -> answers.Model:
    """Read the model's folder again; a damaged one leaves the present model in place."""
    services_of(request).holder.refresh(force=True)
    return show_model(request)


@dataclass(frozen=True)
class _Taste:
    """Whoever viewed and pressed something, in front of a catalogue."""

    catalogue: Catalogue
    history: Iterable[ItemId]
    presses: Mapping[Tag, int]
    about: Sequence[Tag | str]
    steering: Steering

    @classmethod
    def asked(cls, catalogue: Catalogue, asked: schemas.Taste) -> Self:
        """Return whoever a request describes."""
        about = read_about(asked.about, catalogue)
        steering = Steering(scale=asked.scale, balance=asked.balance)
        return cls(catalogue, asked.history, asked.net_presses(), about, steering)

    @classmethod
    def of(cls, session: Session, scale: str, balance: float | None = None) -> Self:
        """Return a person whose state is kept; a balance given takes the place of theirs."""
        chosen = session.state.balance if balance is None else balance
        steering = Steering(scale=scale, balance=chosen)
        taste = session.history, session.presses, session.about
        return cls(session.catalogue, *taste, steering)

    def profile(self) -> Profile:
        return self.catalogue.model.profile(
            self.history, self.presses, about=self.about, steering=self.steering
        )

    def recommend(
        self, asked: schemas.ListOptions, variety: float, allowed: NDArray[np.bool_]
    ) -> answers.Recommendations:
        found = varied(
            self.catalogue.model,
            self.history,
            self.presses,
            variety=variety,
            k=asked.k,
            exclude_history=asked.exclude_history,
            negative_reasons=asked.negative_reasons,
            allowed=allowed,
            about=self.about,
            steering=self.steering,
        )
        made = [answers.Recommendation.of(place) for place in found]
        return answers.Recommendations(recommendations=made)

    def explain(self, item_id: ItemId) -> answers.Explanation:
        found = self.catalogue.model.explain(
            item_id, self.history, self.presses, about=self.about, steering=self.steering
        )
        return answers.Explanation.of(found)

    def origins(self, text: str) -> answers.Origins:
        model = self.catalogue.model
        tag = _known_tag(self.catalogue, text)
        affinity = self.profile().affinities[tag]
        parts = model.origins(tag, self.history, self.about)
        ordered = sorted(parts.items(), key=lambda pair: -abs(pair[1]))
        return answers.Origins(
            **named(tag),
            affinity=affinity,
            raw=sum(parts.values()),
            origins=[
                answers.Origin(item_id=i, title=model.title(model.items_.index_of(i)), part=part)
                for i, part in ordered
                if not isinstance(i, Tag)
            ],
            about=[
                answers.KnownOrigin(**named(known), part=part)
                for known, part in ordered
                if isinstance(known, Tag)
            ],
        )


def _session(request: Request, person_id: str) -> Session:
    return Session(catalogue_of(request), store_of(request).state(person_id))


def _act(request: Request, person_id: str, kind: str, **data: Any) -> record.Person:
    state = store_of(request).act(person_id, Event(kind, data))
    return record.Person.of(person_id, state, catalogue_of(request))


def _allowed(catalogue: Catalogue, asked: schemas.ListOptions) -> NDArray[np.bool_]:
    if catalogue.dates is None and (asked.first_date or asked.last_date):
        raise ParameterError("This catalogue has no dates. Leave first_date and last_date out.")
    tags = [_known_tag(catalogue, text) for text in asked.only_tags]
    return catalogue.allowed(tags, first=asked.first_date, last=asked.last_date)


def _known_tag(catalogue: Catalogue, text: str) -> Tag:
    """Return the tag of the model that a text names."""
    return catalogue.model.tags_[resolve_tag(text, catalogue.tag_index)]


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
