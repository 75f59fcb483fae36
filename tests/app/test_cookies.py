"""Cookies under names that nobody else can set; a token under another name never counts."""

import re
from collections.abc import Callable

import pytest
from app.conftest import TestClient

from teaser.app.http import LANGUAGE, THEME, TOKEN, read_cookies
from teaser.app.settings import Settings

SECURE, PLAIN = Settings(model="m", secure_cookies=True), Settings(model="m")
OWN = {"origin": "https://testserver"}


def history(page: str) -> list[str]:
    return re.findall(r'data-card="seen ([^"]+)"', page)


@pytest.fixture
def old(serve: Callable[..., TestClient]) -> TestClient:
    """A client with cookies under old names, the token of somebody who viewed i1 among them."""
    client = serve(secure_cookies=True)
    browser = TestClient(client.app, base_url="https://testserver", headers=OWN)
    browser.post("/act", data={"view": "i1"})
    token = browser.cookies[f"__Host-{TOKEN}"]
    browser.cookies.clear()
    for name, value in ((TOKEN, token), (LANGUAGE, "nl"), (THEME, "dark")):
        browser.cookies.set(name, value, domain="testserver.local")
    return browser


class TestNames:
    def test_a_token_without_the_prefix_never_counts_where_cookies_are_secure(self) -> None:
        assert read_cookies({"teaser": "planted", LANGUAGE: "nl"}, SECURE) == {}

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
            answer = client.post(path, data=form, headers=OWN, follow_redirects=False)
            sent += answer.headers.get_list("set-cookie")
        assert len(sent) == 5
        for cookie in sent:
            assert cookie.startswith("__Host-teaser")
            parts = cookie.casefold().split("; ")
            assert {"secure", "path=/", "httponly"} <= set(parts)
            assert not any(part.startswith("domain") for part in parts)


class TestPlanted:
    @pytest.mark.parametrize("with_page", [True, False])
    def test_who_planted_a_token_sees_nothing_of_the_visitor(
        self, old: TestClient, with_page: bool
    ) -> None:
        other = TestClient(old.app, base_url="https://testserver", headers=OWN)
        planted = {"cookie": f"__Host-{TOKEN}={old.cookies[TOKEN]}"}
        if with_page:
            old.get("/")
        old.post("/act", data={"view": "i2"}, follow_redirects=False)
        assert history(old.get("/profile").text) == ["i2"]
        assert other.get("/export", headers=planted).json()["state"]["history"] == ["i1"]
