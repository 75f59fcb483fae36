"""Templates to responses: the whole page, or the parts of it that its script swaps in place."""

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from teaser._version import __version__
from teaser.app.http.identity import THEMES, Visitor
from teaser.app.i18n.texts import LANGUAGES, Texts, texts_in
from teaser.app.site.view import ReasonRow, TagRow, ViewedRow

_COLOURS = 6


def render(
    request: Request, visitor: Visitor, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page in the visitor's language."""
    t = visitor.texts
    said = {"told": None, "state": None, "steer": True, "here": _here(request), "title": "TEASER"}
    text = (
        _environment()
        .get_template(template)
        .render(
            {**said, **values, "t": t, "visitor": visitor},
        )
    )
    headers = {
        "content-language": t.language,
        "vary": "cookie, accept-language, x-teaser-fragment",
        "cache-control": "no-store",
    }
    return HTMLResponse(text, status, headers)


def render_part(template: str, **values: Any) -> Markup:
    """Return a part of a page."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704


@lru_cache(maxsize=20_000)
def part(name: str, language: str, *values: Any) -> Markup:
    """Return what a macro of parts.html writes, remembered: few parts change with one press."""
    macro = getattr(_environment().get_template("parts.html").module, name)
    return Markup(macro(texts_in(language), *values))  # noqa: S704


def tag_lines(texts: Texts, rows: Iterable[TagRow], where: str, steer: bool) -> Markup:
    """Return the lines of tags with their bars and steppers."""
    language = texts.language
    lines: list[str] = []
    for row in rows:
        name = row.text, row.label
        steps = row.presses, row.can_fall, row.can_rise
        lines += (
            part("tag_name", language, *name, steer),
            part("tag_bar", language, texts.signed(row.affinity), row.side, row.length),
            part("tag_steps", language, *name, *steps, where, steer),
        )
    return Markup("".join(lines))  # noqa: S704 - parts are escaped


def reason_lines(texts: Texts, reasons: Iterable[ReasonRow], where: object, steer: bool) -> Markup:
    """Return the lines of the reasons of a card."""
    lines = []
    for reason in reasons:
        row = reason.row
        share = texts.percent(reason.share, sign=True), reason.side
        if isinstance(row, ViewedRow):
            viewed = *share, row.item_id, row.title, where, steer
            lines.append(part("viewed_line", texts.language, *viewed))
            continue
        steps = row.presses, row.can_fall, row.can_rise
        values = *share, row.text, row.label, reason.matters_more, *steps, where, steer
        lines.append(part("reason_line", texts.language, *values))
    return Markup("".join(lines))  # noqa: S704 - parts are escaped


def path_part(value: Any) -> str:
    """Return the last part of an item's address.

    A browser takes away a part that is `.` or `..`, written in any way, so those are asked for.
    """
    text = str(value)
    return f"?id={text}" if text in (".", "..") else quote(text, safe="")


def _here(request: Request) -> str:
    """Return the address of a page without what only told of the last action."""
    if request.method != "GET":
        return "/"
    query = [(k, v) for k, v in request.query_params.multi_items() if k not in ("did", "far")]
    return quote(request.url.path) + (f"?{urlencode(query)}" if query else "")


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
    environment.globals.update(part=part, tag_lines=tag_lines, reason_lines=reason_lines)
    environment.filters.update(
        path_part=path_part,
        compact=_compact,
        colour=_colour,
        tag_label=lambda tag, texts: texts.tag(tag),
    )
    return environment


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _colour(value: Any) -> int:
    """Return one of a few colours for a name, the same one every time."""
    return sum(str(value).encode()) % _COLOURS
