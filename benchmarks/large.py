"""Measure whether 100,000 items x 3,000 tags and 20 M interactions fit in under 16 GB.

The fit runs in a process of its own, whose peak memory is reported; the Gram is never held as
an items x items array.
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
    model = Teaser(gram="sparse", tol=chosen.tol)
    expected = model.estimate(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, took = clocked(lambda: model.fit(dataset))
    return {
        "users": dataset.n_users,
        "items": dataset.n_items,
        "tags": dataset.n_tags,
        "interactions": int(dataset.X.nnz),
        "gram": expected.gram,
        **took,
        "foreseen GB": expected.total_memory / 1e9,
        "foreseen s": expected.seconds,
        "iterations": model.iterations_,
        "residual": model.residual_,
    }


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--tol", type=float, default=1e-3)
    chosen = parser.parse_args()
    if chosen.part:
        run_part(chosen, {"fit": fit})
        return
    given = ["--tol", str(chosen.tol), *(["--quick"] if chosen.quick else [])]
    row = measure_apart(__file__, "fit", *given)
    one_gram = row["items"] ** 2 * 4 / 1e9
    rows = [{"what": what, "value": value} for what, value in row.items() if what != "part"]
    name = "large-quick" if chosen.quick else "large"
    report(name, rows, items_x_items_would_be_gb=one_gram)


if __name__ == "__main__":
    main()
