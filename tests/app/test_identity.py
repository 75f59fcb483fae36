"""Who a visitor is cannot be forged, planted or read; forms come from our own pages."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from app.conftest import (
    API,
    OWN,
    TestClient,
    connected,
    error_of,
    history,
    new_key,
    new_person,
    services_of,
)
from sqlalchemy import text

from teaser.app.http import TOKEN

VIEW = {"view": "i1", "language": "nl", "theme": "dark"}


def people(client: TestClient) -> int:
    with connected(services_of(client).store) as connection:
        return int(connection.execute(text("SELECT count(*) FROM person")).scalar_one())


class TestCookie:
    def test_a_forged_one_makes_somebody_new(self, client: TestClient) -> None:
        client.post("/act", data=VIEW, headers=OWN)
        genuine = client.cookies[TOKEN]
        for forged in ("x", genuine[:-1] + ("A" if genuine[-1] != "A" else "B"), "é" * 400):
            client.cookies.clear()
            headers: Any = {"origin": b"http://testserver", "cookie": f"{TOKEN}={forged}".encode()}
            assert history(client.get("/profile", headers=headers).text) == []
            response = client.post(
                "/act", data={"view": "i2"}, headers=headers, follow_redirects=False
            )
            assert response.status_code == 303
            assert TOKEN in response.headers["set-cookie"]
            assert history(client.get("/profile").text) == ["i2"]


class TestIssued:
    """A token counts if this server gave it out: nobody can choose it for another."""

    def test_another_process_and_a_later_one_take_it(
        self, serve: Callable[..., TestClient], tmp_path: Path
    ) -> None:
        url = f"sqlite:///{tmp_path / 'people.db'}"
        one, two, foreign = serve(database_url=url), serve(database_url=url), serve()
        one.get("/")
        token = one.cookies[TOKEN]
        headers = {**OWN, "cookie": f"{TOKEN}={token}"}
        assert "set-cookie" not in two.get("/", headers=headers).headers
        two.post("/act", data=VIEW, headers=headers)
        assert history(one.get("/profile").text) == ["i1"]
        answer = foreign.get("/", headers=headers)  # of another database, with another key
        assert token not in answer.headers["set-cookie"]


class TestFirstPage:
    def test_it_brings_the_token_and_stores_nothing(self, own_client: TestClient) -> None:
        cookie = own_client.get("/").headers["set-cookie"]
        assert cookie.startswith(f"{TOKEN}=")
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert people(own_client) == 0
        assert "set-cookie" not in own_client.get("/").headers

    def test_two_first_actions_at_once_make_one_person(self, own_client: TestClient) -> None:
        own_client.get("/")
        headers = {**OWN, "cookie": f"{TOKEN}={own_client.cookies[TOKEN]}"}
        gate = threading.Barrier(8)

        def act(number: int) -> int:
            own = TestClient(own_client.app)
            gate.wait()
            form = {"view": f"i{number}"}
            answer = own.post("/act", data=form, headers=headers, follow_redirects=False)
            return answer.status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(act, range(8))) == {303}
        assert people(own_client) == 1
        assert sorted(history(own_client.get("/profile").text)) == [f"i{n}" for n in range(8)]

    def test_nobody_else_gets_one(self, client: TestClient) -> None:
        for path in ("/deleted", "/api/v1/model", "/static/teaser.css", "/none"):
            assert "set-cookie" not in client.get(path).headers, path


FORMS = ["/act", "/skip", "/language", "/theme", "/share", "/delete"]


class TestScheme:
    """Behind a proxy that ends https, forms come from https; what claims it must be believed."""

    @pytest.mark.parametrize("is_told", [True, False])
    def test_a_form_over_https_comes_from_https(
        self, serve: Callable[..., TestClient], is_told: bool
    ) -> None:
        client = serve(secure_cookies=is_told)
        if not is_told:
            client = TestClient(client.app, base_url="https://testserver")
        for origin, status in (("http://testserver", 403), ("https://testserver", 303)):
            headers = {"origin": origin}
            answer = client.post("/act", data=VIEW, headers=headers, follow_redirects=False)
            assert answer.status_code == status


class TestOrigin:
    def test_foreign_forms_change_nothing(self, client: TestClient) -> None:
        client.post("/act", data={"view": "i2"}, headers=OWN)
        foreign: list[dict[str, str]] = [
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "https://testserver"},
            {"origin": "http://testserver:8000"},
            {"origin": "http://user@testserver"},
            {"referer": "https://evil.example/testserver"},
            {"sec-fetch-site": "cross-site"},
            {"origin": "http://testserver", "sec-fetch-site": "cross-site"},
            {},
        ]
        for path in FORMS:
            for headers in foreign:
                response = client.post(path, data=VIEW, headers=headers, follow_redirects=False)
                assert response.status_code == 403, (path, headers)
                assert "set-cookie" not in response.headers
        assert history(client.get("/profile").text) == ["i2"]

    def test_our_own_forms_pass(self, client: TestClient) -> None:
        for headers in (
            {"origin": "http://testserver"},
            {"origin": "http://testserver:80"},
            {"referer": "http://testserver/item/i1"},
            {"sec-fetch-site": "same-origin"},
        ):
            response = client.post("/act", data=VIEW, headers=headers, follow_redirects=False)
            assert response.status_code == 303, headers


class TestApi:
    """Without keys, a page of another site neither changes anything nor reads about a person."""

    FOREIGN = (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://testserver", "sec-fetch-site": "cross-site"},
    )

    def test_other_sites_write_nothing_and_read_nothing_of_a_person(
        self, client: TestClient
    ) -> None:
        person = new_person(client)
        for headers in self.FOREIGN:
            for method, path in (
                ("POST", f"{API}/people"),
                ("POST", f"{API}/recommend"),
                ("POST", f"{API}/admin/reload"),
                ("POST", f"{person}/reset"),
                ("DELETE", person),
                ("GET", person),
                ("HEAD", person),
                ("GET", f"{person}/export"),
                ("GET", f"{person}/recommendations"),
            ):
                answer = client.request(method, path, headers=headers)
                assert answer.status_code == 403, (method, path, headers)
        assert client.get(person).json()["n_events"] == 0

    def test_they_may_link_to_what_is_about_nobody(self, client: TestClient) -> None:
        headers = {"sec-fetch-site": "cross-site"}
        assert client.get(f"{API}/model", headers=headers).status_code == 200

    def test_programs_and_our_own_pages_pass(self, client: TestClient) -> None:
        person = new_person(client)
        own: list[dict[str, str]] = [
            {},
            {"sec-fetch-site": "none"},
            {"sec-fetch-site": "same-origin", **OWN},
        ]
        for headers in own:
            assert client.get(person, headers=headers).status_code == 200
            assert client.post(f"{person}/reset", headers=headers).status_code == 200

    def test_a_key_is_enough(self, serve: Callable[..., TestClient]) -> None:
        client = serve(keys="on")
        headers = {"sec-fetch-site": "cross-site", "origin": "https://shop.example"}
        error_of(client.post(f"{API}/people", headers=headers), 401)
        headers["authorization"] = f"Bearer {new_key(client)}"
        assert client.post(f"{API}/people", headers=headers).status_code == 201


def test_people_of_the_site_are_known_by_their_cookie_alone(client: Any) -> None:
    store = services_of(client).store
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


HTTPS = {"origin": "https://testserver"}


class TestNames:
    def test_a_token_without_the_prefix_never_counts_over_https(self, client: TestClient) -> None:
        """Whatever the settings say: a proxy may end https without them."""
        client.post("/act", data={"view": "i1"}, headers=OWN)
        planted = client.cookies[TOKEN]
        victim = TestClient(client.app, base_url="https://testserver", headers=HTTPS)
        victim.cookies.set(TOKEN, planted, domain="testserver.local")
        victim.post("/act", data={"view": "i2"})
        assert history(victim.get("/profile").text) == ["i2"]
        assert history(client.get("/profile").text) == ["i1"]
        assert victim.cookies[f"__Host-{TOKEN}"] != planted

    def test_every_cookie_has_what_browsers_ask_of_the_prefix(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(secure_cookies=True)
        sent = [client.get("/").headers["set-cookie"]]
        for path, form in (
            ("/act", {"view": "i1"}),
            ("/language", {"language": "nl"}),
            ("/theme", {"theme": "dark"}),
            ("/skip", {}),
        ):
            answer = client.post(path, data=form, headers=HTTPS, follow_redirects=False)
            sent += answer.headers.get_list("set-cookie")
        assert len(sent) == 5
        for cookie in sent:
            assert cookie.startswith("__Host-teaser")
            parts = cookie.casefold().split("; ")
            assert {"secure", "path=/", "httponly"} <= set(parts)
            assert not any(part.startswith("domain") for part in parts)
