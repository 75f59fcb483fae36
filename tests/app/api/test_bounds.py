"""The bounds that the API's document tells are those that are enforced."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from app.conftest import API, TestClient, new_person

LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "maxProperties")
RANGES = ("minimum", "maximum")
NEEDED: dict[str | None, set[str]] = {
    "string": {"maxLength"},
    "array": {"maxItems"},
    "integer": {*RANGES},
    "number": {*RANGES},
}
PRESS = {"tag": "town=Ghent", "steps": 1}
END = {"kind": "press", "name": "town=Ghent", "steps": 1, "until": "2026-05-01T12:00:00Z"}
CHANGE = {"old": "town=Ghent"}
# An entry of each list of objects, so that only one value of it is wrong.
ENTRIES: dict[str | int, dict[str, Any]] = {
    "presses": PRESS,
    "lasting": PRESS,
    "ends": END,
    "feeds": {"feed": ""},
    "changes": CHANGE,
}


@dataclass(frozen=True)
class Place:
    """A value somewhere in a request: its operation, its path in the request, and its schema."""

    method: str
    path: str
    where: tuple[str | int, ...]
    schema: Any
    example: Any


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    return serve(max_body=10_000_000)


def places(document: Any) -> Iterator[Place]:
    """Yield every value that a request can have, each with an example of the whole request."""
    schemas = document["components"]["schemas"]

    def resolve(schema: Any) -> Any:
        while "$ref" in schema:
            schema = schemas[schema["$ref"].split("/")[-1]]
        return schema

    def walk(schema: Any, where: tuple[str | int, ...]) -> Iterator[tuple[Any, Any]]:
        schema = resolve(schema)
        yield where, schema
        for choice in schema.get("anyOf", schema.get("oneOf", ())):
            yield from walk(choice, where)
        for name, inner in schema.get("properties", {}).items():
            yield from walk(inner, (*where, name))
        if "items" in schema:
            yield from walk(schema["items"], (*where, 0))
        if schema.get("additionalProperties"):
            yield from walk(schema["additionalProperties"], (*where, "i1"))

    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            query = {p["name"]: p for p in operation.get("parameters", ()) if p["in"] == "query"}
            needed = {n: p["schema"]["examples"][0] for n, p in query.items() if p["required"]}
            for name, parameter in query.items():
                for where, schema in walk(parameter["schema"], (name,)):
                    yield Place(method, path, where, schema, needed)
            if "requestBody" in operation:
                body = resolve(operation["requestBody"]["content"]["application/json"]["schema"])
                needed = {n: body["examples"][0][n] for n in body.get("required", ())}
                for where, schema in walk(body, ()):
                    yield Place(method, path, where, schema, needed)


def filled(place: Place, value: Any) -> Any:
    """Return the example of a request with one value put in."""
    request = copy.deepcopy(place.example)
    inner, where = request, place.where
    for before, name, after in zip(("", *where), where, where[1:], strict=False):
        if name == 0:
            inner[:] = [[] if after == 0 else dict(ENTRIES.get(str(before), {}))]
        elif name not in inner or not inner[name]:
            inner[name] = [] if after == 0 else {}
        inner = inner[-1] if name == 0 else inner[name]
    if where[-1] == 0:
        inner[:] = [value]
    else:
        inner[where[-1]] = value
    return request


def at_bounds(schema: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a value at each bound of a schema, and one beyond it."""
    kind = schema.get("type", "")
    named = schema.get("items", {}).get("$ref", "").split("/")[-1]
    entries = {"Press": PRESS, "GivenEnding": END, "NamedFeed": {"feed": ""}, "Change": CHANGE}
    entry = entries.get(named, "i=1")
    one: dict[str, Callable[[int], Any]] = {
        "string": lambda n: "x" * n,
        "array": lambda n: [entry] * n,
        "object": lambda n: {f"i{j}": 1.0 for j in range(n)},
    }
    for name in LENGTHS:
        if name in schema and kind in one:
            end, make = schema[name], one[kind]
            yield make(end), make(end + (1 if name.startswith("max") else -1))
    for name in RANGES:
        if name in schema:
            end = int(schema[name]) if kind == "integer" else schema[name]
            step = 1 if kind == "integer" else 1e-3 * max(1.0, abs(end))
            yield end, end + (step if name == "maximum" else -step)
    if "propertyNames" in schema:
        longest = schema["propertyNames"]["maxLength"]
        yield {"x" * longest: 1.0}, {"x" * (longest + 1): 1.0}
        yield {"x": 1.0}, {"": 1.0}
    for choice in schema.get("enum", ()):
        yield choice, f"{choice}x"
    if schema.get("format") == "date":
        yield date(2026, 5, 1).isoformat(), "2026-13-01"
    if "not" in schema:
        yield 1, schema["not"]["const"]


def message(client: TestClient, place: Place, value: Any, person: str) -> str:
    """Return what the API says of a request about this value; nothing if it finds no fault."""
    request = filled(place, value)
    path = place.path.replace(f"{API}/people/{{person_id}}", person)
    is_query = place.method in ("get", "delete")
    sent: Any = {"params": request} if is_query else {"json": request}
    answer = client.request(place.method, path, **sent)
    assert answer.status_code < 500, (place, answer.text)
    said = answer.json()["error"]["message"] if answer.status_code == 422 else ""
    at = ("query" if is_query else "body", *place.where)
    return str(said) if said.startswith(".".join(map(str, at))) else ""


def check_told(place: Place) -> None:
    """Check that the document tells a bound of whatever could be long or large."""
    schema = place.schema
    if "enum" not in schema and schema.get("format") != "date":
        assert NEEDED.get(schema.get("type"), set()) <= set(schema), place
    if schema.get("additionalProperties"):
        assert {"maxProperties", "propertyNames"} <= set(schema), place


def test_every_value_has_bounds_and_they_hold(client: TestClient) -> None:
    person = new_person(client)
    seen = set()
    for place in places(client.get("/openapi.json").json()):
        check_told(place)
        schema = {k: v for k, v in place.schema.items() if k not in ("title", "description")}
        key = place.where, str(schema), place.method == "get"
        # A number in a query is a text, too; so are ids there.
        if key in seen or (place.method == "get" and schema.get("format") == "int64"):
            continue
        seen.add(key)
        for at, beyond in at_bounds(schema):
            assert not message(client, place, at, person), (place, at)
            assert message(client, place, beyond, person), (place, beyond)
    assert len(seen) > 50
