"""`teaser serve` in a process of its own, and requests to it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any


def get(url: str, data: bytes | None = None) -> str:
    headers = {"content-type": "application/json"} if data else {}
    request = urllib.request.Request(url, data, headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return str(answer.read().decode())


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """`teaser serve` in a process of its own."""

    def __init__(
        self,
        model: Path,
        *options: str,
        while_starting: Callable[[int], object] = lambda pid: None,
        **environment: Any,
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.model = model
        self.log = model.with_name("log")
        command = [sys.executable, "-m", "teaser", "serve", str(model), "--port", str(port)]
        # Assistants are off: their SDK takes a sixth of the processor time of a start.
        own = {"TEASER_RATE": "0", "TEASER_STORE_TIMEOUT": "30", "TEASER_MCP": "false"}
        own |= environment
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *options], stdout=log, stderr=log, env={**os.environ, **own}
            )
        while_starting(self.process.pid)
        self.wait_for(lambda: self.url in self.log.read_text(), "no address")
        get(self.url + "/readyz")  # what is printed is served

    def items(self) -> int:
        return int(json.loads(get(self.url + "/api/v1/model"))["items"])

    def recommended(self) -> list[Any]:
        """Ask what needs every page of the encoder's rows of a history."""
        asked = json.dumps({"history": [f"i{i}" for i in range(20)], "k": 20}).encode()
        found: list[Any] = json.loads(get(self.url + "/api/v1/recommend", asked))["recommendations"]
        return found

    def workers(self) -> list[int]:
        """Return the processes that answer: its children, without the one of multiprocessing."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parts = status.read_text().rpartition(")")[2].split()
                command = (status.parent / "cmdline").read_text()
            except OSError:
                continue
            is_child = int(parts[1]) == self.process.pid and parts[0] != "Z"
            if is_child and "resource_tracker" not in command:
                found.append(int(status.parent.name))
        return sorted(found)

    def wait_for(self, found: Callable[[], bool], what: str) -> None:
        for _ in range(900):
            if found():
                return
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        raise AssertionError(f"{what}: {self.log.read_text()}")

    def begin_body(self) -> socket.socket:
        """Send a request whose body does not come to its end."""
        connection = socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])))
        connection.sendall(
            b"POST /act HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n"
            b"content-type: application/x-www-form-urlencoded\r\n\r\nview="
        )
        get(self.url + "/healthz")
        return connection

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        assert self.process.returncode in (0, -signal.SIGKILL), self.log.read_text()
