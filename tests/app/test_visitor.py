"""Who a request comes from: cookies that cannot be forged, forms that cannot be sent for one."""

import re
from collections.abc import Callable

import pytest
from app.conftest import TestClient

from teaser.app.visitor import TOKEN, local_path

OWN = {"origin": "http://testserver"}
FORMS = ["/act", "/skip", "/language", "/theme", "/share", "/delete"]
VIEW = {"view": "i1", "language": "nl", "theme": "dark"}


def history(page: str) -> list[str]:
    return re.findall(r'data-card="seen ([^"]+)"', page)


class TestCookie:
    def test_is_random_and_out_of_reach_of_scripts(self, serve: Callable[..., TestClient]) -> None:
        tokens = set()
        for secure in (False, True):
            client = serve(secure_cookies=secure)
            response = client.post("/act", data=VIEW, headers=OWN, follow_redirects=False)
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
            headers = {"origin": b"http://testserver", "cookie": f"{TOKEN}={forged}".encode()}
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


class TestOrigin:
    @pytest.mark.parametrize("path", FORMS)
    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "http://testserver.evil.example"},
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
