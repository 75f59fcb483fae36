"""ASGI middleware around every request: checks of its head, bounds of its body, headers."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from teaser.app.http.cookies import TOKEN, is_signed, read_cookies
from teaser.app.http.origin import need_own_origin, refuse_other_sites
from teaser.app.settings import is_loopback
from teaser.errors import TeaserError

if TYPE_CHECKING:
    from teaser.app.dependencies import Services

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = Callable[[Scope, "Refused | TeaserError"], Response]


HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' https: data:; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]
_NOT_CACHED = (b"cache-control", b"no-store")
# Paths for monitoring: not limited in rate, never a page, without cookies.
HEALTH = "/healthz"
# The address of assistants, whose errors are those of JSON-RPC.
MCP = "/mcp"
MONITORING = (HEALTH, "/readyz", "/metrics")
_MAX_HOSTS = 100
_API, _ADMIN = "/api/v1/", "/api/v1/admin/"
_PERSON, _PERSON_ID = re.compile("/api/v1/people/([^/]+)"), re.compile("[A-Za-z0-9_-]{43}")
_LENGTH = re.compile("[0-9]{1,19}")
BODY_SECONDS = 10
MAX_BUFFERED = 32 << 20  # bytes of unfinished bodies in one process
_CLOSE = {"Connection": "close"}  # what is left of the body is not read


class Refused(NamedTuple):
    """Why a request is refused: status, code, message, further headers of the answer."""

    status: int
    code: str
    message: str
    headers: dict[str, str] = {}  # noqa: RUF012 - it is never changed


class Guard:
    """Refuse requests by their head, bound their bodies, add headers to answers.

    Host, rate, origin, key and the form of a person's id are checked before a body is read. A body
    is read here as a whole, within its size and time, and then given to the application.

    The scope is changed, so it must not be the server's own.

    Parameters
    ----------
    services
        The settings, the limits on requests, and the store with the keys.
    refusal
        Makes the response to a refused request.
    """

    def __init__(self, app: Any, *, services: "Services", refusal: Refusal) -> None:
        self.app = app
        self.services = services
        self.settings = services.settings
        self._is_own_host = lru_cache(maxsize=_MAX_HOSTS)(self.settings.is_own_host)
        self.refusal = refusal
        self._buffered = 0  # bytes of bodies that have not come to their end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        if is_head:  # FastAPI's routes for GET do not answer HEAD
            scope["method"] = "GET"
        if self.settings.secure_cookies:  # a proxy ends https and may not say so
            scope["scheme"] = "https"

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_headers(scope["path"], message.get("headers", ()))
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        request = Request(scope)
        try:
            reason = self._check_host(request) or await self._check_sender(request)
            body: bytes | Refused | TeaserError = reason or await self._read_body(request, receive)
        except TeaserError as error:
            body = error
        except ClientDisconnect:
            return  # nobody waits for an answer
        if not isinstance(body, bytes):
            await self.refusal(scope, body)(scope, receive, send_guarded)
            return
        first = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive_again() -> Message:
            return next(first, None) or await receive()

        await self.app(scope, receive_again, send_guarded)

    def _check_host(self, request: Request) -> Refused | None:
        """Return why the host or the rate of a request is refused; None if it is not."""
        path = request.scope["path"]
        if path == HEALTH:  # whoever asks, by whatever name, learns nothing
            return None
        hosts = request.headers.getlist("host")
        if len(hosts) > 1 or not self._is_own_host(hosts[0] if hosts else ""):
            return Refused(
                421,
                "unknown_host",
                "This server does not answer under that name. Use its address, or let its "
                "operator add the name with --host-name.",
            )
        if path in MONITORING:
            return None
        seconds = self.services.limits.wait_of_address(address_of(request.scope))
        return too_many(seconds) if seconds else None

    async def _check_sender(self, request: Request) -> Refused | None:
        """Check the key, or the origin where no key is needed, and the form of a person's id."""
        path, writes = request.scope["path"], request.method not in ("GET", "OPTIONS")
        if not (path == MCP or path.startswith(_API)):
            if request.method == "POST":
                need_own_origin(request)
            return None
        is_admin = path.startswith(_ADMIN) and not is_loopback(self.settings.host)
        if self.settings.needs_keys or is_admin:
            if (refused := await self._check_key(request)) is not None:
                return refused
        elif writes:
            refuse_other_sites(request)
        found = _PERSON.match(path) if writes else None
        if found is not None and not _PERSON_ID.fullmatch(found[1]):
            return Refused(422, "invalid", "person_id must be an id as POST /people gave it.")
        return None

    async def _check_key(self, request: Request) -> Refused | None:
        """Return why the key of a request is refused; its requests count for it alone."""
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        key = key.strip()
        needed = {"WWW-Authenticate": "Bearer"}
        if kind.lower() != "bearer" or not key:
            message = "A key is needed. Send it as Authorization: Bearer tk_..."
            return Refused(401, "unauthorized", message, needed)
        if not await self.services.threads.run(partial(self.services.store.has_key, key)):
            return Refused(401, "unauthorized", "This key is not known, or was revoked.", needed)
        seconds = self.services.limits.wait_of_key(key, address_of(request.scope))
        return too_many(seconds) if seconds else None

    async def _largest_body(self, request: Request) -> int:
        """Return the bytes of the largest body; a visitor without a signed cookie imports less."""
        settings, largest = self.settings, self.settings.largest_body(request.scope["path"])
        if request.scope["path"] != "/import":
            return largest
        token, store = read_cookies(request.cookies, settings).get(TOKEN), self.services.store
        if token and is_signed(token, await self.services.threads.run(lambda: store.signing_key)):
            return largest
        return settings.max_body

    async def _read_body(self, request: Request, receive: Receive) -> bytes | Refused:
        """Return the whole body, or why it is refused: too large, too slow, too many at once."""
        if request.method == "GET":
            return b""
        length = request.headers.get("content-length")
        largest = await self._largest_body(request)
        too_large = Refused(
            413, "too_large", f"The request is larger than {largest:,} bytes.", _CLOSE
        )
        if length is not None and not (_LENGTH.fullmatch(length) and int(length) <= largest):
            return too_large
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    part = message.get("body", b"")
                    self._buffered += len(part)
                    body += part
                    if len(body) > largest:
                        return too_large
                    if self._buffered > MAX_BUFFERED:
                        busy = "Too many large requests at once. Try again soon."
                        return Refused(503, "unavailable", busy, {**_CLOSE, "Retry-After": "1"})
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            late = f"The body of the request did not come within {BODY_SECONDS} seconds."
            return Refused(408, "request_timeout", late, _CLOSE)
        finally:
            self._buffered -= len(body)


def _with_headers(path: str, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those of every answer.

    Nothing is cached that does not say so itself: it may be about a person. Static files are left
    to the browser, which asks whether they changed.
    """
    headers = [*given, *HEADERS]
    is_told = any(name.lower() == b"cache-control" for name, _ in headers)
    return headers if is_told or path.startswith("/static/") else [*headers, _NOT_CACHED]


def address_of(scope: Scope) -> str:
    """Return the address of the client, as a trusted proxy says it."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def too_many(seconds: int) -> Refused:
    """Return the refusal of a request that comes too soon."""
    message = f"Too many requests. Wait {seconds} second{'s' * (seconds != 1)}."
    return Refused(429, "too_many_requests", message, {"Retry-After": str(seconds)})
