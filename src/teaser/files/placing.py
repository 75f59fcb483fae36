"""Put files into place: written apart, flushed to disk, renamed, by one writer at a time."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

# How the names of temporary folders begin; 32 hexadecimal digits follow.
TEMPORARY = ".writing-"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for one writer; the system releases the lock when the process ends."""
    with _descriptor(folder) as directory:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield


@contextmanager
def temporary_file(folder: Path) -> Iterator[Path]:
    """Yield an empty file in a temporary folder: some writers create more than one file."""
    room = folder / f"{TEMPORARY}{uuid4().hex}"
    room.mkdir()
    try:
        (room / "file").touch()
        yield room / "file"
    finally:
        shutil.rmtree(room, ignore_errors=True)


def settle(temporary: Path, target: Path) -> None:
    """Flush a file to disk, then rename it into place."""
    with temporary.open("rb+") as handle:
        os.fsync(handle.fileno())
    temporary.replace(target)
    with _descriptor(target.parent) as directory:
        os.fsync(directory)


@contextmanager
def _descriptor(folder: Path) -> Iterator[int]:
    directory = os.open(folder, os.O_RDONLY)
    try:
        yield directory
    finally:
        os.close(directory)
