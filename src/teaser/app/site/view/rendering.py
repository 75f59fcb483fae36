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
from teaser.app.site.view.card_view import BoostRow, ReasonRow, ViewedRow
from teaser.app.site.view.profile_view import TagRow
from teaser.app.site.view.visitor import DURATIONS, THEMES, Visitor

_COLOURS = 6
# About 8 MB. Of the parts that pages of 32 visitors to 1,200 items need, 98 % are found among so
# many, and 95 % among half as many.
_MAX_PARTS = 8_000
# These stand for what differs from card to card in a line that is kept once for all cards. They are
# drawn anew in each process, so that no text of the data holds them.
_PERCENT, _WHERE = token_hex(), token_hex()


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


def tag_lines(texts: Texts, rows: Iterable[TagRow], where: str, steer: bool) -> Markup:
    """Return the rows of tags with their bars and steppers."""
    language = texts.language
    lines: list[str] = []
    for row in rows:
        steps = row.presses, row.can_fall, row.can_rise
        lines += (
            part("tag_name", language, row.text, row.label, row.is_found, steer, row.is_hidden),
            part("tag_bar", language, texts.signed(row.affinity), row.side, row.length),
            part("tag_steps", language, row.text, row.name, *steps, where, steer, row.ends),
        )
    return Markup("".join(lines))  # noqa: S704 - parts are escaped


def reason_lines(texts: Texts, reasons: Iterable[ReasonRow], where: object, steer: bool) -> Markup:
    """Return the rows of the reasons of a card, or of its general appeal."""
    lines = []
    for reason in reasons:
        row = reason.row
        share = texts.percent(reason.share, sign=True), reason.side
        if isinstance(row, ViewedRow):
            viewed = row.item_id, row.title, row.disliked
            lines.append(_line("viewed_line", texts.language, share, viewed, where, steer))
            continue
        if isinstance(row, BoostRow):
            lines.append(part("boost_line", texts.language, *share, row.name, row.promotes))
            continue
        steps = row.presses, row.can_fall, row.can_rise
        name = row.text, row.label, row.others, row.is_found
        values = *name, reason.matters_more, *steps
        lines.append(_line("reason_line", texts.language, share, values, where, steer))
    return Markup("".join(lines))  # noqa: S704 - parts are escaped


def _line(
    name: str,
    language: str,
    share: tuple[str, str],
    values: tuple[Any, ...],
    where: object,
    steer: bool,
) -> str:
    """Return the line of a reason: the same for all cards but for its share and its place."""
    percent, side = share
    kept = str(part(name, language, _PERCENT, side, *values, _WHERE, steer))
    return kept.replace(_PERCENT, escape(percent)).replace(_WHERE, escape(where))


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
    environment.globals.update(part=part, tag_lines=tag_lines, reason_lines=reason_lines)
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
