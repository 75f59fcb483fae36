"""Forms and files that clients send: their origin, their texts, and JSON with finite numbers."""

import json
import math
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator
from starlette.requests import Request

from teaser.errors import ForeignOriginError, ParameterError

_PORTS = {"http": 80, "https": 443}
_OTHER_SITES = ("cross-site", "same-site")
# The most digits of a whole number: far more than those of any number that is asked for.
_MOST_DIGITS = 40


def valid_text(text: str) -> str:
    r"""Return a text unchanged.

    Raises
    ------
    ParameterError
        If it has lone surrogates, which no answer, cookie or database can hold. JSON can bring
        them as `\ud800`, and a form in parts by the charset that it names.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError("A text must be valid Unicode, without lone surrogates.") from None
    return text


FormText = Annotated[str, AfterValidator(valid_text)]


def read_json(text: bytes | str) -> Any:
    """Return what a JSON text says; each number in it is finite and has at most 40 digits.

    Raises
    ------
    ParameterError
        If the text is anything else, or is nested too deep.
    """
    try:
        return json.loads(
            text, parse_int=_whole_number, parse_float=_real_number, parse_constant=_real_number
        )
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"It is not JSON: {error}.") from None


def read_object(text: str, name: str) -> dict[str, Any]:
    """Return a JSON object in a field of a form; `name` is that of the field.

    Raises
    ------
    ParameterError
        If the text is anything else.
    """
    try:
        given = read_json(text)
    except ParameterError as error:
        raise ParameterError(f"{name} must be a JSON object. {error}") from None
    if not isinstance(given, dict):
        raise ParameterError(f"{name} must be a JSON object.")
    valid_text(json.dumps(given, ensure_ascii=False))
    return given


def read_presses(text: str) -> dict[str, Any]:
    """Return presses written as a JSON object, tag text -> steps; the steps are not checked.

    Raises
    ------
    ParameterError
        If the text is anything else.
    """
    return read_object(text, "presses")


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ParameterError(
            f"A number in it has {len(digits):,} digits; at most {_MOST_DIGITS} are read."
        )
    return int(digits)


def _real_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ParameterError(f"A number in it is not finite: {text[:_MOST_DIGITS]}.")
    return number


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
    cookies are secure (see `teaser.app.middleware`).
    """
    return _origin(f"{request.scope['scheme']}://{request.headers.get('host', '')}")


def local_path(text: str) -> str:
    """Return a path on this site unchanged, and `/` for anything else."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if is_local and text.isprintable() else "/"


@lru_cache(maxsize=100)
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
