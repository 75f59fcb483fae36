"""A person's own data: shared read-only, taken along, deleted."""

import json

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from teaser.app.moment import moment_of
from teaser.app.render import render
from teaser.app.services import catalogue_of, services_of
from teaser.app.session import Session
from teaser.app.view import card_views, plain_card, profile_view
from teaser.app.visitor import (
    TOKEN,
    ensure_person,
    need_own_origin,
    remember,
    visitor_of,
)

router = APIRouter()


@router.get("/share")
def offer_share(request: Request) -> Response:
    """Say what a link would show, and offer to make one."""
    moment = moment_of(request)
    title = moment.texts("Share")
    return render(request, moment.visitor, "share.html", title=title, state=moment.state, link=None)


@router.post("/share")
def make_share(request: Request) -> Response:
    """Make a link to the state of now."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    shared = services.store.create_share(person_id)
    link = f"{request.url.scheme}://{request.headers.get('host', '')}/s/{shared}"
    title = visitor.texts("Share")
    response = render(request, visitor, "share.html", title=title, link=link)
    if token:
        remember(response, services, TOKEN, token)
    return response


@router.get("/s/{token}")
def shared(request: Request, token: str) -> Response:
    """Show a profile and a list that somebody shared; nothing on it can be pressed."""
    state = services_of(request).store.shared_state(token)
    if state is None:
        raise HTTPException(404, "There is no such link. Perhaps its owner deleted their data.")
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    session = Session(catalogue, state)
    return render(
        request,
        visitor,
        "shared.html",
        title=texts("A shared profile"),
        steer=False,
        profile=profile_view(session, texts),
        history=[plain_card(catalogue, i, texts) for i in reversed(session.history)],
        cards=card_views(session, session.recommend(), texts),
    )


@router.get("/export")
def export(request: Request) -> Response:
    """Hand a person all that is kept of them."""
    visitor = visitor_of(request)
    stored = services_of(request).store.events(visitor.person_id) if visitor.person_id else []
    events = [
        {"place": e.place, "at": e.at.isoformat(), "kind": e.kind, "data": e.data} for e in stored
    ]
    text = json.dumps({"events": events}, ensure_ascii=False, indent=2)
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
