"""A worker: one process of those that accept from the same sockets."""

import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, MutableSequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from fastapi import FastAPI

from teaser.app.api.responses import Model
from teaser.app.http.log_limit import limit_logs
from teaser.app.process.acceptor import Balance
from teaser.app.process.handover import Handover
from teaser.app.process.uvicorn_server import Server
from teaser.app.server import create_app, load_model
from teaser.app.serving.model_holder import fill_caches
from teaser.app.serving.private_copy import is_refusal, taken_in
from teaser.app.settings import Settings
from teaser.app.telemetry.logs import configure_logs
from teaser.app.warm_up import visit, warm_up
from teaser.errors import ArtifactError, TeaserError
from teaser.model import load
from teaser.model.teaser import Teaser

log = logging.getLogger("teaser")
T = TypeVar("T")

# What a worker tells its parent: that it serves, and what the API tells about its model; that it
# lives; that it cannot start, why, and whether that may pass; that a program asks for a new model.
STARTED, ALIVE, FAILED, RELOAD = "started", "alive", "failed", "reload"
# What the parent tells a worker: to leave; that the new model is served, or why it is not.
LEAVE, RELOADED, REFUSED = "leave", "reloaded", "refused"
# The parent blocks these while a worker starts: they wait until the worker can handle them.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_RELOAD_SECONDS = 600.0


@dataclass(frozen=True)
class Common:
    """What all workers of a server have in common.

    Attributes
    ----------
    settings
        The settings; `shared_folder` holds the copy of the model.
    sockets
        The bound sockets.
    handover
        Connections of workers that leave.
    counts
        How many connections each worker holds, in shared memory.
    stale
        Its value is 1 while the model's folder cannot be used, in shared memory.
    """

    settings: Settings
    sockets: list[socket.socket]
    handover: Handover
    counts: MutableSequence[int]
    stale: Any


@dataclass(frozen=True)
class Start:
    """How one worker starts.

    Attributes
    ----------
    own
        Its position in `counts`.
    takes_folder
        Whether it serves what the model's folder holds now, and if that is good, all that start
        after it; else it serves what the others do.
    is_gentle
        Whether it leaves the processor to others until it serves.
    """

    own: int
    takes_folder: bool = False
    is_gentle: bool = False


def work(common: Common, start: Start, parent: Connection, inherited: list[Connection]) -> None:
    """Serve in this process until it is told to stop or to leave, or its parent is gone.

    Parameters
    ----------
    common, start
        What it serves, and how it starts.
    parent
        The connection to the parent process.
    inherited
        The parent's ends of connections to workers, in a process that was forked.
    """
    gc.freeze()  # what a forked process shares with its parent stays shared
    for each in inherited:
        each.close()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is for the parent
    told = _Parent(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    configure_logs(common.settings)
    limit_logs()
    try:
        _serve(common, start, told)
    except TeaserError as error:
        told.tell(FAILED, str(error), is_refusal(error))
        sys.exit(1)
    except Exception as error:
        log.exception("a worker failed")
        told.tell(FAILED, f"{type(error).__name__}: {error}", False)
        sys.exit(1)


def _serve(common: Common, start: Start, parent: "_Parent") -> None:
    async def beat() -> None:
        parent.tell(ALIVE)

    def make() -> FastAPI:
        return _make_app(common, start, parent)

    app = gently(make) if start.is_gentle else make()
    told = Model.from_catalogue(app.state.services.holder.current).model_dump_json()
    server = Server(
        app,
        common.settings,
        started=lambda: parent.tell(STARTED, told),
        beat=beat,
        balance=Balance(common.counts, start.own),
        handover=common.handover,
    )
    parent.leave = server.leave
    server.run(common.sockets)


def _make_app(common: Common, start: Start, parent: "_Parent") -> FastAPI:
    """Return the application with its caches filled."""
    settings = common.settings
    shared = Path(settings.shared_folder)
    with taken_in(settings.model, shared) if start.takes_folder else nullcontext() as copy:
        holder = load_model(settings, load(copy, Teaser) if copy else None)

        def is_stale() -> bool:
            return bool(common.stale.value)

        app = create_app(settings, holder=holder, reload=parent.reload, is_stale=is_stale)
        steps = warm_up(holder.current, settings.synonyms)
        if start.is_gentle:
            make_app = partial(create_app, holder=holder)
            steps = chain(steps, visit(make_app, settings, holder.current))
        try:
            fill_caches(settings.model, steps)
        except ArtifactError:
            if start.takes_folder:
                raise
            log.exception("some pages of the model in %s cannot be made", settings.model)
    gc.collect()
    gc.freeze()  # so that the server, which collects before it starts, has little to look at
    return app


def gently(work: Callable[[], T]) -> T:
    """Do something while others leave the processor idle, where the system can tell (Linux).

    The priority is that of a thread: one that was lowered cannot be raised again, and the process
    is to serve afterwards. Threads that are started inside have it too, so those of linear algebra,
    which stay, are started before.
    """
    done: Future[T] = Future()
    np.ones((512, 512)) @ np.ones((512, 512))

    def run() -> None:
        with suppress(AttributeError, OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done.result()


class _Parent:
    """The parent as its worker knows it; a thread waits for what it tells."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._asked: list[Future[str]] = []
        self.leave: Callable[[], None] = lambda: None
        threading.Thread(target=self._listen, daemon=True).start()

    def tell(self, *message: object) -> None:
        """Tell something, from any thread."""
        with suppress(OSError), self._lock:  # that the parent is gone is noticed below
            self._pipe.send(message)

    def reload(self) -> str:
        """Ask for a new model; return what the API tells about it, as JSON.

        Raises
        ------
        ArtifactError
            If it cannot be served.
        """
        asked: Future[str] = Future()
        self._asked.append(asked)
        self.tell(RELOAD)
        try:
            return asked.result(_RELOAD_SECONDS)
        except TimeoutError:
            raise ArtifactError("The model was not loaded in time. See the log.") from None

    def _listen(self) -> None:
        try:
            while True:
                self._take(*self._pipe.recv())
        except (EOFError, OSError):  # the parent is gone, however it ended
            os.kill(os.getpid(), signal.SIGTERM)

    def _take(self, kind: str, said: str = "") -> None:
        if kind == LEAVE:
            self.leave()
            return
        while self._asked:
            asked = self._asked.pop()
            if kind == RELOADED:
                asked.set_result(said)
            else:
                asked.set_exception(ArtifactError(said))
