"""Measure fits at the size of Amazon Video Games: ours, the paper's ADMM, EASE, ALS.

Each runs in a process of its own, one after the other. Ours and ADMM are compared at the same
objective: that of ADMM, stopped early at a residual of 1e-2, is within 0.1 % of ours or above.
"""

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import others
from apart import clocked, measure_apart, parse, run_part, warm_up
from generated import named
from others import als, ease
from report import report

from teaser import Dataset, Teaser
from teaser.model.gram.blocks import dot
from teaser.model.gram.operator import SparseGram
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.system import System
from teaser.model.tables import decoder, popularity

L1, L2 = 200.0, 500.0


def data(chosen: argparse.Namespace) -> Dataset:
    return named("small" if chosen.quick else "amazon-video-games")


def fit_teaser(chosen: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    dataset = data(chosen)
    warm_up()
    model = Teaser(l2_weights=L1, l2_encoder=L2, max_iter=300, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, took = clocked(lambda: model.fit(dataset))
    np.save(chosen.folder / f"{chosen.part}.npy", model.encoder_)
    return {**took, "iterations": model.iterations_, "residual": model.residual_}


def cg(chosen: argparse.Namespace) -> dict[str, Any]:
    return fit_teaser(chosen, tol=1e-3)


def settled(chosen: argparse.Namespace) -> dict[str, Any]:
    return fit_teaser(chosen, tol="settled")


def admm(chosen: argparse.Namespace) -> dict[str, Any]:
    return fit_teaser(chosen, solver="admm", dtype="float64", tol=1e-2)


PARTS = {
    "settled": settled,
    "cg": cg,
    "admm": admm,
    "ease": lambda chosen: ease(data(chosen), L1),
    "als": lambda chosen: als(data(chosen)),
}
SAID = {
    "settled": "TEASER, conjugate gradients, scores settled",
    "cg": "TEASER, conjugate gradients, residual 1e-3",
    "admm": "TEASER, the paper's ADMM in double precision",
    **others.SAID,
}


def objective(dataset: Dataset, encoders: list[Path]) -> list[float]:
    """Return |X|^2 + <E, A(E)> - 2 <E, B> for each encoder, in double precision."""
    D = decoder(dataset.S, popularity(dataset))
    gram = SparseGram(dataset.X, np.dtype(np.float64))
    system = System.build(gram, D, rank=1, rng=np.random.default_rng(0))
    B, equation = system.right_hand_side(), EncoderEquation(system, L1, L2)
    values = []
    for file in encoders:
        F = np.load(file).astype(np.float64) @ system.V
        values.append(dataset.X.nnz + dot(F, equation.operator(F)) - 2 * dot(F, B))
    return values


def main() -> None:
    parser = parse(__doc__)
    chosen = parser.parse_args()
    if chosen.part:
        run_part(chosen, PARTS)
        return
    dataset = data(chosen)
    with tempfile.TemporaryDirectory() as scratch:
        given = ["--folder", scratch, *(["--quick"] if chosen.quick else [])]
        found = {part: measure_apart(__file__, part, *given) for part in PARTS}
        files = [Path(scratch) / f"{part}.npy" for part in ("settled", "cg", "admm")]
        settled_at, ours, theirs = objective(dataset, files)
    rows = []
    for part, row in found.items():
        rows.append({"what": SAID[part], **{k: row[k] for k in ("seconds", "processor s")}})
        rows[-1] |= {
            "peak GB": row["peak GB"],
            "iterations": row.get("iterations", ""),
            "times the first": row["seconds"] / found["settled"]["seconds"],
        }
    report(
        "amazon-quick" if chosen.quick else "amazon",
        rows,
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
        objective=ours,
        objective_when_settled_over_that=settled_at / ours,
        objective_of_admm_over_ours=theirs / ours,
        memory_of_admm_over_ours=found["admm"]["peak GB"] / found["cg"]["peak GB"],
    )


if __name__ == "__main__":
    main()
