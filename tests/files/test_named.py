"""Files that somebody named: regular ones are read, all others refused at once, with a reason."""

import gzip
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teaser import files as named
from teaser.files import (
    MOST_SETTINGS,
    FileRefusedError,
    check_regular,
    memory_of_machine,
    open_regular,
    open_unpacked,
    read_bytes,
    read_settings,
    read_unpacked,
)

READERS: list[Callable[[Path], Any]] = [
    check_regular,
    open_regular,
    open_unpacked,
    read_bytes,
    read_settings,
    read_unpacked,
]


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, Path]:
    """Things with names that are no regular files."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    return {
        "a pipe": tmp_path / "pipe",
        "a folder": tmp_path / "folder",
        "a socket": tmp_path / "socket",
        "a device": Path("/dev/zero"),
        "a pipe, not": tmp_path / "link",
    }


def test_what_is_no_regular_file_is_refused_at_once(odd: dict[str, Path]) -> None:
    for kind, path in odd.items():
        for reader in READERS:
            with pytest.raises(FileRefusedError, match=f"^it is {kind}"):
                reader(path)


def test_a_regular_file_is_read_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_bytes(tmp_path / "b") == b"one\r\ntwo"
    assert read_settings(tmp_path / "b") == "one\ntwo"
    with open_unpacked(tmp_path / "b") as file:
        assert file.read() == b"one\r\ntwo"


def test_a_file_that_is_not_there_is_said_as_ever(tmp_path: Path) -> None:
    for reader in READERS:
        with pytest.raises(FileNotFoundError):
            reader(tmp_path / "none")


def test_a_file_larger_than_allowed_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(4 * memory_of_machine())  # a hole, which takes no place on the disk
    for reader in (read_bytes, read_unpacked):
        with pytest.raises(FileRefusedError, match="at most"):
            reader(tmp_path / "large")
    with pytest.raises(FileRefusedError, match=r"at most 67 MB"):
        read_settings(tmp_path / "large")
    assert MOST_SETTINGS == 2**26


def test_gzipped_text_is_unpacked(tmp_path: Path) -> None:
    text = b"".join(b"%d,%d\n" % (i, i * i) for i in range(20_000))
    (tmp_path / "a.csv").write_bytes(gzip.compress(text[:100]) + gzip.compress(text[100:]))
    with open_unpacked(tmp_path / "a.csv") as file:
        assert file.readline() == b"0,0\n"
        assert b"0,0\n" + file.read() == text


def test_what_expands_without_end_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named, "_SMALL", 2**20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * 2**24))
    with (
        pytest.raises(FileRefusedError, match="expands to more than"),
        open_unpacked(tmp_path / "bomb.gz") as file,
    ):
        file.read()
