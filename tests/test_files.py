"""Files that somebody named: regular ones are read, all others refused at once, with a reason."""

import gzip
import os
from pathlib import Path

import polars as pl
import pytest
from forgery import parquet_bytes

from teaser import artifact, files
from teaser.artifact import check_parquet, read_parquet
from teaser.files import (
    MOST_SETTINGS,
    FileRefusedError,
    available_memory,
    memory_of_machine,
    open_unpacked,
    read_bytes,
    read_settings,
    read_unpacked,
    say_bytes,
)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (read_bytes, read_settings, open_unpacked, read_unpacked, read_parquet):
        with pytest.raises(FileRefusedError, match=r"a pipe.*, not a regular file"):
            read(tmp_path / "pipe")
        with pytest.raises(FileRefusedError, match="it is a folder"):
            read(tmp_path)
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing")


def test_a_regular_file_is_read_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_bytes(tmp_path / "link") == b"a\r\nb"
    assert read_settings(tmp_path / "link") == "a\nb"


def test_a_file_larger_than_allowed_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as handle:
        handle.truncate(MOST_SETTINGS + 1)
    with pytest.raises(FileRefusedError, match="it has 67 MB, and at most 67 MB are read"):
        read_settings(tmp_path / "large")
    os.truncate(tmp_path / "large", 10 * memory_of_machine())
    with pytest.raises(FileRefusedError, match="are read"):
        read_unpacked(tmp_path / "large")


def test_gzipped_text_is_unpacked_unless_it_expands_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text"))
    assert read_unpacked(tmp_path / "a.gz") == b"text"
    with open_unpacked(tmp_path / "a.gz") as file:
        assert file.read() == b"text"
    monkeypatch.setattr(files, "_SMALL", 2**20)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(2**24)))
    with pytest.raises(FileRefusedError, match="expands to more than"):
        read_unpacked(tmp_path / "a.gz")


def test_no_more_memory_is_left_than_there_is() -> None:
    assert 0 < available_memory() <= memory_of_machine()


@pytest.mark.parametrize(
    ("size", "said"), [(0, "0 B"), (1500, "2 kB"), (2.5e6, "2 MB"), (1.25e9, "1.2 GB")]
)
def test_bytes_are_said_for_people(size: float, said: str) -> None:
    assert say_bytes(size) == said


def test_a_table_that_takes_more_memory_than_is_left_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [["x"], []], "c": [None, "y"]})
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet_bytes(frame))
    assert read_parquet(path).equals(frame)
    monkeypatch.setattr(artifact, "available_memory", lambda: 79)
    with pytest.raises(FileRefusedError, match="its 2 rows take 80 B of memory or more, and 79 B"):
        read_parquet(path)


def test_what_is_no_parquet_is_left_to_its_reader(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    check_parquet(tmp_path / "a.parquet")
    with pytest.raises(pl.exceptions.PolarsError):
        read_parquet(tmp_path / "a.parquet")
