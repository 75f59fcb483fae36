"""Responses to errors, for site and API: the status of each class, JSON or a page."""

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware

from teaser.app.api import validation_messages
from teaser.app.http.middleware import MONITORING, Refusal, Scope
from teaser.app.i18n.error_messages import error_message
from teaser.app.site.rendering import render
from teaser.app.site.visitor import visitor_of
from teaser.errors import (
    ArtifactError,
    ForeignOriginError,
    NotHiddenError,
    NotInHistoryError,
    StoreError,
    TeaserError,
    UnknownNameError,
    UnknownPersonError,
    UnknownShareError,
)

log = logging.getLogger("teaser")

# The status and the code of each class; a class that is not named has those of its base.
_STATUS: dict[type[BaseException], tuple[int, str]] = {
    UnknownPersonError: (404, "unknown_person"),
    UnknownShareError: (404, "unknown_share"),
    UnknownNameError: (404, "unknown_name"),
    NotInHistoryError: (404, "unknown_name"),
    NotHiddenError: (404, "unknown_name"),
    ForeignOriginError: (403, "forbidden"),
    StoreError: (503, "unavailable"),
    ArtifactError: (503, "unavailable"),
    TeaserError: (422, "invalid"),
    BaseException: (500, "internal"),
}
_UNREADABLE_JSON = (
    "The body cannot be read: it is not JSON in UTF-8, is nested too deep, or has a number with "
    "too many digits."
)
_UNREADABLE_FORM = "The body cannot be read: it is not a form as a browser sends it."
_BY_STATUS = {
    404: "There is nothing at this address.",
    405: "This address does not take such a request.",
}


def add_error_handlers(app: FastAPI) -> None:
    """Register a response to every error, expected or not."""

    @app.exception_handler(TeaserError)
    def expected(request: Request, error: TeaserError) -> Response:
        status, code = status_of(error)
        if isinstance(error, StoreError):  # its message names hosts and users
            log.error("%s", error)
            message = "The database cannot be used now. Try again soon."
            return _response(request, status, code, message)
        return _response(request, status, code, str(error), error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        is_unreadable = validation_messages.is_unreadable(found)
        status, code = (400, "unreadable") if is_unreadable else (422, "invalid")
        return _response(request, status, code, validation_messages.describe(found))

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        status, message = error.status_code, str(error.detail)
        code = HTTPStatus(status).phrase.lower().replace(" ", "_")
        if status == 400:  # only the framework raises it, for a body that it cannot decode
            is_form = "form" in request.headers.get("content-type", "")
            code, message = "unreadable", _UNREADABLE_FORM if is_form else _UNREADABLE_JSON
        elif message == HTTPStatus(status).phrase:
            message = _BY_STATUS.get(status, message)
        response = _response(request, status, code, message)
        response.headers.update(error.headers or {})
        return response

    def unexpected(request: Request, error: Exception) -> Response:
        log.exception("a request failed", exc_info=error)
        return _response(request, *status_of(error), "Something went wrong on our side.")

    # A handler of Exception would run outside the middleware, so its responses had no headers.
    app.add_middleware(ServerErrorMiddleware, handler=unexpected)


def refusal_of(app: FastAPI) -> Refusal:
    """Return a function that makes the response to a request that the middleware refuses."""

    def refuse(scope: Scope, status: int, code: str, message: str) -> Response:
        response = _response(Request({**scope, "app": app}), status, code, message)
        if status == 429:
            response.headers["retry-after"] = "60"
        return response

    return refuse


def status_of(error: Exception) -> tuple[int, str]:
    """Return the HTTP status of an error, and its code for programs."""
    return next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)


def _response(
    request: Request, status: int, code: str, message: str, error: TeaserError | None = None
) -> Response:
    """Return an error in its one shape: JSON for programs, a page for visitors."""
    if not _wants_page(request):
        return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)
    visitor = visitor_of(request, with_person=False)  # an error page needs no database
    said = error_message(status, message, visitor.texts, error)
    values = {"code": status, "message": said.text, "details": said.details}
    return render(request, visitor, "error.html", status=status, **values)


def _wants_page(request: Request) -> bool:
    path = request.url.path
    if path.startswith("/api/") or path in (*MONITORING, "/openapi.json"):
        return False
    kinds = request.headers.get("accept", "*/*")
    return any(kind in kinds for kind in ("text/html", "text/*", "*/*"))
