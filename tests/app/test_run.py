"""`teaser serve`: workers are replaced, models are taken up, and it stops in time and quietly."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from served import Running, free_port, get

from teaser import Teaser
from teaser.app.run import bind
from teaser.app.store import Store
from teaser.errors import ParameterError


def press(server: Running, person: str, tag: str) -> None:
    asked = json.dumps({"tag": tag, "steps": 1}).encode()
    get(f"{server.url}/api/v1/people/{person}/presses", asked)


@pytest.fixture(scope="module")
def pair(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of two workers, for all tests that need no other settings."""
    folder = tmp_path_factory.mktemp("pair") / "served"
    shutil.copytree(model_folder, folder)
    server = Running(folder, "--workers", "2")
    server.wait_for(lambda: len(server.workers()) == 2, "two workers")
    yield server
    server.stop()


def test_it_starts_quietly_and_ends_with_0(run: Callable[..., Running]) -> None:
    server = run(TEASER_LOG_LEVEL="warning")
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(30) == 0
    lines = server.log.read_text().splitlines()
    assert len(lines) == 2, lines
    assert lines[0] == f"{server.url}/"


def test_counts_of_all_workers_are_added_up(pair: Running) -> None:
    for _ in range(30):
        get(f"{pair.url}/api/v1/model")
    name = 'teaser_requests_total{method="GET",route="/api/v1/model",status="200"}'
    for _ in range(4):  # whichever worker answers
        assert f"{name} 30.0" in get(f"{pair.url}/metrics")


def test_a_killed_worker_is_replaced_and_nothing_acknowledged_is_lost(pair: Running) -> None:
    server = pair
    made = json.loads(get(f"{server.url}/api/v1/people", b"{}"))
    person, acknowledged = made["person_id"], 0
    for victim in server.workers():
        for _ in range(2):
            press(server, person, "type=film")
            acknowledged += 1
        os.kill(victim, signal.SIGKILL)
        while victim in server.workers():
            time.sleep(0.05)
        server.wait_for(lambda: len(server.workers()) == 2, "a new worker")
    found = json.loads(get(f"{server.url}/api/v1/people/{person}"))
    assert sum(each["steps"] for each in found["presses"]) == acknowledged


def test_a_stopped_worker_does_not_hold_up_the_others(pair: Running) -> None:
    server = pair
    first, second = server.workers()
    os.kill(first, signal.SIGSTOP)
    try:
        server.wait_for(lambda: "ok" in get(f"{server.url}/healthz"), "an answer")
        start = time.monotonic()
        for _ in range(10):
            get(f"{server.url}/api/v1/model")
        assert time.monotonic() - start < 10
    finally:
        os.kill(first, signal.SIGCONT)
    assert second in server.workers()


def test_all_workers_take_up_a_new_model_and_refuse_a_broken_one(
    pair: Running, remainder_model: Teaser
) -> None:
    server = pair
    before = get(f"{server.url}/api/v1/model")
    remainder_model.save(server.model)
    server.wait_for(
        lambda: all(get(f"{server.url}/api/v1/model") != before for _ in range(8)), "a new model"
    )
    after = get(f"{server.url}/api/v1/model")
    (server.model / "manifest.json").write_text("{}")
    server.wait_for(lambda: "cannot be used" in server.log.read_text(), "a refusal")
    assert get(f"{server.url}/api/v1/model") == after
    server.wait_for(lambda: "stale 1.0" in get(f"{server.url}/metrics"), "staleness")


def test_a_sighup_while_it_starts_does_not_end_it(model_folder: Path, tmp_path: Path) -> None:
    def hang_up(pid: int) -> None:
        # It has loaded SQLite's library, and is about to check the model and the database.
        while "_sqlite3" not in Path(f"/proc/{pid}/maps").read_text():
            time.sleep(0.01)
        os.kill(pid, signal.SIGHUP)

    folder = Path(shutil.copytree(model_folder, tmp_path / "served"))
    server = Running(folder, while_starting=hang_up)
    assert "ok" in get(f"{server.url}/healthz")
    server.stop()


def test_people_beyond_the_retention_are_gone_when_it_has_started(
    run: Callable[..., Running], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'people.db'}"
    now = datetime.now(UTC) - timedelta(days=31)
    store = Store(url, clock=lambda: now)
    store.migrate()
    gone = store.create_person()
    now += timedelta(days=2)
    stays = store.create_person()
    store.close()
    server = run(TEASER_RETENTION="30", TEASER_DATABASE_URL=url)
    assert stays in get(f"{server.url}/api/v1/people/{stays}")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"{server.url}/api/v1/people/{gone}")
    assert "for 30 days" in get(f"{server.url}/privacy")


def test_an_unfinished_request_does_not_hold_up_the_end(run: Callable[..., Running]) -> None:
    server = run(TEASER_STOP_TIMEOUT="1")
    with server.begin_body():
        start = time.monotonic()
        server.stop()
        assert time.monotonic() - start < 10


def test_what_is_wrong_is_said_before_it_starts(tmp_path: Path, model_folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
        for folder, given, said in (
            (tmp_path / "empty", "0", "empty"),
            (model_folder, port, f"port {port}"),
        ):
            command = [sys.executable, "-m", "teaser", "serve", str(folder), "--port", given]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 2
            assert said in " ".join(done.stderr.split())
            assert "Traceback" not in done.stderr


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


def test_a_proxy_on_this_machine_is_believed_about_scheme_and_address(pair: Running) -> None:
    assert press_over_https(pair) == 403
    assert press_over_https(pair, **FORWARDED) == 200


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


class TestBind:
    def test_what_cannot_be_bound_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="port"):
            bind("203.0.113.1", free_port())
        with pytest.raises(ParameterError, match="invalid"):
            bind("no.such.name.invalid", 0)


def test_a_head_that_is_too_large_is_answered(pair: Running) -> None:
    port = int(pair.url.rpartition(":")[2])
    for size, where, status in ((60_000, "x", 200), (70_000, "x", 431), (70_000, "path", 400)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        long = "a" * size
        path, headers = ("/tour", {"x": long}) if where == "x" else (f"/tour?q={long}", {})
        connection.request("GET", path, headers=headers)
        assert connection.getresponse().status == status, (size, where)
        connection.close()
