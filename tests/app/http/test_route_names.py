"""Routes are named by their templates: no name has an id in it."""

import asyncio
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI

from teaser.app.http.route_names import OTHER, RouteName, RouteNames, method_name


@pytest.fixture(scope="module")
def app() -> FastAPI:
    """An application with routes of each kind."""
    inner, outer, made = APIRouter(prefix="/people"), APIRouter(prefix="/api"), FastAPI()

    @inner.get("/{person_id}")
    @inner.get("/{person_id}/again")
    @made.get("/item/{item_id:path}")
    def show() -> None: ...

    @inner.delete("/{person_id}")
    def remove() -> None: ...

    async def files(scope: Any, receive: Any, send: Any) -> None: ...

    outer.include_router(inner)
    made.include_router(outer)
    made.mount("/static", files)
    return made


def name_of(app: FastAPI, method: str, path: str) -> RouteName:
    """Return the name of a request after the application has handled it."""
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path}
    scope |= {"query_string": b"", "headers": [], "raw_path": path.encode()}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None: ...

    asyncio.run(app(scope, receive, send))
    return RouteNames(app).of(scope)


@pytest.mark.parametrize(
    ("method", "path", "template"),
    [
        ("GET", "/api/people/tom", "/api/people/{person_id}"),
        ("DELETE", "/api/people/tom", "/api/people/{person_id}"),
        ("GET", "/api/people/tom/again", "/api/people/{person_id}/again"),
        ("GET", "/item/a/b", "/item/{item_id}"),
        ("GET", "/static/tom.css", "/static/{path}"),
        ("GET", "/openapi.json", "/openapi.json"),
    ],
)
def test_a_request_has_the_name_of_its_template(
    app: FastAPI, method: str, path: str, template: str
) -> None:
    assert name_of(app, method, path) == (method, template)
    assert (method, template) in RouteNames(app).known


def test_all_others_have_one_name(app: FastAPI) -> None:
    asked = [("GET", "/tom"), ("POST", "/item/tom"), ("TOM", "/item/tom"), ("GET", "/api/tom")]
    assert {name_of(app, method, path) for method, path in asked} == {OTHER}


def test_a_method_is_one_of_http() -> None:
    assert [method_name(m) for m in ("HEAD", "POST", "TOM")] == ["HEAD", "POST", "other"]
