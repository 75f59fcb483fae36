"""The server: one application of site and API over a model and a store."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.staticfiles import StaticFiles

from teaser._version import __version__
from teaser.app.api import routes as api
from teaser.app.api import validation_messages as fault
from teaser.app.dependencies import Services
from teaser.app.http.identity import FirstCookie
from teaser.app.http.metrics import Metrics
from teaser.app.http.middleware import MONITORING, Guard, Refusal, Scope
from teaser.app.http.rate_limit import RateLimit
from teaser.app.people.store import Store, StoreError, UnknownPersonError, UnknownShareError
from teaser.app.serving.model_holder import ModelHolder
from teaser.app.settings import Settings
from teaser.app.site import actions as site_actions
from teaser.app.site import home as pages
from teaser.errors import ArtifactError, TeaserError, UnknownNameError

log = logging.getLogger("teaser")
_WATCH_SECONDS = 1.0
_THREADS = 4
_UNREADABLE = "The body cannot be read: it is no JSON in UTF-8, or too deep, or a number too long."
_NO_FORM = "The body cannot be read: it is no form as a browser sends it."
_PLAINLY = {
    404: "There is nothing at this address.",
    405: "This address does not take such a request.",
}


def create_app(settings: Settings) -> FastAPI:
    """Return the application: the model loaded, the database brought up to date."""
    room = Path(settings.room) if settings.room else None
    copies = Path(settings.copies) if settings.copies else None
    holder = ModelHolder(settings.model, room=room, base=copies)
    store = Store(settings.database, max_events=settings.max_events)
    if room is None:  # else whoever made the room did so, and a worker must start without it too
        store.migrate()
    metrics = Metrics(room and room / "metrics", is_stale=lambda: holder.load_error is not None)
    services = Services(settings, holder, store, metrics)
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
    app.include_router(site_actions.router, include_in_schema=False)
    static = Path(__file__).parent / "site" / "static"
    app.mount("/static", StaticFiles(directory=static), name="static")
    _add_health(app, services)
    _add_errors(app)
    app.add_middleware(FirstCookie, store=store, settings=settings)
    rate_limit = RateLimit(settings.rate, room and room / "rate_limit")
    app.add_middleware(
        Guard, settings=settings, rate_limit=rate_limit, metrics=metrics, refusal=_refusal_of(app)
    )
    return app


def create_app_from_environment() -> FastAPI:
    """Return the application that the environment describes; every worker calls this."""
    if hasattr(signal, "SIGHUP"):  # it must not end a worker that does not listen for it yet
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

    # Answers are computed, not waited for: more threads would only take turns at it.
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    # What is there at the start stays; to look through it for garbage would hold everybody up.
    gc.collect()
    gc.freeze()
    task = asyncio.create_task(watch())
    yield
    task.cancel()
    gc.unfreeze()
    services.store.close()


def _take_up(holder: ModelHolder, is_asked: bool) -> None:
    """Serve what the folder holds now; whatever is wrong with it, the watch goes on."""
    try:
        if holder.refresh(force=is_asked):
            log.warning("a new model is served from %s", holder.folder)
    except TeaserError:
        return  # said already
    except Exception:
        log.exception("the model's folder could not be looked at; the present model stays")


def _add_health(app: FastAPI, services: Services) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:  # waits for no thread, so that a slow database cannot hide it
        return PlainTextResponse("ok")

    @app.get("/readyz", include_in_schema=False)
    def ready() -> Response:
        services.store.ping()
        stale = services.holder.load_error is not None
        said = "; the model's folder cannot be used, so the model before it is served"
        return PlainTextResponse("ready" + said * stale)

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        return Response(generate_latest(services.metrics.registry), media_type="text/plain")


def status_of(error: Exception) -> tuple[int, str]:
    """Return the status and the code under which an error is reported."""
    if isinstance(error, UnknownPersonError):
        return 404, "unknown_person"
    if isinstance(error, UnknownShareError):
        return 404, "unknown_share"
    if isinstance(error, UnknownNameError):
        return 404, "unknown_name"
    if isinstance(error, StoreError | ArtifactError):
        return 503, "unavailable"
    if isinstance(error, TeaserError):
        return 422, "invalid"
    return 500, "internal"


def _answer(request: Request, status: int, code: str, message: str) -> Response:
    """Return an error in the one shape: json for programs, a page for people."""
    if _reads_pages(request):
        return pages.error_page(request, status, message)
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)


def _reads_pages(request: Request) -> bool:
    path = request.url.path
    if path.startswith("/api/") or path in (*MONITORING, "/openapi.json"):
        return False
    kinds = request.headers.get("accept", "*/*")
    return any(kind in kinds for kind in ("text/html", "text/*", "*/*"))


def _refusal_of(app: FastAPI) -> Refusal:
    def refuse(scope: Scope, status: int, code: str, message: str) -> Response:
        response = _answer(Request({**scope, "app": app}), status, code, message)
        if status == 429:
            response.headers["retry-after"] = "60"
        return response

    return refuse


def _add_errors(app: FastAPI) -> None:
    """Answer every error, foreseen or not."""

    @app.exception_handler(TeaserError)
    def expected(request: Request, error: TeaserError) -> Response:
        status, code = status_of(error)
        if isinstance(error, StoreError):  # its reason names hosts and users
            log.error("%s", error)
            return _answer(
                request, status, code, "The database cannot be used now. Try again soon."
            )
        return _answer(request, status, code, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        if fault.is_unreadable(found):
            return _answer(request, 400, "unreadable", fault.describe(found))
        return _answer(request, 422, "invalid", fault.describe(found))

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        message = str(error.detail)
        if error.status_code == 400:  # raised by the framework only, of a body it cannot decode
            is_form = "form" in request.headers.get("content-type", "")
            code, message = "unreadable", _NO_FORM if is_form else _UNREADABLE
        elif message == HTTPStatus(error.status_code).phrase:
            message = _PLAINLY.get(error.status_code, message)
        response = _answer(request, error.status_code, code, message)
        response.headers.update(error.headers or {})
        return response

    def unexpected(request: Request, error: Exception) -> Response:
        log.exception("a request failed", exc_info=error)
        return _answer(request, 500, "internal", "Something went wrong on our side.")

    # A handler of Exception would stand outside the guard, and its answers have no headers.
    app.add_middleware(ServerErrorMiddleware, handler=unexpected)
