"""Measure fits at the size of MovieLens 20M: ours, EASE, ALS; and what the paper's ADMM would take.

Ours is fitted twice: until its scores are settled, and to a residual of 1e-3.

Each is fitted in a process of its own. ADMM is not run: its eigendecomposition is measured at
two smaller sizes and extrapolated with the exponent between them (at most 3), its products at a
thin slice, both in double precision; how many iterations it needs is measured at a small size,
to the residual of 1e-2 at which its objective is within 0.1 % of ours.
"""

import argparse
import math
import time
import warnings
from typing import Any

import numpy as np
import others
import scipy.linalg
from apart import clocked, measure_apart, parse, run_part, warm_up
from generated import SIZES, named
from others import als, ease
from report import report

from teaser import Teaser
from teaser.model.solve import Tolerance

L1 = 200.0


def fit(chosen: argparse.Namespace, tol: Tolerance) -> dict[str, Any]:
    dataset = named(size_of(chosen))
    warm_up()
    model = Teaser(tol=tol)
    expected = model.estimate(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, took = clocked(lambda: model.fit(dataset))
    return {
        "gram": expected.gram,
        **took,
        "foreseen GB": expected.total_memory / 1e9,
        "iterations": model.iterations_,
        "residual": model.residual_,
    }


def size_of(chosen: argparse.Namespace) -> str:
    return "small" if chosen.quick else "ml-20m"


def clock(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def admm_parts(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of ADMM's parts at full size, extrapolated."""
    _, n, t, _ = SIZES[size_of(chosen)]
    rng = np.random.default_rng(0)
    small, large = (300, 600) if chosen.quick else (2000, 4000)
    times = []
    for size in (small, small, large):  # the first wakes the threads
        A = rng.standard_normal((size, size))
        A = A @ A.T
        times.append(clock(lambda A=A: scipy.linalg.eigh(A, check_finite=False, driver="evd")))
    power = min(3.0, math.log(times[2] / times[1]) / math.log(large / small))
    eigen = times[2] * (n / large) ** power
    width = 128
    slab = rng.standard_normal((width, n))
    Y = rng.standard_normal((n, min(t, 512)))
    product = clock(lambda: slab @ Y) * (n / width) * (t / Y.shape[1])
    basis = product * t / n
    model = Teaser(solver="admm", dtype="float64", tol=1e-2, max_iter=300).fit(named("small"))
    each = 3 * product + basis
    return {
        "eigendecomposition s": eigen,
        "exponent": power,
        "iteration s": each,
        "iterations": model.iterations_,
        "seconds": eigen + model.iterations_ * each,
        "GB of four items x items": 4 * n**2 * 8 / 1e9,
    }


def main() -> None:
    parser = parse(__doc__)
    chosen = parser.parse_args()
    parts = {
        "settled": lambda chosen: fit(chosen, "settled"),
        "fit": lambda chosen: fit(chosen, 1e-3),
        "admm_parts": admm_parts,
        "ease": lambda chosen: ease(named(size_of(chosen)), L1),
        "als": lambda chosen: als(named(size_of(chosen))),
    }
    if chosen.part:
        run_part(chosen, parts)
        return
    given = ["--quick"] if chosen.quick else []
    found = {part: measure_apart(__file__, part, *given) for part in parts}
    ours, admm = found["settled"], found["admm_parts"]
    said = {"settled": "TEASER, scores settled", "fit": "TEASER, residual 1e-3"}
    rows = [
        *(
            {
                "what": said[part],
                "seconds": found[part]["seconds"],
                "processor s": found[part]["processor s"],
                "GB": found[part]["peak GB"],
                "iterations": found[part]["iterations"],
            }
            for part in said
        ),
        {
            "what": "the paper's ADMM, extrapolated",
            "seconds": admm["seconds"],
            "processor s": "",
            "GB": admm["GB of four items x items"],
            "iterations": admm["iterations"],
        },
    ]
    for part, name in others.SAID.items():
        row = found[part]
        rows.append({"what": name, **{k: row[k] for k in ("seconds", "processor s")}})
        rows[-1] |= {"GB": row["peak GB"], "iterations": ""}
    for row in rows:
        row["times the first"] = row["seconds"] / ours["seconds"]
    report(
        "ml20m-quick" if chosen.quick else "ml20m",
        rows,
        size=size_of(chosen),
        gram=ours["gram"],
        foreseen_gb=ours["foreseen GB"],
        admm_parts=admm,
        times_faster=admm["seconds"] / ours["seconds"],
    )


if __name__ == "__main__":
    main()
