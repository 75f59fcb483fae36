"""The server as a whole: health, measurements, errors, a model replaced while requests go on."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Running, get

from teaser import Teaser


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


def test_threads_take_short_turns_while_the_server_runs(serve: Callable[..., Any]) -> None:
    usual = sys.getswitchinterval()
    with serve(is_new=True):
        # One that computes, such as a model that is loaded, holds up a request only for so long.
        assert sys.getswitchinterval() == pytest.approx(0.0002)
    assert sys.getswitchinterval() == usual


@pytest.fixture(scope="module", params=["1", "2"], ids=["one worker", "two workers"])
def running(
    request: pytest.FixtureRequest, model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A server for all tests that replace its model."""
    folder = tmp_path_factory.mktemp("running") / "served"
    shutil.copytree(model_folder, folder)
    server = Running(folder, "--workers", request.param)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def harmed(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for all tests that harm its model and mend it."""
    folder = tmp_path_factory.mktemp("harmed") / "served"
    shutil.copytree(model_folder, folder)
    server = Running(folder)
    yield server
    server.stop()


def serves(server: Running, items: int) -> None:
    """Wait until all workers serve a model of so many items: a row of answers tells it."""
    server.wait_for(lambda: all(server.items() == items for _ in range(40)), "the old model")


def is_ready(server: Running) -> bool:
    return all(get(server.url + "/readyz") == "ready" for _ in range(10))


def is_stale(server: Running) -> bool:
    said = "; the model's folder cannot be used"
    return all(said in get(server.url + "/readyz") for _ in range(10))


def test_a_new_model_is_served_without_dropping_a_request(
    running: Running, dataset: Any, request: pytest.FixtureRequest
) -> None:
    server = running
    failures: list[Exception] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            try:
                get(server.url + "/")
            except OSError as error:
                failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    larger = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset)
    larger.add_items({"new": ["type=film"]}).save(server.model)
    before = server.workers()
    port = int(server.url.rpartition(":")[2])
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    request.addfinalizer(kept.close)
    kept.request("GET", "/api/v1/model")
    assert json.loads(kept.getresponse().read())["items"] == 40
    opened = kept.sock
    with server.begin_body() as unfinished:
        try:
            said = json.loads(get(server.url + "/api/v1/admin/reload", b"{}"))
            assert said["items"] == 41
            serves(server, 41)
        finally:
            done.set()
            thread.join()
        assert not failures

        # A connection goes on with a new worker, and a request in progress with the old one.
        def is_new() -> bool:
            kept.request("GET", "/api/v1/model")
            return bool(json.loads(kept.getresponse().read())["items"] == 41)

        server.wait_for(is_new, "the old model")
        assert kept.sock is opened
        unfinished.sendall(b"i1".ljust(94))
        assert unfinished.recv(12) == b"HTTP/1.1 403"  # it has no origin
    server.wait_for(lambda: not set(server.workers()) & set(before), "old workers stay")
    assert len(server.workers()) == len(before)


def test_a_reload_never_tells_of_a_model_before_that_of_the_folder(
    running: Running, dataset: Any
) -> None:
    server = running
    model = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset)
    model = model.add_items({f"new {number}": ["type=film"] for number in range(4)})
    start = server.items()
    model.save(server.model)
    server.wait_for(lambda: server.items() != start, "the old model")
    # Workers with the model before may still answer, and are replaced by this one.
    last = model.add_items({"last": ["type=film"]})
    last.save(server.model)
    told: set[int] = set()
    for _ in range(2):
        try:
            told.add(json.loads(get(server.url + "/api/v1/admin/reload", b"{}"))["items"])
        except urllib.error.HTTPError as error:
            told.add(error.code)
            error.close()
    assert told <= {45, 503}
    serves(server, 45)


def test_files_cut_under_a_running_server_change_nothing_and_are_noticed(
    harmed: Running, model_folder: Path
) -> None:
    server = harmed
    before = server.recommended()
    pids = server.workers()
    for path in server.model.iterdir():
        if path.name != "manifest.json":
            os.truncate(path, 10)
    for path in server.model.glob("*.parquet"):
        path.write_bytes(b"something else")
    assert all(server.recommended() == before for _ in range(8))
    assert server.process.poll() is None
    assert server.workers() == pids
    server.wait_for(lambda: is_stale(server), "not noticed")
    for path in model_folder.iterdir():
        shutil.copyfile(path, server.model / path.name)
    server.wait_for(lambda: is_ready(server), "not mended")


@pytest.mark.parametrize("harm", ["damaged", "vanished"])
def test_a_folder_that_is_no_model_leaves_the_served_one_and_is_seen(
    harmed: Running, tmp_path: Path, model: Teaser, harm: str
) -> None:
    server = harmed
    before, logged = server.recommended(), len(server.log.read_text())
    if harm == "damaged":
        (server.model / "manifest.json").write_text("broken")
    else:
        server.model.rename(tmp_path / "elsewhere")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for(lambda: is_stale(server), "not said")
    assert "teaser_model_stale 1.0" in get(server.url + "/metrics")
    assert "the present model stays" in server.log.read_text()[logged:]
    assert server.recommended() == before
    if harm == "damaged":
        shutil.rmtree(server.model)
    model.save(server.model)
    server.process.send_signal(signal.SIGHUP)
    server.wait_for(lambda: is_ready(server), "not taken up")
    assert "teaser_model_stale 0.0" in get(server.url + "/metrics")


@pytest.fixture(scope="module")
def limited(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of two workers with a limit of six requests a minute; it leaves nothing behind."""
    folder = tmp_path_factory.mktemp("limited") / "served"
    shutil.copytree(model_folder, folder)
    server = Running(folder, "--workers", "2", TEASER_RATE="6")
    yield server
    assert list(server.temporary.iterdir()) != []
    server.stop()
    assert list(server.temporary.iterdir()) == []


def test_workers_map_one_copy(limited: Running) -> None:
    def mapped(pid: int) -> set[str]:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        return {line.split(maxsplit=5)[4] for line in lines if line.endswith(".safetensors")}

    # One worker may answer while the other is still starting.
    until = time.monotonic() + 60
    while time.monotonic() < until:
        inodes = [mapped(pid) for pid in limited.workers()]
        if len(inodes) == 2 and all(inodes):
            break
        time.sleep(0.2)
    assert len(inodes) == 2
    assert inodes[0] == inodes[1] != set()


def test_workers_count_together_and_keep_one_limit(limited: Running) -> None:
    start, statuses = time.monotonic(), []
    for _ in range(40):
        try:
            get(limited.url + "/api/v1/model")
            statuses.append(200)
        except urllib.error.HTTPError as error:
            error.read()  # an answer is counted before its end is sent
            statuses.append(error.code)
    refilled = (time.monotonic() - start) * 6 / 60
    assert 6 <= statuses.count(200) <= 7 + refilled  # were it for each worker, 12
    assert statuses.count(429) + statuses.count(200) == 40
    text = get(limited.url + "/metrics")
    refused = re.search(r'teaser_requests_total\{.*status="429"\} ([0-9.]+)', text)
    assert refused is not None
    assert float(refused[1]) == statuses.count(429)


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


def test_a_proxy_on_this_machine_is_believed_about_scheme_and_address(running: Running) -> None:
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
