"""The visitor's own data: share links, export, import, deletion."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from teaser.app.api.requests import GivenExport
from teaser.app.api.responses import export_of
from teaser.app.catalogue import PersonalModel
from teaser.app.http import (
    TOKEN,
    FormText,
    StoreRoute,
    catalogue_of,
    forget,
    own_origin,
    services_of,
    without_store,
)
from teaser.app.pages.cards import (
    card_views,
    feature_views,
    general_row,
    plain_card,
    profile_view,
)
from teaser.app.pages.describe import (
    MAX_LISTED,
    describe_balance,
    describe_filters,
    ending_presses,
    feed_label,
)
from teaser.app.pages.render import (
    PageContext,
    act_and_show,
    ensure_person,
    page_context_of,
    render,
    visitor_of,
    with_token,
)
from teaser.app.state import (
    AS_FITTED,
    MAX_FEED_NAME,
    Event,
    Feed,
    State,
    state_after,
)
from teaser.app.store import StoredShare
from teaser.errors import UnknownNameError

router = APIRouter(route_class=StoreRoute)


@router.get("/share")
def offer_share(request: Request) -> Response:
    """Offer to make a link to the profile, and list the links in use."""
    context = page_context_of(request)
    person_id = context.visitor.person_id
    shares = services_of(request).store.shares(person_id) if person_id else []
    return _share_page(request, context, shares)


@router.post("/share")
def make_share(
    request: Request,
    feed: Annotated[FormText, Form()] = "",
    main_feed: Annotated[FormText, Form()] = "",
) -> Response:
    """Make a link to the present state, or to one feed of it."""
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    # All is read before the link is made: nothing that fails afterwards can lose its token.
    state, shares = services.store.state(person_id), services.store.shares(person_id)
    visitor = replace(visitor, person_id=person_id)
    context = PageContext(visitor, catalogue_of(request), state, State(), None)
    link, made = services.store.make_share(person_id, feed if feed or main_feed else None)
    return with_token(_share_page(request, context, [*shares, made], link=link), request, token)


@router.post("/share/end")
def end_share(request: Request, share_id: Annotated[FormText, Form()]) -> Response:
    """Revoke one of the visitor's links."""
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id is None:
        raise UnknownNameError("share")
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
    name = shares[-1].feed if link else None
    return context.render(
        request,
        "share.html",
        title=context.texts("Share"),
        page_path="/share",
        link=f"{own_origin(request)}/s/{link}" if link else None,
        shares=list(reversed(shares)),
        newest=shares[-1].share_id if link else None,
        feed=None if not link or name is None else feed_label(name, context.texts),
        has_ended="ended" in request.query_params,
    )


@router.get("/s/{token}")
def shared(request: Request, token: str) -> Response:
    """Show a shared profile or feed and its list, read-only."""
    store = services_of(request).store
    if (found := store.shared_feed(token)) is not None:
        return _shared_feed_page(request, token, *found)
    state = store.shared_state(token)
    if state is None:
        raise UnknownNameError("share")
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
        general=general_row(personal, texts),
        features=feature_views(personal, texts),
        cards=card_views(personal, personal.rank(), texts, is_own=False),
        balance=describe_balance(state.balance, texts) if personal.can_balance else None,
    )


def _shared_feed_page(request: Request, token: str, name: str, feed: Feed) -> Response:
    """Show what a feed asks for and the list of somebody new who has it; nothing of its owner."""
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    personal = PersonalModel(catalogue, state_of_feed(feed))
    return render(
        request,
        visitor,
        "shared_feed.html",
        title=name or texts("A shared feed"),
        steer=False,
        name=name,
        token=token,
        has_dates=catalogue.dates is not None,
        presses=list(personal.presses.items()),
        ends=ending_presses(personal.state, catalogue, texts, most=MAX_LISTED),
        n_ends=len(personal.state.ends),
        filters=describe_filters(feed.filters, catalogue, texts),
        variety=feed.variety,
        balance=describe_balance(feed.balance, texts)
        if catalogue.model.has_remainder and feed.balance != AS_FITTED
        else None,
        cards=card_views(personal, personal.rank(), texts, is_own=False),
    )


def state_of_feed(feed: Feed) -> State:
    """Return the state of somebody of whom nothing is known, with one feed."""
    return state_after(State(), Event("make_feed", {"feed": "shared", "copy": feed.to_json()}))


@router.post("/s/{token}")
def start_from_feed(request: Request, token: str) -> Response:
    """Copy a shared feed among the visitor's own, and show it."""
    services, visitor = services_of(request), visitor_of(request)
    found = services.store.shared_feed(token)
    if found is None:
        raise UnknownNameError("share")
    state = services.store.state(visitor.person_id) if visitor.person_id else State()
    name = free_name(found[0] or visitor.texts("A shared feed"), state)
    return act_and_show(request, Event("make_feed", {"feed": name, "copy": found[1].to_json()}))


def free_name(name: str, state: State) -> str:
    """Return a name for a feed that no other has: with a number behind it where one has it."""
    taken = {known.casefold() for known in state.feeds}
    found, n = name, 1
    while found.casefold() in taken:
        n += 1
        found = f"{name[: MAX_FEED_NAME - len(str(n)) - 1].rstrip()} {n}"
    return found


@router.get("/export")
def export(request: Request) -> Response:
    """Send all stored data of the visitor."""
    visitor, services = visitor_of(request), services_of(request)
    # The id is internal to the server.
    found = export_of(services.store, visitor.person_id, catalogue_of(request), with_id=False)
    headers = {
        "content-disposition": 'attachment; filename="teaser.json"',
        "cache-control": "no-store",
    }
    return Response(found, media_type="application/json", headers=headers)


@router.get("/delete")
def offer_delete(request: Request) -> Response:
    """Ask before anything is deleted."""
    context = page_context_of(request)
    return context.render(
        request,
        "delete.html",
        title=context.texts("Delete my data"),
        is_done=False,
        n_actions=context.state.n_events,
    )


@router.post("/delete")
def delete(request: Request) -> Response:
    """Delete all stored data of the visitor."""
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id:
        services.store.delete_person(visitor.person_id)
    response = RedirectResponse("/deleted", 303)
    forget(response, request, TOKEN)
    return response


@router.get("/deleted")
@without_store
def deleted(request: Request) -> Response:
    """Confirm the deletion."""
    visitor = visitor_of(request, with_person=False)
    title = visitor.texts("Delete my data")
    return render(request, visitor, "delete.html", title=title, is_done=True)


async def read_file(request: Request) -> bytes:
    """Read the file of the form."""
    async with request.form() as form:
        file = form.get("file")
        return await file.read() if isinstance(file, UploadFile) else b""


@router.get("/import")
def offer_import(request: Request) -> Response:
    """Offer to read an export."""
    context = page_context_of(request)
    return context.render(
        request, "import.html", title=context.texts("Import"), page_path="/import"
    )


@router.post("/import")
def import_export(request: Request, content: Annotated[bytes, Depends(read_file)]) -> Response:
    """Replace what is kept of the visitor by an export; one undo brings that back."""
    return act_and_show(request, GivenExport.read(content).event())
