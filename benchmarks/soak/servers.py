"""`teaser serve` as people run it: in processes of its own, on a port of this machine."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from soak.memory import Process, children

HOST = "127.0.0.1"
_START_SECONDS = 120.0


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Server:
    """A running server; `with` ends it.

    Parameters
    ----------
    model
        The folder of the model.
    database_url
        Where persons are stored.
    folder
        For the log.
    workers
        The number of worker processes.
    log_format
        That of the log: text or json.
    """

    def __init__(
        self,
        model: Path,
        database_url: str,
        folder: Path,
        *,
        workers: int,
        log_format: str = "text",
    ) -> None:
        self.folder, self.workers_wanted = folder, workers
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._command = [sys.executable, "-m", "teaser", "serve", str(model)]
        self._command += ["--port", str(self.port), "--workers", str(workers)]
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith("TEASER_")}
        self._environment |= {
            "TEASER_RATE": "0",
            "TEASER_DATABASE_URL": database_url,
            "TEASER_LOG_FORMAT": log_format,
        }
        self._start()

    def _start(self) -> None:
        # A pipe, since a limit on the size of files would stop a log that is a file.
        self.process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._copy_log, daemon=True)
        self._reader.start()

    def restart(self) -> None:
        """End the server and start it again, on the same port."""
        self.__exit__()
        self._start()
        self.wait_until_ready()

    def __enter__(self) -> "Server":
        try:
            self.wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            for worker in self.workers:
                os.kill(worker.pid, 9)
            self.process.kill()
            self.process.wait()
        self._reader.join(5)

    @property
    def log(self) -> Path:
        """The file with what the server printed."""
        return self.folder / "server.log"

    @property
    def workers(self) -> list[Process]:
        """The processes that answer requests, the oldest first."""
        found = children(self.process.pid)
        return [child for child in found if "resource_tracker" not in child.command]

    @property
    def pids(self) -> list[int]:
        """All processes of the server."""
        pid = self.process.pid
        return [pid, *(child.pid for child in children(pid))]

    def wait_until_ready(self, seconds: float = _START_SECONDS) -> None:
        """Wait until all workers run and the server says that it is ready."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"The server ended. It said: {self.said()}")
            if len(self.workers) >= self.workers_wanted and self.is_ready():
                return
            time.sleep(0.1)
        raise RuntimeError(f"The server was not ready within {seconds:g} s: {self.said()}")

    def is_ready(self) -> bool:
        """Return whether the server can serve and store."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def said(self, n: int = 1000) -> str:
        """Return the end of what the server printed."""
        return self.log.read_text(errors="replace")[-n:] if self.log.exists() else ""

    def _copy_log(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - a pipe, see above
        with self.process.stdout, self.log.open("ab", buffering=0) as file:
            for line in self.process.stdout:
                file.write(line)
