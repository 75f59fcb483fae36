"""Who asks: the person behind a cookie, the language and colours wanted, and from which site."""

import asyncio
import base64
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders

from teaser.app.dependencies import Services, services_of
from teaser.app.http.middleware import WATCHED
from teaser.app.i18n.texts import Texts, choose_language, texts_in
from teaser.app.people.store import Store
from teaser.errors import ForeignOriginError, StoreError

TOKEN = "teaser"  # noqa: S105 - the name of a cookie
LANGUAGE = "teaser_language"
THEME = "teaser_theme"
SKIPPED = "teaser_skipped"
THEMES = ("auto", "light", "dark")
FRAGMENT = "x-teaser-fragment"
_PORTS = {"http": 80, "https": 443}
_YEAR = 365 * 24 * 3600
_SECRET = 43
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}(?:[A-Za-z0-9_-]{22})?")  # before signatures it was shorter


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
    token
        What they are known by, or will be once they do something; None unless it is of a person,
        or this server gave it out.
    """

    person_id: str | None
    texts: Texts
    theme: str
    has_skipped: bool
    wants_fragment: bool
    token: str | None = None


def visitor_of(request: Request, *, with_person: bool = True) -> Visitor:
    """Return who made a request; without asking the store if their person does not matter."""
    cookies = request.cookies
    store = services_of(request).store
    token, person_id = _holder_of(cookies, store) if with_person else (None, None)
    theme = cookies.get(THEME, "auto")
    language = choose_language(cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return Visitor(
        person_id=person_id,
        texts=texts_in(language),
        theme=theme if theme in THEMES else "auto",
        has_skipped=SKIPPED in cookies,
        wants_fragment=FRAGMENT in request.headers,
        token=token,
    )


def need_own_origin(request: Request) -> None:
    """Refuse a form that was sent from another site, or that does not say from where."""
    site = request.headers.get("sec-fetch-site")
    source = request.headers.get("origin") or request.headers.get("referer")
    own = _origin(source) == own_origin(request) if source else site == "same-origin"
    if not own or site in ("cross-site", "same-site"):
        raise ForeignOriginError


def own_origin(request: Request) -> str | None:
    """Return scheme, host and port under which a request reached this site.

    Behind a proxy that ends https the scheme is what the proxy says, if its word is taken
    (`Settings.proxies`), and https in any case where cookies travel over nothing else.
    """
    secure = services_of(request).settings.secure_cookies
    scheme = "https" if secure else request.url.scheme
    return _origin(f"{scheme}://{request.headers.get('host', '')}")


def _origin(address: str) -> str | None:
    """Return scheme, host and port of an address, the usual port left out; None if it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    host = parts.hostname if port in (None, _PORTS[parts.scheme]) else f"{parts.hostname}:{port}"
    return f"{parts.scheme}://{host}"


def ensure_person(visitor: Visitor, services: Services) -> tuple[str, str | None]:
    """Return the visitor's person, made now if need be, and then the token for their cookie.

    The token is the one that came with their first page: two tabs that act at once for the first
    time both bring it, and so make one person.
    """
    if visitor.person_id is not None:
        return visitor.person_id, None
    token = visitor.token or _new_token(services.store.signing_key)
    return services.store.create_person(token=token)


class FirstCookie:
    """ASGI middleware: with the first page a browser gets the token that it will be known by.

    Nothing is stored until its holder does something.
    """

    def __init__(self, app: Any, *, services: Services) -> None:
        self.app = app
        self.services = services
        self._key: bytes | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one connection."""
        cookie = await self._cookie(scope) if _is_page(scope) else None
        if cookie is None:
            await self.app(scope, receive, send)
            return

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("set-cookie", cookie)
                    message["headers"] = headers.raw
            await send(message)

        await self.app(scope, receive, sent)

    async def _cookie(self, scope: Any) -> str | None:
        """Return the first cookie of whoever has none that counts."""
        store, token = self.services.store, _token(Request(scope).cookies)
        try:
            if self._key is None:
                self._key = await asyncio.to_thread(lambda: store.signing_key)
            if token is not None and not _is_signed(token, self._key):
                token = token if await asyncio.to_thread(store.find_person, token) else None
        except StoreError:
            return None  # a page that needs no database is shown without one
        if token is not None:
            return None
        response = Response()
        remember(response, self.services, TOKEN, _new_token(self._key))
        return response.headers["set-cookie"]


def _is_page(scope: Any) -> bool:
    """Tell whether a page may be asked for, and not by whoever needs no cookie for it.

    Whoever looks at a shared profile, or has just deleted their data, needs none.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    path = scope["path"]
    return not path.startswith(("/s/", "/api/", "/static/")) and path not in (*WATCHED, "/deleted")


def _holder_of(cookies: Mapping[str, str], store: Store) -> tuple[str | None, str | None]:
    """Return the token of a cookie, and whose it is; no token that this server did not give out.

    Else whoever puts a token of their choice into a browser could look in later.
    """
    token = _token(cookies)
    person_id = store.find_person(token) if token else None
    if token is None or (person_id is None and not _is_signed(token, store.signing_key)):
        return None, None
    return token, person_id


def _token(cookies: Mapping[str, str]) -> str | None:
    """Return the token of a cookie, if it has the form of one."""
    token = cookies.get(TOKEN, "")
    return token if _TOKEN.fullmatch(token) else None


def _new_token(key: bytes) -> str:
    secret = secrets.token_urlsafe(32)
    return secret + _signature(secret, key)


def _is_signed(token: str, key: bytes) -> bool:
    return hmac.compare_digest(token[_SECRET:], _signature(token[:_SECRET], key))


def _signature(secret: str, key: bytes) -> str:
    digest = hmac.digest(key, secret.encode(), "sha256")
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")


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
    return text if is_local and text.isprintable() else "/"
