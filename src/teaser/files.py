"""Read files that somebody named, as far as the memory goes; and the memory of this machine."""

import gzip
import os
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

import psutil

GZIP = b"\x1f\x8b"
_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")


class FileRefusedError(OSError):
    """A file that is not opened, or not read to its end; its text says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, reason)

    def __str__(self) -> str:
        return str(self.strerror)


def check_regular(path: str | Path) -> None:
    """Raise `FileRefusedError` unless this is a regular file: a pipe would be waited for."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileRefusedError("it is a folder, a pipe or a device, not a regular file")


def open_regular(path: str | Path) -> BufferedReader:
    """Open a regular file to read; anything else raises `FileRefusedError` at once."""
    check_regular(path)
    return open(path, "rb")


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a regular file."""
    with open_regular(path) as file:
        return file.read()


def read_settings(path: str | Path, *, encoding: str = "utf-8") -> str:
    """Return the text of a regular file that holds settings, with each line end as one."""
    check_regular(path)
    return Path(path).read_text(encoding)


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return what a TOML file of settings says, and its text.

    Raises
    ------
    ValueError
        If it is not TOML in UTF-8, or is nested too deep.
    """
    text = read_settings(path)
    try:
        return tomllib.loads(text), text
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def open_unpacked(path: str | Path) -> BufferedReader | gzip.GzipFile:
    """Open a regular file to read, unpacked if it is gzipped."""
    handle = open_regular(path)
    if handle.peek(len(GZIP))[: len(GZIP)] != GZIP:
        return handle
    handle.close()
    return gzip.open(path, "rb")


def read_unpacked(path: str | Path) -> bytes:
    """Return the bytes of a regular file, unpacked if it is gzipped, as far as the memory goes."""
    with open_unpacked(path) as file:
        # A table is made of the text, so that half of the memory is left for it.
        size, most = os.stat(path).st_size, available_memory() // 2
        if size > most:
            raise FileRefusedError(
                f"it has {say_bytes(size)}, and at most {say_bytes(most)} are read"
            )
        return file.read()


def memory_of_machine() -> int:
    """Return the bytes of main memory that this process may use: the machine's or its limit's."""
    found = [int(psutil.virtual_memory().total)]
    for name in _LIMITS:
        try:
            found.append(int(Path("/sys/fs/cgroup", name).read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return min(found)


def available_memory() -> int:
    """Return the bytes of main memory that are left, at most this process's limit."""
    return min(int(psutil.virtual_memory().available), memory_of_machine())


def say_bytes(size: float) -> str:
    """Return a number of bytes as a short text."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
