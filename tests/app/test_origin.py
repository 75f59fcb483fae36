"""Forms are accepted from our own pages only, under the scheme that browsers see."""

from collections.abc import Callable

from app.conftest import API, OWN, TestClient, error_of, history, new_key, new_person

from teaser.app.http import local_path

FORMS = ["/act", "/skip", "/language", "/theme", "/share", "/delete"]
VIEW = {"view": "i1", "language": "nl", "theme": "dark"}


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
    def test_foreign_forms_change_nothing(self, client: TestClient) -> None:
        client.post("/act", data={"view": "i2"}, headers=OWN)
        foreign: list[dict[str, str]] = [
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


def test_only_paths_of_this_site_are_gone_back_to() -> None:
    assert local_path("/item/a%2Fb?x=1") == "/item/a%2Fb?x=1"
    foreign = ["//evil.example", "/\\evil.example", "http:/evil", "/a\r\nset-cookie: x=1", ""]
    for text in (*foreign, "//[", "http://["):
        assert local_path(text) == "/", text
