"""Measure how much faster conjugate gradients are than the paper's ADMM, to the same residual.

All solvers run one after the other on the same data, in one process; the ratio is what counts.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from films import movielens, shared_folder
from generated import generated
from report import report

from teaser import Dataset, Teaser


def measure(dataset: Dataset, tol: float, **settings: Any) -> dict[str, Any]:
    model = Teaser(tol=tol, max_iter=500, **settings)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(dataset)
    seconds = time.perf_counter() - start
    return {
        "solver": model.solver,
        "gram": str(model.gram),
        "dtype": model.dtype,
        "iterations": model.iterations_,
        "residual": model.residual_,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, help="folder of MovieLens 1M with movies_extrainfos.dat"
    )
    parser.add_argument("--quick", action="store_true", help="a small generated catalogue instead")
    parser.add_argument("--tol", type=float, default=1e-3)
    chosen = parser.parse_args()
    folder = chosen.data or shared_folder() / "ml-1m"
    quick = chosen.quick or not folder.is_dir()
    if quick:
        name = "solvers-quick"
        dataset = generated(n_users=4000, n_items=2000, n_tags=600, n_interactions=120_000)
    else:
        name = "solvers"
        dataset = movielens(folder)
    np.linalg.eigh(np.eye(200))  # wakes the threads of the algebra library
    rows = [
        measure(dataset, chosen.tol, solver="cg"),
        measure(dataset, chosen.tol, solver="cg", gram="sparse"),
        measure(dataset, chosen.tol, solver="admm"),
        measure(dataset, chosen.tol, solver="admm", dtype="float64"),
    ]
    for row in rows:
        row["times cg"] = row["seconds"] / rows[0]["seconds"]
    report(
        name,
        rows,
        data="generated" if quick else "MovieLens 1M, rating >= 4",
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
        tol=chosen.tol,
    )


if __name__ == "__main__":
    main()
