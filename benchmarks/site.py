"""Measure press-and-refresh on the site: real HTTP on loopback, 32 visitors, one worker."""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from generated import generated
from report import report
from visitors import Person, processor_time, wait_for

from teaser import Dataset, Teaser
from teaser.app.process.listener import free_port
from teaser.data import demo


@dataclass(frozen=True)
class Load:
    """What visitors do: each looks at a few items, and presses a few tags of their own in turn."""

    items: list[Any]
    tags: list[str]
    visitors: int
    presses: int
    views: int = 3
    own_tags: int = 6


def drive(
    port: int, load: Load, pause: float, ready: threading.Barrier
) -> tuple[list[float], list[tuple[int, int]]]:
    """Let visitors who have arrived press, with a mean pause between presses.

    Return all times, and the bytes that each press sent and received.
    """
    times: list[float] = []
    sizes: list[tuple[int, int]] = []

    def person(number: int) -> None:
        rng = np.random.default_rng(number)
        somebody = Person(port)
        somebody.ask("GET", "/")
        for place in rng.choice(len(load.items), load.views, replace=False).tolist():
            somebody.act(view=load.items[place])
        tags = rng.choice(load.tags, load.own_tags, replace=False).tolist()
        somebody.press(tags[0], -1)
        ready.wait()
        for i in range(load.presses):
            time.sleep(pause * rng.random() * 2)
            steps = 1 if i // load.own_tags % 2 == 0 else -1
            times.append(somebody.press(tags[i % load.own_tags], steps))
            sizes.append((somebody.sent, somebody.received))

    threads = [threading.Thread(target=person, args=(n,)) for n in range(load.visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, sizes


def measure(dataset: Dataset, what: str, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Serve a model of the data set in a process of its own, and drive it."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        model = Teaser(tol=1e-2).fit(dataset)
        model.save(Path(scratch) / "model")
        tags = [str(t) for t in model.tags_[:64]]
        load = Load(list(model.items_[:300]), tags, chosen.visitors, chosen.presses)
        port = free_port("127.0.0.1")
        server = subprocess.Popen(
            [sys.executable, "-m", "teaser", "serve", f"{scratch}/model", "--port", str(port)],
            env={**os.environ, "TEASER_RATE": "0"}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(port)
            for pause in chosen.pauses:
                rows.append({"catalogue": what, **row(server.pid, port, load, pause)})
        finally:
            server.terminate()
            server.wait()
    return rows


def row(pid: int, port: int, load: Load, pause: float) -> dict[str, Any]:
    """Drive the server once; its own time for a press says more on a machine that is shared."""
    begun: list[tuple[float, float]] = []
    ready = threading.Barrier(
        load.visitors, action=lambda: begun.append((processor_time(pid), time.perf_counter()))
    )
    taken, sizes = drive(port, load, pause, ready)
    times = 1000 * np.array(taken)
    sent, received = np.array(sizes).mean(axis=0) / 1000
    used, took = processor_time(pid) - begun[0][0], time.perf_counter() - begun[0][1]
    return {
        "pause s": pause,
        "visitors": load.visitors,
        "presses": len(times),
        "median ms": float(np.median(times)),
        "p99 ms": float(np.percentile(times, 99)),
        "presses a second": len(times) / took,
        "server ms a press": 1000 * used / len(times),
        "kB received": float(received),
        "kB sent": float(sent),
        "load of the machine": os.getloadavg()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=32)
    parser.add_argument("--presses", type=int, default=20, help="of each person")
    parser.add_argument("--large", action="store_true", help="also 20,000 items x 3,500 tags")
    parser.add_argument("--pauses", type=float, nargs="+", default=[0.0, 1.0], help="seconds")
    chosen = parser.parse_args()
    small = demo.dataset()
    rows = measure(small, "2,400 events", chosen)
    if chosen.large:
        large = generated(n_users=20_000, n_items=20_000, n_tags=3_500, n_interactions=200_000)
        rows += measure(large, "20,000 x 3,500", chosen)
    report("site", rows, workers=1)


if __name__ == "__main__":
    main()
