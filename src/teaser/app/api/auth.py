"""The API's keys: which requests need one. `Guard` checks them before a body is read."""

from typing import Annotated

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from teaser.app.http import refuse_other_sites, services_of
from teaser.app.settings import Settings, is_loopback

_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="tk_...",
    description="A key that `teaser keys create` made. Not needed where keys are off.",
    auto_error=False,
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


def check_key(credentials: Credentials) -> None:
    """Declare in the OpenAPI document that a key is needed; `Guard` checks it."""


def check_reader(request: Request) -> None:
    """Refuse what pages of other sites ask about a person, where keys are off."""
    if not services_of(request).settings.needs_keys:
        refuse_other_sites(request)


def admin_needs_key(settings: Settings) -> bool:
    """Return whether administration needs a key."""
    return settings.needs_keys or not is_loopback(settings.host)
