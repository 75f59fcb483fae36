"""The application: site, API and monitoring over a model and a store."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from teaser._version import __version__
from teaser.app.api.routes import api_router
from teaser.app.brand import Brand, brand_routes, read_brand
from teaser.app.database import StoreThreads
from teaser.app.errors import add_error_handlers, answer_error
from teaser.app.http import Guard, Observer, RateLimit, RateLimits, Services
from teaser.app.mcp.mount import add_assistants, assistants_running
from teaser.app.models import ModelHolder
from teaser.app.monitoring import Metrics, Traces
from teaser.app.pages import about, embed, home, item, mydata, say, search
from teaser.app.search import check_words
from teaser.app.settings import Settings
from teaser.app.store import Store
from teaser.errors import StoreError

# Requests are bound by computation: more threads would only compete for the processor.
_THREADS = 4
# Our own logs, metrics and traces hold no ids; those of FastAPI would hold paths and queries.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(
    settings: Settings, *, holder: ModelHolder | None = None, migrate: bool = True
) -> FastAPI:
    """Return the application, with the model loaded and the database brought up to date.

    Parameters
    ----------
    settings
        The settings of the server.
    holder
        The model; by default it is loaded here.
    migrate
        Whether to bring the database up to date; `teaser serve` does it once for all workers.
    """
    check_words(settings)
    services, brand = open_services(settings, holder, migrate=migrate), read_brand(settings)
    app = new_app(services, brand)
    app.include_router(api_router(settings))
    for pages in (home, item, search, say, mydata, about, embed):
        app.include_router(pages.router, include_in_schema=False)
    add_assistants(app, services, title=brand.name)
    complete_app(app)
    return app


def open_services(
    settings: Settings, holder: ModelHolder | None = None, *, migrate: bool = True
) -> Services:
    """Load the model unless it is given, and open the database; see `create_app`."""
    holder = holder or ModelHolder(settings)
    seconds = settings.store_timeout
    store = Store(settings.database, max_events=settings.max_events, timeout=seconds)
    if migrate:
        store.migrate()
        store.switch_learning(settings.learn)
    with contextlib.suppress(StoreError):  # a worker may start while the database is away
        _ = store.signing_key  # pages that need no database then get their cookie without it
    limits = RateLimits(RateLimit(settings.rate), RateLimit(settings.key_rate))
    return Services(settings, holder, store, StoreThreads(seconds), limits)


def new_app(services: Services, brand: Brand) -> FastAPI:
    """Return an application without pages, which finds its services in its state."""
    app = FastAPI(
        title=brand.name,
        version=__version__,
        summary="Recommendations that people can read and steer.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        telemetry=_NO_TELEMETRY,
    )
    app.state.services, app.state.brand = services, brand
    app.state.traces = Traces() if services.settings.traces else None
    return app


def complete_app(app: FastAPI) -> None:
    """Add what every application has: files, monitoring, answers to errors, middleware."""
    services: Services = app.state.services
    settings = services.settings
    app.include_router(brand_routes(app.state.brand), include_in_schema=False)
    static = Path(__file__).parent / "pages" / "static"
    app.mount("/static", StaticFiles(directory=static), name="static")
    metrics = Metrics(services.holder)
    _add_monitoring(app, services, metrics)
    add_error_handlers(app)
    app.add_middleware(GZipMiddleware, compresslevel=3)
    app.add_middleware(Guard, services=services, refusal=answer_error)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.proxies)
    app.add_middleware(Observer, settings=settings, metrics=metrics, traces=app.state.traces)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Watch the model while the process serves; then close what is open."""
    services: Services = app.state.services
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    with services.holder.watched():
        async with assistants_running(app):
            yield
    services.store.close()
    if app.state.traces is not None:
        await asyncio.to_thread(app.state.traces.close)


def _add_monitoring(app: FastAPI, services: Services, metrics: Metrics) -> None:
    """Add `/healthz`, `/readyz` and `/metrics`; `Guard` checks who may see the last two."""

    @app.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:  # async: a slow database cannot block it
        return PlainTextResponse("ok")

    @app.get("/readyz", include_in_schema=False)
    async def ready() -> Response:
        await services.threads.run(services.store.ping)
        stale = "; the model's folder cannot be used, so the model before it is served"
        return PlainTextResponse("ready" + stale * (services.holder.load_error is not None))

    @app.get("/metrics", include_in_schema=False)
    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
