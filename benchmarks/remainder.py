"""Measure what a remainder costs beside EASE and TEASER: their fits on the same data, in one run.

MovieLens 1M where it is found, else generated; each is fitted twice, and the faster one counts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from apart import clocked, parse, warm_up
from generated import named
from report import report
from solvers import movielens, shared_folder

from teaser import Dataset, Teaser
from teaser.model import EASE

L1, L2, K = 100.0, 1000.0, 1000.0
MODELS: dict[str, Callable[[], Any]] = {
    "EASE": lambda: EASE(l2=L1 + K),
    "TEASER": lambda: Teaser(l2_weights=L1, l2_encoder=L2),
    "TEASER + remainder": lambda: Teaser(l2_weights=L1, l2_encoder=L2, l2_remainder=K),
}


def measure(name: str, dataset: Dataset) -> dict[str, Any]:
    found = [clocked(lambda: MODELS[name]().fit(dataset)) for _ in range(2)]
    model, took = min(found, key=lambda pair: pair[1]["seconds"])
    return {
        "model": name,
        "seconds": took["seconds"],
        "processor s": took["processor s"],
        "iterations": getattr(model, "iterations_", ""),
    }


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--data", type=Path, help="folder of MovieLens 1M")
    chosen = parser.parse_args()
    folder = chosen.data or shared_folder() / "ml-1m"
    real = folder.is_dir() and not chosen.quick
    dataset = movielens(folder) if real else named("small")
    warm_up()
    rows = [measure(name, dataset) for name in MODELS]
    ease, teaser, remainder = (row["seconds"] for row in rows)
    report(
        "remainder" if real else "remainder-quick",
        rows,
        data="MovieLens 1M" if real else "generated",
        l1=L1,
        l2=L2,
        k=K,
        times_ease_and_teaser=remainder / (ease + teaser),
    )


if __name__ == "__main__":
    main()
