"""Measure how long one person waits for a list with reasons, and a process for its model."""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from generated import generated
from report import report, times

import teaser
from teaser import Teaser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=3_500)
    chosen = parser.parse_args()
    dataset = generated(
        n_users=20_000, n_items=chosen.items, n_tags=chosen.tags, n_interactions=200_000
    )
    model = Teaser(tol=1e-2).fit(dataset)
    rng = np.random.default_rng(0)
    histories = [rng.choice(chosen.items, 20, replace=False).tolist() for _ in range(200)]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        model.save(folder)
        rows.append({"what": "load a saved model", **times(lambda i: teaser.load(folder), 5)})
        loaded = teaser.load(folder)
        tag = loaded.tags_[0]
        asks: dict[str, Callable[[int], object]] = {
            "recommend 20 with reasons": lambda i: loaded.recommend(histories[i]),
            "recommend 20 after three presses": lambda i: loaded.recommend(histories[i], {tag: 3}),
            "profile": lambda i: loaded.profile(histories[i]).affinities,
            "explain one item": lambda i: loaded.explain(7, histories[i]),
        }
        rows += [{"what": what, **times(ask, len(histories))} for what, ask in asks.items()]
        start = time.perf_counter()
        loaded.recommend_batch(histories)
        each = 1000 * (time.perf_counter() - start) / len(histories)
        rows.append({"what": "recommend 20, in a batch of 200", "median ms": each, "p95 ms": each})
        size = sum(f.stat().st_size for f in folder.iterdir())
    report("serving", rows, items=dataset.n_items, tags=dataset.n_tags, file_mb=size / 1e6)


if __name__ == "__main__":
    main()
