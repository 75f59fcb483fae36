"""Measure what a sparse encoder loses: nDCG@100 of 1,000 users, paired against the dense one.

MovieLens 1M where it is found, else generated; default penalties.
"""

from functools import partial
from typing import Any

from apart import clocked, warm_up
from films import parse_films, read_films
from report import report, saved_mb

from teaser import Teaser
from teaser.data.split import split
from teaser.evaluate.protocol import Evaluation, compare, evaluate
from teaser.extensions import SparseEncoder

METRIC = "ndcg@100"
DENSITIES = (None, 0.1, 0.05, 0.02)


def main() -> None:
    dataset, said, suffix = read_films(parse_films(__doc__).parse_args())
    parts = split(dataset, n_validation=0, n_test=1000, rng=0)
    warm_up()
    rows: list[dict[str, Any]] = []
    dense: Evaluation | None = None
    for density in DENSITIES:
        model = Teaser(sparse=None if density is None else SparseEncoder(density=density))
        _, took = clocked(partial(model.fit, parts.training))
        found = evaluate(model, parts.test, metrics=[METRIC])
        dense = dense or found
        change = compare(dense, found, rng=0)[METRIC]
        value = found.summary()[METRIC].mean
        rows.append(
            {
                "kept": "all" if density is None else f"{100 * density:g} %",
                METRIC: value,
                "change": f"{change.mean:+.4f} [{change.low:+.4f}, {change.high:+.4f}]",
                "of dense": value / dense.summary()[METRIC].mean,
                "file MB": saved_mb(model),
                "seconds": took["seconds"],
            }
        )
    name = f"density{suffix}"
    report(name, rows, data=said)


if __name__ == "__main__":
    main()
