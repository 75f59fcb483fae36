"""Keys of the API: asked for, accepted, revoked."""

from collections.abc import Callable

import pytest
from app.conftest import API, TestClient, error_of, new_key, services_of


class TestKeys:
    @pytest.fixture
    def guarded(self, serve: Callable[..., TestClient]) -> TestClient:
        return serve(keys="on")

    def test_every_endpoint_asks_for_a_key(self, guarded: TestClient) -> None:
        document = guarded.get("/openapi.json").json()
        for path, operations in document["paths"].items():
            for method in operations:
                filled = path.replace("{person_id}", "a" * 43).replace("{item_id}", "i0")
                answer = guarded.request(method, filled, json={})
                said = error_of(answer, 401)
                assert said["code"] == "unauthorized"
                assert answer.headers["www-authenticate"] == "Bearer"

    def test_a_key_opens_until_it_is_revoked(self, guarded: TestClient) -> None:
        headers = {"Authorization": f"Bearer {services_of(guarded).store.create_key('site')}"}
        assert guarded.get(f"{API}/model", headers=headers).status_code == 200
        services_of(guarded).store.revoke_key("site")
        said = error_of(guarded.get(f"{API}/model", headers=headers), 401)
        assert "revoked" in said["message"]

    @pytest.mark.parametrize(
        "value",
        ["Bearer", "Bearer ", "Bearer tk_wrong", "Basic {key}", "{key}", "Bearer {key}x", ""],
    )
    def test_anything_else_does_not(self, guarded: TestClient, value: str) -> None:
        headers = {"Authorization": value.format(key=new_key(guarded))}
        error_of(guarded.get(f"{API}/model", headers=headers), 401)

    def test_keys_are_off_on_loopback_and_on_elsewhere(
        self, serve: Callable[..., TestClient]
    ) -> None:
        assert serve(host="127.0.0.1").get(f"{API}/model").status_code == 200
        assert serve(host="0.0.0.0").get(f"{API}/model").status_code == 401  # noqa: S104

    def test_reloading_from_elsewhere_always_needs_a_key(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(host="0.0.0.0", keys="off", admin_keys="deploy, site")  # noqa: S104
        assert client.get(f"{API}/model").status_code == 200
        error_of(client.post(f"{API}/admin/reload"), 401)
        headers = {"Authorization": f"Bearer {services_of(client).store.create_key('site')}"}
        assert client.post(f"{API}/admin/reload", headers=headers).status_code == 200

    def test_only_a_key_that_is_named_for_it_reloads(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(keys="on", admin_keys="deploy")
        store = services_of(client).store
        for name, status in (("shop", 403), ("deploy", 200)):
            headers = {"Authorization": f"Bearer {store.create_key(name)}"}
            assert client.get(f"{API}/model", headers=headers).status_code == 200
            answer = client.post(f"{API}/admin/reload", headers=headers)
            assert answer.status_code == status
        error_of(client.post(f"{API}/admin/reload"), 401)


class TestLimits:
    """A request with a key counts for the key; one with a wrong key for its address."""

    def ask(self, client: TestClient, key: str, times: int) -> list[int]:
        headers = {"Authorization": f"Bearer {key}"}
        return [client.get(f"{API}/model", headers=headers).status_code for _ in range(times)]

    def test_each_key_has_a_limit_of_its_own(self, serve: Callable[..., TestClient]) -> None:
        client = serve(keys="on", rate=2, key_rate=4)
        store = services_of(client).store
        first, second = store.create_key("first"), store.create_key("second")
        assert self.ask(client, first, 6) == [200] * 4 + [429] * 2
        assert self.ask(client, second, 4) == [200] * 4
        refused = client.get(f"{API}/model", headers={"Authorization": f"Bearer {first}"})
        assert error_of(refused, 429)["code"] == "too_many_requests"
        assert 1 <= int(refused.headers["retry-after"]) <= 15
        # None of them counted for the address, which may still ask for two pages.
        assert [client.get("/tour").status_code for _ in range(3)] == [200, 200, 429]

    def test_wrong_keys_count_for_the_address(self, serve: Callable[..., TestClient]) -> None:
        client = serve(keys="on", rate=3, key_rate=0)
        assert self.ask(client, "tk_wrong", 2) == [401, 401]
        assert self.ask(client, new_key(client), 20) == [200] * 20
        assert self.ask(client, "tk_guess", 2) == [401, 429]
