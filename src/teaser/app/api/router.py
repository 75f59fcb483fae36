"""The API under `/api/v1`: the routes of all resources, with keys and errors declared."""

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from teaser.app.api import catalogue, guide, people, stateless
from teaser.app.api.auth import check_key
from teaser.app.api.responses import ErrorAnswer

_ERRORS = {
    400: "The request could not be read.",
    401: "A key is needed, or the one given is not known.",
    403: "Without keys: a page of another site may not change anything.",
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
for part in (guide, stateless, people, catalogue):
    router.include_router(part.router)
