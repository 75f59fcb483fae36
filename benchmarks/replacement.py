"""Measure what visitors notice while a model is replaced, and what stays of those before it."""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from films import movielens, shared_folder
from generated import generated
from report import report
from soak.actor import at_work
from soak.memory import disk_megabytes, mapped_models, megabytes
from soak.models import Models, make_models
from soak.records import QUIET, REPLACED, Record
from soak.servers import Server
from soak.visitors import Visitor

from teaser import Dataset
from teaser.data import demo


def measure(models: Models, what: str, workers: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Serve, let visitors come, and replace the model many times."""
    record = Record()
    models.mapped = models.turn = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        url = f"sqlite:///{folder / 'people.db'}"
        with Server(models.folder, url, folder, workers=workers) as server:
            visitors = [
                Visitor(n, server.port, models, record, 1.0) for n in range(chosen.visitors)
            ]
            with at_work(visitors):
                record.fill_caches(workers * chosen.warm_up, 300.0)
                _replace(server, models, record, min(3, chosen.reloads), chosen.quiet)
                record.times.clear()
                memory = megabytes(*server.pids)
                took = _replace(server, models, record, chosen.reloads, chosen.quiet)
                now = megabytes(*server.pids)
            rows = {row["phase"]: row for row in record.rows()}
            return {
                "catalogue": what,
                "workers": workers,
                "replaced": chosen.reloads,
                "s each": sum(took) / len(took),
                **{f"{name} p50 ms": rows[phase]["p50 ms"] for name, phase in _PHASES.items()},
                **{f"{name} p99 ms": rows[phase]["p99 ms"] for name, phase in _PHASES.items()},
                "MB before": memory,
                "MB after": now,
                "mapped at most": models.mapped,
                "mapped now": len(mapped_models(*server.pids)),
                "copies on disk MB": disk_megabytes(server.copies),
            }


_PHASES = {"quiet": QUIET, "replaced": REPLACED}


def _replace(server: Server, models: Models, record: Record, n: int, quiet: float) -> list[float]:
    """Replace the model so many times; return the seconds until all workers had it."""
    took = []
    for _ in range(n):
        time.sleep(quiet)
        with record.during(REPLACED):
            took.append(models.wait_until_taken_up(server, models.replace()))
            time.sleep(1.0)  # the first visitors of the new model
    return took


def _datasets(chosen: argparse.Namespace) -> dict[str, Dataset]:
    found = {"2,400 events": demo.dataset()}
    if chosen.films:
        found["MovieLens 1M"] = movielens(shared_folder() / "ml-1m")
    if chosen.large:
        found["20,000 x 3,500"] = generated(
            n_users=20_000, n_items=20_000, n_tags=3_500, n_interactions=200_000
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reloads", type=int, default=20)
    parser.add_argument("--quiet", type=float, default=2.0, help="seconds between two of them")
    parser.add_argument("--warm-up", type=int, default=3_000, help="requests to a worker")
    parser.add_argument("--visitors", type=int, default=32)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--films", action="store_true", help="also MovieLens 1M")
    parser.add_argument("--large", action="store_true", help="also 20,000 items x 3,500 tags")
    chosen = parser.parse_args()
    rows = []
    for what, dataset in _datasets(chosen).items():
        with tempfile.TemporaryDirectory() as scratch:
            models = make_models(Path(scratch), dataset)
            rows += [measure(models, what, workers, chosen) for workers in chosen.workers]
    report("replacement", rows, visitors=chosen.visitors)


if __name__ == "__main__":
    # One that is stopped ends its server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
