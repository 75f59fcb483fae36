"""The memory of this machine, and sizes as texts."""

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
