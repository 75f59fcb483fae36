"""Responses to errors, for site and API: the status of each class, JSON or a page."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from teaser.app.api import validation
from teaser.app.http import EMBED, MCP, MONITORING, Refusal, RefusedError, Scope
from teaser.app.i18n.error_messages import error_message
from teaser.app.monitoring import current_request
from teaser.app.pages.render import render, visitor_of
from teaser.errors import ArtifactError, ResourceError, StoreError, TeaserError, UnknownNameError

log = logging.getLogger("teaser")

# The status and the code of some problems, and of each class; a class that is not named has those
# of its base.
_STATUS_BY_PROBLEM = {
    "unknown person": (404, "unknown_person"),
    "unknown share": (404, "unknown_share"),
    "bytes": (413, "too_large"),
    "foreign origin": (403, "forbidden"),
    "loading": (409, "conflict"),
}
_STATUS: dict[type[BaseException], tuple[int, str]] = {
    UnknownNameError: (404, "unknown_name"),
    StoreError: (503, "unavailable"),
    ArtifactError: (503, "unavailable"),
    ResourceError: (503, "unavailable"),
    TeaserError: (422, "invalid"),
    BaseException: (500, "internal"),
}
# The most letters of an error: errors shorten names by themselves, but there may be many.
_LONGEST = 2_000
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
        return _expected(request, error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        is_json = found[0]["type"] != "json_invalid"
        status, code = (422, "invalid") if is_json else (400, "unreadable")
        return _response(request, status, code, validation.describe(found))

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

    @app.exception_handler(ClientDisconnect)
    def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # nobody reads it, and nothing failed here


def refusal_of(app: FastAPI) -> Refusal:
    """Return a function that makes the response to a request that is refused or failed."""

    def refuse(scope: Scope, reason: Exception) -> Response:
        request = Request({**scope, "app": app})
        if isinstance(reason, TeaserError):
            return _expected(request, reason)
        if isinstance(reason, RefusedError):
            response = _response(request, reason.status, reason.code, reason.message)
            response.headers.update(reason.headers)
            return response
        log.error("a request failed", exc_info=reason)
        return _response(request, *status_of(reason), "Something went wrong on our side.")

    return refuse


def _expected(request: Request, error: TeaserError) -> Response:
    """Return the response to an error of this package."""
    is_store = isinstance(error, StoreError)
    shown = None if is_store else error
    response = _response(request, *status_of(error), sentence_of(error), shown)
    if is_store:
        response.headers["retry-after"] = "1"
    return response


def status_of(error: Exception) -> tuple[int, str]:
    """Return the HTTP status of an error, and its code for programs."""
    by_class = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    return _STATUS_BY_PROBLEM.get(getattr(error, "problem", ""), by_class)


def sentence_of(error: TeaserError) -> str:
    """Return what a client is told of an error; what a database said is logged instead."""
    if not isinstance(error, StoreError):
        return str(error)
    # Its message names hosts and users. What is late comes in large numbers; the store has said
    # once that it is.
    log.log(logging.DEBUG if error.problem == "late" else logging.ERROR, "%s", error)
    return "The database cannot be used now. Try again soon."


def _response(
    request: Request, status: int, code: str, message: str, error: TeaserError | None = None
) -> Response:
    """Return an error in its one shape: JSON for programs, a page for visitors."""
    message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
    # The operator finds what went wrong by the id; other errors say all there is to say.
    named = current_request() if status == 500 else None
    request_id = None if named is None else named.request_id
    if not _wants_page(request):
        said = {"code": code, "message": message}
        said |= {"request_id": request_id} if request_id else {}
        answer: dict[str, Any] = {"error": said}
        if request.url.path == MCP:  # as JSON-RPC has it: clients of assistants show the message
            code_of_rpc = -32600 if status < 500 else -32603
            told = {"code": code_of_rpc, "message": message, "data": said}
            answer = {"jsonrpc": "2.0", "id": None, "error": told}
        return JSONResponse(answer, status_code=status)
    visitor = visitor_of(request, with_person=False)  # an error page needs no database
    text, details = error_message(status, message, visitor.texts, error)
    values: dict[str, Any] = {"code": status, "message": text, "details": details}
    values["request_id"] = request_id
    return render(request, visitor, "error.html", status=status, **values)


def _wants_page(request: Request) -> bool:
    path = request.url.path
    if path.startswith("/api/") or path in (*MONITORING, "/openapi.json", MCP, EMBED):
        return False
    kinds = request.headers.get("accept", "*/*")
    return any(kind in kinds for kind in ("text/html", "text/*", "*/*"))
