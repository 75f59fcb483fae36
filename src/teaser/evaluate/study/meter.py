"""How long a step took and how much memory the process held at most meanwhile."""

import resource
import time
from types import TracebackType
from typing import Self

_STATUS = "/proc/self/status"
_RESET = "/proc/self/clear_refs"


class Meter:
    """A context that measures what happens in it.

    Attributes
    ----------
    seconds
        Wall-clock time.
    cpu_seconds
        Time of all threads of the process on a processor: what it takes, however busy the
        machine is.
    peak_memory
        The largest resident memory of the process within, in bytes; where the system cannot
        forget an earlier peak, the largest since the process began.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory: int = 0

    def __enter__(self) -> Self:
        _forget_peak()
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
    """Return the largest resident memory since it was last forgotten, in bytes."""
    try:
        with open(_STATUS, encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget_peak() -> None:
    try:
        with open(_RESET, "w", encoding="ascii") as reset:
            reset.write("5")  # resets VmHWM, see proc(5)
    except OSError:
        pass
