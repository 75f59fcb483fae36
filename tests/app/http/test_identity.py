"""Who a request comes from: cookies that cannot be forged, forms that cannot be sent for one."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient, services_of

from teaser.app.http.identity import TOKEN, local_path

OWN = {"origin": "http://testserver"}
FORMS = ["/act", "/skip", "/language", "/theme", "/share", "/delete"]
VIEW = {"view": "i1", "language": "nl", "theme": "dark"}


def history(page: str) -> list[str]:
    return re.findall(r'data-card="seen ([^"]+)"', page)


def people(client: TestClient) -> int:
    store = services_of(client).store
    with store._reading() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM person").scalar_one())


class TestCookie:
    def test_is_random_and_out_of_reach_of_scripts(self, serve: Callable[..., TestClient]) -> None:
        tokens = set()
        for secure in (False, True):
            client = serve(secure_cookies=secure)
            own = {"origin": f"http{'s' * secure}://testserver"}
            response = client.post("/act", data=VIEW, headers=own, follow_redirects=False)
            cookie = response.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie
            assert ("Secure" in cookie) == secure
            tokens.add(cookie.split(";")[0].removeprefix(f"{TOKEN}="))
            assert cookie.split(";")[0].split("=")[1] not in response.headers["location"]
        assert len(tokens) == 2
        assert all(len(token) >= 43 for token in tokens)

    def test_nobody_sees_another(self, client: TestClient) -> None:
        client.post("/act", data=VIEW, headers=OWN)
        assert history(client.get("/").text) == ["i1"]
        client.cookies.clear()
        assert history(client.get("/").text) == []

    def test_a_forged_one_makes_somebody_new(self, client: TestClient) -> None:
        client.post("/act", data=VIEW, headers=OWN)
        genuine = client.cookies[TOKEN]
        for forged in ("x", genuine[:-1] + ("A" if genuine[-1] != "A" else "B"), "é" * 400):
            client.cookies.clear()
            headers: Any = {"origin": b"http://testserver", "cookie": f"{TOKEN}={forged}".encode()}
            assert history(client.get("/", headers=headers).text) == []
            response = client.post(
                "/act", data={"view": "i2"}, headers=headers, follow_redirects=False
            )
            assert response.status_code == 303
            assert TOKEN in response.headers["set-cookie"]
            assert history(client.get("/").text) == ["i2"]

    def test_one_of_somebody_deleted_makes_somebody_new(self, client: TestClient) -> None:
        client.post("/act", data=VIEW, headers=OWN)
        old = client.cookies[TOKEN]
        client.post("/delete", headers=OWN)
        headers = {**OWN, "cookie": f"{TOKEN}={old}"}
        assert client.get("/", headers=headers).status_code == 200
        response = client.post("/act", data=VIEW, headers=headers, follow_redirects=False)
        assert TOKEN in response.headers["set-cookie"]


class TestIssued:
    """A token counts if this server gave it out: nobody can choose it for another."""

    @pytest.mark.parametrize("length", [43, 65])
    def test_one_of_somebody_elses_making_is_ignored_and_replaced(
        self, client: TestClient, length: int
    ) -> None:
        planted = "A" * length
        headers = {"cookie": f"{TOKEN}={planted}"}
        page = client.get("/", headers=headers)
        assert page.headers["set-cookie"].startswith(f"{TOKEN}=")
        assert planted not in page.headers["set-cookie"]
        client.cookies.clear()
        answer = client.post("/act", data=VIEW, headers={**OWN, **headers}, follow_redirects=False)
        given = answer.headers["set-cookie"].split(";")[0].removeprefix(f"{TOKEN}=")
        assert given != planted
        store = services_of(client).store
        assert store.find_person(planted) is None
        assert store.find_person(given) is not None
        client.cookies.clear()
        assert history(client.get("/", headers=headers).text) == []

    def test_the_first_cookie_is_what_a_person_is_known_by(self, client: TestClient) -> None:
        client.get("/")
        first = client.cookies[TOKEN]
        client.post("/act", data=VIEW, headers=OWN)
        assert client.cookies[TOKEN] == first
        assert history(client.get("/").text) == ["i1"]

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
        assert history(one.get("/").text) == ["i1"]
        answer = foreign.get("/", headers=headers)  # of another database, with another key
        assert token not in answer.headers["set-cookie"]

    def test_one_from_before_signatures_is_still_that_of_its_person(
        self, client: TestClient
    ) -> None:
        store = services_of(client).store
        _, token = store.create_person(with_token=True)
        headers = {**OWN, "cookie": f"{TOKEN}={token}"}
        assert "set-cookie" not in client.get("/", headers=headers).headers
        client.post("/act", data=VIEW, headers=headers)
        client.cookies.clear()
        assert history(client.get("/", headers=headers).text) == ["i1"]


class TestFirstPage:
    def test_it_brings_the_token_and_stores_nothing(self, client: TestClient) -> None:
        cookie = client.get("/").headers["set-cookie"]
        assert cookie.startswith(f"{TOKEN}=")
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert people(client) == 0
        assert "set-cookie" not in client.get("/").headers

    def test_two_first_actions_at_once_make_one_person(self, client: TestClient) -> None:
        client.get("/")
        headers = {**OWN, "cookie": f"{TOKEN}={client.cookies[TOKEN]}"}
        gate = threading.Barrier(8)

        def act(number: int) -> int:
            own = TestClient(client.app)
            gate.wait()
            form = {"view": f"i{number}"}
            answer = own.post("/act", data=form, headers=headers, follow_redirects=False)
            return answer.status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(act, range(8))) == {303}
        assert people(client) == 1
        assert sorted(history(client.get("/").text)) == [f"i{n}" for n in range(8)]

    @pytest.mark.parametrize("forged", ["x", "a" * 42, "a" * 44, "a" * 42 + "=", "a" * 42 + "%20"])
    def test_what_has_not_the_form_of_a_token_is_replaced(
        self, client: TestClient, forged: str
    ) -> None:
        answer = client.get("/", headers={"cookie": f"{TOKEN}={forged}"})
        assert answer.headers["set-cookie"].startswith(f"{TOKEN}=")
        client.cookies.clear()
        headers = {**OWN, "cookie": f"{TOKEN}={forged}"}
        answer = client.post("/act", data=VIEW, headers=headers, follow_redirects=False)
        assert forged not in re.split("[=;]", answer.headers["set-cookie"])

    @pytest.mark.parametrize("path", ["/deleted", "/api/v1/model", "/static/teaser.css", "/none"])
    def test_nobody_else_gets_one(self, client: TestClient, path: str) -> None:
        assert "set-cookie" not in client.get(path).headers

    def test_who_looks_at_a_shared_profile_gets_none(self, client: TestClient) -> None:
        store = services_of(client).store
        token = store.make_share(store.create_person()[0])[0]
        answer = client.get(f"/s/{token}")
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers


class TestScheme:
    """Behind a proxy that ends https, forms come from https; what claims it must be believed."""

    def test_https_is_asked_for_where_cookies_need_it(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(secure_cookies=True)
        plain = client.post("/act", data=VIEW, headers=OWN, follow_redirects=False)
        assert plain.status_code == 403
        own = {"origin": "https://testserver"}
        assert (
            client.post("/act", data=VIEW, headers=own, follow_redirects=False).status_code == 303
        )
        usual = {"origin": "https://testserver:443"}
        answer = client.post("/act", data={"view": "i2"}, headers=usual, follow_redirects=False)
        assert answer.status_code == 303

    def test_the_scheme_of_the_request_counts(self, client: TestClient) -> None:
        secure = TestClient(client.app, base_url="https://testserver")
        answer = secure.post("/act", data=VIEW, headers=OWN, follow_redirects=False)
        assert answer.status_code == 403
        own = {"origin": "https://testserver"}
        answer = secure.post("/act", data=VIEW, headers=own, follow_redirects=False)
        assert answer.status_code == 303

    def test_nobody_is_believed_on_their_word(self, client: TestClient) -> None:
        headers = {"origin": "https://testserver", "x-forwarded-proto": "https"}
        answer = client.post("/act", data=VIEW, headers=headers, follow_redirects=False)
        assert answer.status_code == 403


class TestOrigin:
    @pytest.mark.parametrize("path", FORMS)
    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "http://testserver.evil.example"},
            {"origin": "https://testserver"},
            {"origin": "http://testserver:8000"},
            {"origin": "http://user@testserver"},
            {"origin": "ftp://testserver"},
            {"origin": "testserver"},
            {"referer": "https://testserver/item/i1"},
            {"referer": "https://evil.example/testserver"},
            {"sec-fetch-site": "cross-site"},
            {"origin": "http://testserver", "sec-fetch-site": "cross-site"},
            {},
        ],
    )
    def test_foreign_forms_change_nothing(
        self, client: TestClient, path: str, headers: dict[str, str]
    ) -> None:
        client.post("/act", data={"view": "i2"}, headers=OWN)
        response = client.post(path, data=VIEW, headers=headers, follow_redirects=False)
        assert response.status_code == 403
        assert "set-cookie" not in response.headers
        assert history(client.get("/").text) == ["i2"]

    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "http://testserver"},
            {"origin": "http://testserver:80"},
            {"referer": "http://testserver/item/i1"},
            {"sec-fetch-site": "same-origin"},
        ],
    )
    def test_our_own_forms_pass(self, client: TestClient, headers: dict[str, str]) -> None:
        response = client.post("/act", data=VIEW, headers=headers, follow_redirects=False)
        assert response.status_code == 303


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/item/a%2Fb?x=1", "/item/a%2Fb?x=1"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("http:/evil", "/"),
        ("/a\r\nset-cookie: x=1", "/"),
        ("", "/"),
    ],
)
def test_only_paths_of_this_site_are_gone_back_to(text: str, path: str) -> None:
    assert local_path(text) == path


@pytest.mark.parametrize("back", ["//[", "http://[", "/\\evil", "//evil.example"])
def test_a_way_back_that_is_no_way_leads_home(back: str) -> None:
    assert local_path(back) == "/"
