"""Metrics and readiness are seen by those whom the setting names; health by all."""

from collections.abc import Callable
from typing import Any

import pytest
from app.conftest import TestClient, new_key

WATCHED = ("/readyz", "/metrics")


@pytest.fixture
def watched(serve: Callable[..., TestClient]) -> Callable[..., Callable[..., Any]]:
    """Make a server; the function that is returned asks it from an address."""

    def start(**settings: Any) -> Callable[..., Any]:
        app: Any = serve(**settings).app

        def ask(path: str, address: str, **headers: str) -> Any:
            client = TestClient(app, client=(address, 4000), raise_server_exceptions=False)
            return client.get(path, headers=headers)

        return ask

    return start


def test_only_this_machine_and_keys_see_them_unless_told_otherwise(
    serve: Callable[..., TestClient],
) -> None:
    app: Any = serve(monitoring="loopback, key").app
    near, far = (TestClient(app, client=(host, 1)) for host in ("127.0.0.1", "203.0.113.7"))
    key = {"authorization": f"Bearer {new_key(near)}"}
    for path in WATCHED:
        assert near.get(path).status_code == 200
        refused = far.get(path)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "teaser_" not in refused.text
        assert far.get(path, headers={"authorization": "Bearer tk_wrong"}).status_code == 401
        assert far.get(path, headers=key).status_code == 200
    assert far.get("/healthz").status_code == 200
    assert far.get("/").status_code == 200


def test_a_visitor_behind_a_proxy_on_this_machine_is_far(serve: Callable[..., TestClient]) -> None:
    app: Any = serve(monitoring="loopback", proxies="127.0.0.1").app
    proxy = TestClient(app, client=("127.0.0.1", 1))
    forwarded = {"x-forwarded-for": "203.0.113.7"}
    assert proxy.get("/metrics").status_code == 200
    assert proxy.get("/metrics", headers=forwarded).status_code == 403
    claimed = {"x-forwarded-for": "127.0.0.1, 203.0.113.7"}
    assert proxy.get("/metrics", headers=claimed).status_code == 403


def test_a_network_can_be_named(watched: Callable[..., Callable[..., Any]]) -> None:
    ask = watched(monitoring="10.0.0.0/8")
    assert ask("/metrics", "10.1.2.3").status_code == 200
    refused = ask("/metrics", "127.0.0.1")
    assert refused.status_code == 403
    assert "TEASER_MONITORING" in refused.json()["error"]["message"]


def test_keys_cannot_be_tried_without_end(watched: Callable[..., Callable[..., Any]]) -> None:
    ask = watched(monitoring="127.0.0.1, key", rate=3)
    tried = [ask("/metrics", "203.0.113.7", authorization=f"Bearer {n}") for n in range(5)]
    assert [answer.status_code for answer in tried] == [401, 401, 401, 429, 429]
    assert 1 <= int(tried[-1].headers["retry-after"]) <= 20
    assert {ask("/metrics", "127.0.0.1").status_code for _ in range(5)} == {200}


def test_a_key_counts_in_place_of_its_address(serve: Callable[..., TestClient]) -> None:
    app: Any = serve(monitoring="key", rate=3, key_rate=5).app
    far = TestClient(app, client=("203.0.113.7", 1))
    key = {"authorization": f"Bearer {new_key(far)}"}
    asked = [far.get("/metrics", headers=key).status_code for _ in range(7)]
    assert asked == [200] * 5 + [429] * 2
