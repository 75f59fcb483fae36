"""The server as a whole: health, measurements, errors, a model replaced while requests go on."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from served import Running, get


def test_it_is_healthy_and_ready(client: Any) -> None:
    assert client.get("/healthz").text == "ok"
    assert client.get("/readyz").text == "ready"


def test_without_its_database_it_is_healthy_and_not_ready(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "gone.db"
    client = serve(database_url=f"sqlite:///{file}")
    client.app.state.services.store.close()
    for path in tmp_path.glob("gone.db*"):
        path.unlink()
    file.mkdir()
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "Traceback" not in answer.text


def test_requests_are_measured(client: Any) -> None:
    client.get("/healthz")
    client.get("/nowhere")
    text = client.get("/metrics").text
    assert 'teaser_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
    assert 'teaser_requests_total{method="other",route="other",status="404"} 1.0' in text
    assert "teaser_request_seconds_bucket" in text


def press_over_https(server: Running, **headers: str) -> int:
    request = urllib.request.Request(  # noqa: S310
        server.url + "/act",
        b"view=i1",
        {"origin": server.url.replace("http:", "https:"), **headers},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return int(error.code)


FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7"}


def test_a_proxy_on_this_machine_is_believed_about_scheme_and_address(
    run: Callable[..., Running],
) -> None:
    running = run()
    assert press_over_https(running) == 403
    assert press_over_https(running, **FORWARDED) == 200


def test_settings_of_the_environment_hold_for_the_command(run: Callable[..., Running]) -> None:
    options = ("--host-name", "box.example", "--log-format", "json")
    boosts = ("--boost", "type=film:0.3", "--boost", "i9:-1")
    server = run(*options, *boosts, TEASER_MAX_BODY="50", TEASER_PROXIES="192.0.2.1")
    said = "says so among the reasons: type=film +0.3, i9 -1."
    server.wait_for(lambda: said in " ".join(server.log.read_text().split()), "no boosts")
    with pytest.raises(urllib.error.HTTPError, match="413"):
        get(server.url + "/api/v1/recommend", b" " * 60)
    for host, status in (("box.example", 200), ("evil.example", 421)):
        request = urllib.request.Request(server.url + "/api/v1/model", headers={"host": host})  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                found = answer.status
        except urllib.error.HTTPError as error:
            found = error.code
        assert found == status
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as broken:
        broken.sendall(b"no request at all\r\n\r\n")
        broken.recv(100)
    # No proxy but the one that is named is believed.
    assert press_over_https(server, **FORWARDED) == 403
    # All that is written once it runs has one format, also what the server below says. A line may
    # be written after the answer.
    entries: list[dict[str, Any]] = []

    def is_logged() -> bool:
        text = server.log.read_text()
        entries[:] = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        return [e["status"] for e in entries if e["logger"] == "teaser.access"] == [413, 200, 403]

    server.wait_for(is_logged, "no line for each request")
    assert {entry["logger"] for entry in entries} >= {"teaser.access", "uvicorn.error"}
    text = server.log.read_text()
    assert "127.0.0.1:" not in "".join(line for line in text.splitlines() if "{" in line)


def test_without_keys_another_site_cannot_write_through_the_api(client: Any) -> None:
    foreign = {"Origin": "http://evil.example"}
    assert client.post("/api/v1/admin/reload", headers=foreign).status_code == 403
    assert client.post("/api/v1/people", headers=foreign).status_code == 403
    assert client.post("/api/v1/people").status_code == 201


def test_watching_is_not_limited(serve: Callable[..., Any]) -> None:
    client = serve(rate=2)
    assert {client.get("/healthz").status_code for _ in range(9)} == {200}
    answers = [client.get("/search?q=a") for _ in range(4)]
    assert answers[-1].status_code == 429
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 30
