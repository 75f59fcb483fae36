"""Responses to errors, for site and API: the status of each class, JSON or a page."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from teaser.app.api import validation
from teaser.app.http import EMBED, MCP, MONITORING, RefusedError
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
    """Register a response to every error that routes raise."""
    for kind in (TeaserError, RequestValidationError, HTTPException, ClientDisconnect):
        app.add_exception_handler(kind, answer_error)


def answer_error(request: Request, error: Exception) -> Response:
    """Return the response to an error, expected or not."""
    headers: Mapping[str, str] = {}
    shown = None
    match error:
        case ClientDisconnect():
            return Response(status_code=400)  # nobody reads it, and nothing failed here
        case TeaserError():
            (status, code), message = status_of(error), sentence_of(error)
            if isinstance(error, StoreError):
                headers = {"retry-after": "1"}
            else:
                shown = error
        case RefusedError():
            status, code, message = error.status, error.code, error.message
            headers = error.headers
        case RequestValidationError():
            found = error.errors()
            is_json = found[0]["type"] != "json_invalid"
            status, code = (422, "invalid") if is_json else (400, "unreadable")
            message = validation.describe(found)
        case HTTPException():
            status, message, headers = error.status_code, str(error.detail), error.headers or {}
            phrase = HTTPStatus(status).phrase
            code = phrase.lower().replace(" ", "_")
            if status == 400:  # only the framework raises it, for a body that it cannot decode
                is_form = "form" in request.headers.get("content-type", "")
                code, message = "unreadable", _UNREADABLE_FORM if is_form else _UNREADABLE_JSON
            elif message == phrase:
                message = _BY_STATUS.get(status, message)
        case _:
            log.error("a request failed", exc_info=error)
            (status, code), message = status_of(error), "Something went wrong on our side."
    response = _response(request, status, code, message, shown)
    response.headers.update(headers)
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
