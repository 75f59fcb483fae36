"""Files come into place whole, and writers of a folder take turns."""

import threading
from pathlib import Path

import pytest

from teaser.artifact import TEMPORARY, locked, settle, temporary_file


def test_a_file_comes_into_place_and_nothing_temporary_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with temporary_file(tmp_path) as temporary:
        assert temporary.parent.name.startswith(TEMPORARY)
        temporary.write_text("new")
        assert (tmp_path / "a").read_text() == "old"
        settle(temporary, tmp_path / "a")
        assert (tmp_path / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), temporary_file(tmp_path) as temporary:
        settle(temporary, tmp_path / "no" / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    is_locked = threading.Event()

    def write_second() -> None:
        is_locked.wait()
        with locked(tmp_path):
            order.append("second")

    thread = threading.Thread(target=write_second)
    thread.start()
    with locked(tmp_path):
        is_locked.set()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
