"""The site's cookies: their names, how they are set and read; the signed token of a visitor.

Where cookies are secure, names begin with `__Host-`. Browsers accept such a cookie over https
only, for the whole site and from no other host, so nobody else can plant one.
"""

import hashlib
import secrets
from collections.abc import Mapping

from itsdangerous import Signer
from starlette.responses import Response

from teaser.app.settings import Settings
from teaser.app.store import Store, id_of

TOKEN = "teaser"  # noqa: S105 - the name of a cookie
LANGUAGE = "teaser_language"
THEME = "teaser_theme"
SKIPPED = "teaser_skipped"
LASTS = "teaser_lasts"
_NAMES = (TOKEN, LANGUAGE, THEME, SKIPPED, LASTS)
_PREFIX = "__Host-"
_YEAR = 365 * 24 * 3600


def cookie_name(name: str, settings: Settings) -> str:
    """Return the name under which browsers keep a cookie of the site."""
    return _PREFIX + name if settings.secure_cookies else name


def read_cookies(given: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return the site's cookies by their plain names.

    Where cookies are secure, only names with the prefix count: any host of the domain can plant a
    cookie without it, and read later what the visitor did.
    """
    found = {name: given.get(cookie_name(name, settings)) for name in _NAMES}
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
    """Remove a cookie."""
    # Browsers ignore a header about a cookie with the prefix that is not secure itself.
    response.delete_cookie(
        cookie_name(name, settings), secure=settings.secure_cookies, httponly=True, samesite="lax"
    )


def new_token(key: bytes) -> str:
    """Return a new random token, signed with the key of the store."""
    return _signer(key).sign(secrets.token_urlsafe(32)).decode()


def is_signed(token: str, key: bytes) -> bool:
    """Return whether a token was signed with the key of the store."""
    return _signer(key).validate(token)


def holder_of(
    cookies: Mapping[str, str], store: Store, *, trusts_signature: bool = False
) -> tuple[str | None, str | None]:
    """Return the token in the site's cookies, and the id of the person who holds it.

    Only a token that this server signed counts. Otherwise somebody could plant a token of their
    choice in a browser and read the profile later. With `trusts_signature` the store is not asked
    about it, so that the person may not be there.
    """
    token = cookies.get(TOKEN)
    if not token or not is_signed(token, store.signing_key):
        return None, None
    return token, id_of(token) if trusts_signature else store.find_person(token)


def _signer(key: bytes) -> Signer:
    return Signer(key, salt="teaser.visitor", digest_method=hashlib.sha256)
