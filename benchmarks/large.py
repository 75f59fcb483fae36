"""Measure a fit of 100,000 items x 3,000 tags and 20 M interactions, in time and memory.

It runs in a process of its own, whose peak memory is reported; the Gram is never held as an
items x items array.
"""

import argparse
import warnings
from typing import Any

from apart import clocked, measure_apart, parse, run_part, warm_up
from generated import named
from report import report

from teaser import Teaser


def fit(chosen: argparse.Namespace) -> dict[str, Any]:
    dataset = named("small" if chosen.quick else "100k")
    warm_up()
    model = Teaser(gram="sparse", tol="settled")
    expected = model.estimate(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, took = clocked(lambda: model.fit(dataset))
    return {
        **took,
        "foreseen GB": expected.total_memory / 1e9,
        "foreseen s": expected.seconds,
        "iterations": model.iterations_,
        "residual": model.residual_,
        "users": dataset.n_users,
        "items": dataset.n_items,
        "tags": dataset.n_tags,
        "interactions": int(dataset.X.nnz),
    }


def main() -> None:
    chosen = parse(__doc__).parse_args()
    if chosen.part:
        run_part(chosen, {"fit": fit})
        return
    row = measure_apart(__file__, "fit", *(["--quick"] if chosen.quick else []))
    sizes = {key: row.pop(key) for key in ("users", "items", "tags", "interactions")}
    report("large-quick" if chosen.quick else "large", [row], **sizes)


if __name__ == "__main__":
    main()
