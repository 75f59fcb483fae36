"""The API under `/api/v1`: the routes of all resources, with keys and errors declared."""

from fastapi import APIRouter, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from teaser.app.api import people, stateless
from teaser.app.api.responses import ErrorAnswer
from teaser.app.settings import Settings, is_loopback

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
# It only declares in the OpenAPI document where a key is needed; `Guard` checks it.
_KEY = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="tk_...",
    description="A key that `teaser keys create` made. Not needed where keys are off.",
    auto_error=False,
)


def _operation_id(route: APIRoute) -> str:
    return route.name


def api_router(settings: Settings) -> APIRouter:
    """Return the routes of the API."""
    router = APIRouter(
        prefix="/api/v1",
        generate_unique_id_function=_operation_id,
        responses={
            status: {"model": ErrorAnswer, "description": description}
            for status, description in _ERRORS.items()
        },
    )
    key = [Security(_KEY)]
    for part in (stateless.router, people.router, stateless.catalogue_router):
        router.include_router(part, dependencies=key if settings.needs_keys else [])
    reload_needs_key = settings.needs_keys or not is_loopback(settings.host)
    router.include_router(stateless.admin_router, dependencies=key if reload_needs_key else [])
    return router
