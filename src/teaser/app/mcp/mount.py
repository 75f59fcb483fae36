"""`/mcp` of the site: streamable HTTP behind the keys and limits of the API, without sessions.

Every request is complete in itself, so any of several workers can answer any of a client's.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from teaser.app.api.auth import check_key
from teaser.app.http import MCP, Message, Receive, Scope, Send, Services
from teaser.app.settings import Settings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

IS_INSTALLED = find_spec("mcp") is not None


def has_assistants(settings: Settings) -> bool:
    """Return whether assistants are served: the settings allow it and the package is installed."""
    return settings.mcp and IS_INSTALLED


def add_assistants(app: FastAPI, services: Services, *, title: str) -> None:
    """Serve assistants at `/mcp`, if they are to be served."""
    if not has_assistants(services.settings):
        return
    # Here, because the SDK takes a quarter of the time in which a server is imported.
    from teaser.app.mcp.server import build_server
    from teaser.app.mcp.tools import People, Source

    people = People(services.store, services.threads)
    source = Source(lambda: services.holder.current, services.settings, people)
    endpoint = _Endpoint(build_server(source, title=title), services.settings.max_body)
    router = APIRouter(dependencies=[Depends(check_key)])

    @router.post(MCP)
    async def answer_assistant(request: Request) -> Response:
        """Answer one message of an assistant."""
        # The SDK would log a client that leaves within its body as an error of its own.
        return _Passed(endpoint, await request.body())

    app.include_router(router, include_in_schema=False)
    app.state.assistants = endpoint


@asynccontextmanager
async def assistants_running(app: FastAPI) -> AsyncIterator[None]:
    """Let `/mcp` answer while the application runs; nothing happens where there is none."""
    endpoint: _Endpoint | None = getattr(app.state, "assistants", None)
    if endpoint is None:
        yield
        return
    async with endpoint.running():
        yield


class _Endpoint:
    """The transport of the SDK. It runs once, so each run of the application makes its own."""

    def __init__(self, server: Any, max_body: int) -> None:
        self.server = server
        self.max_body = max_body
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Accept requests until the block ends."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        manager = StreamableHTTPSessionManager(
            self.server,
            json_response=True,
            stateless=True,
            # The host is checked by `Guard` and the origin by `check_key`, as for the API.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=self.max_body,
        )
        async with manager.run():
            self._manager = manager
            yield
        self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._manager is None:
            raise RuntimeError("assistants are answered while the application runs")
        await self._manager.handle_request(scope, receive, send)


class _Passed(Response):
    """A response that the transport sends, to a request whose body was read."""

    def __init__(self, endpoint: _Endpoint, read: bytes) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the transport read the body again and answer it."""
        first = iter([{"type": "http.request", "body": self._read, "more_body": False}])

        async def receive_again() -> Message:
            return next(first, None) or await receive()

        await self._endpoint(scope, receive_again, send)
