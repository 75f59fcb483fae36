"""The origin of a request: forms, and the API without keys, are for this site's own pages only."""

from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import Request

from teaser.errors import ForeignOriginError

_PORTS = {"http": 80, "https": 443}
_OTHER_SITES = ("cross-site", "same-site")
_MAX_CACHED = 100


def need_own_origin(request: Request) -> None:
    """Raise `ForeignOriginError` unless the headers show that a page of this site sent the form."""
    site = request.headers.get("sec-fetch-site")
    source = request.headers.get("origin") or request.headers.get("referer")
    is_own = _origin(source) == own_origin(request) if source else site == "same-origin"
    if not is_own or site in _OTHER_SITES:
        raise ForeignOriginError


def refuse_other_sites(request: Request) -> None:
    """Raise `ForeignOriginError` if the headers show that a page of another site sent a request.

    Browsers send at least one of the two headers with what a page of another site asks for.
    Programs send neither.
    """
    source = request.headers.get("origin")
    is_foreign = source is not None and _origin(source) != own_origin(request)
    if is_foreign or request.headers.get("sec-fetch-site") in _OTHER_SITES:
        raise ForeignOriginError


def own_origin(request: Request) -> str | None:
    """Return the scheme, host and port under which a request reached this site.

    The scheme is the one that a trusted proxy reports (`Settings.proxies`), and https where
    cookies are secure (see `teaser.app.http.middleware`).
    """
    return _origin(f"{request.scope['scheme']}://{request.headers.get('host', '')}")


def local_path(text: str) -> str:
    """Return a path on this site unchanged, and `/` for anything else."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if is_local and text.isprintable() else "/"


@lru_cache(maxsize=_MAX_CACHED)
def _origin(address: str) -> str | None:
    """Return scheme, host and port of an address without a default port; None if it is invalid."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    host = parts.hostname if port in (None, _PORTS[parts.scheme]) else f"{parts.hostname}:{port}"
    return f"{parts.scheme}://{host}"
