"""The server as a whole: health, measurements, errors, a model replaced while requests go on."""

import gc
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
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


def test_with_a_database_that_takes_no_writing_it_is_not_ready(client: Any, caplog: Any) -> None:
    with client.app.state.services.store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "readonly" in caplog.text
    with client.app.state.services.store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=OFF")
    assert client.get("/readyz").text == "ready"


def test_requests_are_measured(client: Any) -> None:
    client.get("/healthz")
    client.get("/nowhere")
    text = client.get("/metrics").text
    assert 'teaser_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
    assert 'teaser_requests_total{method="other",route="other",status="404"} 1.0' in text
    assert "teaser_request_seconds_bucket" in text


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_new_model_is_served_without_dropping_a_request(
    run: Callable[..., Running], tmp_path: Path, model: Teaser, dataset: Any, workers: str
) -> None:
    server = run("--workers", workers)
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
    larger.add_items({"new": ["type=film"]}).save(tmp_path / "served")
    before = server.workers()
    server.process.send_signal(signal.SIGHUP)
    for _ in range(300):
        # Either worker may answer: only a row of answers tells that both have taken it up.
        if all(server.items() == 41 for _ in range(40)):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the old model is still served")
    done.set()
    thread.join()
    assert not failures
    assert server.workers() == before  # nobody was restarted for it


@pytest.mark.parametrize("workers", ["1", "2"])
def test_files_cut_under_a_running_server_change_nothing_and_are_noticed(
    run: Callable[..., Running], tmp_path: Path, model_folder: Path, workers: str
) -> None:
    server = run("--workers", workers)
    before = server.recommended()
    pids = server.workers()
    for path in (tmp_path / "served").iterdir():
        if path.name != "manifest.json":
            os.truncate(path, 10)
    for path in (tmp_path / "served").glob("*.parquet"):
        path.write_bytes(b"something else")
    assert all(server.recommended() == before for _ in range(8))
    assert server.process.poll() is None
    assert server.workers() == pids
    said = "; the model's folder cannot be used"
    server.wait_for(
        lambda: all(said in get(server.url + "/readyz") for _ in range(10)), "not noticed"
    )
    for path in model_folder.iterdir():
        shutil.copyfile(path, tmp_path / "served" / path.name)
    server.wait_for(
        lambda: all(get(server.url + "/readyz") == "ready" for _ in range(10)), "not mended"
    )


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("harm", ["damaged", "vanished"])
def test_a_folder_that_is_no_model_leaves_the_served_one_and_is_seen(
    run: Callable[..., Running], tmp_path: Path, model: Teaser, workers: str, harm: str
) -> None:
    server = run("--workers", workers)
    before = server.recommended()
    folder = tmp_path / "served"
    if harm == "damaged":
        (folder / "manifest.json").write_text("broken")
    else:
        folder.rename(tmp_path / "elsewhere")
    server.process.send_signal(signal.SIGHUP)

    def is_said() -> bool:
        text = "; the model's folder cannot be used"
        return all(text in get(server.url + "/readyz") for _ in range(10))

    server.wait_for(is_said, "not said")
    assert "teaser_model_stale 1.0" in get(server.url + "/metrics")
    assert "the present model stays" in server.log.read_text()
    assert server.recommended() == before
    if harm == "damaged":
        shutil.rmtree(folder)
    model.save(folder)
    server.process.send_signal(signal.SIGHUP)
    server.wait_for(
        lambda: all(get(server.url + "/readyz") == "ready" for _ in range(10)), "not taken up"
    )
    assert "teaser_model_stale 0.0" in get(server.url + "/metrics")


def test_workers_map_one_copy_and_leave_nothing_behind(run: Callable[..., Running]) -> None:
    server = run("--workers", "2")
    server.recommended()

    def mapped(pid: int) -> set[str]:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        return {line.split(maxsplit=5)[4] for line in lines if line.endswith(".safetensors")}

    # One worker may answer while the other is still starting.
    until = time.monotonic() + 60
    while time.monotonic() < until:
        inodes = [mapped(pid) for pid in server.workers()]
        if len(inodes) == 2 and all(inodes):
            break
        time.sleep(0.2)
    assert len(inodes) == 2
    assert inodes[0] == inodes[1] != set()
    server.stop()
    assert list(server.temporary.iterdir()) == []


def test_workers_count_together_and_keep_one_limit(run: Callable[..., Running]) -> None:
    server = run("--workers", "3", TEASER_RATE="6")
    start, statuses = time.monotonic(), []
    for _ in range(40):
        try:
            get(server.url + "/api/v1/model")
            statuses.append(200)
        except urllib.error.HTTPError as error:
            error.read()  # an answer is counted before its end is sent
            statuses.append(error.code)
    refilled = (time.monotonic() - start) * 6 / 60
    assert 6 <= statuses.count(200) <= 7 + refilled  # were it for each worker, 18
    assert statuses.count(429) + statuses.count(200) == 40
    text = get(server.url + "/metrics")
    refused = re.search(r'teaser_requests_total\{.*status="429"\} ([0-9.]+)', text)
    assert refused is not None
    assert float(refused[1]) == statuses.count(429)


def test_a_proxy_that_is_believed_says_scheme_and_address(run: Callable[..., Running]) -> None:
    def press(server: Running, **headers: str) -> int:
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

    forwarded = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7"}
    believing = run(TEASER_PROXIES="127.0.0.1")
    assert press(believing) == 403
    assert press(believing, **forwarded) == 200
    doubting = run(TEASER_PROXIES="192.0.2.1")
    assert press(doubting, **forwarded) == 403


def test_settings_of_the_environment_hold_for_the_command(run: Callable[..., Running]) -> None:
    server = run("--host-name", "box.example", "--log-format", "json", TEASER_MAX_BODY="50")
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
    # All that is written once it runs has one format, also what the server below says.
    text = server.log.read_text()
    said = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert {line["logger"] for line in said} >= {"teaser.access", "uvicorn.error"}
    assert [line["status"] for line in said if line["logger"] == "teaser.access"] == [413, 200]
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


def test_what_is_there_at_the_start_is_not_looked_through_for_garbage(
    serve: Callable[..., Any],
) -> None:
    before = gc.get_freeze_count()
    with serve() as client:
        assert client.get("/healthz").status_code == 200
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() == 0
