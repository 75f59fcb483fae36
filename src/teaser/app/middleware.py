"""ASGI middleware: every request is observed, checked by its head and bounded in its body."""

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from teaser.app.cookies import TOKEN, is_signed, new_token, read_cookies, remember
from teaser.app.forms import need_own_origin, refuse_other_sites
from teaser.app.limits import Refused, address_of, is_among, too_many
from teaser.app.monitoring import Metrics, RequestRecord, Traces, begin_request, log_request
from teaser.app.settings import Settings, is_loopback
from teaser.errors import StoreError

if TYPE_CHECKING:
    from teaser.app.dependencies import Services

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = Callable[[Scope, Refused | Exception], Response]

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
_API, _ADMIN = "/api/v1/", "/api/v1/admin/"
_PERSON, _PERSON_ID = re.compile("/api/v1/people/([^/]+)"), re.compile("[A-Za-z0-9_-]{43}")
_LENGTH = re.compile("[0-9]{1,19}")
MAX_BUFFERED = 32 << 20  # bytes of unfinished bodies in one process
_CLOSE = {"Connection": "close"}  # what is left of the body is not read
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
# Pages whose visitors need no cookie: readers of a shared list, those who just deleted their data.
_NO_COOKIE = re.compile("/(s|api|static)/.*|/deleted")
_REQUEST_ID = re.compile("[A-Za-z0-9_-]{8,64}")
_LEFT = 499  # what nginx logs for a client that left before its answer


class Observer:
    """Give every request an id; count, log and trace its answer."""

    def __init__(
        self, app: Any, *, settings: Settings, metrics: Metrics, traces: Traces | None
    ) -> None:
        self.app = app
        self.settings = settings
        self.metrics = metrics
        self.traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope}  # the router writes the route into it
        method = scope["method"] if scope["method"] in _METHODS else "other"
        start, record, status = time.perf_counter(), self._new_record(scope), 0
        has_left = False

        def finish() -> None:
            nonlocal status
            if status < 0:
                return
            seconds, answered = time.perf_counter() - start, _LEFT if has_left else status or _LEFT
            status = -1
            counted, route = ("GET" if method == "HEAD" else method), _route_name(scope)
            if route == "other":
                counted = "other"
            with suppress(OSError):  # a full disk must not fail the request
                self.metrics.count(counted, route, answered, seconds)
            is_noise = scope["path"] in MONITORING or answered in (421, 429)
            facts = {"method": method, "route": route, "status": answered}
            facts["ms"] = round(seconds * 1e3, 1)
            log_request(record, facts, level=logging.DEBUG if is_noise else logging.INFO)
            if self.traces is not None:
                self.traces.end_request(record.span, method, route, answered)

        async def receive_observed() -> Message:
            nonlocal has_left
            message = await receive()
            has_left |= message["type"] == "http.disconnect" and not status
            return message

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = (b"x-request-id", record.request_id.encode())
                message["headers"] = [*message.get("headers", ()), given]
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                finish()  # before it is sent: whoever has it finds it counted
            await send(message)

        begin_request(record)
        try:
            await self.app(scope, receive_observed, send_observed)
        finally:
            finish()

    def _new_record(self, scope: Scope) -> RequestRecord:
        """Return the record of a new request, under the id that a trusted proxy gave it."""
        given: dict[str, str] = {}
        if is_among(address_of(scope), self.settings.proxies):
            names = (b"x-request-id", b"traceparent", b"tracestate")
            found = [(n, v) for n, v in scope["headers"] if n in names]
            given = {name.decode(): value.decode("latin-1") for name, value in found}
        request_id = given.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = os.urandom(8).hex()
        span = self.traces.begin_request(given) if self.traces is not None else None
        return RequestRecord(request_id, self.traces, span)


def _route_name(scope: Scope) -> str:
    """Return the template of the path that a request was handled by, which has no ids in it."""
    if scope["path"].startswith("/static/"):
        return "/static"
    # FastAPI's routes know only the part of their own router; the context has the whole path.
    found = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    return getattr(found, "path_format", "other")


class Guard:
    """Refuse requests by their head, bound their bodies, add headers to answers.

    Host, rate, origin, key and the form of a person's id are checked before a body is read. A body
    is read here as a whole, within its size and time, and then given to the application. A browser
    gets its token with the first page: two tabs that act at once then make one person.

    The scope is changed, so it must not be the server's own.

    Parameters
    ----------
    services
        The settings, the limits on requests, and the store with the keys.
    refusal
        Makes the response to a refused or failed request.
    """

    def __init__(self, app: Any, *, services: "Services", refusal: Refusal) -> None:
        self.app = app
        self.services = services
        self.settings = services.settings
        self.refusal = refusal
        self._is_own_host = lru_cache(maxsize=100)(self.settings.is_own_host)
        self._key: bytes | None = None
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
        request, has_started = Request(scope), False
        cookies: list[tuple[bytes, bytes]] = []

        async def send_guarded(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = _with_headers(scope["path"], message.get("headers", ()))
                kind = dict(headers).get(b"content-type", b"")
                is_page = message["status"] == 200 and kind.startswith(b"text/html")
                message["headers"] = headers + (cookies if is_page else [])
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        try:
            reason = self._check_host(request) or await self._check_sender(request)
            body = reason or await self._read_body(request, receive)
            if isinstance(body, Refused):
                await self.refusal(scope, body)(scope, receive, send_guarded)
                return
            cookies += await self._first_cookie(request)
            first = iter([{"type": "http.request", "body": body, "more_body": False}])

            async def receive_again() -> Message:
                return next(first, None) or await receive()

            await self.app(scope, receive_again, send_guarded)
        except ClientDisconnect:
            return  # nobody waits for an answer
        except Exception as error:
            if has_started:
                raise  # the connection must end: half an answer cannot be taken back
            await self.refusal(scope, error)(scope, receive, send_guarded)

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
        seconds = self.services.limits.wait_of_address(address_of(request))
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
        seconds = self.services.limits.wait_of_key(key, address_of(request))
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
            async with asyncio.timeout(self.settings.idle_timeout):
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
            late = f"The body did not come within {self.settings.idle_timeout:g} seconds."
            return Refused(408, "request_timeout", late, _CLOSE)
        finally:
            self._buffered -= len(body)

    async def _first_cookie(self, request: Request) -> list[tuple[bytes, bytes]]:
        """Return the header that sets a new token; none for a visitor who has a valid one."""
        path, store = request.scope["path"], self.services.store
        if request.method != "GET" or path in MONITORING or _NO_COOKIE.fullmatch(path):
            return []
        token, response = read_cookies(request.cookies, self.settings).get(TOKEN), Response()
        try:
            if (key := self._key) is None:
                run = self.services.threads.run
                key = self._key = await run(lambda: store.signing_key, patience=0.25)
        except StoreError:
            return []  # pages that need no database are shown without one
        if token and is_signed(token, key):
            return []
        remember(response, self.settings, TOKEN, new_token(key))
        return [(name, value) for name, value in response.raw_headers if name == b"set-cookie"]


def _with_headers(path: str, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those of every answer.

    Nothing is cached that does not say so itself: it may be about a person. Static files are left
    to the browser, which asks whether they changed.
    """
    headers = [*given, *HEADERS]
    is_told = any(name.lower() == b"cache-control" for name, _ in headers)
    return headers if is_told or path.startswith("/static/") else [*headers, _NOT_CACHED]
