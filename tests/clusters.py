"""Real schedulers and workers on loopback, for the tests that need them."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from teaser.errors import DataError

_QUIET = ("--no-dashboard",)


@contextmanager
def process(*words: str, folder: Path, path: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A dask command as a process of its own, ended with the block."""
    env = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
    # What tests send to workers is found here; `path` comes first.
    first = [] if path is None else [path]
    env["PYTHONPATH"] = os.pathsep.join(map(str, [*first, Path(__file__).parent]))
    with (folder / f"{words[0]}.log").open("w") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "dask", *words, *_QUIET],
            stdout=log, stderr=log, text=True, cwd=folder, env=env,
        )  # fmt: skip
        try:
            yield running
        finally:
            running.kill()
            running.wait()


@contextmanager
def worker(address: str, folder: Path, path: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A worker without a guard that would start it again."""
    words = ("worker", address, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1")
    with process(*words, folder=folder, path=path) as running:
        yield running


@contextmanager
def scheduler(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A scheduler at a port."""
    words = ("scheduler", "--host", "127.0.0.1", "--port", str(port))
    with ExitStack() as stack:
        yield stack.enter_context(process(*words, folder=folder))


def refuse(name: str, source: Any) -> None:
    raise DataError(f"{name} is bad")


def exhaust(name: str, source: Any) -> None:
    raise MemoryError(f"{name} does not fit into memory")


def wait_for(name: str, source: Any) -> None:
    time.sleep(600)


def read_part(path: str, victim: str | None = None) -> Any:
    """Read a partition as a step of a Dask graph; the process of the victim ends as if killed."""
    import pandas as pd

    if victim is not None and victim in path:
        os.kill(os.getpid(), 9)
    return pd.read_parquet(path)
