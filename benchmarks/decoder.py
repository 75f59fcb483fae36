"""Measure what learned weights of tags are worth: MovieLens 1M with tags that 8 films carry.

Fixed and learned weights at the default penalties and at those that are best on validation parts,
each tested on 1,000 others; nDCG@100 with paired bootstrap intervals against fixed weights.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from films import parse_films, read_films
from report import report

from teaser import Dataset, Teaser
from teaser.data.split import split
from teaser.evaluate.protocol import Evaluation, compare, evaluate
from teaser.extensions import LearnedDecoder

METRIC = "ndcg@100"
CELLS = [(l1, l2) for l1 in (100.0, 300.0, 1000.0) for l2 in (50.0, 500.0)]
PENALTIES = (None, 100.0, 30.0, 10.0)


def common(dataset: Dataset, least: int) -> Dataset:
    """Return the data set with only the tags of so many items."""
    kept = np.flatnonzero(np.bincount(dataset.S.indices, minlength=dataset.n_tags) >= least)
    return replace(dataset, S=dataset.S[:, kept], tags=tuple(dataset.tags[j] for j in kept))


def learned_model(l1: float, l2: float, penalty: float | None) -> Teaser:
    how: dict[str, Any] = {} if penalty is None else {"decoder": LearnedDecoder(l2=penalty)}
    return Teaser(l2_weights=l1, l2_encoder=l2, **how)


def main() -> None:
    dataset, said, suffix = read_films(parse_films(__doc__).parse_args())
    dataset = common(dataset, 8)
    parts = split(dataset, n_validation=750, n_test=1000, rng=0)
    fixed: dict[str, Evaluation] = {}
    rows: list[dict[str, Any]] = []
    for penalty in PENALTIES:
        fitted = {cell: learned_model(*cell, penalty).fit(parts.training) for cell in CELLS}
        reached = {
            cell: evaluate(model, parts.validation, metrics=[METRIC]).summary()[METRIC].mean
            for cell, model in fitted.items()
        }
        best = max(reached, key=reached.__getitem__)
        default = learned_model(200.0, 500.0, penalty).fit(parts.training)
        row: dict[str, Any] = {"decoder.l2": "fixed" if penalty is None else penalty}
        for name, model in (("default", default), ("best", fitted[best])):
            found = evaluate(model, parts.test, metrics=[METRIC])
            base = fixed.setdefault(name, found)
            change = compare(base, found, rng=0)[METRIC]
            row |= {
                name: found.summary()[METRIC].mean,
                f"{name} - fixed": f"{change.mean:+.4f} [{change.low:+.4f}, {change.high:+.4f}]",
            }
        rows.append({**row, "validation": reached[best], "l1": best[0], "l2": best[1]})
    name = f"decoder{suffix}"
    report(name, rows, data=said, tags=dataset.n_tags)


if __name__ == "__main__":
    main()
