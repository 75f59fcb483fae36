"""Templates to responses: whole pages, or the parts that the page's script replaces."""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from teaser._version import __version__
from teaser.app.brand.brand import Brand
from teaser.app.cache import Cache
from teaser.app.dependencies import brand_of
from teaser.app.i18n.texts import LANGUAGES, Texts, texts_in
from teaser.app.pages.view.card_view import BoostRow, CardView, ReasonRow, ViewedRow
from teaser.app.pages.view.kept_page import KeptPage, PageWriter
from teaser.app.pages.view.page_state import PageState
from teaser.app.pages.view.piece import PLAIN, Part, Piece, Pieces, element, leaf, row
from teaser.app.pages.view.profile_view import FeatureView, ProfileView, TagLists, TagRow
from teaser.app.pages.view.template_cache import TemplateCache
from teaser.app.pages.view.visitor import DURATIONS, THEMES, Visitor

_COLOURS = 6
# About 8 MB. Of the parts that pages of 32 visitors to 1,200 items need, 98 % are found among so
# many, and 95 % among half as many.
_MAX_PARTS = 8_000
# Those of some 200 visitors; see `Why` and `TagLists`.
_MAX_CARDS = 3_000
_MAX_LISTS = 2_000
# Some 15 kB each, with 60 viewed items 50 kB. Longer ones are made anew each time: 200 of 4 MB
# would be too much.
_MAX_PAGES = 200
_MAX_LETTERS = 100_000
# These stand for what differs from card to card in a line that is kept once for all cards. They are
# drawn anew in each process, so that no text of the data holds them.
_PERCENT, _WHERE = token_hex(), token_hex()
# This stands before the buttons of a line.
_CUT = token_hex()


_cards: Cache[tuple[str, Piece, Piece]] = Cache(_MAX_CARDS)
_kept_pages: Cache[KeptPage] = Cache(_MAX_PAGES)


def render(
    request: Request, visitor: Visitor, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page in the visitor's language."""
    defaults = {"summary": None, "state": None, "steer": True, "page_path": _page_path(request)}
    text = _written(template, visitor, brand_of(request), {**defaults, **values})
    return _response(text, visitor, status)


def render_filled(
    request: Request,
    visitor: Visitor,
    template: str,
    filled: Mapping[str, Sequence[Part]],
    held: str,
    *,
    is_kept: bool,
    **values: Hashable,
) -> HTMLResponse:
    """Return a page of which all but `filled` is kept, unless it is long.

    Parameters
    ----------
    filled
        The parts that the template takes from `holes`, by name.
    held
        The versions of the elements that the browser has; see `Pieces`.
    is_kept
        Whether the page is kept at all.
    values
        All else that the template shows. Besides them it gets the brand, and what it may show of
        anybody: language, theme and the like. The page is kept by these, so whoever has the same
        gets the same.
    """
    anybody, brand = replace(visitor, person_id=None, token=None), brand_of(request)
    key = (template, anybody, brand, tuple(filled), tuple(values.items()))
    page = _kept_pages.get(key) if is_kept else None
    if page is None:
        page = _page_with_holes(template, anybody, brand, filled, values)
        if is_kept and page.n_letters <= _MAX_LETTERS:
            _kept_pages.put(key, page)
    return _response(Pieces(held).html(page.filled(filled)), visitor)


def _page_with_holes(
    template: str,
    visitor: Visitor,
    brand: Brand,
    holes: Iterable[str],
    values: Mapping[str, Hashable],
) -> KeptPage:
    writer = PageWriter()
    marks = {name: writer.hole(name) for name in holes}
    given = {**values, "pieces": writer, "holes": marks}
    return writer.read(_written(template, visitor, brand, given))


def _written(template: str, visitor: Visitor, brand: Brand, values: dict[str, Any]) -> str:
    usual = {"title": brand.name, "t": visitor.texts, "visitor": visitor, "brand": brand}
    return _environment().get_template(template).render(usual | values)


def _response(text: str, visitor: Visitor, status: int = 200) -> HTMLResponse:
    headers = {
        "content-language": visitor.texts.language,
        "vary": "cookie, accept-language, x-teaser-fragment",
        "cache-control": "no-store",
    }
    return HTMLResponse(text, status, headers)


def render_part(template: str, **values: Any) -> Markup:
    """Return a part of a page."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704


def fresh_part(name: str, language: str, *values: Any) -> Markup:
    """Return the output of a macro of parts.html."""
    macro = getattr(_environment().get_template("parts.html").module, name)
    return Markup(macro(texts_in(language), *values))  # noqa: S704


@lru_cache(maxsize=_MAX_PARTS)
def part(name: str, language: str, *values: Any) -> Markup:
    """Return the output of a macro of parts.html, cached: an action changes few parts."""
    return fresh_part(name, language, *values)


def placed(name: str, language: str, page_path: str, *values: Any) -> Markup:
    """Return a part that names the page it is on, which is not kept with it."""
    kept = part(name, language, _WHERE, *values)
    # Not by the method of Markup, which looks at each argument again.
    text = str.replace(kept, _WHERE, escape(page_path))
    return Markup(text)  # noqa: S704 - parts are escaped


def tag_lines(texts: Texts, rows: Iterable[TagRow], where: str, steer: bool) -> Markup:
    """Return the rows of tags with their bars and steppers."""
    return PLAIN.html(_tag_pieces(texts, rows, where, steer))


def reason_lines(texts: Texts, reasons: Iterable[ReasonRow], where: object, steer: bool) -> Markup:
    """Return the rows of the reasons of a card, or of its general appeal."""
    return PLAIN.html(_reason_parts(texts, reasons, where, steer))


def profile_parts(texts: Texts, profile: ProfileView, steer: bool) -> dict[str, Sequence[Part]]:
    """Return what the panel of a profile shows, by the names that its macro has for it."""
    told = profile.statements
    parts: dict[str, Sequence[Part]] = {
        "statements": [part("statements", texts.language, told, steer)] if told else [],
        "certainty": [escape(profile.certainty)],
        "features": _feature_pieces(texts, profile.features, steer),
    }
    if profile.general:
        parts["general"] = _tag_pieces(texts, [profile.general], "p", steer)
    return parts


def _feature_pieces(texts: Texts, features: Iterable[FeatureView], steer: bool) -> list[Piece]:
    language, found = texts.language, []
    for place, f in enumerate(features, start=1):
        start = part("feature", language, f.name, f.is_open)
        impact = part("impact", language, f.label, texts.percent(f.impact), f.length)
        shown, rest = _tag_lists(f.lists, language, f.name, steer)
        inner: list[Part] = [impact, shown]
        if rest:
            head = part("more", language, f.name, f.label, f.n_more)
            inner.append(element(head, [rest], "</details>"))
        elif f.n_more and not steer:
            inner.append(part("more_hint", language, f.n_more))
        elif f.n_more:
            inner.append(leaf(part("more_by_search", language, f.name, f.label, f.n_more, place)))
        found.append(element(start, inner, "</details>"))
    return found


@lru_cache(maxsize=_MAX_LISTS)
def _tag_lists(
    lists: TagLists, language: str, name: str, steer: bool
) -> tuple[Piece, Piece | None]:
    """Return the tags of a feature that are shown first, and the others if they are few."""
    texts = texts_in(language)
    rows = _tag_pieces(texts, lists.rows, "p", steer)
    shown = element(part("rows", language, "tags", name), rows, "</ul>")
    if not lists.more:
        return shown, None
    more = _tag_pieces(texts, lists.more, "p", steer)
    return shown, element(part("rows", language, "rest", name), more, "</ul>")


def actions(texts: Texts, page_path: str, state: PageState | None, theme: str) -> Markup:
    """Return the buttons at the top of a page."""
    known = state is not None
    can = (state.can_undo, state.can_redo, state.has_done) if state else (False,) * 3
    return placed("actions", texts.language, page_path, theme, known, *can)


def card_pieces(texts: Texts, entries: Iterable[CardView], steer: bool = True) -> list[Piece]:
    """Return the cards of a list."""
    return [_card(texts, entry, steer) for entry in entries]


def _card_lines(texts: Texts, entries: Iterable[CardView], steer: bool) -> Markup:
    return PLAIN.html(card_pieces(texts, entries, steer))


def _card(texts: Texts, entry: CardView, steer: bool) -> Piece:
    language = texts.language
    if entry.match is None:
        match = part("popular", language, entry.ordered_by, entry.moved)
    else:
        match = part("match", language, texts.percent(entry.match), entry.moved)
    key = entry.why, language, steer
    start, before, after = _cards.find(key, lambda: _around_match(texts, entry, steer))
    return element(start, [before, match, after], "</div></article></li>")


def _around_match(texts: Texts, entry: CardView, steer: bool) -> tuple[str, Piece, Piece]:
    """Return the start of a card, what is before its match, and what is after it."""
    c, language = entry.card, texts.language
    cover = part("cover", language, c.item_id, c.title, c.has_picture, steer)
    before: list[Part] = [leaf(cover)]
    if steer:
        before.append(leaf(part("tick", language, c.item_id, c.title)))
    before.append('<div class="inside">')
    after: list[Part] = [part("heading", language, c.item_id, c.title, entry.facts, steer)]
    if drawn := entry.why.drawn:
        after.append(_strip(drawn))
    if entry.reasons:
        reasons = _reason_parts(texts, entry.reasons, c.item_id, steer)
        after += [part("why", language, c.title), *reasons, "</ul>"]
    if entry.why.general:
        general = _reason_parts(texts, [entry.why.general], c.item_id, steer)
        after += [part("why_general", language), *general, "</ul>"]
    if steer:
        after.append(leaf(part("doing", language, c.item_id, c.title)))
    return part("card", language, c.item_id), row(before), row(after)


def _strip(reasons: Iterable[ReasonRow]) -> str:
    drawn = [
        f'<rect class="{reason.classes}" x="{reason.start}" width="{reason.width}"/>'
        for reason in reasons
    ]
    start = '<svg class="strip" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
    return f"{start}{''.join(drawn)}</svg>"


def _tag_pieces(texts: Texts, rows: Iterable[TagRow], where: str, steer: bool) -> list[Piece]:
    language, found = texts.language, []
    for each in rows:
        steps = each.presses, each.can_fall, each.can_rise
        parts = (
            part("tag_name", language, each.text, each.label, each.is_found, steer, each.is_hidden),
            part("tag_bar", language, texts.signed(each.affinity), each.side, each.length),
            part("tag_steps", language, each.text, each.name, *steps, where, steer, each.ends),
        )
        found.append(leaf("".join(parts)))
    return found


def _reason_parts(
    texts: Texts, reasons: Iterable[ReasonRow], where: object, steer: bool
) -> list[Part]:
    """Return the rows of reasons; their buttons are pieces, as shares change more often."""
    language, found, place = texts.language, list[Part](), escape(where)
    for reason in reasons:
        about = reason.row
        percent, side = texts.percent(reason.share, sign=True), reason.side
        if isinstance(about, BoostRow):
            found.append(part("boost_line", language, percent, side, about.name, about.promotes))
            continue
        values: tuple[Any, ...]
        if isinstance(about, ViewedRow):
            name, values = "viewed_line", (about.item_id, about.title, about.disliked)
        else:
            steps = about.presses, about.can_fall, about.can_rise
            own = about.text, about.label, about.others, about.is_found
            name, values = "reason_line", (*own, reason.matters_more, *steps)
        # A line is kept once for all cards: they differ by the share and by the place only.
        kept = part(name, language, _PERCENT, side, *values, _WHERE, steer)
        start, control = str.split(kept, _CUT)
        found.append(start.replace(_PERCENT, escape(percent)))
        if control:
            found.append(leaf(control.replace(_WHERE, place)))
        found.append("</li>")
    return found


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


def compile_templates() -> None:
    """Compile all templates, so that no visitor waits for it."""
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("teaser.app.pages"),
        bytecode_cache=TemplateCache(Path(__file__)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(version=__version__, languages=LANGUAGES, themes=THEMES)
    environment.globals.update(durations=DURATIONS)
    environment.globals.update(
        part=part, placed=placed, tag_lines=tag_lines, card_lines=_card_lines
    )
    environment.globals.update(actions=actions, pieces=PLAIN, cut=_CUT)
    environment.filters.update(
        path_part=path_part,
        compact=_compact,
        colour=_colour,
        # The name of a group is a list of titles, so among other names it stands in quotes.
        tag_label=lambda tag, t: (
            t("“{name}”", name=t.tag(tag)) if tag.discovered else t.full_tag(tag)
        ),
    )
    # An import in every template would look through all globals for each page.
    environment.globals.update(parts=environment.get_template("parts.html").module)
    return environment


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _colour(value: Any) -> int:
    """Return the number of a colour for a name, always the same for one name."""
    return sum(str(value).encode()) % _COLOURS
