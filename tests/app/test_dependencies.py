"""What a request finds: the catalogue of the moment, kept to the request's end."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.conftest import API, TestClient
from app.conftest import services_of as open_services
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute

from teaser.app import api, pages
from teaser.app.http import services_of, store_of


def test_people_of_the_site_are_known_by_their_cookie_alone(client: Any) -> None:
    request = Request({"type": "http", "app": client.app, "headers": []})
    store = services_of(request).store
    own = {"origin": "http://testserver"}
    client.post("/act", data={"view": "i1"}, headers=own)
    person_id = store.find_person(client.cookies["teaser"]) or ""
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    asked = 0
    for path, methods in document["paths"].items():
        if "{person_id}" not in path:
            continue
        address = path.format(person_id=person_id, share_id="0" * 16)
        for method, operation in methods.items():
            query = {
                parameter["name"]: parameter["schema"]["examples"][0]
                for parameter in operation.get("parameters", [])
                if parameter["in"] == "query" and parameter["required"]
            }
            if path.endswith("/hidden") and method == "delete":
                query = {"item_id": "i1"}  # an item or a tag: none of the two is required
            body = None
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                body = schemas[schema["$ref"].split("/")[-1]]["examples"][0]
            answer = client.request(method.upper(), address, json=body, params=query)
            assert answer.status_code == 404, (method, path, answer.text)
            # The link of the example is looked for before the person.
            unknown = "share" if path.endswith("/from-share") else "person"
            assert answer.json()["error"]["code"] == f"unknown_{unknown}"
            asked += 1
    assert asked >= 33
    assert store.state(person_id).history == ("i1",)
    assert store_of(request).state(store_of(request).create_person()[0]).n_events == 0


# What the routes that need no store are asked with.
TASTE = {"history": ["i1"]}
BODIES: dict[str, Any] = {
    **{f"{API}/{name}": TASTE for name in ("recommend", "profile", "statements", "picks")},
    **{f"{API}/{name}": {**TASTE, "item_id": "i2"} for name in ("explain", "lift", "similar")},
    f"{API}/origins": {**TASTE, "tag": "town=Ghent"},
}
QUERIES = {f"{API}/items": "?item_id=i1", f"{API}/search": "?q=a", f"{API}/groups": "?tag=x=y"}


def plain_routes() -> Iterator[tuple[str, str]]:
    """Yield method and path of the routes that run in the usual threads."""
    for package, prefix in ((api, API), (pages, "")):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for route in getattr(module, "router", APIRouter()).routes:
                if isinstance(route, APIRoute) and not inspect.iscoroutinefunction(route.endpoint):
                    yield next(iter(route.methods or ())), prefix + route.path


def test_a_route_that_uses_the_store_is_marked(own_client: TestClient, tmp_path: Path) -> None:
    (file,) = tmp_path.glob("api*.db")
    open_services(own_client).store.close()
    file.rename(tmp_path / "away")
    asked = 0
    for method, route in plain_routes():
        path = route.replace("{item_id:path}", "i1")
        answer = own_client.request(
            method,
            path + QUERIES.get(path, ""),
            json=BODIES.get(path),
            headers={"origin": "http://testserver"},
            follow_redirects=False,
        )
        assert answer.status_code != 503, f"{method} {path} uses the store: mark it @uses_store"
        asked += answer.status_code < 400
    assert asked > 9
