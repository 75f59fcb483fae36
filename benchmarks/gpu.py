"""Measure a fit of MovieLens 20M's size on a GPU, part by part, after a warm-up; then scoring."""

import argparse
import time
from typing import Any

import numpy as np
from generated import SIZES, named
from report import report

from teaser import Teaser
from teaser.model.gram.gpu import build_device_gram, cupy, to_host
from teaser.model.item_table import popularity
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits
from teaser.model.solver.solve import dispatch, prepare
from teaser.model.tag_table import decoder


def measure(work: Any) -> tuple[float, Any]:
    """Return the seconds that it took until the GPU was done, and the result."""
    cupy().cuda.Device().synchronize()
    start = time.perf_counter()
    result = work()
    cupy().cuda.Device().synchronize()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="ml-20m")
    parser.add_argument("--tol", type=float, default=1e-3)
    chosen = parser.parse_args()
    Teaser(device="cuda").fit(named("small"))  # compiles the kernels
    dataset = named(chosen.size)
    kind = np.dtype("float32")
    D = decoder(dataset.S, popularity(dataset)).astype(kind)
    rows: list[dict[str, Any]] = []
    for choice in ("dense", "sparse"):
        gram_s, gram = measure(
            lambda c=choice: build_device_gram(dataset.X, c, n_tags=D.shape[1], dtype=kind)
        )
        system_s, system = measure(lambda g=gram: prepare(g, D, solver="cg", rng=0))
        solve_s, found = measure(
            lambda s=system: dispatch(
                EncoderEquation(s, 200.0, 500.0),
                Limits(tol=chosen.tol, max_iter=100),
                solver="cg",
            )
        )
        rows.append(
            {
                "gram": choice,
                "counting": gram_s,
                "eigenpairs": system_s,
                "solving": solve_s,
                "seconds": gram_s + system_s + solve_s,
                "iterations": found.iterations,
                "residual": found.residual,
            }
        )
        del gram, system
    whole_s, model = measure(lambda: Teaser(device="cuda", tol=chosen.tol).fit(dataset))
    few = dataset.X[:2000]
    model.score_batch(few)
    there_s, scores = measure(lambda: model.score_batch(few))
    model.device = "cpu"
    here_s, same = measure(lambda: model.score_batch(few))
    apart = float(np.abs(to_host(scores) - same).max() / np.abs(same).max())
    report(
        f"gpu-{chosen.size}",
        rows,
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
        gpu=cupy().cuda.runtime.getDeviceProperties(0)["name"].decode(),
        whole_fit_seconds=whole_s,
        scoring_2000_users_gpu_seconds=there_s,
        scoring_2000_users_cpu_seconds=here_s,
        scores_apart=apart,
    )


if __name__ == "__main__":
    main()
