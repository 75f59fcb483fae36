"""One parquet file of many frames: whole or not there, made in the thread of the caller."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from teaser import Teaser
from teaser.errors import ParameterError
from teaser.model.all_lists import check_file, write_frames

SCHEMA = pl.Schema({"n": pl.Int64})


def frames(n: int, stop: Any = None) -> Any:
    """Yield frames of one row each, calling `stop` in the middle."""
    for k in range(n):
        if k == n // 2 and stop is not None:
            stop()
        yield pl.DataFrame({"n": [k]}, schema=SCHEMA)


def test_a_file_holds_the_frames_in_their_order(tmp_path: Path) -> None:
    for n in (0, 1, 50):
        write_frames(frames(n), SCHEMA, tmp_path / "some.parquet")
        assert pl.read_parquet(tmp_path / "some.parquet")["n"].to_list() == list(range(n))
    assert [path.name for path in tmp_path.iterdir()] == ["some.parquet"]


# A process of its own: the signal is for the whole process, and others of its threads are pytest's.
_INTERRUPTED = """
import os, signal, sys, threading
from itertools import count
from pathlib import Path
import polars as pl
from teaser.model.all_lists import write_frames

schema = pl.Schema({"n": pl.Int64})

def frames():
    try:
        for k in count():
            if k == 1000:
                os.kill(os.getpid(), signal.SIGINT)
            yield pl.DataFrame({"n": [k]}, schema=schema)
    finally:
        assert threading.current_thread() is threading.main_thread()
        print("closed")

try:
    write_frames(frames(), schema, Path(sys.argv[1]) / "some.parquet")
except KeyboardInterrupt:
    left = [each.name for each in threading.enumerate()]
    assert not [name for name in left if name.startswith("ThreadPoolExecutor")], left
    print("interrupted")
"""


def test_an_interrupt_ends_the_work_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _INTERRUPTED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["closed", "interrupted"], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_frames_is_raised_as_it_is(tmp_path: Path) -> None:
    def fail() -> None:
        raise ParameterError("in the middle")

    (tmp_path / "some.parquet").write_text("earlier")
    with pytest.raises(ParameterError, match="in the middle"):
        write_frames(frames(100, fail), SCHEMA, tmp_path / "some.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["some.parquet"]
    assert (tmp_path / "some.parquet").read_text() == "earlier"


def test_iterators_are_read_in_the_thread_of_the_caller(model: Teaser, tmp_path: Path) -> None:
    # A cursor of sqlite3, for one, may be used in no other.
    read_in = []

    def pairs() -> Iterator[tuple[int, list[str]]]:
        for n in range(500):
            read_in.append(threading.current_thread())
            yield n, ["i1"]

    written = model.recommend_all(pairs(), k=3, batch_size=40, out=tmp_path / "lists.parquet")
    assert written.collect().height == 1500
    assert set(read_in) == {threading.current_thread()}


def test_files_that_cannot_be_made_are_refused(model: Teaser, tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    for out, told in (
        (tmp_path / "folder.parquet", "is a folder"),
        (tmp_path / "lists.csv", "parquet file"),
        (tmp_path / "none" / "lists.parquet", "no folder"),
        (5, "parquet file, found out='5'"),
    ):
        with pytest.raises(ParameterError, match=told):
            check_file(out)
    with pytest.raises(ParameterError, match="is a folder"):
        model.recommend_all([("a", ["i1"])], out=tmp_path / "folder.parquet")
    stream: Any = model.recommend_stream
    with pytest.raises(ParameterError, match=r"writes no file.*recommend_all"):
        stream([("a", ["i1"])], out="lists.parquet")
