"""Measure whether the memory of a server stays flat over many requests, without any replacement."""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import report
from soak.actor import at_work
from soak.memory import megabytes
from soak.models import Models, make_models
from soak.records import Record
from soak.servers import Server
from soak.visitors import Visitor

from teaser.data import demo


def measure(models: Models, workers: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Serve visitors without pauses; compare the memory after the caches are full with the end."""
    record = Record()
    warm_up = workers * chosen.warm_up
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        url = f"sqlite:///{folder / 'people.db'}"
        with Server(models.folder, url, folder, workers=workers) as server:
            visitors = [
                Visitor(n, server.port, models, record, 0.0) for n in range(chosen.visitors)
            ]
            with at_work(visitors):
                _wait(server, record, warm_up)
                before = megabytes(*server.pids)
                most = _wait(server, record, warm_up + chosen.requests)
                after = megabytes(*server.pids)
    return {
        "workers": workers,
        "requests": chosen.requests,
        "MB before": before,
        "MB after": after,
        "MB at most": most,
        "growth %": 100 * (after / before - 1),
    }


def _wait(server: Server, record: Record, n: int) -> float:
    """Wait until so many requests were answered; return the most memory on the way."""
    most = 0.0
    while record.n_requests < n:
        most = max(most, megabytes(*server.pids))
        time.sleep(1.0)
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument(
        "--warm-up", type=int, default=10_000, help="requests that fill the caches of a worker"
    )
    parser.add_argument("--visitors", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        models = make_models(Path(scratch), demo.dataset())
        rows = [measure(models, workers, chosen) for workers in chosen.workers]
    report("memory", rows, visitors=chosen.visitors)


if __name__ == "__main__":
    # One that is stopped ends its server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
