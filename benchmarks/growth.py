"""Measure how the cost of an iteration grows: in interactions, and in items at fixed tags.

Four sizes each, sparse Gram; the exponent is the slope of the logarithms. Processor time is
plotted, which a busy machine disturbs least.
"""

import time
from typing import Any

import matplotlib as mpl
import numpy as np
from apart import parse, warm_up
from generated import generated
from report import RESULTS, report

from teaser.model.gram.operator import SparseGram
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.system import System
from teaser.model.tables import decoder, popularity

INTERACTIONS = (1_000_000, 2_000_000, 4_000_000, 8_000_000)


def measure(n_items: int, n_interactions: int, n_tags: int) -> dict[str, Any]:
    """Return the processor seconds of operator and preconditioner, best of three."""
    dataset = generated(
        n_users=max(500, n_interactions // 40),
        n_items=n_items,
        n_tags=n_tags,
        n_interactions=n_interactions,
    )
    D = decoder(dataset.S, popularity(dataset)).astype(np.float32)
    gram = SparseGram(dataset.X, np.dtype("float32"))
    system = System.build(gram, D, rng=np.random.default_rng(0))
    equation = EncoderEquation(system, 200.0, 500.0).rounded()
    preconditioner = Preconditioner.build(system, l1=200.0, l2=500.0)
    R = system.right_hand_side()
    times = []
    for _ in range(3):
        start = time.process_time()
        equation.operator(preconditioner.apply(R))
        times.append(time.process_time() - start)
    return {"items": n_items, "interactions": int(dataset.X.nnz), "processor s": min(times)}


def slope(rows: list[dict[str, Any]], by: str) -> float:
    """Return the exponent of growth."""
    x, y = (np.log([row[k] for row in rows]) for k in (by, "processor s"))
    return float(np.polyfit(x, y, 1)[0])


def main() -> None:
    parser = parse(__doc__)
    chosen = parser.parse_args()
    warm_up()
    scale, n_tags = (20, 100) if chosen.quick else (1, 500)
    fixed = 5_000 // scale
    in_interactions = [measure(fixed, n // scale, n_tags) for n in INTERACTIONS]
    in_items = [
        measure(n // scale, 40 * n // scale, n_tags) for n in (12_500, 25_000, 50_000, 100_000)
    ]
    rows = [{"grows": "interactions", **row} for row in in_interactions]
    rows += [{"grows": "items, with 40 interactions each", **row} for row in in_items]
    slopes = {
        "exponent_in_interactions": slope(in_interactions, "interactions"),
        "exponent_in_items": slope(in_items, "items"),
    }
    name = "growth-quick" if chosen.quick else "growth"
    report(name, rows, tags=n_tags, **slopes)
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for pane, found, by in zip(
        panes, (in_interactions, in_items), ("interactions", "items"), strict=True
    ):
        x, y = (np.array([row[k] for row in found]) for k in (by, "processor s"))
        pane.loglog(x, y, "o-", label="measured")
        pane.loglog(x, y[-1] * x / x[-1], ":", color="grey", label="linear")
        pane.set(xlabel=by, ylabel="processor seconds an iteration")
        pane.legend()
    figure.savefig(RESULTS / f"{name}.png", dpi=120)


if __name__ == "__main__":
    main()
