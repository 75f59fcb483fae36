"""Counters that processes share: no count is lost, and no page of the file is a hole."""

import threading
from pathlib import Path

import numpy as np

from teaser.app.http.shared_counters import SharedCounters


def test_without_a_file_counters_belong_to_one_process() -> None:
    one, two = SharedCounters(3), SharedCounters(3)
    with one.locked():
        one.values[1] += 1
    assert one.values.tolist() == [0, 1, 0]
    assert two.values.tolist() == [0, 0, 0]


def test_no_count_is_lost(tmp_path: Path) -> None:
    # flock belongs to an open file, so two objects exclude each other as two processes do.
    shared = [SharedCounters(4, tmp_path / "counters") for _ in range(2)]

    def count(counters: SharedCounters) -> None:
        for _ in range(2_000):
            with counters.locked():
                before = float(counters.values[2])
                counters.values[2] = before + 1

    threads = [threading.Thread(target=count, args=(shared[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [counters.values[2] for counters in shared] == [8_000, 8_000]


def test_the_file_has_no_holes(tmp_path: Path) -> None:
    file = tmp_path / "counters"
    counters = SharedCounters(20_000, file)
    found = file.stat()
    assert found.st_size == counters.values.nbytes
    assert found.st_blocks * 512 >= found.st_size
    assert not np.any(counters.values)
