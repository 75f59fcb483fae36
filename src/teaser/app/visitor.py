"""Who asks: the person behind a cookie, the language and colours wanted, and from which site."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from teaser.app.services import Services, services_of
from teaser.app.texts import Texts, choose_language, texts_in

TOKEN = "teaser"  # noqa: S105 - the name of a cookie
LANGUAGE = "teaser_language"
THEME = "teaser_theme"
SKIPPED = "teaser_skipped"
THEMES = ("auto", "light", "dark")
FRAGMENT = "x-teaser-fragment"
_YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class Visitor:
    """What a request says about who made it.

    Attributes
    ----------
    person_id
        Who holds the cookie's token; None for somebody new, or with a token of nobody.
    texts
        The texts of their language.
    theme
        `auto`, `light` or `dark`.
    has_skipped
        Whether they passed over the quick start.
    wants_fragment
        Whether the page's own script asks, for the parts that it swaps in place.
    """

    person_id: str | None
    texts: Texts
    theme: str
    has_skipped: bool
    wants_fragment: bool


def visitor_of(request: Request, *, with_person: bool = True) -> Visitor:
    """Return who made a request; without asking the store if their person does not matter."""
    cookies = request.cookies
    token = cookies.get(TOKEN) if with_person else None
    theme = cookies.get(THEME, "auto")
    language = choose_language(cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return Visitor(
        person_id=services_of(request).store.find_person(token) if token else None,
        texts=texts_in(language),
        theme=theme if theme in THEMES else "auto",
        has_skipped=SKIPPED in cookies,
        wants_fragment=FRAGMENT in request.headers,
    )


def need_own_origin(request: Request) -> None:
    """Refuse a form that was sent from another site, or that does not say from where."""
    host = request.headers.get("host", "")
    site = request.headers.get("sec-fetch-site")
    source = request.headers.get("origin") or request.headers.get("referer")
    own = _netloc(source) == host if source else site == "same-origin"
    if not own or site in ("cross-site", "same-site"):
        raise HTTPException(403, "This form was sent from another site, so nothing was changed.")


def _netloc(address: str) -> str | None:
    """Return the host and port that an address names, or None if it is none."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def ensure_person(visitor: Visitor, services: Services) -> tuple[str, str | None]:
    """Return the visitor's person, made now if need be, and then the token for their cookie."""
    if visitor.person_id is not None:
        return visitor.person_id, None
    return services.store.create_person(with_token=True)


def remember(response: Response, services: Services, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send along."""
    response.set_cookie(
        name,
        value,
        max_age=_YEAR,
        httponly=True,
        samesite="lax",
        secure=services.settings.secure_cookies,
    )


def local_path(text: str) -> str:
    """Return a path on this site as it is, and the first page for anything else."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if is_local and not _netloc(text) and text.isprintable() else "/"
