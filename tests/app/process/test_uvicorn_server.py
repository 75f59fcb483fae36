"""The server of one worker: it stops in a limited time, with exit code 0."""

import gc
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from served import Running

from teaser.app.process.listener import bound_sockets, port_of
from teaser.app.process.uvicorn_server import Server
from teaser.app.settings import Settings
from teaser.errors import ParameterError

# The event loop ends, and a thread of the process does not.
_STUCK = """
import os, signal, threading
from teaser.app.process.listener import bound_sockets
from teaser.app.process.uvicorn_server import Server
from teaser.app.settings import Settings

async def app(scope, receive, send):
    threading.Thread(target=threading.Event().wait).start()

settings = Settings(model="none", stop_timeout=0)
stop = lambda: os.kill(os.getpid(), signal.SIGTERM)
with bound_sockets("127.0.0.1", 0) as sockets:
    server = Server(app, settings, started=stop)
    server.run(sockets)
"""

# A signal comes while the event loop has nothing to do for an hour; it reaches another thread.
_ASLEEP = """
import signal, threading
from teaser.app.process import uvicorn_server
from teaser.app.process.listener import bound_sockets
from teaser.app.settings import Settings

async def app(scope, receive, send):
    pass

def ask():
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    threading.Event().wait(60)

def started():
    timer = threading.Timer(0.3, ask)
    timer.daemon = True
    timer.start()

uvicorn_server._TICK_SECONDS = 3600
with bound_sockets("127.0.0.1", 0) as sockets:
    uvicorn_server.Server(app, Settings(model="none"), started=started).run(sockets)
"""


def test_an_unfinished_body_does_not_keep_the_server(run: Callable[..., Running]) -> None:
    server = run(TEASER_STOP_TIMEOUT="1")
    with server.begin_body() as unfinished:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        assert unfinished.recv(1) == b""
    log = server.log.read_text()
    assert "that did not end before the server stopped: 1" in log
    assert "Traceback" not in log


def test_what_is_there_at_the_start_is_not_looked_through_for_garbage() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Answer nothing."""

    early = [[0]]
    watched: list[bool] = []

    def started() -> None:
        late = [[0]]
        found = gc.get_objects()
        watched.extend(any(each is one for each in found) for one in (early, late))
        server.should_exit = True

    assert gc.is_tracked(early)
    server = Server(app, Settings(model=Path("none")), started=started)
    with bound_sockets("127.0.0.1", 0) as sockets:
        server.run(sockets)
    assert watched == [False, True]


def test_a_port_that_another_took_in_the_meantime_is_one_sentence() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Answer nothing."""

    with bound_sockets("127.0.0.1", 0) as taken, bound_sockets("127.0.0.1", port_of(taken)) as own:
        taken[0].listen()
        server = Server(app, Settings(model=Path("none")), started=lambda: None)
        with pytest.raises(ParameterError, match=f"port {port_of(taken)}: .*--port"):
            server.run(own)


def test_a_thread_that_does_not_end_does_not_keep_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STUCK], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the process ends without it" in done.stderr


def test_a_signal_wakes_a_server_without_work() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASLEEP], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the process ends without it" not in done.stderr
