"""Events for calendars (iCalendar, RFC 5545), and shared feeds as calendars and as RSS."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from xml.etree import ElementTree

from fastapi import APIRouter, Request
from fastapi.responses import Response

from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.http import StoreRoute, catalogue_of, own_origin, services_of, without_store
from teaser.app.pages.mydata import state_of_feed
from teaser.app.pages.render import path_part, visitor_of
from teaser.data.matrix import ItemId
from teaser.errors import UnknownNameError

router = APIRouter(route_class=StoreRoute)

# The items of a feed that are sent, and the octets of a line of a calendar.
_LENGTH = 50
_LINE = 75
_PLACES = ("place", "location", "venue", "address", "city", "town")
_ESCAPED = re.compile(r"[\\;,]")


@router.get("/calendar/{item_id:path}")
@without_store
def event_calendar(request: Request, item_id: str) -> Response:
    """Send one event as a calendar."""
    catalogue = catalogue_of(request)
    found = catalogue.card(item_id or request.query_params.get("id", "")).item_id
    if catalogue.times(found) is None:
        raise UnknownNameError("event", item_id, hint="Only items with a date are in calendars.")
    return _calendar(request, catalogue, [found], catalogue.card(found).title)


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
    return Response(body, media_type="application/rss+xml", headers={"cache-control": "no-store"})


def _shared_items(request: Request, token: str) -> tuple[str, list[ItemId]]:
    """Return the name of a shared feed and its first items, as its page shows them."""
    found = services_of(request).store.shared_feed(token)
    if found is None:
        raise UnknownNameError("share")
    catalogue = catalogue_of(request)
    personal = PersonalModel(catalogue, state_of_feed(found[1]))
    texts = visitor_of(request, with_person=False).texts
    items = catalogue.model.items_
    return found[0] or texts("A shared feed"), [items[i] for i in personal.rank(k=_LENGTH).tolist()]


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
    headers = {
        "cache-control": "no-store",
        "content-disposition": 'attachment; filename="calendar.ics"',
    }
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
