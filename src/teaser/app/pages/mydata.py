"""The visitor's own data: share links, export, import, deletion; calendars and RSS.

Calendars are iCalendar, RFC 5545.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from xml.etree import ElementTree

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import UploadFile

from teaser.app.api.requests import GivenExport
from teaser.app.api.responses import export_of
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.http import (
    TOKEN,
    StoreRoute,
    catalogue_of,
    forget,
    own_origin,
    services_of,
    without_store,
)
from teaser.app.pages.cards import card_views, plain_card
from teaser.app.pages.describe import describe_balance, describe_filters, ending_presses
from teaser.app.pages.profile import feature_views, general_row, profile_view
from teaser.app.pages.render import (
    Form,
    PageContext,
    act_and_show,
    ensure_person,
    page_context_of,
    path_part,
    render,
    visitor_of,
    with_token,
)
from teaser.app.state import AS_FITTED, MAX_FEED_NAME, Event, Feed, State, state_after
from teaser.app.store import StoredShare
from teaser.data.matrix import ItemId
from teaser.errors import UnknownNameError

router = APIRouter(route_class=StoreRoute)

# The items of a feed that are sent, and the octets of a line of a calendar.
_LENGTH = 50
_LINE = 75
_PLACES = ("place", "location", "venue", "address", "city", "town")
_ESCAPED = re.compile(r"[\\;,]")


@router.get("/share")
def offer_share(request: Request) -> Response:
    """Offer to make a link to the profile, and list the links in use."""
    context = page_context_of(request)
    person_id = context.visitor.person_id
    shares = services_of(request).store.shares(person_id) if person_id else []
    return _share_page(request, context, shares, None)


@router.post("/share")
def make_share(request: Request, form: Form) -> Response:
    """Make a link to the present state, or to one feed of it."""
    visitor, services = visitor_of(request), services_of(request)
    person_id, token = ensure_person(visitor, services)
    feed = str(form.get("feed", ""))
    # All is read before the link is made: nothing that fails afterwards can lose its token.
    state, shares = services.store.state(person_id), services.store.shares(person_id)
    context = PageContext(visitor, catalogue_of(request), state, State(), None)
    link, made = services.store.make_share(
        person_id, feed if feed or form.get("main_feed") else None
    )
    return with_token(_share_page(request, context, [*shares, made], link), request, token)


@router.post("/share/end")
def end_share(request: Request, form: Form) -> Response:
    """Revoke one of the visitor's links."""
    visitor, services = visitor_of(request), services_of(request)
    if visitor.person_id is None:
        raise UnknownNameError("share")
    services.store.revoke_share(visitor.person_id, str(form.get("share_id", "")))
    return RedirectResponse("/share?ended=1#links", 303)


def _share_page(
    request: Request, context: PageContext, shares: list[StoredShare], link: str | None
) -> Response:
    """Show the links in use; `link` is the token of the last one, if it was just made."""
    return context.render(
        request,
        "share.html",
        title=context.texts("Share"),
        page_path="/share",
        link=f"{own_origin(request)}/s/{link}" if link else None,
        shares=list(reversed(shares)),
        newest=shares[-1] if link else None,
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
        name=name,
        token=token,
        has_dates=catalogue.dates is not None,
        presses=list(personal.presses.items()),
        ends=ending_presses(personal.state, catalogue, texts),
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


def _feed_of(request: Request, token: str) -> tuple[str, Feed]:
    found = services_of(request).store.shared_feed(token)
    if found is None:
        raise UnknownNameError("share")
    return found


@router.post("/s/{token}")
def start_from_feed(request: Request, token: str) -> Response:
    """Copy a shared feed among the visitor's own, and show it."""
    services, visitor, found = services_of(request), visitor_of(request), _feed_of(request, token)
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


@router.get("/calendar/{item_id:path}")
@without_store
def event_calendar(request: Request, item_id: str) -> Response:
    """Send one event as a calendar."""
    catalogue = catalogue_of(request)
    card = catalogue.card(item_id)
    if catalogue.times(card.item_id) is None:
        raise UnknownNameError("event", item_id, hint="Only items with a date are in calendars.")
    return _calendar(request, catalogue, [card.item_id], card.title)


@router.get("/s/{token}/calendar.ics")
def feed_calendar(request: Request, token: str) -> Response:
    """Send the events of a shared feed as a calendar."""
    name, items = _shared_items(request, token)
    return _calendar(request, catalogue_of(request), items, name)


@router.get("/s/{token}/rss.xml")
def feed_rss(request: Request, token: str) -> Response:
    """Send a shared feed as RSS."""
    catalogue, origin = catalogue_of(request), own_origin(request)
    name, items = _shared_items(request, token)
    rss = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(rss, "channel")
    _add(channel, title=name, link=f"{origin}/s/{token}", description=name)
    for item_id in items:
        card, page = catalogue.card(item_id), _page(request, item_id)
        described = [card.date.isoformat()] if card.date else []
        described += [card.description] if card.description else []
        entry = ElementTree.SubElement(channel, "item")
        _add(entry, title=card.title, link=page, guid=page, description="\n".join(described))
    body = ElementTree.tostring(rss, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type="application/rss+xml")


def _shared_items(request: Request, token: str) -> tuple[str, list[ItemId]]:
    """Return the name of a shared feed and its first items, as its page shows them."""
    found, catalogue = _feed_of(request, token), catalogue_of(request)
    personal = PersonalModel(catalogue, state_of_feed(found[1]))
    texts = visitor_of(request, with_person=False).texts
    return found[0] or texts("A shared feed"), personal.listed(k=_LENGTH)


def _calendar(
    request: Request, catalogue: Catalogue, items: Iterable[ItemId], name: str
) -> Response:
    """Return the items that have a date as a calendar."""
    host, now = request.headers.get("host", ""), datetime.now(UTC)
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//TEASER//EN",
        f"X-WR-CALNAME:{_text(name)}",
    ]
    for item_id in items:
        times = catalogue.times(item_id)
        if times is None:
            continue
        card, uid = catalogue.card(item_id), hashlib.sha256(str(item_id).encode()).hexdigest()
        lines += ["BEGIN:VEVENT", f"UID:{uid[:32]}@{host}", f"DTSTAMP:{now:%Y%m%dT%H%M%SZ}"]
        lines += _times(*times)
        lines += [f"SUMMARY:{_text(card.title)}", f"URL:{card.link or _page(request, item_id)}"]
        cells = dict.fromkeys(filter(None, (catalogue.cell(c, item_id) for c in _PLACES)))
        lines += [f"LOCATION:{_text(', '.join(cells))}"] if cells else []
        lines += [f"DESCRIPTION:{_text(card.description)}"] if card.description else []
        lines.append("END:VEVENT")
    body = "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])
    headers = {"content-disposition": 'attachment; filename="calendar.ics"'}
    return Response(body, media_type="text/calendar; charset=utf-8", headers=headers)


def _times(start: date, end: date | None) -> list[str]:
    """Return the lines of a start and an end: whole days without hours, or over several days."""
    first, last = (date(at.year, at.month, at.day) for at in (start, end or start))
    has_hours = any(isinstance(at, datetime) and at.time() != time() for at in (start, end))
    if has_hours and (last - first).days < 2:
        lines = [f"DTSTART:{start:%Y%m%dT%H%M%S}"]
        is_later = isinstance(start, datetime) and isinstance(end, datetime) and end > start
        return [*lines, f"DTEND:{end:%Y%m%dT%H%M%S}"] if is_later else lines
    # The end of whole days is the day after the last.
    after = max(first, last) + timedelta(days=1)
    return [f"DTSTART;VALUE=DATE:{first:%Y%m%d}", f"DTEND;VALUE=DATE:{after:%Y%m%d}"]


def _text(value: str) -> str:
    """Return a text as a calendar takes it: escaped, without control characters."""
    escaped = _ESCAPED.sub(r"\\\g<0>", value).replace("\r\n", "\n").replace("\n", "\\n")
    return _printable(escaped)


def _folded(line: str) -> str:
    """Return a line in pieces of at most 75 octets; no letter is cut."""
    pieces: list[str] = []
    piece, size = "", 0
    for letter in line:
        octets = len(letter.encode())
        if size + octets > _LINE:
            pieces, piece, size = [*pieces, piece], "", 1
        piece, size = piece + letter, size + octets
    return "\r\n ".join([*pieces, piece])


def _add(parent: ElementTree.Element, **children: str) -> None:
    for name, text in children.items():
        ElementTree.SubElement(parent, name).text = _printable(text, kept="\n")


def _printable(text: str, kept: str = "") -> str:
    """Return a text without control characters and lone surrogates, which no format has."""
    return "".join(c for c in text if c in kept or unicodedata.category(c) not in ("Cc", "Cs"))


def _page(request: Request, item_id: ItemId) -> str:
    return f"{own_origin(request)}/item/{path_part(item_id)}"


@router.get("/export")
def export(request: Request) -> Response:
    """Send all stored data of the visitor."""
    visitor, services = visitor_of(request), services_of(request)
    # The id is internal to the server.
    found = export_of(services.store, visitor.person_id, catalogue_of(request), with_id=False)
    headers = {"content-disposition": 'attachment; filename="teaser.json"'}
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
