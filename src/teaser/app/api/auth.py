"""The API's keys: which requests need one, and the check."""

from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from teaser.app.dependencies import Services, services_of
from teaser.app.http.origin import need_own_origin
from teaser.app.settings import is_loopback

_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="tk_...",
    description="A key that `teaser keys create` made. Not needed where keys are off.",
    auto_error=False,
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


def check_key(request: Request, credentials: Credentials) -> None:
    """Refuse a request without a valid key, where keys are on."""
    services = services_of(request)
    if services.settings.needs_keys:
        _need_key(services, credentials)
    elif request.method not in ("GET", "HEAD") and "origin" in request.headers:
        need_own_origin(request)  # without keys, a page of another site could write here


def check_admin(request: Request, credentials: Credentials) -> None:
    """Refuse a request without a valid key, unless only this machine can reach the server."""
    services = services_of(request)
    if services.settings.needs_keys or not is_loopback(services.settings.host):
        _need_key(services, credentials)


def _need_key(services: Services, credentials: HTTPAuthorizationCredentials | None) -> None:
    if credentials is None:
        message = "A key is needed. Send it as Authorization: Bearer tk_..."
    elif not services.store.has_key(credentials.credentials):
        message = "This key is not known, or was revoked."
    else:
        return
    raise HTTPException(401, message, headers={"WWW-Authenticate": "Bearer"})
