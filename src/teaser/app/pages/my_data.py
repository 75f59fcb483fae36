"""The visitor's own data: what is kept, share links, export, deletion."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.api.responses import export_of
from teaser.app.dependencies import catalogue_of, services_of, uses_store
from teaser.app.http.cookies import TOKEN, forget, remember
from teaser.app.http.form_text import FormText
from teaser.app.http.origin import need_own_origin, own_origin
from teaser.app.pages.page_context import PageContext, act_and_show, page_context_of
from teaser.app.pages.preferences import describe_balance
from teaser.app.pages.view.card_view import card_views, plain_card
from teaser.app.pages.view.clock import Clock
from teaser.app.pages.view.feed_view import MAX_LISTED, ending_presses, feed_label, filter_wishes
from teaser.app.pages.view.piece import PLAIN
from teaser.app.pages.view.profile_view import profile_view
from teaser.app.pages.view.rendering import profile_parts, render
from teaser.app.pages.view.visitor import ensure_person, visitor_of
from teaser.app.pages.view.wish_view import describe_wish
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import AS_FITTED, MAX_FEED_NAME, Event, Feed, State, state_after
from teaser.app.store import StoredShare
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
def make_share(
    request: Request,
    feed: Annotated[FormText, Form()] = "",
    main_feed: Annotated[FormText, Form()] = "",
) -> Response:
    """Make a link to the present state, or to one feed of it."""
    need_own_origin(request)
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    # All is read before the link is made: nothing that fails afterwards can lose its token.
    state, shares = services.store.state(person_id), services.store.shares(person_id)
    visitor = replace(visitor, person_id=person_id)
    context = PageContext(visitor, catalogue_of(request), state, State(), None)
    link, made = services.store.make_share(person_id, feed if feed or main_feed else None)
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
@uses_store
def shared(request: Request, token: str) -> Response:
    """Show a shared profile or feed and its list, read-only."""
    store = services_of(request).store
    if (found := store.shared_feed(token)) is not None:
        return _shared_feed_page(request, token, *found)
    state = store.shared_state(token)
    if state is None:
        raise UnknownShareError
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    personal = PersonalModel(catalogue, state)
    shown = profile_parts(texts, profile_view(personal, texts, is_own=False), steer=False)
    return render(
        request,
        visitor,
        "shared.html",
        title=texts("A shared profile"),
        steer=False,
        profile={name: PLAIN.html(parts) for name, parts in shown.items()},
        history=[plain_card(catalogue, i, texts) for i in reversed(personal.history)],
        cards=card_views(personal, personal.rank(), texts),
        balance=describe_balance(state.balance, texts) if personal.can_balance else None,
    )


def _shared_feed_page(request: Request, token: str, name: str, feed: Feed) -> Response:
    """Show what a feed asks for and the list of somebody new who has it; nothing of its owner."""
    visitor = visitor_of(request, with_person=False)
    texts, catalogue = visitor.texts, catalogue_of(request)
    personal = PersonalModel(catalogue, state_of_feed(feed))
    clock = Clock.at(catalogue)
    return render(
        request,
        visitor,
        "shared_feed.html",
        title=name or texts("A shared feed"),
        steer=False,
        name=name,
        token=token,
        presses=list(personal.presses.items()),
        ends=ending_presses(personal.state, catalogue, texts, clock, most=MAX_LISTED),
        n_ends=len(personal.state.ends),
        filters=[
            describe_wish(wish, catalogue, texts, clock.today)
            for wish in filter_wishes(feed.filters)
        ],
        variety=feed.variety,
        balance=describe_balance(feed.balance, texts)
        if catalogue.model.has_remainder and feed.balance != AS_FITTED
        else None,
        cards=card_views(personal, personal.rank(), texts),
    )


def state_of_feed(feed: Feed) -> State:
    """Return the state of somebody of whom nothing is known, with one feed."""
    return state_after(State(), Event("make_feed", {"feed": "shared", "copy": feed.to_json()}))


@router.post("/s/{token}")
@uses_store
def start_from_feed(request: Request, token: str) -> Response:
    """Copy a shared feed among the visitor's own, and show it."""
    need_own_origin(request)
    services, visitor = services_of(request), visitor_of(request)
    found = services.store.shared_feed(token)
    if found is None:
        raise UnknownShareError
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
    return Response(found, media_type="application/json", headers=headers)


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
        n_actions=context.state.n_events,
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
