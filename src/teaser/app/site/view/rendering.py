"""Templates to responses: whole pages, or the parts that the page's script replaces."""

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from teaser._version import __version__
from teaser.app.dependencies import brand_of
from teaser.app.i18n.texts import LANGUAGES, Texts, texts_in
from teaser.app.people.state import State
from teaser.app.site.view.card_view import BoostRow, CardView, ReasonRow, ViewedRow
from teaser.app.site.view.piece import PLAIN, Piece, Pieces
from teaser.app.site.view.profile_view import FeatureView, TagRow
from teaser.app.site.view.visitor import DURATIONS, THEMES, Visitor

_COLOURS = 6
# About 8 MB. Of the parts that pages of 32 visitors to 1,200 items need, 98 % are found among so
# many, and 95 % among half as many.
_MAX_PARTS = 8_000
# These stand for what differs from card to card in a line that is kept once for all cards. They are
# drawn anew in each process, so that no text of the data holds them.
_PERCENT, _WHERE = token_hex(), token_hex()
# This stands before the buttons of a line.
_CUT = token_hex()


def render(
    request: Request, visitor: Visitor, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page in the visitor's language."""
    t, brand = visitor.texts, brand_of(request)
    defaults = {
        "summary": None,
        "state": None,
        "steer": True,
        "page_path": _page_path(request),
        "title": brand.name,
    }
    page = _environment().get_template(template)
    text = page.render({**defaults, **values, "t": t, "visitor": visitor, "brand": brand})
    headers = {
        "content-language": t.language,
        "vary": "cookie, accept-language, x-teaser-fragment",
        "cache-control": "no-store",
    }
    return HTMLResponse(text, status, headers)


def render_part(template: str, **values: Any) -> Markup:
    """Return a part of a page."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704


@lru_cache(maxsize=_MAX_PARTS)
def part(name: str, language: str, *values: Any) -> Markup:
    """Return the output of a macro of parts.html, cached: an action changes few parts."""
    macro = getattr(_environment().get_template("parts.html").module, name)
    return Markup(macro(texts_in(language), *values))  # noqa: S704


def tag_lines(
    texts: Texts, rows: Iterable[TagRow], where: str, steer: bool, pieces: Pieces = PLAIN
) -> Markup:
    """Return the rows of tags with their bars and steppers."""
    return _joined(_tag_pieces(texts, rows, where, steer, pieces))


def reason_lines(
    texts: Texts,
    reasons: Iterable[ReasonRow],
    where: object,
    steer: bool,
    pieces: Pieces = PLAIN,
) -> Markup:
    """Return the rows of the reasons of a card, or of its general appeal."""
    parts = _reason_parts(texts, reasons, where, steer, pieces)
    return Markup("".join([_html(each) for each in parts]))  # noqa: S704 - parts are escaped


def feature_lines(
    texts: Texts, features: Iterable[FeatureView], steer: bool, pieces: Pieces = PLAIN
) -> Markup:
    """Return the features of a profile with their tags."""
    language, found = texts.language, []
    for place, f in enumerate(features, start=1):
        start = part("feature", language, f.name, f.is_open)
        impact = part("impact", language, f.label, texts.percent(f.impact), f.length)
        rows = _tag_pieces(texts, f.rows, "p", steer, pieces)
        inner: list[Piece | str] = [impact]
        inner.append(pieces.element(part("rows", language, "tags", f.name), rows, "</ul>"))
        if f.more:
            more = _tag_pieces(texts, f.more, "p", steer, pieces)
            listed = pieces.element(part("rows", language, "rest", f.name), more, "</ul>")
            head = part("more", language, f.name, f.label, f.n_more)
            inner.append(pieces.element(head, [listed], "</details>"))
        elif f.n_more and not steer:
            inner.append(part("more_hint", language, f.n_more))
        elif f.n_more:
            by_search = part("more_by_search", language, f.name, f.label, f.n_more, place)
            inner.append(pieces.leaf(by_search))
        found.append(pieces.element(start, inner, "</details>"))
    return _joined(found)


def actions(texts: Texts, page_path: str, state: State | None, theme: str) -> Markup:
    """Return the buttons at the top of a page."""
    known = state is not None
    can = (
        (bool(state.undoable), bool(state.redoable), state.n_events > 0) if state else (False,) * 3
    )
    kept = part("actions", texts.language, _WHERE, theme, known, *can)
    return Markup(kept.replace(_WHERE, escape(page_path)))  # noqa: S704 - parts are escaped


def card_lines(
    texts: Texts, entries: Iterable[CardView], steer: bool = True, pieces: Pieces = PLAIN
) -> Markup:
    """Return the cards of a list."""
    return _joined(_card(texts, entry, steer, pieces) for entry in entries)


def _card(texts: Texts, entry: CardView, steer: bool, pieces: Pieces) -> Piece:
    c, language = entry.card, texts.language
    cover = part("cover", language, c.item_id, c.title, c.has_picture, steer)
    inner: list[Piece | str] = [pieces.leaf(cover)]
    if steer:
        inner.append(pieces.leaf(part("tick", language, c.item_id, c.title)))
    inner.append('<div class="inside">')
    if entry.match is None:
        inner.append(part("popular", language, entry.ordered_by, entry.moved))
    else:
        inner.append(part("match", language, texts.percent(entry.match), entry.moved))
    inner.append(part("heading", language, c.item_id, c.title, entry.facts, steer))
    if entry.drawn:
        inner.append(_strip(entry.drawn))
    if entry.reasons:
        reasons = _reason_parts(texts, entry.reasons, c.item_id, steer, pieces)
        inner += [part("why", language, c.title), *reasons, "</ul>"]
    if entry.general:
        general = _reason_parts(texts, [entry.general], c.item_id, steer, pieces)
        inner += [part("why_general", language), *general, "</ul>"]
    if steer:
        inner.append(pieces.leaf(part("doing", language, c.item_id, c.title)))
    return pieces.element(part("card", language, c.item_id), inner, "</div></article></li>")


def _strip(reasons: Iterable[ReasonRow]) -> str:
    drawn = [
        f'<rect class="{reason.classes}" x="{reason.start}" width="{reason.width}"/>'
        for reason in reasons
    ]
    start = '<svg class="strip" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
    return f"{start}{''.join(drawn)}</svg>"


def _tag_pieces(
    texts: Texts, rows: Iterable[TagRow], where: str, steer: bool, pieces: Pieces
) -> list[Piece]:
    language, found = texts.language, []
    for row in rows:
        steps = row.presses, row.can_fall, row.can_rise
        parts = (
            part("tag_name", language, row.text, row.label, row.is_found, steer, row.is_hidden),
            part("tag_bar", language, texts.signed(row.affinity), row.side, row.length),
            part("tag_steps", language, row.text, row.name, *steps, where, steer, row.ends),
        )
        found.append(pieces.leaf("".join(parts)))
    return found


def _reason_parts(
    texts: Texts, reasons: Iterable[ReasonRow], where: object, steer: bool, pieces: Pieces
) -> list[Piece | str]:
    """Return the rows of reasons; their buttons are pieces, as shares change more often."""
    language, found, place = texts.language, list[Piece | str](), escape(where)
    for reason in reasons:
        row = reason.row
        percent, side = texts.percent(reason.share, sign=True), reason.side
        if isinstance(row, BoostRow):
            found.append(part("boost_line", language, percent, side, row.name, row.promotes))
            continue
        values: tuple[Any, ...]
        if isinstance(row, ViewedRow):
            name, values = "viewed_line", (row.item_id, row.title, row.disliked)
        else:
            steps = row.presses, row.can_fall, row.can_rise
            own = row.text, row.label, row.others, row.is_found
            name, values = "reason_line", (*own, reason.matters_more, *steps)
        # A line is kept once for all cards: they differ by the share and by the place only.
        kept = part(name, language, _PERCENT, side, *values, _WHERE, steer)
        start, control = str.split(kept, _CUT)
        found.append(start.replace(_PERCENT, escape(percent)))
        if control:
            found.append(pieces.leaf(control.replace(_WHERE, place)))
        found.append("</li>")
    return found


def _html(part: Piece | str) -> str:
    return part if isinstance(part, str) else part.html


def _joined(found: Iterable[Piece]) -> Markup:
    return Markup("".join([piece.html for piece in found]))  # noqa: S704 - parts are escaped


def path_part(value: Any) -> str:
    """Return the last part of an item's address.

    Browsers remove the parts `.` and `..` from a path, so these ids go into the query.
    """
    text = str(value)
    return f"?id={text}" if text in (".", "..") else quote(text, safe="")


# The letters of an address that forms repeat; the forms of a page with a longer one lead home.
_MAX_PATH = 8_000


def _page_path(request: Request) -> str:
    """Return the address of a page without the parameters about the last action."""
    if request.method != "GET":
        return "/"
    query = [(k, v) for k, v in request.query_params.multi_items() if k not in ("did", "far")]
    path = quote(request.url.path) + (f"?{urlencode(query)}" if query else "")
    return path if len(path) <= _MAX_PATH else "/"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("teaser.app.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(version=__version__, languages=LANGUAGES, themes=THEMES)
    environment.globals.update(durations=DURATIONS)
    environment.globals.update(part=part, tag_lines=tag_lines, feature_lines=feature_lines)
    environment.globals.update(card_lines=card_lines, actions=actions)
    environment.globals.update(pieces=PLAIN, plain=PLAIN, cut=_CUT)
    environment.filters.update(
        path_part=path_part,
        compact=_compact,
        colour=_colour,
        # The name of a group is a list of titles, so among other names it stands in quotes.
        tag_label=lambda tag, t: (
            t("“{name}”", name=t.tag(tag)) if tag.discovered else t.full_tag(tag)
        ),
    )
    return environment


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _colour(value: Any) -> int:
    """Return the number of a colour for a name, always the same for one name."""
    return sum(str(value).encode()) % _COLOURS
