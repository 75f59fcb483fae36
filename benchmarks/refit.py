"""Measure what a nightly refit costs when a hundredth of the interactions are new.

The cold fit counts the Gram and begins at zero; the refit counts only the people who did
something, and begins at yesterday's encoder. MovieLens 1M where it is found, else generated.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from apart import clocked, parse, warm_up
from generated import named
from report import report
from solvers import movielens, shared_folder

from teaser import Dataset, Teaser
from teaser.model.gram import DenseGram


def yesterday(dataset: Dataset, share: float) -> sp.csr_array:
    """Return all but a share of the interactions, of a share of the people."""
    rng = np.random.default_rng(0)
    X = sp.coo_array(dataset.X)
    is_active = rng.random(dataset.n_users) < 10 * share
    is_old = ~(is_active[X.coords[0]] & (rng.random(X.nnz) < 0.1))
    places = (X.coords[0][is_old], X.coords[1][is_old])
    return sp.csr_array((X.data[is_old], places), shape=X.shape)


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--data", type=Path, help="folder of MovieLens 1M")
    parser.add_argument("--tol", type=float, default=2e-4)
    chosen = parser.parse_args()
    folder = chosen.data or shared_folder() / "ml-1m"
    real = folder.is_dir() and not chosen.quick
    dataset = movielens(folder) if real else named("small")
    warm_up()
    before = yesterday(dataset, 0.01)
    kind = np.dtype("float32")
    first = DenseGram.from_interactions(before, kind)
    old = Teaser(tol=chosen.tol, gram=first).fit(replace(dataset, X=before))
    rows: list[dict[str, Any]] = []
    fresh, took = clocked(lambda: DenseGram.from_interactions(dataset.X, kind))
    rows.append({"what": "count the Gram", **took, "iterations": ""})
    cold, took = clocked(lambda: Teaser(tol=chosen.tol, gram=fresh).fit(dataset))
    rows.append({"what": "cold fit", **took, "iterations": cold.iterations_})
    _, took = clocked(lambda: first.update(before, dataset.X))
    rows.append({"what": "update the Gram", **took, "iterations": ""})
    warm, took = clocked(lambda: Teaser(tol=chosen.tol, gram=first).fit(dataset, start=old))
    rows.append({"what": "warm fit", **took, "iterations": warm.iterations_})
    for row in rows:
        del row["peak GB"]
    report(
        "refit" if real else "refit-quick",
        rows,
        data="MovieLens 1M" if real else "generated",
        tol=chosen.tol,
        new_share=1 - before.nnz / dataset.X.nnz,
        same_gram=bool((first.G == fresh.G).all()),
        iterations_of_the_cold_fit=warm.iterations_ / cold.iterations_,
    )


if __name__ == "__main__":
    main()
