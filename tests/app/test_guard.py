"""Limits of size and rate, headers on every answer, and measurements."""

from collections.abc import Callable, Iterator

import pytest
from app.conftest import TestClient

from teaser.app.guard import HEADERS, Rate

EXPECTED = {name.decode(): value.decode() for name, value in HEADERS}
BODY = b'{"history": [], "presses": []}'
JSON = {"content-type": "application/json"}


class TestRate:
    def test_so_many_a_minute_and_no_more(self) -> None:
        rate = Rate(3)
        assert [rate.allows("a", 0.0) for _ in range(5)] == [True, True, True, False, False]

    def test_addresses_do_not_share(self) -> None:
        rate = Rate(1)
        assert rate.allows("a", 0.0)
        assert not rate.allows("a", 0.0)
        assert rate.allows("b", 0.0)

    def test_it_refills_steadily(self) -> None:
        rate = Rate(60)
        assert all(rate.allows("a", 0.0) for _ in range(60))
        assert [rate.allows("a", 2.0) for _ in range(3)] == [True, True, False]

    def test_it_holds_no_more_than_a_minute(self) -> None:
        rate = Rate(2)
        assert rate.allows("a", 0.0)
        assert [rate.allows("a", 1e6) for _ in range(3)] == [True, True, False]

    def test_who_is_refused_pays_nothing(self) -> None:
        rate = Rate(60)
        assert all(rate.allows("a", 0.0) for _ in range(60))
        assert [rate.allows("a", t) for t in (0.5, 1.0, 1.5, 2.0)] == [False, True, False, True]

    def test_nought_is_no_limit(self) -> None:
        rate = Rate(0)
        assert all(rate.allows("a", 0.0) for _ in range(10_000))

    def test_it_does_not_grow_without_end(self) -> None:
        rate = Rate(1)
        for number in range(10_500):
            rate.allows(str(number), 0.0)
        assert not rate.allows("10499", 0.0)
        assert len(rate._buckets) <= 10_001


def chunks(size: int) -> Iterator[bytes]:
    """Yield a body piece by piece, so that its length is not announced."""
    yield b'{"history": ["'
    for _ in range(size // 100):
        yield b"x" * 100
    yield b'"]}'


class TestSize:
    def test_an_announced_body_over_the_limit_is_refused(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(max_body=1000)
        answer = client.post("/api/v1/recommend", content=b"x" * 1001, headers=JSON)
        assert answer.status_code == 413
        assert answer.json()["error"] == {
            "code": "too_large",
            "message": "The request is larger than 1,000 bytes.",
        }

    @pytest.mark.parametrize("path", ["/api/v1/recommend", "/api/v1/people/x/views"])
    def test_a_body_that_goes_on_and_on_is_refused(
        self, serve: Callable[..., TestClient], path: str
    ) -> None:
        client = serve(max_body=1000)
        answer = client.post(path, content=chunks(5000), headers=JSON)
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "too_large"

    def test_a_body_within_the_limit_passes(self, serve: Callable[..., TestClient]) -> None:
        client = serve(max_body=len(BODY))
        assert client.post("/api/v1/recommend", content=BODY, headers=JSON).status_code == 200
        parts = iter([BODY[:10], BODY[10:]])
        assert client.post("/api/v1/recommend", content=parts, headers=JSON).status_code == 200

    @pytest.mark.parametrize("length", ["9" * 5000, "-1", "many", "1.5"])
    def test_a_length_that_is_none_is_refused(
        self, serve: Callable[..., TestClient], length: str
    ) -> None:
        headers = {**JSON, "content-length": length}
        answer = serve().post("/api/v1/recommend", content=BODY, headers=headers)
        assert answer.status_code == 413


class TestLimits:
    def test_too_many_requests_are_refused_in_the_one_shape(
        self, serve: Callable[..., TestClient]
    ) -> None:
        client = serve(rate=2)
        answers = [client.get("/api/v1/model") for _ in range(4)]
        assert [a.status_code for a in answers] == [200, 200, 429, 429]
        assert answers[-1].json()["error"]["code"] == "too_many_requests"

    def test_requests_are_counted_by_status(self, client: TestClient) -> None:
        for path in ("/api/v1/model", "/api/v1/model", "/api/v1/items/none"):
            client.get(path)
        text = client.get("/metrics").text
        assert 'teaser_requests_total{status="200"} 2.0' in text
        assert 'teaser_requests_total{status="404"} 1.0' in text
        assert "teaser_request_seconds_count 3.0" in text


class TestHeaders:
    @pytest.mark.parametrize(
        "path", ["/api/v1/model", "/api/v1/items/none", "/api/nothing", "/healthz", "/openapi.json"]
    )
    def test_they_are_on_every_answer(self, client: TestClient, path: str) -> None:
        headers = client.get(path).headers
        assert {name: headers.get(name) for name in EXPECTED} == EXPECTED

    def test_they_are_on_what_the_guard_refuses(self, serve: Callable[..., TestClient]) -> None:
        client = serve(rate=1, max_body=10)
        large = client.post("/api/v1/recommend", content=BODY, headers=JSON)
        often = client.get("/api/v1/model")
        assert [large.status_code, often.status_code] == [413, 429]
        for answer in (large, often):
            assert {name: answer.headers.get(name) for name in EXPECTED} == EXPECTED

    def test_they_are_on_what_goes_wrong_on_our_side(self, client: TestClient) -> None:
        @client.app.get("/api/broken")  # type: ignore[attr-defined,untyped-decorator]
        def broken() -> None:
            raise ZeroDivisionError("a secret of ours")

        answer = client.get("/api/broken")
        assert answer.status_code == 500
        assert answer.json()["error"]["code"] == "internal"
        assert "secret" not in answer.text
        assert {name: answer.headers.get(name) for name in EXPECTED} == EXPECTED
        assert 'teaser_requests_total{status="500"} 1.0' in client.get("/metrics").text

    def test_scripts_come_from_ourselves_alone(self) -> None:
        policy = EXPECTED["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
