"""Measure the loop: people view items on a site, a refit learns from them, the site serves it.

Users who are kept out of the data folder are the visitors: each views some of the items that they
chose. MovieLens 1M where it is found, else generated.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from films import parse_films, read_films
from report import report

from teaser import Dataset, Teaser
from teaser.artifact import read_manifest

AT_ONCE = 8


def visit(address: str, items: list[Any]) -> int:
    """Come as a new visitor and view items; return how many."""
    with httpx.Client(base_url=address, headers={"origin": address}, timeout=60) as visitor:
        visitor.get("/")
        for item in items:
            visitor.post("/act", data={"view": item}, follow_redirects=True).raise_for_status()
    return len(items)


def wait_for(address: str) -> None:
    for _ in range(600):
        try:
            httpx.get(f"{address}/readyz").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


def visitors_of(dataset: Dataset, visitors: int, views: int) -> tuple[Dataset, list[list[Any]]]:
    """Return the data set without some users, and the items that each of these will view."""
    rng = np.random.default_rng(0)
    able = np.flatnonzero(np.diff(dataset.X.indptr) >= views)
    chosen = np.sort(rng.choice(able, min(visitors, len(able) // 2), replace=False))
    rest = np.setdiff1d(np.arange(dataset.n_users), chosen)
    viewed = [rng.choice(dataset.X[[row]].indices, views, replace=False) for row in chosen]
    return dataset.at(rest), [[dataset.items[i] for i in each] for each in viewed]


def measure(folder: Path, people: list[list[Any]]) -> dict[str, Any]:
    """Serve a model, let people visit, refit; return what was reported and what it took."""
    model, program = str(folder / "model"), [sys.executable, "-u", "-m", "teaser"]
    server = subprocess.Popen(
        [*program, "serve", model, "--port", "0", "--learn"],
        env={**os.environ, "TEASER_RATE": "0"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        if server.stdout is None:
            raise RuntimeError("the server says nothing")
        address = server.stdout.readline().strip().removesuffix("/")
        wait_for(address)
        begin = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            views = sum(pool.map(lambda items: visit(address, items), people))
        visited, used = time.perf_counter(), sum(os.times()[2:4])
        done = subprocess.run(
            [*program, "refit", model, "--json"], stdout=subprocess.PIPE, check=False
        )
        took, used = time.perf_counter() - visited, sum(os.times()[2:4]) - used
        found = json.loads(done.stdout)
        served = read_manifest(model)["checksum"] == found["checksum"]
    finally:
        server.terminate()
        server.wait()
    twins = found["report"]["twins"]
    of_site = found["report"]["origins"].get("site", {})
    return {
        "visitors": len(people),
        "views": views,
        "visits s": visited - begin,
        "refit s": took,
        "refit processor s": used,
        "verdict": found["verdict"],
        "nDCG@100 before": twins["before"],
        "after": twins["after"],
        "change": twins["change"],
        "change low": twins["low"],
        "change high": twins["high"],
        "held-out visitors": of_site.get("people", 0),
        "their change": of_site.get("change"),
        "served": served,
    }


def main() -> None:
    parser = parse_films(__doc__)
    parser.add_argument("--visitors", type=int, default=400)
    parser.add_argument("--views", type=int, default=12)
    chosen = parser.parse_args()
    dataset, said, suffix = read_films(chosen)
    rest, people = visitors_of(dataset, chosen.visitors, chosen.views)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rest.save(folder / "data")
        begin = time.perf_counter()
        model = Teaser().fit(rest)
        fit = time.perf_counter() - begin
        model.dataset_path_ = str(folder / "data")
        model.save(folder / "model")
        rows = [{"fit s": fit, **measure(folder, people)}]
    report(f"loop{suffix}", rows, data=said, users=rest.n_users, items=rest.n_items)


if __name__ == "__main__":
    main()
