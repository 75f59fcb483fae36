"""The document of the API: valid, complete, with examples that work and bounds that hold."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from app.conftest import API, TestClient, error_of, new_key, new_person
from hypothesis import HealthCheck, given, settings

from teaser import Teaser, load

ROOT = Path(__file__).resolve().parents[3]
NAMES_A_FEED = [("delete", "feeds"), ("patch", "feeds"), ("put", "feed"), ("post", "shares")]
METHODS = ("get", "post", "put", "delete", "patch")


@pytest.fixture(scope="module")
def schemathesis() -> Any:
    """Import it here: a second, in every worker that collects the tests."""
    import schemathesis
    import schemathesis.specs.openapi.checks

    return schemathesis


class TestDocument:
    @pytest.fixture
    def document(self, client: TestClient) -> Any:
        return client.get("/openapi.json").json()

    def operations(self, document: Any) -> Iterator[tuple[str, str, Any]]:
        for path, methods in document["paths"].items():
            for method in methods:
                assert method in METHODS
                yield path, method, methods[method]

    def test_it_is_valid_openapi_3_1(self, schemathesis: Any, document: Any) -> None:
        assert document["openapi"].startswith("3.1")
        schemathesis.openapi.from_dict(document).validate()
        broken = {**document, "paths": {"/x": {"get": {"responses": 5}}}}
        with pytest.raises(Exception, match="5"):
            schemathesis.openapi.from_dict(broken).validate()

    def test_the_key_is_declared_where_it_is_needed(
        self, serve: Callable[..., TestClient], document: Any
    ) -> None:
        assert "securitySchemes" not in document["components"]
        assert not any("security" in o for _, _, o in self.operations(document))
        needs: list[dict[str, list[str]]] = [{"ApiKey": []}]
        n_all = len(list(self.operations(document)))
        for keys, needed in (("on", n_all), ("off", 1)):
            client = serve(keys=keys, host="0.0.0.0")  # noqa: S104
            told = client.get("/openapi.json").json()
            scheme = told["components"]["securitySchemes"]["ApiKey"]
            assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
            secured = [path for path, _, o in self.operations(told) if o.get("security") == needs]
            assert len(secured) == needed
            assert f"{API}/admin/reload" in secured

    def test_every_example_is_accepted_by_its_own_endpoint(
        self, serve: Callable[..., TestClient], events_folder: Path
    ) -> None:
        client = serve(model=events_folder)
        document = client.get("/openapi.json").json()
        schemas = document["components"]["schemas"]
        group = next(str(tag) for tag in load(events_folder, Teaser).tags_ if tag.discovered)
        tried = []
        for path, method, operation in self.operations(document):
            person = new_person(client)
            for act in ("views", "hidden"):
                client.post(f"{person}/{act}", json={"item_id": "e0001"})
            if path.endswith("/redo"):
                client.post(f"{person}/undo")
            if (method, path.split("/")[-1]) in NAMES_A_FEED:
                client.post(f"{person}/feeds", json={"feed": "Friday night"})
            if "{share_id}" in path:
                made = client.post(f"{person}/shares").json()
                path = path.replace("{share_id}", made["share_id"])
            path = path.replace(f"{API}/people/{{person_id}}", person)
            query: dict[str, Any] = {}
            for parameter in operation.get("parameters", []):
                for value in parameter["schema"].get("examples", []):
                    if parameter["in"] == "path":
                        path = path.replace(f"{{{parameter['name']}}}", value)
                    else:
                        query[parameter["name"]] = value
            if path.endswith("/groups"):  # names of groups depend on the model
                query["tag"] = group
            bodies: list[Any] = [None]
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                bodies = schemas[schema["$ref"].split("/")[-1]]["examples"]
            for body in bodies:
                if path.endswith("/from-share"):  # a link is known only when it is made
                    made = client.post(f"{person}/shares", json={"feed": ""}).json()
                    body = {**body, "token": made["path"].split("/")[-1]}
                answer = client.request(method, path, json=body, params=query)
                assert answer.status_code in (200, 201, 204), (path, body, answer.text)
                tried.append((path, body))
        assert len(tried) >= 45


def test_the_page_of_the_api_names_exactly_what_there_is(client: TestClient) -> None:
    page = (ROOT / "docs" / "users" / "api.md").read_text()
    rows = re.findall(r"^\| `(GET|POST|PUT|PATCH|DELETE) (/[^`?]*)[^`]*` \|", page, re.M)
    document = client.get("/openapi.json").json()
    existing = {
        (method.upper(), path.removeprefix(API))
        for path, methods in document["paths"].items()
        for method in methods
    }
    assert set(rows) == existing
    assert len(rows) == len(existing)
    for status in ("400", "401", "403", "404", "413", "421", "422", "429", "503"):
        assert re.search(rf"^\| {status} \|", page, re.M), status


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_random_requests_meet_no_error_of_ours(
    serve: Callable[..., TestClient], schemathesis: Any, mode: str
) -> None:
    kind = schemathesis.GenerationMode(mode)
    checks = schemathesis.specs.openapi.checks
    # A well-formed request can ask for what is not possible, such as a sixth press; and one that
    # is called malformed for its missing key alone is given one here.
    excluded = [checks.positive_data_acceptance, checks.negative_data_rejection]
    client = serve(max_body=10_000_000, keys="on")
    key = {"Authorization": f"Bearer {new_key(client)}"}
    client.headers.update(key)
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
    met: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        assert isinstance(found, schemathesis.core.result.Ok)
        operation = found.ok()
        person_id = new_person(client).split("/")[-1]
        known = {"person_id": person_id} if "{person_id}" in operation.path else None
        is_plain = not (operation.body or operation.query or operation.path_parameters)
        if is_plain and mode == "negative":
            continue

        @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=kind, path_parameters=known))
        def probe(case: Any) -> None:
            answer = case.call_and_validate(headers=dict(key), excluded_checks=excluded)
            met.setdefault(case.operation.label, set()).add(answer.status_code)

        probe()
    assert len(met) >= 20
    assert 422 in set.union(*met.values())


WRONG = {
    "boolean": [0, 1, "true"],
    "integer": [True, "3", 2.5],
    "number": [True, "0.5"],
    "date": ["soon", "2026-02-30", True],
}


def test_a_body_with_a_value_of_another_type_is_refused(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    schemas, person, refused = document["components"]["schemas"], new_person(client), 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            name = str(content.get("application/json", {}).get("schema", {}).get("$ref", ""))
            schema = schemas.get(name.rsplit("/", 1)[-1], {})
            address = path.replace(f"{API}/people/{{person_id}}", person)
            for field, told in schema.get("properties", {}).items():
                kinds = [each for each in (told, *told.get("anyOf", ())) if "type" in each]
                for wrong in [w for k in kinds for w in WRONG.get(k.get("format", k["type"]), ())]:
                    body = {**schema["examples"][0], field: wrong}
                    answer = client.request(method, address, json=body)
                    said = error_of(answer, 422)["message"]
                    assert said.startswith(f"body.{field}: must be "), (path, body, said)
                    refused += 1
    assert refused > 80
