"""Measure fits at the size of MovieLens 20M: ours, EASE by LAPACK and ALS, in one run.

Ours is fitted until its scores are settled, without and with content, and to a residual of 1e-3.
Each fit has a process of its own.
"""

import argparse
import warnings
from typing import Any

import scipy.sparse as sp
from apart import clocked, measure_apart, parse, run_part, warm_up
from generated import named
from report import report

from teaser import Dataset, Teaser
from teaser.baselines import EASE
from teaser.extensions import Content
from teaser.model.solve import Tolerance

NAMES = {
    "settled": "TEASER, scores settled",
    "content": "the same with content",
    "fit": "TEASER, residual 1e-3",
    "ease": "EASE by LAPACK in double precision",
    "als": "implicit's ALS, 128 factors, 15 rounds",
}


def fit(
    chosen: argparse.Namespace, tol: Tolerance, content: Content | None = None
) -> dict[str, Any]:
    dataset = named(size_of(chosen))
    warm_up()
    model = Teaser(tol=tol, content=content)
    expected = model.estimate(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, took = clocked(lambda: model.fit(dataset))
    foreseen = {"foreseen s": expected.seconds, "foreseen GB": expected.total_memory / 1e9}
    return {**took, "iterations": model.iterations_, **foreseen}


def ease(dataset: Dataset, l2: float) -> dict[str, Any]:
    """Fit EASE in double precision; return what that took."""
    return clocked(lambda: EASE(l2=l2, dtype="float64").fit(dataset))[1]


def als(dataset: Dataset) -> dict[str, Any]:
    """Fit 128 factors by alternating least squares; return what that took."""
    from implicit.als import AlternatingLeastSquares

    X = sp.csr_matrix(dataset.X.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AlternatingLeastSquares(factors=128, iterations=15, random_state=0)
        return clocked(lambda: model.fit(X, show_progress=False))[1]


def size_of(chosen: argparse.Namespace) -> str:
    return "small" if chosen.quick else "ml-20m"


def main() -> None:
    chosen = parse(__doc__).parse_args()
    parts = {
        "settled": lambda chosen: fit(chosen, "settled"),
        "content": lambda chosen: fit(chosen, "settled", Content(weight=1.0)),
        "fit": lambda chosen: fit(chosen, 1e-3),
        "ease": lambda chosen: ease(named(size_of(chosen)), 200.0),
        "als": lambda chosen: als(named(size_of(chosen))),
    }
    if chosen.part:
        run_part(chosen, parts)
        return
    given = ["--quick"] if chosen.quick else []
    found = {part: measure_apart(__file__, part, *given) for part in parts}
    first = found["settled"]["seconds"]
    keys = ("seconds", "processor s", "peak GB", "iterations", "foreseen s", "foreseen GB")
    rows = [
        {"what": NAMES[part], **{key: row.get(key, "") for key in keys}}
        | {"times the first": row["seconds"] / first}
        for part, row in found.items()
    ]
    report("ml20m-quick" if chosen.quick else "ml20m", rows, size=size_of(chosen))


if __name__ == "__main__":
    main()
