"""A worker: it starts gently, is replaced when it dies, and ends with its parent."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from served import Running

from teaser.app.process.worker import gently


def test_what_is_done_gently_has_a_thread_that_gives_way() -> None:
    assert gently(lambda: os.sched_getscheduler(0)) == os.SCHED_IDLE
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    with pytest.raises(ZeroDivisionError):
        gently(lambda: 1 / 0)


def test_a_worker_that_dies_comes_back_though_the_folder_is_gone_and_ends_with_its_parent(
    run: Callable[..., Running], tmp_path: Path
) -> None:
    server = run("--workers", "2", TEASER_STOP_TIMEOUT="1")
    before = server.recommended()
    shutil.rmtree(tmp_path / "served")
    old = server.workers()
    assert len(old) == 2
    os.kill(old[0], signal.SIGKILL)
    server.wait_for(lambda: len(set(server.workers()) - set(old)) == 1, "no new worker")
    os.kill(old[1], signal.SIGKILL)
    server.wait_for(lambda: len(set(server.workers()) - set(old)) == 2, "no new workers")

    def answers() -> bool:
        try:
            return server.recommended() == before
        except OSError:
            return False

    server.wait_for(answers, "no answer")
    assert server.process.poll() is None
    workers = server.workers()
    with server.begin_body(), server.begin_body():
        server.process.kill()
        server.process.wait(60)
        until = time.monotonic() + 60
        while any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers):
            assert time.monotonic() < until
            time.sleep(0.1)
