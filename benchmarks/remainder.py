"""Measure what a remainder costs beside EASE and TEASER: their fits on the same data, in one run.

MovieLens 1M where it is found, else generated; each is fitted twice, and the faster one counts.
"""

from collections.abc import Callable
from typing import Any

from apart import clocked, warm_up
from films import parse_films, read_films
from report import report

from teaser import Dataset, Remainder, Teaser
from teaser.model import EASE

L1, L2, K = 100.0, 1000.0, 1000.0
MODELS: dict[str, Callable[[], Any]] = {
    "EASE": lambda: EASE(l2_weights=L1 + K),
    "TEASER": lambda: Teaser(l2_weights=L1, l2_encoder=L2),
    "TEASER + remainder": lambda: Teaser(
        l2_weights=L1, l2_encoder=L2, remainder=Remainder(l2=K, neighbours=None)
    ),
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
    dataset, said, suffix = read_films(parse_films(__doc__).parse_args())
    warm_up()
    rows = [measure(name, dataset) for name in MODELS]
    ease, teaser, remainder = (row["seconds"] for row in rows)
    report(
        f"remainder{suffix}",
        rows,
        data=said,
        l1=L1,
        l2=L2,
        k=K,
        times_ease_and_teaser=remainder / (ease + teaser),
    )


if __name__ == "__main__":
    main()
