"""The API under `/api/v1`: the routes of all resources, with keys and errors declared."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from teaser.app.api import people, stateless
from teaser.app.api.auth import admin_needs_key, check_key
from teaser.app.api.requests import MAX_ID
from teaser.app.api.responses import ErrorAnswer
from teaser.app.settings import Settings

_ERRORS = {
    400: "The request could not be read.",
    401: "A key is needed, or the one given is not known.",
    403: "Without keys: a page of another site may change nothing, and read nothing of a person.",
    404: "Nothing has that name; the closest names are given.",
    413: "The request is too large.",
    421: "The server does not answer under that name.",
    422: "The request is not valid, or not possible now.",
    429: "Too many requests.",
    503: "The database or the model cannot be used now.",
}


def _operation_id(route: APIRoute) -> str:
    return route.name


router = APIRouter(
    prefix="/api/v1",
    dependencies=[Depends(check_key)],
    generate_unique_id_function=_operation_id,
    responses={
        status: {"model": ErrorAnswer, "description": description}
        for status, description in _ERRORS.items()
    },
)
router.include_router(stateless.router)
router.include_router(people.router)
router.include_router(stateless.catalogue_router)
router.include_router(stateless.admin_router)


def complete_document(app: FastAPI, settings: Settings) -> None:
    """Let the OpenAPI document tell where a key is needed, which the settings decide."""
    derive = app.openapi

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = _with_exact_bounds(derive())
            for operations in document["paths"].values():
                for operation in operations.values():
                    is_admin = "admin" in operation["tags"]
                    if not (admin_needs_key(settings) if is_admin else settings.needs_keys):
                        operation.pop("security", None)
            if not admin_needs_key(settings):
                document["components"].pop("securitySchemes", None)
        return derive()

    app.openapi = describe  # type: ignore[method-assign] # FastAPI's own way to change it


def _with_exact_bounds(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the bounds of ids as they are: FastAPI rounds them to float64."""
    whole = document["components"]["schemas"]["ItemId"]["anyOf"][0]
    whole |= {"minimum": -MAX_ID - 1, "maximum": MAX_ID, "format": "int64"}
    return document
