"""Open files that somebody named, and the memory of this machine."""

import gzip
import io
import os
import stat
from io import BufferedReader
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")


def memory_of_machine() -> int:
    """Return the bytes of main memory that this process may use: the machine's or its limit's."""
    return min([int(psutil.virtual_memory().total), *_limits(_CGROUP, Path("/proc/self/cgroup"))])


def available_memory() -> int:
    """Return the bytes of main memory that are left, at most this process's limit."""
    return min(int(psutil.virtual_memory().available), memory_of_machine())


def _limits(root: Path, own: Path) -> list[int]:
    """Return the limits on memory of the control groups that this process is in."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    files = []
    for line in ["0::/", ":memory:/", *lines]:
        number, kinds, group = line.split(":", 2)
        inner = Path(group.strip("/"))
        if number == "0":
            files += [root / folder / "memory.max" for folder in (inner, *inner.parents)]
        elif "memory" in kinds.split(","):
            folders = [root / "memory" / folder for folder in (inner, *inner.parents)]
            files += [folder / "memory.limit_in_bytes" for folder in folders]
    found = []
    for file in files:
        try:
            found.append(int(file.read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return found


def say_bytes(size: float) -> str:
    """Return a number of bytes as a short text."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


# The most bytes of rules, studies and manifests, which people and this package write.
MOST_SETTINGS = 2**26
GZIP = b"\x1f\x8b"
# Tables shrink by 3 to 50 times; gzip itself can do 1,000.
_EXPANSION = 200
_SMALL = 2**28
_SHARE = 0.5
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class FileRefusedError(OSError):
    """A file that is not opened, or not read to its end; its text says why."""

    def __str__(self) -> str:
        return str(self.strerror)


def check_regular(path: str | Path) -> None:
    """Raise `FileRefusedError` unless this is a regular file."""
    _check_mode(os.stat(path).st_mode)


def open_regular(path: str | Path) -> BufferedReader:
    """Open a regular file to read; anything else raises `FileRefusedError` at once."""
    check_regular(path)
    # Without O_NONBLOCK a pipe that came in its place meanwhile would be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _check_mode(os.fstat(descriptor).st_mode)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: str | Path, *, most: int | None = None) -> bytes:
    """Return the bytes of a regular file.

    Parameters
    ----------
    most
        The most bytes that are read; half of the memory that is left if not given.
    """
    with open_regular(path) as handle:
        size = os.fstat(handle.fileno()).st_size
        _check_size(size, room_for_text() if most is None else most)
        return handle.read()


def read_settings(path: str | Path, *, encoding: str = "utf-8") -> str:
    """Return the text of a regular file that holds settings, with each line end as one."""
    content = read_bytes(path, most=MOST_SETTINGS)
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding).read()


def open_unpacked(path: str | Path) -> BufferedReader:
    """Open a regular file to read, unpacked if it is gzipped; it must not expand without end."""
    handle = open_regular(path)
    start = handle.read(len(GZIP))
    handle.seek(0)
    if start != GZIP:
        return handle
    size = os.fstat(handle.fileno()).st_size
    limit = min(room_for_text(), max(_SMALL, _EXPANSION * size))
    return BufferedReader(_Unpacked(handle, limit))


def read_unpacked(path: str | Path) -> bytes:
    """Return the bytes of a regular file, unpacked if it is gzipped, as far as the memory goes."""
    _check_size(os.stat(path).st_size, room_for_text())
    with open_unpacked(path) as file:
        return file.read()


def room_for_text() -> int:
    """Return how many bytes of text may be read into memory, where a table is made of them."""
    return int(_SHARE * available_memory())


class _Unpacked(io.RawIOBase):
    """What a gzipped file holds; reading more than is allowed raises `FileRefusedError`."""

    def __init__(self, packed: BufferedReader, limit: int) -> None:
        self._packed, self._limit, self._left = packed, limit, limit
        self._content = gzip.GzipFile(fileobj=packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        count = self._content.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise _refused(
                f"it expands to more than {say_bytes(self._limit)}. Unpack it, and name the file "
                "that is in it, if it is a table"
            )
        return count

    def close(self) -> None:
        self._packed.close()
        super().close()


def _check_mode(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise _refused(f"it is {kind}, not a regular file")


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise _refused(f"it has {say_bytes(size)}, and at most {say_bytes(most)} are read")


def _refused(reason: str) -> FileRefusedError:
    return FileRefusedError(0, reason)
