"""Measure what it costs to fit from partitions: streamed, or on a cluster of processes here."""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from generated import generated
from report import report

from teaser import Dataset, ListOf, Rules, Teaser
from teaser.data.partitions import write_partitions
from teaser.model.gram.open import placed
from teaser.model.gram.partitioned import kept_bytes, read_bytes

TOL = 1e-3


def watched(work: Callable[[], Teaser]) -> tuple[Teaser, float]:
    """Return what the work returned, and by how many MB this process grew meanwhile."""
    done = threading.Event()
    sizes = [_resident()]

    def watch() -> None:
        while not done.wait(0.02):
            sizes.append(_resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        made = work()
    finally:
        done.set()
        watcher.join()
    return made, (max(sizes) - sizes[0]) / 1e6


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def fit(data: Dataset, **where: Any) -> dict[str, Any]:
    start = time.perf_counter()

    def work() -> Teaser:
        with placed(data, "sparse", **where) as gram:
            return Teaser(gram=gram, tol=TOL).fit(data)

    model, grew = watched(work)
    return {
        "iterations": model.iterations_,
        "seconds": time.perf_counter() - start,
        "grew MB": grew,
        "model": model,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--tags", type=int, default=500)
    parser.add_argument("--interactions", type=int, default=2_000_000)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    made = generated(
        n_users=chosen.users,
        n_items=chosen.items,
        n_tags=chosen.tags,
        n_interactions=chosen.interactions,
    )
    pairs = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(made.n_users), np.diff(made.X.indptr)),
            "item_id": made.table["item_id"].gather(made.X.indices),
        }
    )
    rules = Rules((ListOf("tag"),), {"title": "title"})
    local = Dataset.from_tables(pairs, made.table, rules=rules)
    with tempfile.TemporaryDirectory() as scratch:
        start = time.perf_counter()
        write_partitions(pairs, Path(scratch) / "parts", parts=chosen.parts)
        writing = time.perf_counter() - start
        start = time.perf_counter()
        parted = Dataset.from_partitions(Path(scratch) / "parts", made.table, rules=rules)
        surveying = time.perf_counter() - start
        solver = Teaser(gram="sparse").estimate(parted)
        least = solver.total_memory - solver.memory["interactions"] + read_bytes(parted.X)
        half = sum(kept_bytes(parted.X, k) for k in range(chosen.parts)) // 2
        found = {
            "in memory": fit(local),
            "partitions, all kept": fit(parted),
            "partitions, half kept": fit(parted, memory_limit=least + half + 10_000),
            "partitions, none kept": fit(parted, memory_limit=least + 10_000),
            f"cluster of {chosen.workers} processes": fit(parted, n_workers=chosen.workers),
        }
    known = found["in memory"].pop("model")
    rows: list[dict[str, Any]] = []
    for way, measured in found.items():
        model = measured.pop("model", known)
        apart = np.abs(model.encoder_ - known.encoder_).max() / np.abs(known.encoder_).max()
        ratio = measured["seconds"] / found["in memory"]["seconds"]
        rows.append({"way": way, **measured, "times the first": ratio, "apart": float(apart)})
    report(
        "partitions",
        rows,
        users=parted.n_users,
        items=parted.n_items,
        tags=parted.n_tags,
        interactions=int(parted.X.nnz),
        parts=len(parted.X.parts),
        writing_s=writing,
        surveying_s=surveying,
    )


if __name__ == "__main__":
    main()
