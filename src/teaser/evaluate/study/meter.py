"""Time and peak memory of a step."""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

# The kernel's own peak: psutil has none on Linux, and sampling would miss short ones.
_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class Meter:
    """A context that measures the step in it.

    Attributes
    ----------
    seconds
        Wall-clock time.
    cpu_seconds
        Processor time of all threads, which does not depend on other processes.
    peak_memory
        The largest resident memory of the process meanwhile, in bytes; see `peak_memory`.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory: int = 0

    def __enter__(self) -> Self:
        _reset_peak()
        self._start, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._start
        self.cpu_seconds = time.process_time() - self._cpu
        self.peak_memory = peak_memory()


def peak_memory() -> int:
    """Return the largest resident memory since a `Meter` was entered, in bytes.

    Outside Linux it is the largest since the process began, or where the system does not keep
    it, the present one.
    """
    try:
        status = _STATUS.read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, IndexError):
        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))


def _reset_peak() -> None:
    try:
        _RESET.write_text("5", encoding="ascii")  # resets VmHWM, see proc(5)
    except OSError:
        return
