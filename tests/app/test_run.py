"""`teaser serve`: workers are replaced, models are taken up, and it stops in time and quietly."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from served import Running, free_port, get

from teaser import Teaser
from teaser.app.run import bind
from teaser.errors import ParameterError


def press(server: Running, person: str, tag: str) -> None:
    asked = json.dumps({"tag": tag, "steps": 1}).encode()
    get(f"{server.url}/api/v1/people/{person}/presses", asked)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_starts_quietly_and_ends_with_0(run: Callable[..., Running], number: int) -> None:
    server = run(TEASER_LOG_LEVEL="warning")
    server.process.send_signal(number)
    assert server.process.wait(30) == 0
    lines = server.log.read_text().splitlines()
    assert len(lines) == 2, lines
    assert lines[0] == f"{server.url}/"


def test_a_killed_worker_is_replaced_and_nothing_acknowledged_is_lost(
    run: Callable[..., Running],
) -> None:
    server = run("--workers", "2")
    server.wait_for(lambda: len(server.workers()) == 2, "two workers")
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


def test_a_stopped_worker_does_not_hold_up_the_others(run: Callable[..., Running]) -> None:
    server = run("--workers", "2")
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
    run: Callable[..., Running], remainder_model: Teaser
) -> None:
    server = run("--workers", "2")
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


def test_counts_of_all_workers_are_added_up(run: Callable[..., Running]) -> None:
    server = run("--workers", "2")
    for _ in range(30):
        get(f"{server.url}/api/v1/model")
    name = 'teaser_requests_total{method="GET",route="/api/v1/model",status="200"}'
    for _ in range(4):  # whichever worker answers
        assert f"{name} 30.0" in get(f"{server.url}/metrics")


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


class TestBind:
    def test_a_name_stands_for_all_of_its_addresses(self) -> None:
        sockets = bind("localhost", 0)
        assert len({each.getsockname()[1] for each in sockets}) == 1
        for each in sockets:
            each.close()

    def test_what_cannot_be_bound_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="port"):
            bind("203.0.113.1", free_port())
        with pytest.raises(ParameterError, match="invalid"):
            bind("no.such.name.invalid", 0)
