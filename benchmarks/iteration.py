"""Measure what an iteration costs beside its two unavoidable products.

Those are G times items x tags, and items x tags times tags x tags. All parts are timed in one
process, the best of three times each; processor time is that of all threads.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from apart import parse
from generated import SIZES, named
from report import report

from teaser.model.gram.blocks import dot, norm
from teaser.model.gram.cost import choose_gram
from teaser.model.gram.operator import DenseGram, Gram, SparseGram
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.steps import descend, turn
from teaser.model.solver.system import System
from teaser.model.tables import decoder, popularity


def best(work: Callable[[], object], repeat: int) -> dict[str, float]:
    times = []
    for _ in range(repeat):
        start, processor = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start, time.process_time() - processor))
    return {"seconds": min(t for t, _ in times), "processor s": min(p for _, p in times)}


def parts(gram: Gram, system: System) -> dict[str, Callable[[], object]]:
    """Return the parts of an iteration, those that others consist of first."""
    equation = EncoderEquation(system, 200.0, 500.0)
    preconditioner = Preconditioner.build(system, l1=200.0, l2=500.0)
    R = system.right_hand_side()
    P = preconditioner.apply(R)
    F = np.zeros_like(R)
    tiny = R.dtype.type(1e-6)

    def steps() -> None:
        dot(P, R)
        norm(P)
        descend(tiny, P, P, F, R)
        dot(R, P)
        turn(P, tiny, R)

    return {
        "G times items x tags": lambda: gram.apply(P),
        "items x tags times tags x tags": lambda: P @ system.V,
        "operator": lambda: equation.rounded().operator(P),
        "preconditioner": lambda: preconditioner.apply(R),
        "steps and sums": steps,
    }


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--size", choices=SIZES, default="publiq")
    parser.add_argument("--repeat", type=int, default=3)
    chosen = parser.parse_args()
    size = "small" if chosen.quick else chosen.size
    dataset = named(size)
    D = decoder(dataset.S, popularity(dataset)).astype(np.float32)
    kind = np.dtype("float32")
    choice = choose_gram(dataset.X, D.shape[1], kind)
    gram: Gram = (
        SparseGram(dataset.X, kind)
        if choice == "sparse"
        else DenseGram.from_interactions(dataset.X, kind)
    )
    system = System.build(gram, D, rng=np.random.default_rng(0))
    rows: list[dict[str, Any]] = [
        {"part": name, **best(work, chosen.repeat)} for name, work in parts(gram, system).items()
    ]
    unavoidable = {k: sum(row[k] for row in rows[:2]) for k in ("seconds", "processor s")}
    whole = {k: sum(row[k] for row in rows[2:]) for k in ("seconds", "processor s")}
    rows += [
        {"part": "both unavoidable products", **unavoidable},
        {"part": "the whole iteration", **whole},
    ]
    for row in rows:
        row["times the products"] = row["processor s"] / unavoidable["processor s"]
    report(
        f"iteration-{size}",
        rows,
        gram=choice,
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
    )


if __name__ == "__main__":
    main()
