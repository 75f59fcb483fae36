"""Measure what remainders cost beside EASE and TEASER: their fits on the same data, in one run.

MovieLens 1M and Amazon Video Games where they are found, else generated. Each model is fitted
twice, and the faster fit counts. The remainder of 100 neighbours is compared with the full one.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from apart import clocked, parse, warm_up
from films import movielens, shared_folder
from generated import named
from report import report

from teaser import Dataset, Teaser
from teaser.baselines import EASE
from teaser.data.sources.folder import read_source
from teaser.extensions import Remainder

L1, L2, K = 100.0, 1000.0, 1000.0
NEIGHBOURS = 100
FULL, NEAR = "TEASER + full remainder", f"TEASER + {NEIGHBOURS} neighbours"
MODELS: dict[str, Callable[[], Any]] = {
    "EASE": lambda: EASE(l2_weights=L1 + K),
    "TEASER": lambda: Teaser(l2_weights=L1, l2_encoder=L2),
    FULL: lambda: Teaser(l2_weights=L1, l2_encoder=L2, remainder=Remainder(l2=K, neighbours=None)),
    NEAR: lambda: Teaser(l2_weights=L1, l2_encoder=L2, remainder=Remainder(neighbours=NEIGHBOURS)),
}


def games(folder: Path) -> Dataset:
    """Return Amazon Video Games."""
    source = read_source("amazon-video-games", folder)
    return Dataset.from_tables(
        source.interactions, source.items, user=source.user, item=source.item,
        rules=source.rules, positive=source.positive,
    )  # fmt: skip


def datasets(chosen: argparse.Namespace) -> Iterator[tuple[str, Dataset]]:
    """Yield the data sets that are there, or a small generated one."""
    folder = chosen.data or shared_folder()
    if chosen.quick or not folder.is_dir():
        yield "generated", named("small")
        return
    yield "MovieLens 1M", movielens(folder / "ml-1m")
    yield "Amazon Video Games", games(folder / "amazon-video-games")


def measure(data: str, name: str, dataset: Dataset) -> dict[str, Any]:
    found = [clocked(lambda: MODELS[name]().fit(dataset)) for _ in range(2)]
    model, took = min(found, key=lambda pair: pair[1]["seconds"])
    return {
        "data": data,
        "model": name,
        "seconds": took["seconds"],
        "processor s": min(each["processor s"] for _, each in found),
        "iterations": getattr(model, "iterations_", ""),
    }


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    chosen = parser.parse_args()
    warm_up()
    rows, facts = list[dict[str, Any]](), dict[str, float]()
    for data, dataset in datasets(chosen):
        MODELS[NEAR]().fit(named("small"))  # loops are compiled before the clock runs
        own = {name: measure(data, name, dataset) for name in MODELS}
        rows += own.values()
        for kind in ("seconds", "processor s"):
            said = f"{data}: neighbours / full, {kind}"
            facts[said] = own[NEAR][kind] / own[FULL][kind]
        both = own["EASE"]["seconds"] + own["TEASER"]["seconds"]
        facts[f"{data}: full / (EASE + TEASER), seconds"] = own[FULL]["seconds"] / both
    report(f"remainder{'-quick' if chosen.quick else ''}", rows, l1=L1, l2=L2, k=K, **facts)


if __name__ == "__main__":
    main()
