"""What stands before every request: hosts, size and rate limits, security headers, measurements."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from teaser.app.http.metrics import Metrics, Rate
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
WATCHED = ("/healthz", "/readyz", "/metrics")


class Guard:
    """ASGI middleware: refuse what is too much or meant for another host, add headers, measure.

    Parameters
    ----------
    settings
        Which hosts are ours, and the largest request.
    rate
        How many requests an address may make.
    metrics
        Where answers are counted.
    refusal
        Makes the answer to what is refused, as whoever asked can read it.
    """

    def __init__(
        self, app: Any, *, settings: Settings, rate: Rate, metrics: Metrics, refusal: Refusal
    ) -> None:
        self.app = app
        self.settings = settings
        self.rate = rate
        self.metrics = metrics
        self.refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        if is_head:  # the framework has no answer to it where it has one to GET
            scope = {**scope, "method": "GET"}
        start = time.perf_counter()
        most = self.settings.max_body
        too_large = (413, "too_large", f"The request is larger than {most:,} bytes.")
        seen = 0

        async def measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
                self.metrics.record(message["status"], time.perf_counter() - start)
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        async def answered(message: Message) -> None:
            if seen <= most:
                await measured(message)
            elif message["type"] == "http.response.start":  # whatever was made of a cut body
                await self.refusal(scope, *too_large)(scope, receive, measured)

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, too_large[2])
            return message

        reason = self._refuses(scope) or (too_large if self._is_large(scope) else None)
        if reason is not None:
            await self.refusal(scope, *reason)(scope, receive, measured)
        else:
            await self.app(scope, limited, answered)

    def _refuses(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return why a request is not even looked at, if it is not."""
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1 or not self.settings.is_own_host(hosts[0] if hosts else ""):
            return (
                421,
                "unknown_host",
                "This server does not answer under that name. Use its address, or let its "
                "operator add the name with --host-name.",
            )
        address = (scope.get("client") or ("unknown", 0))[0]
        if scope["path"] in WATCHED or self.rate.allows(address, time.monotonic()):
            return None
        return 429, "too_many_requests", "Too many requests. Wait a minute."

    def _is_large(self, scope: Scope) -> bool:
        length = dict(scope["headers"]).get(b"content-length", b"0")
        is_number = length.isdigit() and len(length) <= 19
        return not is_number or int(length) > self.settings.max_body
