"""Bodies and requests have limits of size, time and number; a head is refused before its body."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from app.conftest import API, OWN, TestClient, append, error_of, new_key, new_person, services_of

from teaser.app import http
from teaser.app.http import RateLimit, is_among
from teaser.app.state import Event
from teaser.app.store import MAX_BYTES, Store
from teaser.errors import LimitError

JSON = {"content-type": "application/json"}
PERSON = "a" * 43


class BodyReadError(Exception):
    """The application asked for the body of a request."""


def scope_of(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    """Return a request as the server gives it to the application."""
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": b"", "client": ("127.0.0.1", 0), "server": ("testserver", 80),
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()], "state": {},
    }  # fmt: skip


def answer_to_head(app: Any, method: str, path: str, headers: dict[str, str]) -> int:
    """Return the status that is answered to the head of a request, whose body never comes."""
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        raise BodyReadError

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    sent = {"host": "testserver", "content-length": "1000", **JSON, **headers}
    scope = scope_of(method, path, sent)
    asyncio.run(app(scope, receive, send))
    return statuses[0]


class TestHeadFirst:
    @pytest.mark.parametrize("path", ["/recommend", "/people", f"/people/{PERSON}/import", "/none"])
    def test_a_missing_or_wrong_key_is_refused_without_the_body(
        self, serve: Callable[..., TestClient], path: str
    ) -> None:
        app = serve(keys="on").app
        for headers in ({}, {"authorization": "Bearer tk_wrong"}):
            assert answer_to_head(app, "POST", API + path, headers) == 401

    @pytest.mark.parametrize("path", ["/act", "/import", "/say", f"{API}/recommend", "/mcp"])
    def test_a_page_of_another_site_is_refused_without_the_body(
        self, client: TestClient, path: str
    ) -> None:
        headers = {"origin": "https://evil.example"}
        assert answer_to_head(client.app, "POST", path, headers) == 403

    def test_what_is_no_id_of_a_person_is_refused_without_the_body(
        self, client: TestClient
    ) -> None:
        for path in ("/people/short/import", f"/people/{PERSON}!/views"):
            assert answer_to_head(client.app, "POST", API + path, {}) == 422

    def test_a_large_body_is_refused_without_reading_it(self, client: TestClient) -> None:
        large = {**OWN, "content-length": "65537"}
        assert answer_to_head(client.app, "POST", "/act", large) == 413


class TestSize:
    def chunks(self, size: int) -> Iterator[bytes]:
        yield b'{"history": ["'
        for _ in range(size // 100):
            yield b"x" * 100
        yield b'"]}'

    def test_a_body_of_unknown_length_is_counted(self, serve: Callable[..., TestClient]) -> None:
        client = serve(max_body=1000)
        answer = client.post(f"{API}/recommend", content=self.chunks(5000), headers=JSON)
        assert error_of(answer, 413)["code"] == "too_large"
        whole = client.post(f"{API}/recommend", content=self.chunks(0), headers=JSON)
        assert whole.status_code != 413

    def test_only_the_two_imports_take_more(self, serve: Callable[..., TestClient]) -> None:
        client = serve(max_body=1000, max_import=5000)
        body = b"x" * 2000
        paths = {
            f"{new_person(client)}/import": 422,
            "/import": 422,
            f"{API}/import": 413,
            "/item/import": 413,
        }
        for path, status in paths.items():
            answer = client.post(path, content=body, headers={**JSON, **OWN})
            assert (answer.status_code == 413) == (status == 413), path


class TestTime:
    def test_a_body_that_does_not_come_ends_with_408(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(idle_timeout=0.05)
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(60)
            return {}

        scope = scope_of("POST", "/act", {"host": "testserver", **OWN})
        app: Any = client.app
        asyncio.run(app(scope, receive, send))
        assert sent[0]["status"] == 408


LARGE = 300_000


def export(n_bytes: int) -> dict[str, Any]:
    """Return an export of a long history of items that the model does not have."""
    history = [f"{i:0>60}" for i in range(n_bytes // 64)]
    return {"state": {"history": history, "presses": [], "hidden": []}}


def test_an_import_larger_than_512_kib_is_refused(client: TestClient) -> None:
    person = new_person(client)
    error = error_of(client.post(f"{person}/import", json=export(600_000)), 413)
    assert "524,288 bytes" in error["message"]


def test_imports_fill_a_budget_of_bytes_and_then_end_with_413(client: TestClient) -> None:
    person, large = new_person(client), export(LARGE)
    services_of(client).limits.imports.per_minute = 0  # no limit
    answers = [client.post(f"{person}/import", json=large) for _ in range(10)]
    stored = sum(answer.status_code == 200 for answer in answers)
    assert stored == MAX_BYTES // LARGE
    error = error_of(answers[-1], 413)
    assert f"{MAX_BYTES:,} bytes" in error["message"]
    # The person can still be read, exported and deleted; others are not touched.
    assert client.get(person).status_code == 200
    assert len(client.get(f"{person}/export").json()["events"]) == stored
    other = new_person(client)
    assert client.post(f"{other}/import", json=large).status_code == 200
    assert client.delete(person).status_code == 204


def test_the_budget_counts_all_events_in_both_databases(store: Store) -> None:
    person_id = store.create_person()
    tags = [f"theme={'x' * 990}{i:03}" for i in range(50)]
    event = Event("filter", {"filters": {"only": tags}})
    size = len(json.dumps(dict(event.data)))
    for _ in range(MAX_BYTES // size):
        append(store, person_id, event)
    with pytest.raises(LimitError, match="bytes"):
        append(store, person_id, event)


@pytest.mark.parametrize("rate", [0, 1_200])
def test_an_address_can_import_six_times_a_minute(
    serve: Callable[..., TestClient], rate: int
) -> None:
    client = serve(rate=rate)
    answers = [client.post(f"{new_person(client)}/import", json=export(100)) for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    assert int(answers[-1].headers["retry-after"]) <= 10
    files = {"file": ("export.json", json.dumps(export(100)))}
    site = client.post("/import", files=files, headers={"origin": "http://testserver"})
    assert site.status_code == 429


def test_with_a_key_each_person_can_import_six_times_a_minute(
    serve: Callable[..., TestClient],
) -> None:
    client = serve(rate=1_200, keys="on")
    client.headers["authorization"] = f"Bearer {new_key(client)}"
    first = [client.post(f"{new_person(client)}/import", json=export(100)) for _ in range(8)]
    assert {answer.status_code for answer in first} == {200}
    person = new_person(client)
    again = [client.post(f"{person}/import", json=export(100)) for _ in range(7)]
    assert [answer.status_code for answer in again] == [200] * 6 + [429]
    assert services_of(client).store.state(person.rpartition("/")[2]).n_events == 6


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(http, "time", found)
    return found


def allowed(rate: RateLimit, name: str, times: int) -> list[bool]:
    return [rate.take(name) == 0 for _ in range(times)]


def test_it_refills_steadily_up_to_a_minute(clock: Clock) -> None:
    rate = RateLimit(60)
    assert all(allowed(rate, "a", 60))
    clock.now = 2.0
    assert allowed(rate, "a", 3) == [True, True, False]
    clock.now = 1_000.0
    assert allowed(rate, "a", 61) == [True] * 60 + [False]


def test_it_tells_when_to_come_again_and_who_is_refused_pays_nothing(clock: Clock) -> None:
    rate = RateLimit(2)
    rate.take("a", 2)
    assert [rate.take("a") for _ in range(3)] == [30, 30, 30]
    clock.now = 29.0
    assert rate.take("a") == 1
    clock.now = 30.0
    assert rate.take("a") == 0


def test_neighbours_of_ipv6_share_a_limit(clock: Clock) -> None:
    rate = RateLimit(1)
    assert allowed(rate, "2001:db8:0:1::1", 1) == [True]
    assert allowed(rate, "2001:db8:0:1:ffff::2", 1) == [False]
    assert allowed(rate, "2001:db8:0:2::1", 1) == [True]
    assert allowed(rate, "::ffff:10.0.0.1", 1) == allowed(rate, "::ffff:10.0.0.2", 1) == [True]


def test_many_addresses_take_bounded_memory(clock: Clock) -> None:
    rate = RateLimit(1)
    assert all(rate.take(str(n)) == 0 for n in range(20_001))
    assert rate.take("20000") > 0
    assert rate.take("0") == 0


@pytest.mark.parametrize(
    ("address", "names", "is_in"),
    [
        ("127.0.0.9", "loopback", True),
        ("::1", "loopback, key", True),
        ("::ffff:127.0.0.1", "loopback", True),
        ("10.1.2.3", "loopback, 10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8, key", False),
        ("unknown", "10.0.0.0/8", False),
        ("unknown", "all", True),
        ("10.0.0.1", "", False),
    ],
)
def test_a_setting_names_addresses_and_networks(address: str, names: str, is_in: bool) -> None:
    assert is_among(address, names) == is_in


WATCHED = ("/readyz", "/metrics")


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


def test_keys_cannot_be_tried_without_end(serve: Callable[..., TestClient]) -> None:
    app: Any = serve(monitoring="127.0.0.1, key", rate=3).app
    stranger = TestClient(app, client=("203.0.113.7", 4000))
    tried = [
        stranger.get("/metrics", headers={"authorization": f"Bearer {n}"}).status_code
        for n in range(5)
    ]
    assert tried == [401, 401, 401, 429, 429]
    monitor = TestClient(app, client=("127.0.0.1", 4000))
    assert {monitor.get("/metrics").status_code for _ in range(5)} == {200}
