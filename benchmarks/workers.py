"""Measure one worker and two: pages and presses a second, and a keep-alive request alone.

`--postgres` starts a PostgreSQL server of its own, and ends it.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
from report import report
from soak.postgres import Postgres
from visitors import Person, wait_for

from teaser import Teaser
from teaser.app.process.listener import free_port
from teaser.data import demo

WHAT = ("pages", "presses by API", "presses on the site")
TAGS = ("type=Comedy", "type=Concert", "type=Dance")


class Program:
    """A program that uses the API for a person of its own, over one connection."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.presses = 0
        self.person = f"/api/v1/people/{self.post('/api/v1/people', {})['person_id']}"

    def post(self, path: str, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        self.connection.request("POST", path, json.dumps(body), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status == 503:
            return None
        if answer.status >= 300:
            raise RuntimeError(f"{answer.status}: {text[:200]!r}")
        return json.loads(text)

    def press(self) -> bool:
        """Press + on some tags in turn, then - on the same; return whether it was stored."""
        tag, is_minus = TAGS[self.presses % len(TAGS)], self.presses // len(TAGS) % 2
        body = {"tag": tag, "steps": -1 if is_minus else 1}
        is_stored = self.post(f"{self.person}/presses", body) is not None
        self.presses += is_stored
        return is_stored


def count(somebody: Person, program: Program, what: str, seconds: float) -> tuple[int, int]:
    """Ask without a pause for some seconds; return the numbers of answers and of refusals."""
    asked, refused, until = 0, 0, time.monotonic() + seconds
    while time.monotonic() < until:
        if what == "presses by API":
            refused += not program.press()
        elif what == "presses on the site":
            is_minus = asked // len(TAGS) % 2
            somebody.press(TAGS[asked % len(TAGS)], -1 if is_minus else 1)
        else:
            refused += somebody.ask("GET", "/")[0] == 503
        asked += 1
    return asked - refused, refused


def ask(ports: list[int], chosen: argparse.Namespace, ready: Barrier, results: Any) -> None:
    """Ask each server in turn, as one client; put the numbers of answers."""
    visitors = {port: (Person(port), Program(port)) for port in ports}
    for somebody, _ in visitors.values():
        somebody.ask("GET", "/")  # the cookie
        somebody.act(press=f"+1 {TAGS[0]}")
    for round_ in range(chosen.rounds + 1):
        for what in WHAT:
            for port in ports:
                ready.wait()
                answered, refused = count(*visitors[port], what, chosen.seconds)
                if round_:  # the first round warms up
                    results.put((port, what, answered))
                    results.put((port, "refused", refused))


def rates(ports: list[int], chosen: argparse.Namespace) -> dict[tuple[int, str], float]:
    """Return the answers a second by server, to so many clients, each a process."""
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(chosen.clients), context.Queue()
    started = [
        context.Process(target=ask, args=(ports, chosen, ready, results))
        for _ in range(chosen.clients)
    ]
    for process in started:
        process.start()
    total: Counter[tuple[int, str]] = Counter()
    for _ in range(2 * chosen.clients * chosen.rounds * len(ports) * len(WHAT)):
        port, what, number = results.get()
        total[port, what] += number
    for process in started:
        process.join()
    return {key: number / (chosen.rounds * chosen.seconds) for key, number in total.items()}


def alone(port: int, path: str, repeat: int) -> float:
    """Return the median milliseconds of a request of one client that keeps its connection."""
    somebody = Person(port)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        somebody.ask("GET", path)
        times.append(1000 * (time.perf_counter() - start))
    return float(np.median(times))


@contextlib.contextmanager
def served(model: Path, workers: int, database: str) -> Iterator[int]:
    """Serve with so many workers; yield the port."""
    port = free_port("127.0.0.1")
    url = database or f"sqlite:///{model.with_name(f'{workers}.db')}"
    command = [sys.executable, "-m", "teaser", "serve", str(model), "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--workers", str(workers), "--database", url],
        env={**os.environ, "TEASER_RATE": "0"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=8, help="processes that ask")
    parser.add_argument("--seconds", type=float, default=2.0, help="of one server in one round")
    parser.add_argument("--rounds", type=int, default=6, help="over the servers in turn")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--database", default="", help="an address; SQLite files by default")
    parser.add_argument("--postgres", action="store_true", help="start a server of PostgreSQL")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        if chosen.postgres:
            chosen.database = stack.enter_context(Postgres()).url
        model = Path(scratch) / "model"
        Teaser(tol=1e-2).fit(demo.dataset()).save(model)
        # All run at the same time and are asked in turn, so that they share the machine's load.
        ports = [stack.enter_context(served(model, n, chosen.database)) for n in chosen.workers]
        found = rates(ports, chosen)
        rows = [
            {
                "workers": n,
                "/healthz alone, median ms": alone(port, "/healthz", 200),
                "page alone, median ms": alone(port, "/", 100),
                **{f"{what} a second": found[port, what] for what in (*WHAT, "refused")},
            }
            for n, port in zip(chosen.workers, ports, strict=True)
        ]
    kind = chosen.database.partition(":")[0] or "sqlite"
    load = os.getloadavg()[0]
    report("workers", rows, database=kind, clients=chosen.clients, load_of_the_machine=load)


if __name__ == "__main__":
    main()
