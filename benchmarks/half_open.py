"""Measure a visitor's times beside thousands of half-open connections."""

import argparse
import contextlib
import http.client
import multiprocessing
import os
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np
from report import report
from visitors import Person, wait_for

from teaser import Teaser
from teaser.app.process.listener import free_port, raise_file_limit
from teaser.data import demo

_HEAD = b"GET / HTTP/1.1\r\nhost: localhost\r\n"  # without its end


def hold_half_open(port: int, number: int, rate: float, are_open: Event, stop: Event) -> None:
    """Open so many half-open connections; open some a second again of those that are closed."""
    raise_file_limit()
    selector = selectors.DefaultSelector()
    for _ in range(number):
        selector.register(open_half(port), selectors.EVENT_READ)
    are_open.set()
    start, again = time.monotonic(), 0
    while not stop.is_set():
        due = rate * (time.monotonic() - start)
        while len(selector.get_map()) < number and again < due:
            selector.register(open_half(port), selectors.EVENT_READ)
            again += 1
        for key, _ in selector.select(0.01):
            closed: Any = key.fileobj
            selector.unregister(closed)
            closed.close()


def open_half(port: int) -> socket.socket:
    """Open a connection and send a head without its end."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    with contextlib.suppress(OSError):
        connection.sendall(_HEAD)
    return connection


@dataclass
class Times:
    """Times of visitors' requests in milliseconds, and how many failed."""

    found: list[float] = field(default_factory=list)
    failed: int = 0

    def row(self) -> dict[str, Any]:
        return {
            "requests": len(self.found),
            "failed": self.failed,
            "median ms": float(np.median(self.found)),
            "p99 ms": float(np.percentile(self.found, 99)),
        }


def visit(port: int, times: Times, chosen: argparse.Namespace) -> None:
    """Let visitors load the page; every tenth time on a new connection."""

    def person(number: int) -> None:
        rng = np.random.default_rng(number)
        somebody = Person(port)
        for i in range(chosen.requests):
            time.sleep(chosen.pause * 2 * rng.random())
            if i % 10 == 0:
                somebody.connection.close()
            start = time.perf_counter()
            try:
                times.failed += somebody.ask("GET", "/")[0] != 200
            except (OSError, http.client.HTTPException):
                times.failed += 1
                somebody.connection.close()
            times.found.append(1000 * (time.perf_counter() - start))

    threads = [threading.Thread(target=person, args=(n,)) for n in range(chosen.visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def half_open(port: int, chosen: argparse.Namespace) -> Iterator[None]:
    """Hold half-open connections, from a process of its own."""
    context = multiprocessing.get_context("spawn")
    are_open, stop = context.Event(), context.Event()
    attack = context.Process(
        target=hold_half_open, args=(port, chosen.half_open, chosen.rate, are_open, stop)
    )
    attack.start()
    are_open.wait()
    try:
        yield
    finally:
        stop.set()
        attack.join()


@contextlib.contextmanager
def served(folder: Path, files: int | None) -> Iterator[tuple[int, Path]]:
    """Serve a model with a limit of open files, soft and hard; yield the port and the log."""

    def lower() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    port, log = free_port("127.0.0.1"), folder.with_name(f"log-{files}")
    with log.open("wb") as written:
        server = subprocess.Popen(
            [sys.executable, "-m", "teaser", "serve", str(folder), "--port", str(port)],
            env={**os.environ, "TEASER_RATE": "0", "TEASER_LOG_LEVEL": "warning"},
            stdout=subprocess.DEVNULL, stderr=written, preexec_fn=lower,
        )  # fmt: skip
    try:
        wait_for(port)
        yield port, log
    finally:
        server.terminate()
        server.wait()


def measure(folder: Path, files: int | None, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure without and with half-open connections in turn, so that both share the machine."""
    without, beside, first = Times(), Times(), Times()
    with served(folder, files) as (port, log):
        for _ in range(chosen.rounds):
            visit(port, without, chosen)
            with half_open(port, chosen):
                start = time.perf_counter()
                Person(port).ask("GET", "/")  # it waits until those before it are accepted
                first.found.append(1000 * (time.perf_counter() - start))
                visit(port, beside, chosen)
        rows = [
            {"files": str(files or "usual"), "half-open": number, **times.row()}
            for number, times in ((0, without), (chosen.half_open, beside))
        ]
        for row in rows:
            row["p99, times without"] = row["p99 ms"] / rows[0]["p99 ms"]
            row["log bytes"] = log.stat().st_size
        rows[1]["page right after they opened, ms"] = float(np.median(first.found))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half-open", type=int, default=5_000)
    parser.add_argument("--rate", type=float, default=200, help="new ones a second for closed ones")
    parser.add_argument("--visitors", type=int, default=8)
    parser.add_argument("--requests", type=int, default=40, help="of each visitor in a round")
    parser.add_argument("--rounds", type=int, default=3, help="without and with, in turn")
    parser.add_argument("--pause", type=float, default=0.25, help="mean seconds between requests")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        Teaser(tol=1e-2).fit(demo.dataset()).save(folder)
        rows = [row for files in (None, 1024) for row in measure(folder, files, chosen)]
    opening = [row.pop("page right after they opened, ms", None) for row in rows]
    report(
        "half_open",
        rows,
        reopened_a_second=chosen.rate,
        page_right_after_they_opened_ms=max(each for each in opening if each is not None),
        load_of_the_machine=os.getloadavg()[0],
    )


if __name__ == "__main__":
    main()
