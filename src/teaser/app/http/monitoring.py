"""The routes for monitoring: is the process up, is it ready, its metrics; and who may see them."""

from collections.abc import Callable
from functools import partial

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException

from teaser.app.database import StoreThreads
from teaser.app.http.address_set import AddressSet
from teaser.app.http.middleware import address_of, too_many
from teaser.app.http.rate_limit import RateLimits
from teaser.app.settings import Settings
from teaser.app.store import Store


def add_monitoring(
    app: FastAPI,
    *,
    watchers: "Watchers",
    store: Store,
    threads: StoreThreads,
    is_stale: Callable[[], bool],
    registry: CollectorRegistry,
) -> None:
    """Add `/healthz`, which is open to all, and `/readyz` and `/metrics`, which may not be.

    Parameters
    ----------
    app
        The application.
    watchers
        Who may see them.
    store
        What must be writable for the server to be ready.
    threads
        Where the store is asked.
    is_stale
        Whether the model's folder cannot be used.
    registry
        The metrics.
    """

    @app.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:  # async: a slow database cannot block it
        return PlainTextResponse("ok")

    @app.get("/readyz", include_in_schema=False)
    async def ready(request: Request) -> Response:
        await watchers.check(request)
        await threads.run(store.ping)
        said = "; the model's folder cannot be used, so the model before it is served"
        return PlainTextResponse("ready" + said * is_stale())

    @app.get("/metrics", include_in_schema=False)
    async def show_metrics(request: Request) -> Response:
        await watchers.check(request)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class Watchers:
    """Who may see the routes of monitoring, by address or by key.

    Parameters
    ----------
    settings
        `monitoring` names them.
    store
        The keys.
    threads
        Where the store is asked.
    limits
        The limits on requests.
    """

    def __init__(
        self, settings: Settings, store: Store, threads: StoreThreads, limits: RateLimits
    ) -> None:
        self.addresses = AddressSet(settings.monitoring)
        self.with_key = "key" in [name.strip() for name in settings.monitoring.split(",")]
        self.store = store
        self.threads = threads
        self.limits = limits

    async def check(self, request: Request) -> None:
        """Raise `HTTPException` unless the sender of a request may see the answer."""
        address = address_of(request.scope)
        if address in self.addresses:
            return
        # Other requests for these routes are not limited, so this one has not been counted yet.
        _refuse(self.limits.wait_of_address(address))
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        is_key, key = self.with_key and kind.lower() == "bearer", key.strip()
        if is_key and await self.threads.run(partial(self.store.has_key, key)):
            _refuse(self.limits.wait_of_key(key, address))
            return
        if self.with_key:
            message = "Only some addresses may see this, and whoever sends a key of the API."
            raise HTTPException(401, message, {"WWW-Authenticate": "Bearer"})
        raise HTTPException(403, "Only some addresses may see this. Let TEASER_MONITORING name it.")


def _refuse(seconds: int) -> None:
    """Raise `HTTPException` where there are seconds to wait."""
    if seconds:
        raise HTTPException(429, too_many(seconds).message, {"Retry-After": str(seconds)})
