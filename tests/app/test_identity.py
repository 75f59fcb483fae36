"""The cookie that identifies a visitor cannot be forged, planted or read by scripts."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from app.conftest import OWN, TestClient, connected, history, services_of
from sqlalchemy import text

from teaser.app.http import TOKEN

VIEW = {"view": "i1", "language": "nl", "theme": "dark"}


def people(client: TestClient) -> int:
    with connected(services_of(client).store) as connection:
        return int(connection.execute(text("SELECT count(*) FROM person")).scalar_one())


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
            tokens.add(cookie.split(";")[0].split("=")[1])
            assert cookie.split(";")[0].split("=")[1] not in response.headers["location"]
        assert len(tokens) == 2
        assert all(len(token) >= 43 for token in tokens)

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

    def test_one_of_somebody_elses_making_is_ignored_and_replaced(self, client: TestClient) -> None:
        planted = f"{'A' * 43}.{'B' * 43}"
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
        assert history(client.get("/profile", headers=headers).text) == []

    def test_the_first_cookie_is_what_a_person_is_known_by(self, client: TestClient) -> None:
        client.get("/")
        first = client.cookies[TOKEN]
        client.post("/act", data=VIEW, headers=OWN)
        assert client.cookies[TOKEN] == first
        assert history(client.get("/profile").text) == ["i1"]

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
