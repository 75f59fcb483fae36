"""The cookie that identifies a visitor: a signed random token, whose hash the store keeps."""

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from itsdangerous import Signer
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response

from teaser.app.http.middleware import MONITORING, Message, Receive, Scope, Send
from teaser.app.people.store import Store
from teaser.app.settings import Settings
from teaser.errors import StoreError

TOKEN = "teaser"  # noqa: S105 - the name of a cookie
_YEAR = 365 * 24 * 3600


def new_token(key: bytes) -> str:
    """Return a new random token, signed with the key of the store."""
    return _signer(key).sign(secrets.token_urlsafe(32)).decode()


def holder_of(cookies: Mapping[str, str], store: Store) -> tuple[str | None, str | None]:
    """Return the token in the cookies, and the id of the person who holds it.

    A token that belongs to nobody is returned only if this server signed it. Otherwise somebody
    could plant a token of their choice in a browser and read the profile later.
    """
    token = cookies.get(TOKEN)
    person_id = store.find_person(token) if token else None
    if not token or (person_id is None and not _signer(store.signing_key).validate(token)):
        return None, None
    return token, person_id


def remember(response: Response, settings: Settings, name: str, value: str) -> None:
    """Set a cookie for a year, hidden from scripts and from requests of other sites."""
    response.set_cookie(
        name,
        value,
        max_age=_YEAR,
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies,
    )


class FirstCookie:
    """ASGI middleware that gives a browser its token with the first page.

    Two tabs that act at once for the first time then send the same token, and make one person.
    Nothing is stored until a visitor does something.
    """

    def __init__(self, app: Any, *, store: Store, settings: Settings) -> None:
        self.app = app
        self.store = store
        self.settings = settings
        self._key: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        cookie = await self._cookie(scope) if _may_be_page(scope) else None
        if cookie is None:
            await self.app(scope, receive, send)
            return

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("set-cookie", cookie)
                    message["headers"] = headers.raw
            await send(message)

        await self.app(scope, receive, send_with_cookie)

    async def _cookie(self, scope: Scope) -> str | None:
        """Return the header that sets a new token; None for a visitor who has a valid one."""
        token = Request(scope).cookies.get(TOKEN)
        try:
            if self._key is None:
                self._key = await asyncio.to_thread(lambda: self.store.signing_key)
            if token and _signer(self._key).validate(token):
                return None
            if token and await asyncio.to_thread(self.store.find_person, token):
                return None
        except StoreError:
            return None  # pages that need no database are shown without one
        response = Response()
        remember(response, self.settings, TOKEN, new_token(self._key))
        return response.headers["set-cookie"]


def _may_be_page(scope: Scope) -> bool:
    """Return whether a request may be for a page whose visitor needs a token.

    Readers of a shared profile, and visitors who have just deleted their data, do not.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    path = scope["path"]
    is_exempt = path.startswith(("/s/", "/api/", "/static/"))
    return not is_exempt and path not in (*MONITORING, "/deleted")


def _signer(key: bytes) -> Signer:
    return Signer(key, salt="teaser.visitor", digest_method=hashlib.sha256)
