"""How many lists a second: `recommend_all` beside the batch call of implicit's ALS.

MovieLens 1M is read where it is found, else a small generated catalogue is taken. Every row is
measured in a process of its own, with the threads that it names.
"""

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from apart import measure_apart, parse, run_part
from generated import named
from report import report

import teaser
from teaser import Dataset, Teaser
from teaser.baselines import EASE
from teaser.data.sources.folder import read_source
from teaser.evaluate.choose import RECIPES

K = 20
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS")
FILMS = Path(__file__).resolve().parents[2] / "shared" / "data"


def clock(dataset: Dataset, work: Callable[[], Any]) -> dict[str, Any]:
    """Return the better of two goes, in users a second of the clock and of the processor."""
    found = []
    for _ in range(2):
        start, processor = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - start, time.process_time() - processor))
    seconds, processor_s = (min(column) for column in zip(*found, strict=True))
    return {
        "seconds": seconds,
        "users/s": round(dataset.n_users / seconds),
        "users/processor s": round(dataset.n_users / processor_s),
    }


def ours(name: str, **options: Any) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """Return the measurement of one of our models."""

    def measure(chosen: argparse.Namespace) -> dict[str, Any]:
        model: Any = teaser.load(chosen.folder / name)
        data = Dataset.load(chosen.folder / "data")
        return clock(data, lambda: model.recommend_all(data, k=K, **options))

    return measure


def als(chosen: argparse.Namespace) -> dict[str, Any]:
    from implicit.als import AlternatingLeastSquares

    data = Dataset.load(chosen.folder / "data")
    X = sp.csr_matrix(data.X.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AlternatingLeastSquares(factors=128, iterations=3, random_state=0)
        model.fit(X, show_progress=False)
    return clock(data, lambda: model.recommend(np.arange(X.shape[0]), X, N=K))


PARTS = {
    "Teaser, the paper's": ours("paper"),
    "Teaser, the paper's, with reasons": ours("paper", reasons=True),
    "Teaser, neighbours": ours("neighbours"),
    "Teaser, neighbours, with reasons": ours("neighbours", reasons=True),
    "our EASE": ours("ease"),
    "implicit, ALS of 128 factors": als,
}


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    chosen = parser.parse_args()
    if chosen.part is not None:
        if hasattr(os, "sched_setaffinity"):  # as many threads as cores that may be used
            n = int(os.environ["OMP_NUM_THREADS"])
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-n:])
        run_part(chosen, PARTS)
        return
    films = Path(os.environ.get("TEASER_DATA", FILMS)) / "ml-1m"
    if chosen.quick or not films.is_dir():
        dataset = named("small")
    else:
        dataset = read_source("ml-1m", films).dataset()
    options: Any = RECIPES["neighbours"]
    models: dict[str, Any] = {
        "paper": Teaser(),
        "neighbours": Teaser(l2_weights=100.0, l2_encoder=300.0, **options),
        "ease": EASE(l2=300.0),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        dataset.save(Path(folder, "data"))
        for name, model in models.items():
            model.fit(dataset).save(Path(folder, name))
        for threads in chosen.threads:
            os.environ.update(dict.fromkeys(THREADS, str(threads)))
            for part in PARTS:
                found = measure_apart(__file__, part, "--folder", folder)
                rows.append({"lists by": found.pop("part"), "threads": threads, **found})
    name = "lists-quick" if chosen.quick else "lists"
    report(name, rows, users=dataset.n_users, items=dataset.n_items, k=K)


if __name__ == "__main__":
    main()
