"""How many lists a second: `recommend_all` beside the batch calls of other libraries.

Every row is measured in a process of its own, with the threads that it names.

With `--size` and `--people`, the histories of so many people are in a parquet file, and ours are
read from it, listed and written to another, some at a time: the peak memory is that of the process.
The people are those of a generated data set, again and again. implicit takes them in calls of
10,000 from a matrix in memory, and its lists are not written. Its factors are those of a fit to the
generated data set.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from apart import clocked, measure_apart, run_part
from films import parse_films, read_films
from generated import SIZES, named
from polars.io.plugins import register_io_source
from report import report

import teaser
from teaser import Dataset, Teaser
from teaser.baselines import EASE
from teaser.evaluate.choose import RECIPES

K = 20
CALL = 10_000
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS")


def clock(dataset: Dataset, work: Callable[[], Any], go: int = 2) -> dict[str, Any]:
    """Return the best of some goes, in users a second of the clock and of the processor."""
    found = []
    for _ in range(go):
        start, processor = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - start, time.process_time() - processor))
    seconds, processor_s = min(s for s, _ in found), min(p for _, p in found)
    return {
        "seconds": seconds,
        "processor s": processor_s,
        "users/s": round(dataset.n_users / seconds),
        "users/processor s": round(dataset.n_users / processor_s),
    }


def ours(name: str, **options: Any) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """Return the measurement of one of our models."""

    def measure(chosen: argparse.Namespace) -> dict[str, Any]:
        model: Any = teaser.load(chosen.folder / name)
        data = Dataset.load(chosen.folder / "data")
        return clock(data, lambda: model.recommend_all(data, k=K, **options))

    return measure


def to_parquet(chosen: argparse.Namespace) -> dict[str, Any]:
    model: Any = teaser.load(chosen.folder / "neighbours")
    data, out = Dataset.load(chosen.folder / "data"), chosen.folder / f"{os.getpid()}.parquet"
    return clock(data, lambda: model.recommend_all(data, k=K, reasons=True, out=out))


def als(chosen: argparse.Namespace) -> dict[str, Any]:
    data = Dataset.load(chosen.folder / "data")
    X = sp.csr_matrix(data.X.copy())
    model = fitted_als(chosen.folder, data, 3)
    users, items = pl.Series(data.users[:]), pl.Series(data.items[:])

    def work() -> pl.DataFrame:
        found, scores = model.recommend(np.arange(X.shape[0]), X, N=K)
        return as_frame(users, items, found, scores)

    return clock(data, work)


def irspack(chosen: argparse.Namespace) -> dict[str, Any]:
    from irspack.recommenders import DenseSLIMRecommender
    from irspack.utils.id_mapping import ItemIDMapper

    data = Dataset.load(chosen.folder / "data")
    X = sp.csr_matrix(data.X.copy(), dtype=np.float64)
    model = DenseSLIMRecommender(X, reg=300.0).learn()
    mapper = ItemIDMapper([str(name) for name in data.items])
    n_threads = int(os.environ["OMP_NUM_THREADS"])

    def work() -> Any:
        scores = model.get_score_remove_seen(np.arange(X.shape[0]))
        return mapper.score_to_recommended_items_batch(scores, cutoff=K, n_threads=n_threads)

    return clock(data, work, 1)


def cornac(chosen: argparse.Namespace) -> dict[str, Any]:
    cornac: Any = importlib.import_module("cornac")

    data = Dataset.load(chosen.folder / "data")
    entries = data.X.tocoo()
    triples = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
    model = cornac.models.EASE(lamb=300.0, verbose=False).fit(
        cornac.data.Dataset.build(list(triples))
    )
    users = range(min(300, data.n_users))  # it has no call for many users
    some = data.at(np.array(users))
    known = list(model.uid_map)

    def work() -> Any:
        return [
            model.recommend(known[u], k=K, remove_seen=True, train_set=model.train_set)
            for u in users
        ]

    return clock(some, work, 1)


def as_frame(users: pl.Series, items: pl.Series, found: Any, scores: Any) -> pl.DataFrame:
    """Return positions and scores as ours are returned: ids, in a frame."""
    user, rank = np.nonzero(found >= 0)
    return pl.DataFrame(
        {
            "user_id": users.gather(pl.Series(user)),
            "rank": rank + 1,
            "item_id": items.gather(pl.Series(found[user, rank].astype(np.int64))),
            "score": scores[user, rank],
        }
    )


def streamed(**options: Any) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """Return the measurement of one of our models from parquet to parquet."""

    def measure(chosen: argparse.Namespace) -> dict[str, Any]:
        model: Any = teaser.load(chosen.folder / "paper")
        # The arrays are read from disk, and the loops compiled, before the clock runs.
        model.recommend_all([(n, [n]) for n in model.items_[:512]], **options)
        out = chosen.folder / f"{os.getpid()}.parquet"
        try:
            return rate(
                chosen, lambda: model.recommend_all(people_file(chosen), out=out, **options)
            )
        finally:
            out.unlink(missing_ok=True)

    return measure


def als_batches(chosen: argparse.Namespace) -> dict[str, Any]:
    model: Any = fitted_als(chosen.folder, Dataset.load(chosen.folder / "data"), 1)
    items = pl.Series(range(model.item_factors.shape[0]))
    table = pl.read_parquet(people_file(chosen))
    lengths = table["item_id"].list.len().to_numpy()
    indices = table["item_id"].explode().to_numpy().astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    del table
    ones, shape = np.ones(len(indices), np.float32), (len(lengths), len(items))
    X = sp.csr_matrix((ones, indices, indptr), shape=shape)
    own = np.arange(len(lengths)) % len(model.user_factors)

    def work() -> None:
        for first in range(0, len(lengths), CALL):
            some = np.arange(first, min(first + CALL, len(lengths)))
            found, scores = model.recommend(own[some], X[some], N=K)
            as_frame(pl.Series(some), items, found, scores)

    return rate(chosen, work)


def fitted_als(folder: Path, data: Dataset, rounds: int) -> Any:
    from implicit.als import AlternatingLeastSquares

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AlternatingLeastSquares(factors=128, iterations=rounds, random_state=0)
    kept = folder / "als.npz"
    if kept.is_file():
        with np.load(kept) as factors:
            model.user_factors, model.item_factors = factors["users"], factors["items"]
        return model
    model.fit(sp.csr_matrix(data.X.copy()), show_progress=False)
    np.savez(kept, users=model.user_factors, items=model.item_factors)
    return model


def rate(chosen: argparse.Namespace, work: Callable[[], Any]) -> dict[str, Any]:
    """Return what the lists of all people take."""
    _, took = clocked(work)
    n = chosen.people[0]
    return {
        "people": n,
        **took,
        "people/s": round(n / took["seconds"]),
        "people/processor s": round(n / took["processor s"]),
    }


def people_file(chosen: argparse.Namespace) -> Path:
    path: Path = chosen.folder / f"people-{chosen.people[0]}.parquet"
    return path


def write_people(data: Dataset, n_people: int, path: Path) -> None:
    """Write the histories of so many people, those of the users again and again."""
    X = data.X

    def pieces() -> Iterator[pl.DataFrame]:
        for first in range(0, n_people, CALL):
            users = np.arange(first, min(first + CALL, n_people))
            own = X[users % X.shape[0]]
            who = np.repeat(users, np.diff(own.indptr))
            flat = pl.DataFrame({"user_id": who, "item_id": own.indices.astype(np.int64)})
            yield flat.group_by("user_id", maintain_order=True).agg("item_id")

    schema: dict[str, Any] = {"user_id": pl.Int64, "item_id": pl.List(pl.Int64)}
    source = register_io_source(lambda *_: pieces(), schema=schema)
    part = path.with_suffix(".part")
    source.sink_parquet(part, row_group_size=CALL)
    part.replace(path)


CROWD = {
    "Teaser, the paper's, parquet to parquet": streamed(k=K),
    "Teaser, the paper's, on a GPU": streamed(k=K, device="cuda"),
    "implicit, ALS of 128 factors": als_batches,
}


def measure_crowd(chosen: argparse.Namespace, folder: Path) -> None:
    """Measure the lists of many people at a size, and report them."""
    size = "small" if chosen.quick else chosen.size
    if not (folder / "data").is_dir():
        named(size).save(folder / "data")
    data = Dataset.load(folder / "data")
    if not (folder / "paper").is_dir():
        Teaser().fit(data).save(folder / "paper")
    fitted_als(folder, data, 1)
    rows = []
    for n in chosen.people:
        one = argparse.Namespace(folder=folder, people=[n])
        if not people_file(one).is_file():
            write_people(data, n, people_file(one))
    for threads in chosen.threads:
        os.environ.update(dict.fromkeys(THREADS, str(threads)))
        for n in chosen.people:
            for part in chosen.parts or [name for name in CROWD if "GPU" not in name]:
                found = measure_apart(__file__, part, "--folder", str(folder), "--people", str(n))
                rows.append({"lists by": found.pop("part"), "threads": threads, **found})
    report(f"lists-{size}", rows, items=data.n_items, tags=data.n_tags, k=K)


PARTS = {
    "Teaser, the paper's": ours("paper"),
    "Teaser, the paper's, with reasons": ours("paper", reasons=True),
    "Teaser, neighbours": ours("neighbours"),
    "Teaser, neighbours, with reasons": ours("neighbours", reasons=True),
    "Teaser, neighbours, with reasons, to parquet": to_parquet,
    "our EASE": ours("ease"),
    "implicit, ALS of 128 factors": als,
    "irspack, dense SLIM (EASE)": irspack,
    "cornac, EASE, 300 users one by one": cornac,
}


def keep_to_cores(n: int) -> None:
    """Let this process use n cores: `recommend_all` takes as many threads as it may use cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-n:])


def prepare(dataset: Dataset, folder: Path) -> None:
    """Save the data and the models that are not there yet."""
    options: Any = RECIPES["neighbours"]
    models: dict[str, Any] = {
        "paper": Teaser(),
        "neighbours": Teaser(l2_weights=100.0, l2_encoder=300.0, **options),
        "ease": EASE(l2=300.0),
    }
    if not (folder / "data").is_dir():
        dataset.save(folder / "data")
    for name, model in models.items():
        if not (folder / name).is_dir():
            model.fit(dataset).save(folder / name)


def main() -> None:
    parser = parse_films(__doc__)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--models", type=Path, help="a folder that keeps the models for later runs")
    parser.add_argument("--size", choices=SIZES, default="ml-20m", help="of the people's data set")
    parser.add_argument("--people", type=int, nargs="*", help="how many people, from a file")
    parser.add_argument("--parts", nargs="*", help="of the measurements with --people, only these")
    chosen = parser.parse_args()
    if chosen.part is not None:
        keep_to_cores(int(os.environ.get("OMP_NUM_THREADS", "1")))
        run_part(chosen, CROWD if chosen.people else PARTS)
        return
    if chosen.people:
        with tempfile.TemporaryDirectory() as scratch:
            measure_crowd(chosen, chosen.models or Path(scratch))
        return
    dataset, said, quick = read_films(chosen)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.models or Path(scratch)
        prepare(dataset, folder)
        for threads in chosen.threads:
            os.environ.update(dict.fromkeys(THREADS, str(threads)))
            for part in PARTS:
                try:
                    found = measure_apart(__file__, part, "--folder", str(folder))
                except subprocess.CalledProcessError as error:
                    print(f"{part}: {error}", file=sys.stderr)
                    continue
                rows.append({"lists by": found.pop("part"), "threads": threads, **found})
    report(f"lists{quick}", rows, data=said, users=dataset.n_users, items=dataset.n_items, k=K)


if __name__ == "__main__":
    main()
