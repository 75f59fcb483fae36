"""The server: one application of site and API over a model and a store."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import generate_latest
from starlette.staticfiles import StaticFiles

from teaser._version import __version__
from teaser.app.api.router import router as api_router
from teaser.app.brand.brand import brand_routes, read_brand
from teaser.app.dependencies import Services
from teaser.app.error_handlers import add_error_handlers, refusal_of
from teaser.app.http.identity import FirstCookie
from teaser.app.http.metrics import Metrics
from teaser.app.http.middleware import Guard
from teaser.app.http.rate_limit import RateLimit
from teaser.app.people.store import Store
from teaser.app.serving.model_holder import ModelHolder
from teaser.app.settings import Settings
from teaser.app.site import actions as site_actions
from teaser.app.site import home as pages
from teaser.errors import TeaserError

log = logging.getLogger("teaser")
_WATCH_SECONDS = 1.0
_THREADS = 4


def create_app(settings: Settings) -> FastAPI:
    """Return the application: the model loaded, the database brought up to date."""
    shared = Path(settings.shared_folder) if settings.shared_folder else None
    copies = Path(settings.copies) if settings.copies else None
    holder = ModelHolder(settings.model, shared_folder=shared, base=copies, boost=settings.boosts)
    store = Store(settings.database, max_events=settings.max_events)
    if shared is None:  # else the process that made it has migrated for all workers
        store.migrate()
    metrics = Metrics(shared and shared / "metrics", is_stale=lambda: holder.load_error is not None)
    brand = read_brand(settings)
    services = Services(settings, holder, store)
    app = FastAPI(
        title=brand.name,
        version=__version__,
        summary="Recommendations that people can read and steer.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.services, app.state.brand = services, brand
    app.include_router(api_router)
    app.include_router(pages.router, include_in_schema=False)
    app.include_router(site_actions.router, include_in_schema=False)
    app.include_router(brand_routes(brand), include_in_schema=False)
    static = Path(__file__).parent / "site" / "static"
    app.mount("/static", StaticFiles(directory=static), name="static")
    _add_monitoring(app, services, metrics)
    add_error_handlers(app)
    app.add_middleware(FirstCookie, store=store, settings=settings)
    rate_limit = RateLimit(settings.rate, shared and shared / "rate_limit")
    app.add_middleware(
        Guard, settings=settings, rate_limit=rate_limit, metrics=metrics, refusal=refusal_of(app)
    )
    return app


def create_app_from_environment() -> FastAPI:
    """Return the application that the environment describes; every worker calls this."""
    if hasattr(signal, "SIGHUP"):  # ignore it until the worker listens, or it would end the worker
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return create_app(Settings.from_environment())


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Watch for a new model: at SIGHUP, and when files of the folder change."""
    services: Services = app.state.services
    wake = asyncio.Event()
    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError, AttributeError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, wake.set)

    async def watch() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), _WATCH_SECONDS)
            is_asked = wake.is_set()
            wake.clear()
            await asyncio.to_thread(_take_up, services.holder, is_asked)

    # Requests are bound by computation: more threads would only compete for the processor.
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    # Freeze start-up objects: collecting them causes pauses.
    gc.collect()
    gc.freeze()
    task = asyncio.create_task(watch())
    yield
    task.cancel()
    gc.unfreeze()
    services.store.close()


def _take_up(holder: ModelHolder, is_asked: bool) -> None:
    """Serve what the folder holds now; an error is logged and the watch goes on."""
    try:
        if holder.refresh(force=is_asked):
            log.warning("a new model is served from %s", holder.folder)
    except TeaserError:
        return  # the holder has logged it
    except Exception:
        log.exception("the model's folder could not be looked at; the present model stays")


def _add_monitoring(app: FastAPI, services: Services, metrics: Metrics) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:  # async: a slow database cannot block it
        return PlainTextResponse("ok")

    @app.get("/readyz", include_in_schema=False)
    def ready() -> Response:
        services.store.ping()
        stale = services.holder.load_error is not None
        said = "; the model's folder cannot be used, so the model before it is served"
        return PlainTextResponse("ready" + said * stale)

    @app.get("/metrics", include_in_schema=False)
    def show_metrics() -> Response:
        return Response(generate_latest(metrics.registry), media_type="text/plain")
