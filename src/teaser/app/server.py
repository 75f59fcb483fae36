"""The server: one application of site and API over a model and a store."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from prometheus_client import CollectorRegistry
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from teaser._version import __version__
from teaser.app.api.router import complete_document
from teaser.app.api.router import router as api_router
from teaser.app.brand import brand_routes, read_brand
from teaser.app.database import StoreThreads
from teaser.app.dependencies import Services
from teaser.app.error_handlers import add_error_handlers, refusal_of
from teaser.app.http.identity import FirstCookie
from teaser.app.http.metrics import Metrics, ModelStatus
from teaser.app.http.middleware import Guard
from teaser.app.http.monitoring import Watchers, add_monitoring
from teaser.app.http.observer import Observer
from teaser.app.http.rate_limit import RateLimit, RateLimits
from teaser.app.http.route_names import RouteNames
from teaser.app.i18n.texts import LANGUAGES
from teaser.app.mcp.mount import add_assistants, assistants_running, has_assistants
from teaser.app.pages.render import compile_templates
from teaser.app.pages.router import router as pages_router
from teaser.app.serving.catalogue import check_words
from teaser.app.serving.model_holder import ModelHolder
from teaser.app.settings import Settings
from teaser.app.store import Store
from teaser.app.telemetry.traces import Traces
from teaser.app.warm_up import warm_up
from teaser.errors import StoreError
from teaser.model.teaser import Teaser
from teaser.words.phrases import lexicon

_THREADS = 4
_SWITCH_SECONDS = 0.0002
# Our own logs, metrics and traces hold no ids; those of FastAPI would hold paths and queries.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(
    settings: Settings,
    *,
    holder: ModelHolder | None = None,
    reload: Callable[[], str] | None = None,
    is_stale: Callable[[], bool] | None = None,
) -> FastAPI:
    """Return the application: the model loaded, the database brought up to date.

    Parameters
    ----------
    settings
        The settings of the server.
    holder
        The model; by default it is loaded here.
    reload
        Replaces this process by one that reads the model's folder, and returns what the API tells
        about its model, as JSON. By default the model is replaced in this process.
    is_stale
        Whether the model's folder cannot be used. By default the holder knows.
    """
    check_words(settings)
    shared = Path(settings.shared_folder) if settings.shared_folder else None
    holder = holder or load_model(settings)
    seconds = settings.store_timeout
    store = Store(settings.database, max_events=settings.max_events, timeout=seconds)
    if shared is None:  # else the process that made it has migrated for all workers
        store.migrate()
        store.switch_learning(settings.learn)
    with contextlib.suppress(StoreError):  # a worker may start while the database is away
        _ = store.signing_key  # pages that need no database then get their cookie without it
    threads = StoreThreads(seconds)
    limits = RateLimits(
        RateLimit(settings.rate, shared and shared / "rate_limit"),
        RateLimit(settings.key_rate, shared and shared / "key_rate_limit"),
    )
    brand = read_brand(settings)
    services = Services(settings, holder, store, threads, limits, reload)
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
    app.state.traces = Traces() if settings.traces else None
    app.router.routes += _routes()
    complete_document(app, settings)
    app.include_router(brand_routes(brand), include_in_schema=False)
    add_assistants(app, services, title=brand.name)
    static = Path(__file__).parent / "pages" / "static"
    app.mount("/static", StaticFiles(directory=static), name="static")
    add_error_handlers(app)
    app.add_middleware(FirstCookie, store=store, threads=threads, settings=settings)
    app.add_middleware(GZipMiddleware, compresslevel=3)
    app.add_middleware(Guard, services=services, refusal=refusal_of(app))
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.proxies)
    _observe(app, services, shared, is_stale or (lambda: holder.load_error is not None))
    return app


def load_model(settings: Settings, model: Teaser | None = None) -> ModelHolder:
    """Return the model that settings name, or the given one, as they say it is to be served."""
    return ModelHolder(
        settings.model,
        model=model,
        shared_folder=Path(settings.shared_folder) if settings.shared_folder else None,
        base=Path(settings.copies) if settings.copies else None,
        boost=settings.boosts,
        zone=settings.zone,
        warm_up=partial(warm_up, synonyms=settings.synonyms),
    )


def prepare_process(settings: Settings) -> None:
    """Make what all applications of a process and of its forks share, whatever they serve."""
    if has_assistants(settings):
        import_module("teaser.app.mcp.server")  # else each fork would take a second for it
    _routes()
    compile_templates()
    for language in LANGUAGES:
        lexicon(language)


@cache
def _routes() -> list[BaseRoute]:
    """Return the routes of API and site.

    All applications of a process share them: to derive them takes most of the time in which one
    is made, and there is nothing of an application in them.
    """
    router = APIRouter()
    router.include_router(api_router)
    router.include_router(pages_router)
    return router.routes


def _observe(
    app: FastAPI, services: Services, shared: Path | None, is_stale: Callable[[], bool]
) -> None:
    """Add the routes of monitoring and, outside of all else, what is counted, logged and traced."""
    settings, holder = services.settings, services.holder

    def model_status() -> ModelStatus:
        return ModelStatus(is_stale(), holder.written_at, holder.loaded_at)

    registry = CollectorRegistry()
    watchers = Watchers(settings, services.store, services.threads, services.limits)
    add_monitoring(
        app,
        watchers=watchers,
        store=services.store,
        threads=services.threads,
        is_stale=is_stale,
        registry=registry,
    )
    routes = RouteNames(app)  # all are known now, so all workers count in one table
    file = shared and shared / "metrics"
    metrics = Metrics(file, routes=routes.known, model=model_status, registry=registry)
    app.add_middleware(
        Observer, settings=settings, metrics=metrics, routes=routes, traces=app.state.traces
    )


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Set what holds for the whole process while it serves; then close what is open."""
    services: Services = app.state.services
    # Requests are bound by computation: more threads would only compete for the processor.
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    # A thread that comes back from the database waits for this long for one that computes, at
    # every call; the usual 5 ms would be most of the time of a press.
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    async with assistants_running(app):
        yield
    sys.setswitchinterval(usual)
    services.store.close()
    if app.state.traces is not None:
        await asyncio.to_thread(app.state.traces.close)
