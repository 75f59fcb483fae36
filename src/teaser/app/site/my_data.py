"""The visitor's own data: what is kept, share links, export, deletion."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from teaser.app.api.schema.person_responses import export_of
from teaser.app.dependencies import catalogue_of, services_of, uses_store
from teaser.app.http.cookies import TOKEN, forget, remember
from teaser.app.http.form_text import FormText
from teaser.app.http.origin import need_own_origin, own_origin
from teaser.app.people.events import State
from teaser.app.people.store import StoredShare
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.site.page_context import PageContext, page_context_of
from teaser.app.site.preferences import describe_balance
from teaser.app.site.view.card_view import card_views, plain_card
from teaser.app.site.view.profile_view import profile_view
from teaser.app.site.view.rendering import render
from teaser.app.site.view.visitor import ensure_person, visitor_of
from teaser.errors import UnknownShareError

router = APIRouter()


@router.get("/privacy")
def show_privacy(request: Request) -> Response:
    """Say what is kept of visitors, for what, and what they can do about it."""
    visitor = visitor_of(request, with_person=False)
    learns = services_of(request).settings.learn
    title = visitor.texts("Privacy")
    return render(request, visitor, "privacy.html", title=title, learns=learns)


@router.get("/share")
@uses_store
def offer_share(request: Request) -> Response:
    """Offer to make a link to the profile, and list the links in use."""
    context = page_context_of(request)
    person_id = context.visitor.person_id
    shares = services_of(request).store.shares(person_id) if person_id else []
    return _share_page(request, context, shares)


@router.post("/share")
@uses_store
def make_share(request: Request) -> Response:
    """Make a link to the present state."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    # All is read before the link is made: nothing that fails afterwards can lose its token.
    state, shares = services.store.state(person_id), services.store.shares(person_id)
    visitor = replace(visitor, person_id=person_id)
    context = PageContext(visitor, catalogue_of(request), state, State(), None)
    link, made = services.store.make_share(person_id)
    response = _share_page(request, context, [*shares, made], link=link)
    if token:
        remember(response, services.settings, TOKEN, token)
    return response


@router.post("/share/end")
@uses_store
def end_share(request: Request, share_id: Annotated[FormText, Form()]) -> Response:
    """Revoke one of the visitor's links."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id is None:
        raise UnknownShareError
    services.store.revoke_share(visitor.person_id, share_id)
    return RedirectResponse("/share?ended=1#links", 303)


def _share_page(
    request: Request,
    context: PageContext,
    shares: list[StoredShare],
    *,
    link: str | None = None,
) -> Response:
    """Show the links in use; `link` is the token of the last one, if it was just made."""
    return context.render(
        request,
        "share.html",
        title=context.texts("Share"),
        page_path="/share",
        link=f"{own_origin(request)}/s/{link}" if link else None,
        shares=list(reversed(shares)),
        newest=shares[-1].share_id if link else None,
        has_ended="ended" in request.query_params,
    )


@router.get("/s/{token}")
@uses_store
def shared(request: Request, token: str) -> Response:
    """Show a shared profile and its list, read-only."""
    state = services_of(request).store.shared_state(token)
    if state is None:
        raise UnknownShareError
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    personal = PersonalModel(catalogue, state)
    return render(
        request,
        visitor,
        "shared.html",
        title=texts("A shared profile"),
        steer=False,
        profile=profile_view(personal, texts, is_own=False),
        history=[plain_card(catalogue, i, texts) for i in reversed(personal.history)],
        cards=card_views(personal, personal.recommend(), texts),
        balance=describe_balance(state.balance, texts) if personal.can_balance else None,
    )


@router.get("/export")
@uses_store
def export(request: Request) -> Response:
    """Send all stored data of the visitor."""
    visitor, services = visitor_of(request), services_of(request)
    # The id is internal to the server.
    found = export_of(services.store, visitor.person_id, catalogue_of(request), with_id=False)
    headers = {
        "content-disposition": 'attachment; filename="teaser.json"',
        "cache-control": "no-store",
    }
    pieces = services.threads.iterate(found)
    return StreamingResponse(pieces, media_type="application/json", headers=headers)


@router.get("/delete")
@uses_store
def offer_delete(request: Request) -> Response:
    """Ask before anything is deleted."""
    context = page_context_of(request)
    return context.render(
        request,
        "delete.html",
        title=context.texts("Delete my data"),
        is_done=False,
    )


@router.post("/delete")
@uses_store
def delete(request: Request) -> Response:
    """Delete all stored data of the visitor."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id:
        services.store.delete_person(visitor.person_id)
    response = RedirectResponse("/deleted", 303)
    forget(response, services.settings, TOKEN)
    return response


@router.get("/deleted")
def deleted(request: Request) -> Response:
    """Confirm the deletion."""
    visitor = visitor_of(request, with_person=False)
    title = visitor.texts("Delete my data")
    return render(request, visitor, "delete.html", title=title, is_done=True)
