"""The server: one application of site and API over a model and a store."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.staticfiles import StaticFiles

from teaser._version import __version__
from teaser.app import api, pages
from teaser.app.catalogue import Holder
from teaser.app.guard import Guard, Metrics
from teaser.app.services import Services
from teaser.app.settings import Settings
from teaser.app.store import Store, StoreError, UnknownPersonError
from teaser.errors import ArtifactError, TeaserError, UnknownNameError

log = logging.getLogger("teaser")
_WATCH_SECONDS = 1.0
_THREADS = 4


def create_app(settings: Settings) -> FastAPI:
    """Return the application: the model loaded, the database brought up to date."""
    store = Store(settings.database, max_events=settings.max_events)
    store.migrate()
    services = Services(settings, Holder(settings.model), store, Metrics())
    app = FastAPI(
        title="TEASER",
        version=__version__,
        summary="Recommendations that people can read and steer.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.services = services
    app.include_router(api.router)
    app.include_router(pages.router, include_in_schema=False)
    static = Path(__file__).parent / "static"
    app.mount("/static", StaticFiles(directory=static), name="static")
    _add_health(app, services)
    _add_errors(app)
    app.add_middleware(
        Guard, max_body=settings.max_body, rate=settings.rate, metrics=services.metrics
    )
    return app


def create_app_from_environment() -> FastAPI:
    """Return the application that the environment describes; every worker calls this."""
    return create_app(Settings.from_environment())


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Watch for a new model: at SIGHUP, and when the folder's manifest changes."""
    services: Services = app.state.services
    wake = asyncio.Event()
    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, wake.set)

    async def watch() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(wake.wait(), _WATCH_SECONDS)
            wake.clear()
            if await asyncio.to_thread(services.holder.refresh):
                log.info("a new model is served from %s", services.holder.folder)

    # Answers are computed, not waited for: more threads would only take turns at it.
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    task = asyncio.create_task(watch())
    yield
    task.cancel()
    services.store.close()


def _add_health(app: FastAPI, services: Services) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:  # waits for no thread, so that a slow database cannot hide it
        return PlainTextResponse("ok")

    @app.get("/readyz", include_in_schema=False)
    def ready() -> Response:
        services.store.ping()
        return PlainTextResponse("ready")

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        return Response(generate_latest(services.metrics.registry), media_type="text/plain")


def status_of(error: Exception) -> tuple[int, str]:
    """Return the status and the code under which an error is reported."""
    if isinstance(error, UnknownPersonError):
        return 404, "unknown_person"
    if isinstance(error, UnknownNameError):
        return 404, "unknown_name"
    if isinstance(error, StoreError | ArtifactError):
        return 503, "unavailable"
    if isinstance(error, TeaserError):
        return 422, "invalid"
    return 500, "internal"


def _add_errors(app: FastAPI) -> None:
    """Answer every error in one shape: json for the API, a page for the site."""

    def answer(request: Request, status: int, code: str, message: str) -> Response:
        if request.url.path.startswith("/api/"):
            body: dict[str, Any] = {"error": {"code": code, "message": message}}
            return JSONResponse(body, status_code=status)
        return pages.error_page(request, status, message)

    @app.exception_handler(TeaserError)
    def expected(request: Request, error: TeaserError) -> Response:
        status, code = status_of(error)
        if isinstance(error, StoreError):  # its reason names hosts and users
            log.error("%s", error)
            return answer(request, status, code, "The database cannot be used now. Try again soon.")
        return answer(request, status, code, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return answer(request, 422, "invalid", f"{where}: {first['msg']}")

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        phrase = HTTPStatus(error.status_code).phrase
        response = answer(
            request, error.status_code, phrase.lower().replace(" ", "_"), str(error.detail)
        )
        response.headers.update(error.headers or {})
        return response

    def unexpected(request: Request, error: Exception) -> Response:
        log.exception("a request failed", exc_info=error)
        return answer(request, 500, "internal", "Something went wrong on our side.")

    # A handler of Exception would stand outside the guard, and its answers have no headers.
    app.add_middleware(ServerErrorMiddleware, handler=unexpected)
