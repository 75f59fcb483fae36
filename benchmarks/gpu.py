"""Measure fits of MovieLens 20M's size on a GPU, part by part, beside what arithmetic would take.

Everything is measured after a warm-up, until the GPU is done. The bound of a part is the longer of
its operations at the rate of a large product of halves, and its bytes at the rate of a copy, both
measured here.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from generated import SIZES, named
from report import report

from teaser import Dataset, Teaser
from teaser.errors import ResourceError
from teaser.extensions import DiscoveredTags, Remainder
from teaser.model.extensions.remainder import NEAR_POWER, Neighbours
from teaser.model.gram.build import build_gram
from teaser.model.gram.cost import FitSize
from teaser.model.gram.gpu import build_device_gram, cupy, to_host
from teaser.model.gram.pairs import nearest
from teaser.model.solver.conjugate_gradients import conjugate_gradients
from teaser.model.solver.equation import EncoderEquation
from teaser.model.solver.solution import Limits
from teaser.model.solver.solve import prepare
from teaser.model.tables import decoder, popularity

_NEIGHBOURS = 100


def measure(work: Callable[[], Any], *, goes: int = 2) -> tuple[float, Any]:
    """Return the least seconds that it took until the GPU was done, and the result."""
    best, result = float("inf"), None
    for _ in range(goes):
        result = None
        cupy().cuda.Device().synchronize()
        start = time.perf_counter()
        result = work()
        cupy().cuda.Device().synchronize()
        best = min(best, time.perf_counter() - start)
    return best, result


def rates() -> tuple[float, float]:
    """Return the operations a second of products of halves, and the bytes a second of a copy."""
    xp = cupy()
    A, B = (xp.random.standard_normal((8192, 8192)).astype(np.float16) for _ in range(2))
    wide = xp.zeros(2**29, np.float32)
    product, copy = (measure(work, goes=5)[0] for work in (lambda: A @ B, wide.copy))
    return 2 * 8192**3 / product, 2 * wide.nbytes / copy


def parts(dataset: Dataset, tol: float) -> tuple[list[dict[str, Any]], Any]:
    """Return the seconds of each part of a fit with its bound, and the remainder's Gram."""
    operations, bandwidth = rates()
    kind = np.dtype("float32")
    D = decoder(dataset.S, popularity(dataset)).astype(kind)
    n, k = (float(size) for size in D.shape)
    rows: list[dict[str, Any]] = []

    def add(name: str, work: Callable[[], Any], *, flop: float = 0, moved: float = 0) -> Any:
        seconds, result = measure(work)
        bound = max(flop / operations, moved / bandwidth)
        rows.append({"part": name, "seconds": seconds, "bound": bound})
        return result

    gram = add(
        "counting",
        lambda: build_device_gram(dataset.X, "dense", n_tags=D.shape[1], dtype=kind),
        moved=4 * n * n + 8 * dataset.X.nnz,
    )
    # Four thirds of k^3 operations at half of the products' speed at least, in double precision.
    system = add(
        "eigenpairs",
        lambda: prepare(gram, D, solver="cg", rng=0),
        flop=4 / 3 * k**3,
        moved=5 * 4 * n * n,
    )
    equation = EncoderEquation(system, 200.0, 500.0)
    add("preconditioner", equation.preconditioner, flop=2 * 820 * n * k, moved=3 * 4 * n * k)
    limits = Limits(tol=tol, max_iter=100)
    solution = add("solving", lambda: conjugate_gradients(equation, limits))
    # G [F | W], each as two halves; twenty readings or writings of an array of items x tags.
    steps = solution.iterations + 1
    bound = steps * max(8 * n * n * k / operations, 20 * 4 * n * k / bandwidth)
    rows[-1] |= {"part": f"solving, {solution.iterations} iterations", "bound": bound}
    E = add("encoder to main memory", lambda: to_host(solution.encoder), moved=4 * n * k)
    size = FitSize(1, kind)
    near_gram = add(
        "counting for cosines",
        lambda: build_gram(dataset.X, "dense", size, device="cuda", user_power=NEAR_POWER),
        moved=4 * n * n + 12 * dataset.X.nnz,
    )
    near = add(
        "neighbours",
        lambda: nearest(near_gram, _NEIGHBOURS),
        moved=4 * n * n + 12 * n * _NEIGHBOURS,
    )
    found = Neighbours.build(gram, _NEIGHBOURS, penalty=np.full(len(E), 200.0), near=near)
    add(
        "remainder",
        lambda: found.remainder(E, D, 50.0),
        flop=4 * n * n * k + n * _NEIGHBOURS**3 / 3,
        moved=4 * n * k + 32 * n * _NEIGHBOURS**2 / 2,
    )
    return rows, solution.residual


def whole(dataset: Dataset, tol: float) -> dict[str, float]:
    """Return the seconds of whole fits."""
    recipes: dict[str, dict[str, Any]] = {
        "tags": {},
        f"tags and {_NEIGHBOURS} neighbours": {"remainder": Remainder(neighbours=_NEIGHBOURS)},
        "discovered tags": {"discovered": DiscoveredTags()},
        "sparse Gram": {"gram": "sparse"},
    }
    small, seconds = named("small"), dict[str, float]()
    for name, how in recipes.items():
        model = Teaser(device="cuda", tol=tol, **how)
        model.fit(small)  # compiles the kernels
        cupy().get_default_memory_pool().free_all_blocks()
        seconds[f"fit, {name}: seconds"], _ = measure(partial(model.fit, dataset))
        held = cupy().get_default_memory_pool().total_bytes()
        seconds[f"fit, {name}: GB of the GPU"] = held / 1e9
    return seconds


def scoring(dataset: Dataset, tol: float) -> dict[str, float]:
    """Return the seconds of scores of 2,000 users on both, and how far they are apart."""
    model, few = Teaser(device="cuda", tol=tol).fit(dataset), dataset.X[:2000]
    model.score_batch(few)
    there_s, scores = measure(lambda: model.score_batch(few))
    model.device = "cpu"
    here_s, same = measure(lambda: model.score_batch(few))
    return {
        "scores of 2,000 users: seconds on the GPU": there_s,
        "scores of 2,000 users: seconds on processors": here_s,
        "scores apart": float(np.abs(to_host(scores) - same).max() / np.abs(same).max()),
    }


def run_out_of_memory(dataset: Dataset) -> dict[str, Any]:
    """Take all memory of the GPU in the middle of a fit, and return what the fit says."""
    xp = cupy()
    pool, taken = xp.get_default_memory_pool(), list[Any]()

    def take(iteration: int, residual: float) -> None:
        pool.free_all_blocks()
        for size in (2**30, 2**26, 2**22):
            while xp.cuda.runtime.memGetInfo()[0] > 2 * size:
                taken.append(xp.cuda.runtime.malloc(size))

    said, held = "nothing", -1
    try:
        Teaser(device="cuda").fit(dataset, callback=take)
    except ResourceError as error:
        said, held = str(error), pool.used_bytes()
    for pointer in taken:
        xp.cuda.runtime.free(pointer)
    again = Teaser(device="cuda").fit(dataset)
    return {
        "out of memory: the fit said": said,
        "out of memory: blocks taken": len(taken),
        "out of memory: bytes held afterwards": int(held),
        "out of memory: the next fit": f"{again.iterations_} iterations",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="ml-20m")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--out-of-memory", action="store_true", help="provoke it, once")
    chosen = parser.parse_args()
    Teaser(device="cuda", remainder=Remainder(neighbours=20)).fit(named("small"))
    dataset = named(chosen.size)
    rows, residual = parts(dataset, chosen.tol)
    facts = whole(dataset, chosen.tol) | scoring(dataset, chosen.tol)
    if chosen.out_of_memory:
        facts |= run_out_of_memory(dataset)
    report(
        f"gpu-{chosen.size}",
        rows,
        users=dataset.n_users,
        items=dataset.n_items,
        tags=dataset.n_tags,
        interactions=int(dataset.X.nnz),
        residual=residual,
        gpu=cupy().cuda.runtime.getDeviceProperties(0)["name"].decode(),
        **facts,
    )


if __name__ == "__main__":
    main()
