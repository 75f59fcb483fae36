"""`/mcp` of the site: streamable HTTP behind the keys and limits of the API, without sessions.

Every request is complete in itself, so any of several workers can answer any of a client's.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from teaser.app.http import MCP, Receive, Scope, Send, Services

IS_INSTALLED = find_spec("mcp") is not None


def add_assistants(app: FastAPI, services: Services, *, title: str) -> None:
    """Serve assistants at `/mcp`, if the settings allow it and the package is installed."""
    if not (services.settings.mcp and IS_INSTALLED):
        return
    # Here, because the SDK takes a quarter of the time in which a server is imported.
    from teaser.app.mcp.server import build_server
    from teaser.app.mcp.tools import People, Source

    people = People(services.store, services.threads)
    source = Source(lambda: services.holder.current, services.settings, people)
    app.state.assistants = _Endpoint(build_server(source, title=title))
    app.router.routes.append(Route(MCP, app.state.assistants, methods=["POST"]))


@asynccontextmanager
async def assistants_running(app: FastAPI) -> AsyncIterator[None]:
    """Let `/mcp` answer while the application runs; nothing happens where there is none."""
    endpoint: _Endpoint | None = getattr(app.state, "assistants", None)
    if endpoint is None:
        yield
        return
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    # A manager runs once, so each run of the application makes its own.
    endpoint.manager = StreamableHTTPSessionManager(
        endpoint.server,
        json_response=True,
        stateless=True,
        # `Guard` checks the host, the key and the origin, and reads the body, as for the API.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=app.state.services.settings.max_body,
    )
    async with endpoint.manager.run():
        yield


class _Endpoint:
    """The transport of the SDK; it answers while the application runs."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.manager: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.manager.handle_request(scope, receive, send)
