"""ASGI middleware around every request: host, size and rate checks, security headers, metrics."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from teaser.app.http.metrics import Metrics
from teaser.app.http.rate_limit import RateLimit
from teaser.app.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = Callable[[Scope, int, str, str], Response]

HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' https: data:; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
# Paths for monitoring: not limited in rate, always plain text, without cookies.
MONITORING = ("/healthz", "/readyz", "/metrics")


class Guard:
    """Refuse requests for another host or beyond the limits; add headers; count answers.

    Parameters
    ----------
    settings
        The names of this server, the largest request, and whether it is reached by https only.
    rate_limit
        The limit on requests from one address.
    metrics
        Where answers are counted.
    refusal
        Makes the response to a refused request from its scope, status, code and message.
    """

    def __init__(
        self,
        app: Any,
        *,
        settings: Settings,
        rate_limit: RateLimit,
        metrics: Metrics,
        refusal: Refusal,
    ) -> None:
        self.app = app
        self.settings = settings
        self.rate_limit = rate_limit
        self.metrics = metrics
        self.refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        if is_head:  # FastAPI's routes for GET do not answer HEAD
            scope = {**scope, "method": "GET"}
        if self.settings.secure_cookies:  # a proxy ends https and may not say so
            scope = {**scope, "scheme": "https"}
        start = time.perf_counter()
        max_body = self.settings.max_body
        too_large = (413, "too_large", f"The request is larger than {max_body:,} bytes.")
        received = 0

        async def send_measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
                self.metrics.record(message["status"], time.perf_counter() - start)
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        async def send_answer(message: Message) -> None:
            if received <= max_body:
                await send_measured(message)
            elif message["type"] == "http.response.start":  # the answer to a truncated body
                await self.refusal(scope, *too_large)(scope, receive, send_measured)

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > max_body:
                raise HTTPException(413, too_large[2])
            return message

        reason = self._refusal_reason(scope) or (too_large if self._is_large(scope) else None)
        if reason is not None:
            await self.refusal(scope, *reason)(scope, receive, send_measured)
        else:
            await self.app(scope, receive_limited, send_answer)

    def _refusal_reason(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return status, code and message if the host or the rate of a request is refused."""
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1 or not self.settings.is_own_host(hosts[0] if hosts else ""):
            return (
                421,
                "unknown_host",
                "This server does not answer under that name. Use its address, or let its "
                "operator add the name with --host-name.",
            )
        address = (scope.get("client") or ("unknown", 0))[0]
        if scope["path"] in MONITORING or self.rate_limit.allows(address, time.monotonic()):
            return None
        return 429, "too_many_requests", "Too many requests. Wait a minute."

    def _is_large(self, scope: Scope) -> bool:
        length = dict(scope["headers"]).get(b"content-length", b"0")
        is_number = length.isdigit() and len(length) <= 19
        return not is_number or int(length) > self.settings.max_body
