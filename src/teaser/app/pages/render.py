"""Pages from templates, in the language of the visitor who made the request."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from teaser._version import __version__
from teaser.app.cookies import LANGUAGE, LASTS, SKIPPED, THEME, holder_of, new_token, read_cookies
from teaser.app.dependencies import Services, brand_of, services_of
from teaser.app.i18n.texts import LANGUAGES, Texts, choose_language, texts_in
from teaser.app.state import State
from teaser.data.tags import Tag

THEMES = ("auto", "light", "dark")
DURATIONS = ("always", "week", "today")
# The header by which the page's script asks for the page itself in answer to a form.
SCRIPT = "x-teaser-script"
_N_COLOURS = 6
# The longest address that forms repeat, in letters; the forms of a longer one lead home.
_MAX_PATH = 8_000


@dataclass(frozen=True)
class Visitor:
    """What the headers of a request say about its sender.

    Attributes
    ----------
    person_id
        The person who holds the token in the cookie; None for a new visitor.
    texts
        The texts in the visitor's language.
    theme
        `auto`, `light` or `dark`.
    has_skipped
        Whether the visitor skipped the quick start.
    has_script
        Whether the page's script sent the request.
    lasts
        How long the visitor's next presses count: `always`, `week` or `today`.
    token
        The token in the cookie, if it belongs to a person or this server signed it.
    """

    person_id: str | None
    texts: Texts
    theme: str
    has_skipped: bool
    has_script: bool
    lasts: str = "always"
    token: str | None = None


def visitor_of(
    request: Request, *, with_person: bool = True, trusts_signature: bool = False
) -> Visitor:
    """Return the visitor who made a request.

    `with_person=False` spares the query to the store; `trusts_signature` is that of `holder_of`.
    """
    services = services_of(request)
    cookies, store = read_cookies(request.cookies, services.settings), services.store
    token, person_id = None, None
    if with_person:
        token, person_id = holder_of(cookies, store, trusts_signature=trusts_signature)
    theme, lasts = cookies.get(THEME, "auto"), cookies.get(LASTS, "always")
    language = choose_language(cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return Visitor(
        person_id=person_id,
        texts=texts_in(language),
        theme=theme if theme in THEMES else "auto",
        has_skipped=SKIPPED in cookies,
        has_script=SCRIPT in request.headers,
        lasts=lasts if lasts in DURATIONS else "always",
        token=token,
    )


def ensure_person(visitor: Visitor, services: Services) -> tuple[str, str | None]:
    """Return the visitor's person and, if it was just created, the token for the cookie."""
    if visitor.person_id is not None:
        return visitor.person_id, None
    token = visitor.token or new_token(services.store.signing_key)
    return services.store.create_person(token=token)


def render(
    request: Request,
    visitor: Visitor,
    template: str,
    *,
    status: int = 200,
    state: State | None = None,
    **values: Any,
) -> HTMLResponse:
    """Return a page in the visitor's language.

    `state` is that of the visitor's person; a page without it has no buttons that act.
    """
    texts, brand = visitor.texts, brand_of(request)
    common = {
        "t": texts,
        "visitor": visitor,
        "brand": brand,
        "title": brand.name,
        "page_path": _page_path(request),
        "summary": None,
        "state": state,
        "has_done": state is not None and state.n_events > 0,
        "can_undo": state is not None and state.undoable is not None,
        "can_redo": state is not None and state.redoable is not None,
    }
    headers = {
        "content-language": texts.language,
        "vary": "cookie, accept-language",
        "cache-control": "no-store",
    }
    return HTMLResponse(render_part(template, **(common | values)), status, headers)


def render_part(template: str, **values: Any) -> str:
    """Return the text of a template."""
    return environment().get_template(template).render(values)


def path_part(value: Any) -> str:
    """Return the last part of an item's address.

    Browsers remove the parts `.` and `..` from a path, so these ids go into the query.
    """
    text = str(value)
    return f"?id={text}" if text in (".", "..") else quote(text, safe="")


def _page_path(request: Request) -> str:
    """Return the address of a page without the parameters about the last action."""
    if request.method != "GET":
        return "/"
    query = [(k, v) for k, v in request.query_params.multi_items() if k not in ("did", "far")]
    path = quote(request.url.path) + (f"?{urlencode(query)}" if query else "")
    return path if len(path) <= _MAX_PATH else "/"


@cache
def environment() -> Environment:
    """Return the templates of the site."""
    found = Environment(
        loader=PackageLoader("teaser.app.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals.update(
        version=__version__, languages=LANGUAGES, themes=THEMES, durations=DURATIONS
    )
    found.filters.update(path_part=path_part, compact=_compact, colour=_colour, tag_label=_label)
    found.globals.update(parts=found.get_template("parts.html").module)
    return found


def compile_templates() -> None:
    """Compile all templates, so that no visitor waits for it."""
    for name in environment().list_templates():
        environment().get_template(name)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _colour(value: Any) -> int:
    """Return the number of a colour for a name, always the same for one name."""
    return sum(str(value).encode()) % _N_COLOURS


def _label(tag: Tag, t: Texts) -> str:
    """Return a tag among other names; a group is named by titles, so it stands in quotes."""
    return t("“{name}”", name=t.tag(tag)) if tag.discovered else t.full_tag(tag)
