"""The server as a whole: health, measurements, errors, a model replaced while requests go on."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from teaser import Teaser
from teaser.app.server import status_of
from teaser.app.store import StoreError, UnknownPersonError
from teaser.errors import ArtifactError, ParameterError, UnknownItemError


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
    assert 'teaser_requests_total{status="200"} 1.0' in text
    assert 'teaser_requests_total{status="404"} 1.0' in text
    assert "teaser_request_seconds_bucket" in text


def test_errors_have_one_shape(client: Any) -> None:
    for path, status in (("/api/v1/nowhere", 404), ("/api/v1/items/zz", 404)):
        answer = client.get(path)
        assert answer.status_code == status
        assert set(answer.json()) == {"error"}
        assert set(answer.json()["error"]) == {"code", "message"}
    page = client.get("/nowhere")
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownPersonError(), 404),
        (UnknownItemError(), 404),
        (ParameterError(), 422),
        (StoreError(), 503),
        (ArtifactError(), 503),
        (ValueError(), 500),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int) -> None:
    assert status_of(error)[0] == status


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
        return str(answer.read().decode())


class Running:
    """`teaser serve` in a process of its own."""

    def __init__(self, model: Path, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [
            sys.executable,
            "-m",
            "teaser",
            "serve",
            str(model),
            "--port",
            str(port),
            *options,
        ]
        environment = {**os.environ, "TEASER_RATE": "0"}
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        for _ in range(300):
            try:
                get(self.url + "/readyz")
                return
            except OSError:
                assert self.process.poll() is None, "the server ended"
                time.sleep(0.1)
        raise AssertionError("the server did not answer")

    def items(self) -> int:
        import json

        return int(json.loads(get(self.url + "/api/v1/model"))["items"])

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


@pytest.fixture
def run(model_folder: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*options: str) -> Running:
        folder = tmp_path / "served"
        if not folder.exists():
            shutil.copytree(model_folder, folder)
        started.append(Running(folder, *options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


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
    if workers == "1":
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


def test_a_damaged_model_leaves_the_served_one_in_place(
    run: Callable[..., Running], tmp_path: Path
) -> None:
    server = run()
    (tmp_path / "served" / "manifest.json").write_text("broken")
    server.process.send_signal(signal.SIGHUP)
    time.sleep(1.5)
    assert server.items() == 40


def test_broken_headers_and_forms_are_refused_and_nothing_is_stored(client: Any) -> None:
    own = {"Origin": "http://testserver"}
    press = {"press": "+1 type=film"}
    assert client.post("/act", data=press, headers={"Origin": "http://["}).status_code == 403
    deep = {"presses": "[" * 20_000}
    assert client.post("/act", data=deep, headers=own).status_code == 422
    assert client.post("/act", data={"press": "0 type=film"}, headers=own).status_code == 422
    answer = client.post("/act", data={**press, "back": "//["}, headers=own, follow_redirects=False)
    assert answer.status_code == 303


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
    assert answers[-1].headers["retry-after"] == "60"
