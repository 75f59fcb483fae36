"""What stands before every request: size and rate limits, security headers, measurements."""

import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

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
_MOST_ADDRESSES = 10_000


class Metrics:
    """Counts and times of requests, in the form that Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "teaser_requests", "Requests answered.", ["status"], registry=self.registry
        )
        self.seconds = Histogram(
            "teaser_request_seconds",
            "Time to answer.",
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5),
            registry=self.registry,
        )


class Rate:
    """So many requests a minute from one address: a bucket that refills steadily."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str, now: float) -> bool:
        """Take one request from an address's bucket, if there is one left."""
        if not self.per_minute:
            return True
        level, last = self._buckets.pop(address, (float(self.per_minute), now))
        level = min(self.per_minute, level + (now - last) * self.per_minute / 60)
        self._buckets[address] = (level - 1 if level >= 1 else level, now)
        if len(self._buckets) > _MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        return level >= 1


class Guard:
    """ASGI middleware: refuse what is too much, add headers, measure."""

    def __init__(self, app: Any, *, max_body: int, rate: int, metrics: Metrics) -> None:
        self.app = app
        self.max_body = max_body
        self.rate = Rate(rate)
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        said = f"The request is larger than {self.max_body:,} bytes."
        seen = 0

        async def measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
                self.metrics.requests.labels(str(message["status"])).inc()
                self.metrics.seconds.observe(time.perf_counter() - start)
            await send(message)

        async def answered(message: Message) -> None:
            if seen <= self.max_body:
                await measured(message)
            elif message["type"] == "http.response.start":  # whatever was made of a cut body
                await _refuse(measured, 413, "too_large", said)

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.max_body:
                raise HTTPException(413, said)
            return message

        address = (scope.get("client") or ("unknown", 0))[0]
        length = dict(scope["headers"]).get(b"content-length", b"0")
        is_watch = scope["path"] in WATCHED
        if not is_watch and not self.rate.allows(address, time.monotonic()):
            await _refuse(measured, 429, "too_many_requests", "Too many requests. Wait a minute.")
        elif not length.isdigit() or len(length) > 19 or int(length) > self.max_body:
            await _refuse(measured, 413, "too_large", said)
        else:
            await self.app(scope, limited, answered)


async def _refuse(send: Send, status: int, code: str, message: str) -> None:
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 429:
        headers.append((b"retry-after", b"60"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
