"""The API's keys: which requests need one, and the check."""

from functools import partial
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from teaser.app.dependencies import services_of
from teaser.app.http.middleware import address_of, too_many
from teaser.app.http.origin import refuse_other_sites
from teaser.app.settings import Settings, is_loopback

_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="tk_...",
    description="A key that `teaser keys create` made. Not needed where keys are off.",
    auto_error=False,
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


async def check_key(request: Request, credentials: Credentials) -> None:
    """Refuse a request without a valid key; where keys are off, what another site's page sends."""
    services = services_of(request)
    if services.settings.needs_keys:
        await _need_key(request, credentials)
    elif request.method not in ("GET", "HEAD"):
        refuse_other_sites(request)


def check_reader(request: Request) -> None:
    """Refuse what pages of other sites ask about a person, where keys are off."""
    if not services_of(request).settings.needs_keys:
        refuse_other_sites(request)


async def check_admin(request: Request, credentials: Credentials) -> None:
    """Refuse a request without a valid key, unless only this machine can reach the server."""
    services = services_of(request)
    # Where all requests need a key, `check_key` has seen it, and has counted the request for it.
    if admin_needs_key(services.settings) and not services.settings.needs_keys:
        await _need_key(request, credentials)


def admin_needs_key(settings: Settings) -> bool:
    """Return whether administration needs a key."""
    return settings.needs_keys or not is_loopback(settings.host)


async def _need_key(request: Request, credentials: HTTPAuthorizationCredentials | None) -> None:
    """Refuse a request without a valid key, or beyond the limit of its key."""
    services = services_of(request)
    has_key = services.store.has_key
    if credentials is None:
        message = "A key is needed. Send it as Authorization: Bearer tk_..."
    elif not await services.threads.run(partial(has_key, credentials.credentials)):
        message = "This key is not known, or was revoked."
    else:
        address = address_of(request.scope)
        if seconds := services.limits.wait_of_key(credentials.credentials, address):
            refused = too_many(seconds)
            raise HTTPException(429, refused.message, headers={"Retry-After": str(seconds)})
        return
    raise HTTPException(401, message, headers={"WWW-Authenticate": "Bearer"})
