"""A server with its workers, their memory, and the models that it serves in turn."""

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from teaser import Dataset, Teaser

_MODEL = re.compile(r"\s(\d+)\s+\S*/arrays-([0-9a-f]{16})\.safetensors")


def children(pid: int) -> list[psutil.Process]:
    """Return the processes that a process started and that did not end, the oldest first."""
    found: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        found = psutil.Process(pid).children()
    return sorted(filter(_is_alive, found), key=lambda process: process.create_time())


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def megabytes(*pids: int) -> float:
    """Return the memory of processes; pages that some of them share count once (PSS)."""
    total = 0
    for pid in pids:
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            total += psutil.Process(pid).memory_full_info().pss
    return total / 2**20


def mapped_models(*pids: int) -> dict[int, str]:
    """Return the models that processes map: inode -> checksum of the arrays."""
    found: dict[int, str] = {}
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            continue
        found |= {int(inode): checksum for inode, checksum in _MODEL.findall(text)}
    return found


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
    def workers(self) -> list[psutil.Process]:
        """The processes that answer requests, the oldest first."""
        found = []
        for child in children(self.process.pid):
            with suppress(psutil.NoSuchProcess):
                if "resource_tracker" not in " ".join(child.cmdline()):
                    found.append(child)
        return found

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


_TAKEN_UP_SECONDS = 180.0


@dataclass
class Models:
    """The served folder, what it can hold in turn, and what visitors can do with either.

    Attributes
    ----------
    items, tags
        Ids and tag texts that both models have.
    mapped
        The most models that the processes of a server mapped at once.
    """

    folder: Path
    sources: tuple[Path, Path]
    items: list[str]
    tags: list[str]
    turn: int = 0
    mapped: int = 0

    def replace(self) -> str:
        """Save the other model over the served folder; return the checksum of its arrays."""
        self.turn += 1
        source = self.sources[self.turn % 2]
        manifest = json.loads((source / "manifest.json").read_text())
        names = [str(entry["name"]) for entry in manifest["files"].values()]
        for name in names:
            if not (self.folder / name).exists():
                shutil.copyfile(source / name, self.folder / name)
        # As `save` does: the manifest last, in one step; then what it does not name goes.
        shutil.copyfile(source / "manifest.json", self.folder / ".next")
        os.replace(self.folder / ".next", self.folder / "manifest.json")
        for path in self.folder.iterdir():
            if path.name not in (*names, "manifest.json"):
                path.unlink()
        return str(manifest["files"]["arrays"]["sha256"])[:16]

    def wait_until_taken_up(self, server: Server, checksum: str) -> float:
        """Wait until every worker maps this model and no other; return the seconds."""
        begun = time.monotonic()
        while time.monotonic() < begun + _TAKEN_UP_SECONDS:
            mapped = mapped_models(*server.pids)
            self.mapped = max(self.mapped, len(mapped))
            if all(set(mapped_models(w.pid).values()) == {checksum} for w in server.workers):
                return time.monotonic() - begun
            time.sleep(0.05)  # a look goes through all processes of the machine
        raise RuntimeError(f"The new model was not taken up within {_TAKEN_UP_SECONDS:g} s.")


def make_models(folder: Path, dataset: Dataset) -> Models:
    """Fit two models of the same items, and save the first as the one to serve."""
    models = [Teaser(tol=1e-2).fit(dataset), Teaser(tol=1e-2, l2_encoder=300.0).fit(dataset)]
    sources = folder / "first", folder / "second"
    for model, source in zip(models, sources, strict=True):
        model.save(source)
    shutil.copytree(sources[0], folder / "model")
    both = set(models[0].tags_) & set(models[1].tags_)
    places = range(models[0].tag_table_.n_personal)
    tags = [str(models[0].tags_[j]) for j in places if models[0].tags_[j] in both]
    items = [str(item) for item in models[0].items_[:300]]
    return Models(folder / "model", sources, items, tags[:64])
