"""Measure what a nightly refit costs when a hundredth of the interactions are new.

The cold fit counts the Gram and begins at zero; the refit counts only the users who did
something, and begins at yesterday's encoder. MovieLens 1M where it is found, else generated.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from apart import clocked, warm_up
from films import parse_films, read_films
from report import report

from teaser import Dataset, Teaser
from teaser.model.gram import DenseGram
from teaser.model.solve import Tolerance

TOLERANCES = (Teaser().tol, 3e-4, 1e-4)


def yesterday(dataset: Dataset, share: float) -> sp.csr_array:
    """Return all but a share of the interactions, of a share of the users."""
    rng = np.random.default_rng(0)
    X = sp.coo_array(dataset.X)
    is_active = rng.random(dataset.n_users) < 10 * share
    is_old = ~(is_active[X.coords[0]] & (rng.random(X.nnz) < 0.1))
    places = (X.coords[0][is_old], X.coords[1][is_old])
    return sp.csr_array((X.data[is_old], places), shape=X.shape)


def refit(
    dataset: Dataset, before: sp.csr_array, gram: DenseGram, tol: Tolerance
) -> dict[str, Any]:
    """Return what the two fits of one tolerance took."""
    old = Teaser(tol=tol, gram=counted(before)).fit(replace(dataset, X=before))
    cold, took_cold = clocked(lambda: Teaser(tol=tol, gram=gram).fit(dataset))
    warm, took_warm = clocked(lambda: Teaser(tol=tol, gram=gram).fit(dataset, start=old))
    return {
        "tol": tol,
        "cold s": took_cold["seconds"],
        "cold iterations": cold.iterations_,
        "warm s": took_warm["seconds"],
        "warm iterations": warm.iterations_,
        "of the cold fit's": warm.iterations_ / cold.iterations_,
    }


def counted(X: sp.csr_array) -> DenseGram:
    return DenseGram.from_interactions(X, np.dtype("float32"))


def main() -> None:
    dataset, said, suffix = read_films(parse_films(__doc__).parse_args())
    warm_up()
    before = yesterday(dataset, 0.01)
    updated = counted(before)
    fresh, counting = clocked(lambda: counted(dataset.X))
    _, updating = clocked(lambda: updated.update(before, dataset.X))
    report(
        f"refit{suffix}",
        [refit(dataset, before, updated, tol) for tol in TOLERANCES],
        data=said,
        new_share=1 - before.nnz / dataset.X.nnz,
        counting_the_gram_s=counting["seconds"],
        updating_it_s=updating["seconds"],
        same_gram=bool((updated.G == fresh.G).all()),
    )


if __name__ == "__main__":
    main()
