"""The cookie that identifies a visitor: a signed random token, whose hash the store keeps."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response

from teaser.app.database import StoreThreads
from teaser.app.http.cookies import (
    TOKEN,
    carry_over,
    is_signed,
    new_token,
    read_cookies,
    remember,
)
from teaser.app.http.middleware import MONITORING, Message, Receive, Scope, Send
from teaser.app.settings import Settings
from teaser.app.store import Store, id_of
from teaser.errors import StoreError

T = TypeVar("T")
_PATIENCE = 0.25  # seconds; a page that needs no store does not wait for a cookie


def holder_of(
    cookies: Mapping[str, str], store: Store, *, trusts_signature: bool = False
) -> tuple[str | None, str | None]:
    """Return the token in the site's cookies, and the id of the person who holds it.

    With `trusts_signature` the store is not asked about a signed token, so that the person may not
    be there.

    A token that belongs to nobody is returned only if this server signed it. Otherwise somebody
    could plant a token of their choice in a browser and read the profile later.
    """
    token = cookies.get(TOKEN)
    if not token:
        return None, None
    is_own = is_signed(token, store.signing_key)
    if is_own and trusts_signature:
        return token, id_of(token)
    person_id = store.find_person(token)
    return (None, None) if person_id is None and not is_own else (token, person_id)


class FirstCookie:
    """ASGI middleware that gives a browser its token with the first page.

    Two tabs that act at once for the first time then send the same token, and make one person.
    Nothing is stored until a visitor does something.
    """

    def __init__(
        self, app: Any, *, store: Store, threads: StoreThreads, settings: Settings
    ) -> None:
        self.app = app
        self.store = store
        self.threads = threads
        self.settings = settings
        self._key: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        cookies = await self._cookies(scope) if _may_be_page(scope) else []
        if not cookies:
            await self.app(scope, receive, send)
            return

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = MutableHeaders(raw=list(message.get("headers", ())))
                if headers.get("content-type", "").startswith("text/html"):
                    message["headers"] = headers.raw + cookies
            await send(message)

        await self.app(scope, receive, send_with_cookies)

    async def _cookies(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return the headers that set a new token; none for a visitor who has a valid one.

        Cookies under names of before are removed, see `carry_over`.
        """
        given, response = Request(scope).cookies, Response()
        token = read_cookies(given, self.settings).get(TOKEN)
        try:
            if not await self._is_valid(token):
                remember(response, self.settings, TOKEN, new_token(await self._signing_key()))
        except StoreError:
            return []  # pages that need no database are shown without one
        carry_over(response, self.settings, given)
        return [(name, value) for name, value in response.raw_headers if name == b"set-cookie"]

    async def _is_valid(self, token: str | None) -> bool:
        if not token:
            return False
        signed = is_signed(token, await self._signing_key())
        return signed or await self._ask(partial(self.store.find_person, token)) is not None

    async def _signing_key(self) -> bytes:
        if self._key is None:
            self._key = await self._ask(lambda: self.store.signing_key)
        return self._key

    async def _ask(self, question: Callable[[], T]) -> T:
        return await self.threads.run(question, patience=_PATIENCE)


def _may_be_page(scope: Scope) -> bool:
    """Return whether a request may be for a page whose visitor needs a token.

    Readers of a shared profile, and visitors who have just deleted their data, do not.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    path = scope["path"]
    is_exempt = path.startswith(("/s/", "/api/", "/static/"))
    return not is_exempt and path not in (*MONITORING, "/deleted")
