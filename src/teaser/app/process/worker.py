"""A worker: one process of several that accept from the same sockets."""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import MutableSequence
from multiprocessing.connection import Connection

from teaser.app.http.log_limit import limit_logs
from teaser.app.process.acceptor import Balance
from teaser.app.process.uvicorn_server import Server
from teaser.app.server import create_app_from_environment
from teaser.app.settings import Settings
from teaser.errors import TeaserError

log = logging.getLogger("teaser")

# What a worker tells its parent; a failure is followed by the reason.
STARTED, ALIVE, FAILED = "started", "alive", "failed"
# The parent blocks these while a worker starts: they wait until the worker can handle them.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def work(
    sockets: list[socket.socket], parent: Connection, counts: MutableSequence[int], own: int
) -> None:
    """Serve in this process until it is told to stop or its parent is gone.

    Parameters
    ----------
    sockets
        The bound sockets, which all workers share.
    parent
        The connection to the parent process.
    counts
        How many connections each worker holds, in shared memory.
    own
        The position of this worker in `counts`.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the application listens to it
    threading.Thread(target=_stop_with, args=(parent,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    limit_logs()
    try:
        _serve(sockets, parent, Balance(counts, own))
    except TeaserError as error:
        _tell(parent, FAILED, str(error))
        sys.exit(1)
    except Exception as error:
        log.exception("a worker failed")
        _tell(parent, FAILED, f"{type(error).__name__}: {error}")
        sys.exit(1)


def _serve(sockets: list[socket.socket], parent: Connection, balance: Balance) -> None:
    async def beat() -> None:
        _tell(parent, ALIVE)

    settings = Settings.from_environment()

    def started() -> None:
        _tell(parent, STARTED)

    app = create_app_from_environment()
    Server(app, settings, started=started, beat=beat, balance=balance).run(sockets)


def _tell(parent: Connection, *message: str) -> None:
    try:
        parent.send(message)
    except OSError:
        return  # the parent is gone, which `_stop_with` notices


def _stop_with(parent: Connection) -> None:
    """Stop this process when the parent ends, however it ends."""
    try:
        parent.recv()  # the parent sends nothing
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
