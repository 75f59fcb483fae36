"""ASGI middleware around every request: host, size and rate checks, security headers."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import lru_cache
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response

from teaser.app.http.rate_limit import RateLimits
from teaser.app.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = Callable[[Scope, "Refused"], Response]


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


class Refused(NamedTuple):
    """Why a request is refused: status, code, message, and seconds until it may come again."""

    status: int
    code: str
    message: str
    retry_after: int = 0


class Guard:
    """Refuse requests for another host or beyond the limits; add headers.

    The scope is changed, so it must not be the server's own.

    Parameters
    ----------
    settings
        The names of this server, the largest request, and whether it is reached by https only.
    limits
        The limits on requests.
    refusal
        Makes the response to a refused request.
    """

    def __init__(
        self,
        app: Any,
        *,
        settings: Settings,
        limits: RateLimits,
        refusal: Refusal,
    ) -> None:
        self.app = app
        self.settings = settings
        self._is_own_host = lru_cache(maxsize=_MAX_HOSTS)(settings.is_own_host)
        self.limits = limits
        self.refusal = refusal

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
        max_body = self.settings.largest_body(scope["path"])
        too_large = Refused(413, "too_large", f"The request is larger than {max_body:,} bytes.")
        received = 0

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_headers(scope["path"], message.get("headers", ()))
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        async def send_answer(message: Message) -> None:
            if received <= max_body:
                await send_guarded(message)
            elif message["type"] == "http.response.start":  # the answer to a truncated body
                await self.refusal(scope, too_large)(scope, receive, send_guarded)

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > max_body:
                raise HTTPException(413, too_large.message)
            return message

        reason = self._refusal_reason(scope) or (too_large if self._is_large(scope) else None)
        if reason is not None:
            await self.refusal(scope, reason)(scope, receive, send_guarded)
        else:
            await self.app(scope, receive_limited, send_answer)

    def _refusal_reason(self, scope: Scope) -> Refused | None:
        """Return why the host or the rate of a request is refused; None if it is not."""
        if scope["path"] == HEALTH:  # whoever asks, by whatever name, learns nothing
            return None
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1 or not self._is_own_host(hosts[0] if hosts else ""):
            return Refused(
                421,
                "unknown_host",
                "This server does not answer under that name. Use its address, or let its "
                "operator add the name with --host-name.",
            )
        if scope["path"] in MONITORING:
            return None
        seconds = self.limits.wait_of_address(address_of(scope))
        return too_many(seconds) if seconds else None

    def _is_large(self, scope: Scope) -> bool:
        length = dict(scope["headers"]).get(b"content-length", b"0")
        is_number = length.isdigit() and len(length) <= 19
        return not is_number or int(length) > self.settings.largest_body(scope["path"])


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
    return Refused(429, "too_many_requests", message, seconds)
