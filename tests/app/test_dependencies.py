"""What a request finds: the catalogue of the moment, kept to the request's end."""

from typing import Any

from fastapi import Request

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
