"""One measurement in a process of its own: its time, its processor time and its peak memory."""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from generated import generated

from teaser import Teaser

Part = Callable[[argparse.Namespace], dict[str, Any]]


def parse(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every such benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a small size")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser


def run_part(chosen: argparse.Namespace, parts: Mapping[str, Part]) -> None:
    """Do one part and write what it took as the last line; called in the process of its own."""
    print(json.dumps({"part": chosen.part, **parts[chosen.part](chosen)}))


def clocked(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what the work gives, with its seconds, processor seconds and peak memory in GB.

    The peak is that of the process, data and libraries included.
    """
    start, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, {
        "seconds": time.perf_counter() - start,
        "processor s": time.process_time() - processor,
        # Linux counts it in units of 1,024 bytes.
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def warm_up() -> None:
    """Compile the loops and wake the threads of the algebra library before the clock runs."""
    tiny = generated(n_users=200, n_items=100, n_tags=20, n_interactions=1500)
    # Compiled loops are used from 2^20 terms of a sum on.
    small = generated(n_users=500, n_items=2_200, n_tags=500, n_interactions=15_000)
    for gram, dataset in (("dense", tiny), ("sparse", tiny), ("sparse", small)):
        Teaser(gram=gram, tol=0.5).fit(dataset)


def measure_apart(script: str, part: str, *arguments: str) -> dict[str, Any]:
    """Run one part of a script in a process of its own and return its row."""
    command = [sys.executable, script, "--part", part, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(row, flush=True)
    return row
