"""The site's cookies: their names, how they are set, read and removed.

Where cookies are secure, names begin with `__Host-`. Browsers accept such a cookie over https
only, for the whole site and from no other host, so nobody else can plant one.
"""

import hashlib
import secrets
from collections.abc import Mapping

from itsdangerous import Signer
from starlette.responses import Response

from teaser.app.settings import Settings

TOKEN = "teaser"  # noqa: S105 - the name of a cookie
LANGUAGE = "teaser_language"
THEME = "teaser_theme"
SKIPPED = "teaser_skipped"
LASTS = "teaser_lasts"
_HARMLESS = (LANGUAGE, THEME, SKIPPED, LASTS)
_NAMES = (TOKEN, *_HARMLESS)
_PREFIX = "__Host-"
_YEAR = 365 * 24 * 3600


def cookie_name(name: str, settings: Settings) -> str:
    """Return the name under which browsers keep a cookie of the site."""
    return _PREFIX + name if settings.secure_cookies else name


def read_cookies(given: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return the site's cookies by their plain names.

    Where cookies are secure, the token counts under its name with the prefix only: any host of the
    domain can plant one without it, and read later what the visitor did. The other cookies count
    without the prefix if there is none with it: they are older than the setting.
    """
    found = {name: given.get(cookie_name(name, settings)) for name in _NAMES}
    found |= {name: given.get(name) for name in _HARMLESS if found[name] is None}
    return {name: value for name, value in found.items() if value is not None}


def remember(response: Response, settings: Settings, name: str, value: str) -> None:
    """Set a cookie for a year, hidden from scripts and from requests of other sites."""
    response.set_cookie(
        cookie_name(name, settings),
        value,
        max_age=_YEAR,
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies,
    )


def forget(response: Response, settings: Settings, name: str) -> None:
    """Remove a cookie, under either name."""
    for own in {name, cookie_name(name, settings)}:
        # Browsers ignore a header about a cookie with the prefix that is not secure itself.
        response.delete_cookie(own, secure=settings.secure_cookies, httponly=True, samesite="lax")


def carry_over(response: Response, settings: Settings, given: Mapping[str, str]) -> None:
    """Remove cookies without the prefix where cookies are secure; move those that are harmless."""
    for name in _NAMES if settings.secure_cookies else ():
        if name in given:
            response.delete_cookie(name, secure=True, httponly=True, samesite="lax")
            if name in _HARMLESS and cookie_name(name, settings) not in given:
                remember(response, settings, name, given[name])


def new_token(key: bytes) -> str:
    """Return a new random token, signed with the key of the store."""
    return _signer(key).sign(secrets.token_urlsafe(32)).decode()


def is_signed(token: str, key: bytes) -> bool:
    """Return whether a token was signed with the key of the store."""
    return _signer(key).validate(token)


def _signer(key: bytes) -> Signer:
    return Signer(key, salt="teaser.visitor", digest_method=hashlib.sha256)
