"""A person's own data: shared read-only, taken along, deleted."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.api.person_responses import export_of
from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.http.identity import (
    TOKEN,
    ensure_person,
    need_own_origin,
    own_origin,
    remember,
    visitor_of,
)
from teaser.app.people.events import State
from teaser.app.people.store import share_id_of
from teaser.app.serving.personal_model import Session
from teaser.app.site.rendering import render
from teaser.app.site.view import card_views, plain_card, profile_view, say_balance
from teaser.app.site.visit import Moment, moment_of
from teaser.errors import UnknownShareError

router = APIRouter()


@router.get("/share")
def offer_share(request: Request) -> Response:
    """Say what a link would show, offer to make one, and list those there are."""
    return _share_page(request, moment_of(request))


@router.post("/share")
def make_share(request: Request) -> Response:
    """Make a link to the state of now."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    shared, _ = services.store.make_share(person_id)
    state = services.store.state(person_id)
    visitor = replace(visitor, person_id=person_id)
    moment = Moment(visitor, catalogue_of(request), state, State(), None)
    response = _share_page(request, moment, made=shared)
    if token:
        remember(response, services, TOKEN, token)
    return response


@router.post("/share/end")
def end_share(request: Request, share_id: Annotated[str, Form()]) -> Response:
    """End one of a person's own links."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id is None:
        raise UnknownShareError
    services.store.revoke_share(visitor.person_id, share_id)
    return RedirectResponse("/share?ended=1#links", 303)


def _share_page(request: Request, moment: Moment, *, made: str | None = None) -> Response:
    person_id = moment.visitor.person_id
    shares = services_of(request).store.shares(person_id) if person_id else []
    return render(
        request,
        moment.visitor,
        "share.html",
        title=moment.texts("Share"),
        here="/share",
        state=moment.state,
        link=f"{own_origin(request)}/s/{made}" if made else None,
        shares=list(reversed(shares)),
        newest=share_id_of(made) if made else None,
        has_ended="ended" in request.query_params,
    )


@router.get("/s/{token}")
def shared(request: Request, token: str) -> Response:
    """Show a profile and a list that somebody shared; nothing on it can be pressed."""
    state = services_of(request).store.shared_state(token)
    if state is None:
        raise UnknownShareError
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    session = Session(catalogue, state)
    return render(
        request,
        visitor,
        "shared.html",
        title=texts("A shared profile"),
        steer=False,
        profile=profile_view(session, texts, is_own=False),
        history=[plain_card(catalogue, i, texts) for i in reversed(session.history)],
        cards=card_views(session, session.recommend(), texts),
        balance=say_balance(state.balance, texts) if session.can_balance else None,
    )


@router.get("/export")
def export(request: Request) -> Response:
    """Hand a person all that is kept of them."""
    visitor, store = visitor_of(request), services_of(request).store
    found = export_of(store, visitor.person_id, catalogue_of(request))
    # The id is a name inside the server: its owner has no use for it.
    text = found.model_dump_json(indent=2, exclude={"person_id": True, "state": {"person_id"}})
    headers = {
        "content-disposition": 'attachment; filename="teaser.json"',
        "cache-control": "no-store",
    }
    return Response(text, media_type="application/json", headers=headers)


@router.get("/delete")
def offer_delete(request: Request) -> Response:
    """Ask before anything is deleted."""
    moment = moment_of(request)
    return render(
        request,
        moment.visitor,
        "delete.html",
        title=moment.texts("Delete my data"),
        state=moment.state,
        is_done=False,
    )


@router.post("/delete")
def delete(request: Request) -> Response:
    """Delete all that is kept of a person."""
    need_own_origin(request)
    visitor = visitor_of(request)
    if visitor.person_id:
        services_of(request).store.delete_person(visitor.person_id)
    response = RedirectResponse("/deleted", 303)
    response.delete_cookie(TOKEN)
    return response


@router.get("/deleted")
def deleted(request: Request) -> Response:
    """Confirm that nothing is left."""
    visitor = visitor_of(request, with_person=False)
    title = visitor.texts("Delete my data")
    return render(request, visitor, "delete.html", title=title, is_done=True)
