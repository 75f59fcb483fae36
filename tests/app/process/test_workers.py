"""The parent of workers: it says why they cannot start, and how it starts them."""

import multiprocessing
import threading
from pathlib import Path

import pytest

from teaser.app.process.acceptor import new_counts
from teaser.app.process.handover import Handover
from teaser.app.process.listener import bound_sockets
from teaser.app.process.worker import Common
from teaser.app.process.workers import Workers, _start_method
from teaser.app.settings import Settings
from teaser.errors import ResourceError


def test_a_worker_that_cannot_start_ends_the_server_with_a_sentence(tmp_path: Path) -> None:
    settings = Settings(model=tmp_path / "none", shared_folder=str(tmp_path / "shared"))
    counts, stale = new_counts(4), multiprocessing.RawValue("b")
    said: list[str] = []
    with bound_sockets("127.0.0.1", 0) as sockets:
        common = Common(settings, sockets, Handover(), counts, stale)
        workers = Workers(1, common, ready=lambda: said.append("ready"))
        with pytest.raises(ResourceError, match=r"A worker cannot start: .*none"):
            workers.run()
    assert not said


def test_a_process_with_threads_does_not_fork() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert _start_method() == "spawn"
    stop.set()
    thread.join()
