"""Numbers that the processes of one server share, in a memory-mapped file."""

import fcntl
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class SharedCounters:
    """An array of float64, all zero at first, that several processes read and write.

    Parameters
    ----------
    size
        The number of counters.
    file
        The file that the processes map. Without it the array belongs to this process alone.

    Attributes
    ----------
    values
        The counters. Read and write them inside `locked()` only.
    """

    def __init__(self, size: int, file: Path | None = None) -> None:
        self._thread_lock = threading.Lock()
        self._descriptor: int | None = None
        self.values: NDArray[Any] = np.zeros(size)
        if file is not None:
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            weakref.finalize(self, os.close, self._descriptor)
            with self.locked():
                _fill(self._descriptor, self.values.nbytes)
            self.values = np.memmap(file, np.float64, "r+", shape=(size,))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other threads and processes; a process that dies releases its file lock."""
        with self._thread_lock:
            if self._descriptor is None:
                yield
                return
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)


def _fill(descriptor: int, size: int) -> None:
    """Write zeros up to a size, so that a disk that fills up later cannot cause SIGBUS."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    while end < size:
        end += os.write(descriptor, bytes(size - end))
