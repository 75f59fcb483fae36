"""Programs in processes of their own that begin with the package imported, for tests of the store.

Each is forked from one process that has done the imports, which take longer than most programs.
"""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import TextIO

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["teaser.app.store"])


@dataclass(frozen=True)
class Forked:
    """A program that runs: its process, what it is told and what it says."""

    process: ForkServerProcess
    stdin: TextIO
    stdout: TextIO

    def kill(self) -> None:
        """Kill it (SIGKILL), and wait for its end."""
        self.process.kill()
        self.process.join()


@contextmanager
def forked(script: str, *arguments: str) -> Iterator[Forked]:
    """Run a script with arguments until the block ends; then it is killed, if it still runs."""
    (said, say), (hear, tell) = _CONTEXT.Pipe(duplex=False), _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_run, args=(script, arguments, hear, say), daemon=True)
    process.start()
    say.close()
    hear.close()
    with (
        said,
        tell,
        open(os.dup(tell.fileno()), "w") as stdin,
        open(os.dup(said.fileno())) as stdout,
    ):
        tell.close()
        try:
            yield Forked(process, stdin, stdout)
        finally:
            process.kill()
            process.join()


def _run(script: str, arguments: tuple[str, ...], hear: Connection, say: Connection) -> None:
    os.dup2(hear.fileno(), 0)
    os.dup2(say.fileno(), 1)
    hear.close()
    say.close()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.argv = ["-c", *arguments]
    exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})  # noqa: S102
