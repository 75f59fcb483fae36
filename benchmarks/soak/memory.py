"""The processes of a server, their memory, and the models that they map."""

import re
from dataclasses import dataclass
from pathlib import Path

_MODEL = re.compile(r"\s(\d+)\s+\S*/arrays-([0-9a-f]{16})\.safetensors")


@dataclass(frozen=True)
class Process:
    """A process: its id, that of its parent, when it started, in ticks, and its command."""

    pid: int
    parent: int
    started: int
    command: str


def children(pid: int) -> list[Process]:
    """Return the processes that a process started, the oldest first."""
    found = []
    for folder in Path("/proc").iterdir():
        process = _read(folder) if folder.name.isdigit() else None
        if process is not None and process.parent == pid:
            found.append(process)
    return sorted(found, key=lambda process: process.started)


def _read(folder: Path) -> Process | None:
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    if fields[0] == "Z":
        return None
    return Process(int(folder.name), int(fields[1]), int(fields[19]), command)


def megabytes(*pids: int) -> float:
    """Return the memory of processes; pages that some of them share count once (PSS)."""
    return sum(map(_pss, pids)) / 1024


def _pss(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it ended meanwhile
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def mapped_models(*pids: int) -> dict[int, str]:
    """Return the models that processes map: inode -> checksum of the arrays."""
    found: dict[int, str] = {}
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            continue
        found |= {int(inode): checksum for inode, checksum in _MODEL.findall(text)}
    return found
