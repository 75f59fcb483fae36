"""Requests: services, cookies, forms, rate limits, and the middleware that checks each of them."""

import asyncio
import hashlib
import inspect
import ipaddress
import itertools
import json
import logging
import math
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, wraps
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.routing import APIRoute
from itsdangerous import Signer
from starlette.requests import ClientDisconnect

from teaser.app.brand import Brand
from teaser.app.catalogue import Catalogue, known_history
from teaser.app.database import StoreThreads
from teaser.app.models import ModelHolder
from teaser.app.monitoring import Metrics, RequestRecord, Traces, begin_request, log_request
from teaser.app.settings import Settings, is_loopback, names_in, parse_address
from teaser.app.store import Store
from teaser.errors import ParameterError, StoreError, TeaserError, shortened

# Imports a minute, of one person and from one address.
IMPORTS = 6
_MAX_BUCKETS = 20_000
_LOOPBACK = ("127.0.0.0/8", "::1")


@dataclass(eq=False)
class RefusedError(Exception):
    """Why a request is refused: status, code, message, further headers of the answer."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


class RateLimit:
    """A token bucket for every address or key, refilled steadily; in the memory of this process.

    With several workers each has its own buckets, so a client may get a multiple of the limit.
    IPv6 addresses are limited by their first 64 bits, because one client usually has them all.

    Parameters
    ----------
    per_minute
        The capacity of a bucket and what flows into it in a minute; 0 for no limit.
    """

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, name: str, n: int = 1) -> int:
        """Take requests from a bucket; return 0, or the whole seconds until there are enough.

        A negative number puts requests back.
        """
        if not self.per_minute:
            return 0
        now, name = time.monotonic(), _network_name(name)
        with self._lock:
            level, last = self._buckets.pop(name, (float(self.per_minute), now))
            level = min(self.per_minute, level + (now - last) * self.per_minute / 60)
            wait = max(0, math.ceil((n - level) * 60 / self.per_minute))
            self._buckets[name] = (level if wait else min(self.per_minute, level - n), now)
            if len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)
        return wait

    def spend(self, name: str) -> None:
        """Take one request from a bucket, or refuse it."""
        if wait := self.take(name):
            message = f"Too many requests. Wait {wait} second{'s' * (wait != 1)}."
            raise RefusedError(429, "too_many_requests", message, {"Retry-After": str(wait)})


@dataclass(frozen=True)
class RateLimits:
    """The limits of one process."""

    addresses: RateLimit
    keys: RateLimit
    imports: RateLimit = field(default_factory=lambda: RateLimit(IMPORTS))


def address_of(scope: Mapping[str, Any]) -> str:
    """Return the address of the client, as a trusted proxy says it."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def is_among(address: str, names: str) -> bool:
    """Return whether an address is named by a setting: addresses, networks, `loopback`, `all`."""
    words = names_in(names)
    if "all" in words or "*" in words:
        return True
    parsed = parse_address(address)
    for word in (*words, *(_LOOPBACK if "loopback" in words else ())):
        with suppress(ValueError):  # a word such as "key"
            if parsed is not None and parsed in ipaddress.ip_network(word, strict=False):
                return True
    return False


def _network_name(name: str) -> str:
    parsed = parse_address(name)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    return name if parsed is None else str(parsed)


T = TypeVar("T")


@dataclass(frozen=True)
class Services:
    """The services of one process, at `app.state.services`."""

    settings: Settings
    holder: ModelHolder
    store: Store
    threads: StoreThreads
    limits: RateLimits


def services_of(request: Request) -> Services:
    """Return the services of the application that received a request."""
    found: Services = request.app.state.services
    return found


def brand_of(request: Request) -> Brand:
    """Return the name, colours and logo of the site, at `app.state.brand`."""
    found: Brand = request.app.state.brand
    return found


def catalogue_of(request: Request) -> Catalogue:
    """Return the present catalogue; a request uses one until it ends."""
    return services_of(request).holder.current


def store_of(request: Request) -> Store:
    """Return the store without the persons of the site, who are identified by their cookie."""
    return services_of(request).store.without_site


def without_store(route: T) -> T:
    """Mark a route that needs no store: it answers also while the database hangs."""
    route.needs_store = False  # type: ignore[attr-defined]
    return route


class StoreRoute(APIRoute):
    """A route that uses the store: it takes `request`, and runs in the store's own threads.

    While the database hangs, the routes without store then find threads, and this one ends in time.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        # A router that includes another makes its routes again.
        is_made = inspect.iscoroutinefunction(endpoint)
        if not is_made and getattr(endpoint, "needs_store", True):
            endpoint = _in_store_threads(endpoint)
        super().__init__(path, endpoint, **options)


def _in_store_threads(route: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    @wraps(route)
    async def run(*args: Any, **values: Any) -> T:
        threads = services_of(values["request"]).threads
        return await threads.run(partial(route, *args, **values))

    return run


TOKEN = "teaser"  # noqa: S105 - the name of a cookie
LANGUAGE = "teaser_language"
THEME = "teaser_theme"
SKIPPED = "teaser_skipped"
LASTS = "teaser_lasts"
_NAMES = (TOKEN, LANGUAGE, THEME, SKIPPED, LASTS)
_PREFIX = "__Host-"
_YEAR = 365 * 24 * 3600


def _is_secure(request: Request) -> bool:
    """Return whether a request came over https: `Guard` says so also by `secure_cookies`."""
    return bool(request.scope["scheme"] == "https")


def _cookie_name(name: str, request: Request) -> str:
    """Return the name under which browsers keep a cookie of the site."""
    return _PREFIX + name if _is_secure(request) else name


def read_cookies(request: Request) -> dict[str, str]:
    """Return the site's cookies by their plain names.

    Over https only names with the prefix count: any host of the domain can plant a cookie without
    it, and read later what the visitor did.
    """
    found = {name: request.cookies.get(_cookie_name(name, request)) for name in _NAMES}
    return {name: value for name, value in found.items() if value is not None}


def remember(response: Response, request: Request, name: str, value: str) -> None:
    """Set a cookie for a year, hidden from scripts and from requests of other sites."""
    response.set_cookie(
        _cookie_name(name, request),
        value,
        max_age=_YEAR,
        httponly=True,
        samesite="lax",
        secure=_is_secure(request),
    )


def forget(response: Response, request: Request, name: str) -> None:
    """Remove a cookie."""
    # Browsers ignore a header about a cookie with the prefix that is not secure itself.
    response.delete_cookie(
        _cookie_name(name, request), secure=_is_secure(request), httponly=True, samesite="lax"
    )


def new_token(key: bytes, secret: str = "") -> str:
    """Return a token, signed with the key of the store: of a secret, or a random one."""
    return _signer(key).sign(secret or secrets.token_urlsafe(32)).decode()


def is_signed(token: str, key: bytes) -> bool:
    """Return whether a token was signed with the key of the store."""
    return _signer(key).validate(token)


def signed_token(cookies: Mapping[str, str], store: Store) -> str | None:
    """Return the token in the site's cookies if this server signed it.

    Otherwise somebody could plant a token of their choice in a browser and read the profile later.
    """
    token = cookies.get(TOKEN)
    return token if token and is_signed(token, store.signing_key) else None


def _signer(key: bytes) -> Signer:
    return Signer(key, salt="teaser.visitor", digest_method=hashlib.sha256)


_PORTS = {"http": 80, "https": 443}
_OTHER_SITES = ("cross-site", "same-site")


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


def read_json(text: bytes | str) -> Any:
    """Return what a JSON text says.

    Raises
    ------
    ParameterError
        If the text is anything else, or is nested too deep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"It is not JSON: {error}.") from None


def read_object(text: str, name: str) -> dict[str, Any]:
    """Return a JSON object in a field of a form; `name` is that of the field.

    Raises
    ------
    ParameterError
        If the text is anything else.
    """
    given = read_json(text)
    if not isinstance(given, dict):
        raise ParameterError(f"{name} must be a JSON object.")
    valid_text(json.dumps(given, ensure_ascii=False))
    return given


def need_own_origin(request: Request, *, or_program: bool = False) -> None:
    """Raise `TeaserError` unless the headers show that a page of this site sent a request.

    Browsers send at least one of these headers with what a page of another site asks for. Programs
    send none of them, and pass with `or_program`.
    """
    site = request.headers.get("sec-fetch-site")
    source = request.headers.get("origin")
    if not or_program:
        source = source or request.headers.get("referer")
    is_own = or_program or site == "same-origin"
    if source:
        is_own = _origin(source) == own_origin(request)
    if not is_own or site in _OTHER_SITES:
        said = "This form was sent from another site, so nothing was changed."
        raise TeaserError(said, problem="foreign origin")


def own_origin(request: Request) -> str | None:
    """Return the scheme, host and port under which a request reached this site.

    The scheme is the one that a trusted proxy reports (`Settings.proxies`), and https where
    cookies are secure.
    """
    return _origin(f"{request.scope['scheme']}://{request.headers.get('host', '')}")


def local_path(text: str) -> str:
    """Return a path on this site unchanged, and `/` for anything else."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if is_local and text.isprintable() else "/"


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


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Refusal = Callable[[Request, Exception], Response]

HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' https: data:; base-uri 'none'; form-action 'self'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
]
_NOT_CACHED = (b"cache-control", b"no-store")
HEALTH = "/healthz"
# The list in pages of other sites: its address, and that of its script.
EMBED, EMBED_SCRIPT = "/embed", "/embed.js"
# The address of assistants, whose errors are those of JSON-RPC.
MCP = "/mcp"
# Paths for monitoring: never a page, without cookies; own hosts ask as often as they like.
MONITORING = (HEALTH, "/readyz", "/metrics")
_API, _ADMIN = "/api/v1/", "/api/v1/admin/"
_PERSON, _PERSON_ID = re.compile("/api/v1/people/([^/]+)"), re.compile("[A-Za-z0-9_-]{43}")
# In place of a person's id: the user whom a header names, by an id of the key's owner.
_OWN, _MAX_USER_ID = "own", 200
_MAX_HEAD = 65_536  # the server below refuses longer addresses by itself
_CLOSE = {"Connection": "close"}  # what is left of the body is not read
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
# Pages whose visitors need no cookie: readers of a shared list, those who just deleted their data.
_NO_COOKIE = re.compile("/(s|api|static)/.*|/deleted|/embed.*")
# Any page may read the answer, also why it is refused: `Guard` checks the origin of a request.
_EMBEDDED = [
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"600"),
]
_REQUEST_ID = re.compile("[A-Za-z0-9_-]{8,64}")
_LEFT = 499  # what nginx logs for a client that left before its answer


class Observer:
    """Give every request an id; count, log and trace its answer."""

    def __init__(
        self, app: Any, *, settings: Settings, metrics: Metrics, traces: Traces | None
    ) -> None:
        self.app = app
        self.settings = settings
        self.metrics = metrics
        self.traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope}  # the router writes the route into it
        method = scope["method"] if scope["method"] in _METHODS else "other"
        start, record, status = time.perf_counter(), self._new_record(scope), _LEFT

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = (b"x-request-id", record.request_id.encode())
                message["headers"] = [*message.get("headers", ()), given]
            await send(message)

        begin_request(record)
        try:
            await self.app(scope, receive, send_observed)
        finally:
            self._finish(scope, record, method, status, time.perf_counter() - start)

    def _finish(
        self, scope: Scope, record: RequestRecord, method: str, status: int, seconds: float
    ) -> None:
        """Count, log and trace an answer."""
        route = _route_name(scope)
        counted = "other" if route == "other" else "GET" if method == "HEAD" else method
        with suppress(OSError):  # a full disk must not fail the request
            self.metrics.count(counted, route, status, seconds)
        facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1e3, 1)}
        is_noise = scope["path"] in MONITORING or status in (421, 429)
        log_request(record, facts, level=logging.DEBUG if is_noise else logging.INFO)
        if self.traces is not None:
            self.traces.end_request(record.span, method, route, status)

    def _new_record(self, scope: Scope) -> RequestRecord:
        """Return the record of a new request, under the id that a trusted proxy gave it."""
        given: dict[str, str] = {}
        if is_among(address_of(scope), self.settings.proxies):
            names = (b"x-request-id", b"traceparent", b"tracestate")
            found = [(n, v) for n, v in scope["headers"] if n in names]
            given = {name.decode(): value.decode("latin-1") for name, value in found}
        request_id = given.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = os.urandom(8).hex()
        span = self.traces.begin_request(given) if self.traces is not None else None
        return RequestRecord(request_id, self.traces, span)


def _route_name(scope: Scope) -> str:
    """Return the template of the path that a request was handled by, which has no ids in it."""
    if scope["path"].startswith("/static/"):
        return "/static"
    if scope["path"] == MCP:
        return MCP
    # FastAPI's routes know only the part of their own router; the context has the whole path.
    found = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    return getattr(found, "path_format", "other")


class Guard:
    """Refuse requests by their head, bound their bodies, add headers to answers.

    Host, rate, origin, key and the form of a person's id are checked before a body is read. A body
    is read here as a whole, within its size and time, and then given to the application. A browser
    gets its token with the first page: two tabs that act at once then make one person.

    The scope is changed, so it must not be the server's own.

    Parameters
    ----------
    services
        The settings, the limits on requests, and the store with the keys.
    refusal
        Makes the response to a refused or failed request.
    """

    def __init__(self, app: Any, *, services: "Services", refusal: Refusal) -> None:
        self.app = app
        self.services = services
        self.settings = services.settings
        self.refusal = refusal
        self._key: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        if is_head:  # FastAPI's routes for GET do not answer HEAD
            scope["method"] = "GET"
        if self.settings.secure_cookies:  # a proxy ends https and may not say so
            scope["scheme"] = "https"
        request, has_started = Request(scope), False
        cookies: list[tuple[bytes, bytes]] = []

        async def send_guarded(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = _with_headers(scope["path"], message.get("headers", ()))
                kind = dict(headers).get(b"content-type", b"")
                is_page = message["status"] == 200 and kind.startswith(b"text/html")
                message["headers"] = headers + (cookies if is_page else [])
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        try:
            self._check_host(request)
            await self._check_sender(request)
            body = await self._read_body(request, receive)
            cookies += await self._first_cookie(request)
            first = iter([{"type": "http.request", "body": body, "more_body": False}])

            async def receive_again() -> Message:
                return next(first, None) or await receive()

            await self.app(scope, receive_again, send_guarded)
        except ClientDisconnect:
            return  # nobody waits for an answer
        except Exception as error:
            if has_started:
                raise  # the connection must end: half an answer cannot be taken back
            await self.refusal(request, error)(scope, receive, send_guarded)

    def _check_host(self, request: Request) -> None:
        """Refuse a request with a huge head, under another name, or that comes too soon."""
        path, address = request.scope["path"], address_of(request.scope)
        if sum(map(len, itertools.chain(*request.scope["headers"]))) > _MAX_HEAD:
            message = f"The headers are larger than {_MAX_HEAD:,} bytes. Remove some cookies."
            raise RefusedError(431, "too_large", message, _CLOSE)
        if path == HEALTH:  # whoever asks, by whatever name, learns nothing
            return
        if not self.settings.is_own_host(request.headers.get("host", "")):
            raise RefusedError(
                421,
                "unknown_host",
                "This server does not answer under that name. Use its address, or let its "
                "operator add the name with --host-name.",
            )
        if not (path in MONITORING and is_among(address, self.settings.monitoring)):
            self.services.limits.addresses.spend(address)

    async def _check_sender(self, request: Request) -> None:
        """Check the key, or the origin where no key is needed, and the form of a person's id."""
        path, writes = request.scope["path"], request.method not in ("GET", "OPTIONS")
        person = _PERSON.match(path)
        if person and person[1] != _OWN and not _PERSON_ID.fullmatch(person[1]):
            said = "person_id must be an id as POST /people gave it, or own."
            raise RefusedError(422, "invalid", said)
        if path in MONITORING:
            await self._check_watcher(request)
        elif path == EMBED:
            self._check_embedder(request)
        elif not (path == MCP or path.startswith(_API)):
            if request.method == "POST":
                need_own_origin(request)
        elif (
            self.settings.needs_keys
            or (path.startswith(_ADMIN) and not is_loopback(self.settings.host))
            or (person and person[1] == _OWN)
        ):
            await self._check_key(request)
            if person and person[1] == _OWN:
                await self._find_own(request, path[person.end() :])
        elif writes or person:
            need_own_origin(request, or_program=True)
        path = request.scope["path"]
        if request.method == "POST" and self.settings.takes_import(path):
            # This holds also where the rate of requests has no limit.
            names = _PERSON.findall(path)
            if not (names and self.settings.needs_keys):  # a program imports for many people
                names.append(address_of(request.scope))
            for name in names:
                self.services.limits.imports.spend(name)

    async def _check_watcher(self, request: Request) -> None:
        """Refuse who may not see how the server is doing."""
        allowed = self.settings.monitoring
        if request.scope["path"] == HEALTH or is_among(address_of(request.scope), allowed):
            return
        if "key" not in names_in(allowed):
            said = "Only some addresses may see this. Let TEASER_MONITORING name it."
            raise RefusedError(403, "forbidden", said)
        await self._check_key(request)

    def _check_embedder(self, request: Request) -> None:
        """Refuse a page that may not show the list."""
        source = request.headers.get("origin", "")
        allowed = [own_origin(request), *map(_origin, names_in(self.settings.origins))]
        if request.method == "POST" and not (source and _origin(source) in allowed):
            page = shortened(source) or "no site that it names"
            said = f"A page of {page} may not show this list. Let TEASER_ORIGINS have its origin."
            raise RefusedError(403, "forbidden", said)

    async def _find_own(self, request: Request, rest: str) -> None:
        """Put the id of the person whom `User-Id` names into the path; nothing logs a path."""
        try:
            name = request.headers.get("user-id", "").encode("latin-1").decode().strip()
        except UnicodeDecodeError:
            name = ""
        if not 0 < len(name) <= _MAX_USER_ID:
            said = f"Name the user in the header User-Id: 1 to {_MAX_USER_ID} characters in UTF-8."
            raise RefusedError(422, "invalid", said)
        key_name, catalogue = request.scope["teaser_key"], self.services.holder.current
        find = partial(self.services.store.own_person, key_name, name)
        if (person_id := await self.services.threads.run(find)) is None:
            # Not in the threads of the store: the data set may have to be read first.
            history = await asyncio.to_thread(known_history, catalogue, name)
            person_id = await self.services.threads.run(partial(find, history))
        request.scope["path"] = f"{_API}people/{person_id}{rest}"

    async def _check_key(self, request: Request) -> None:
        """Refuse a request without a known key; its requests count for it alone."""
        kind, _, key = request.headers.get("authorization", "").partition(" ")
        key = key.strip()
        needed = {"WWW-Authenticate": "Bearer"}
        if kind.lower() != "bearer" or not key:
            message = "A key is needed. Send it as Authorization: Bearer tk_..."
            raise RefusedError(401, "unauthorized", message, needed)
        name = await self.services.threads.run(partial(self.services.store.key_name, key))
        if name is None:
            message = "This key is not known, or was revoked."
            raise RefusedError(401, "unauthorized", message, needed)
        admins = names_in(self.settings.admin_keys)
        if request.scope["path"].startswith(_ADMIN) and name not in admins:
            message = "This key may not do this. Let TEASER_ADMIN_KEYS have its name."
            raise RefusedError(403, "forbidden", message)
        request.scope["teaser_key"] = name
        # Every request counts for its address first, so those with a wrong key count there.
        self.services.limits.addresses.take(address_of(request.scope), -1)
        self.services.limits.keys.spend(key)

    async def _read_body(self, request: Request, receive: Receive) -> bytes:
        """Return the whole body, unless it is too large or too slow."""
        if request.method == "GET":
            return b""
        largest = self.settings.largest_body(request.scope["path"])
        body, has_more = bytearray(), True
        size = int(request.headers.get("content-length", 0))
        try:
            async with asyncio.timeout(self.settings.idle_timeout):
                while has_more and size <= largest:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    body += message.get("body", b"")
                    has_more, size = message.get("more_body", False), len(body)
        except TimeoutError:
            late = f"The body did not come within {self.settings.idle_timeout:g} seconds."
            raise RefusedError(408, "request_timeout", late, _CLOSE) from None
        if size > largest:
            large = f"The request is larger than {largest:,} bytes."
            raise RefusedError(413, "too_large", large, _CLOSE)
        return bytes(body)

    async def _first_cookie(self, request: Request) -> list[tuple[bytes, bytes]]:
        """Return the header that sets a new token; none for a visitor who has a valid one."""
        path, store = request.scope["path"], self.services.store
        if request.method != "GET" or path in MONITORING or _NO_COOKIE.fullmatch(path):
            return []
        token, response = read_cookies(request).get(TOKEN), Response()
        try:
            if (key := self._key) is None:
                key = self._key = await self.services.threads.run(lambda: store.signing_key)
        except StoreError:
            return []  # pages that need no database are shown without one
        if token and is_signed(token, key):
            return []
        remember(response, request, TOKEN, new_token(key))
        return [(name, value) for name, value in response.raw_headers if name == b"set-cookie"]


def _with_headers(path: str, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those of every answer.

    Nothing is cached that does not say so itself: it may be about a person. Static files are left
    to the browser, which asks whether they changed.
    """
    headers = [*given, *HEADERS]
    if path in (EMBED, EMBED_SCRIPT):
        own = [name for name, _ in _EMBEDDED]
        headers = [pair for pair in headers if pair[0] not in own] + _EMBEDDED
    is_told = any(name.lower() == b"cache-control" for name, _ in headers)
    return headers if is_told or path.startswith("/static/") else [*headers, _NOT_CACHED]
