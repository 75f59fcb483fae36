"""The parent of the workers: starts them, replaces those that end, stops them all."""

import logging
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from teaser.app.process.acceptor import Balance
from teaser.app.process.uvicorn_server import KILL_SECONDS
from teaser.app.process.worker import FAILED, SIGNALS, STARTED, work
from teaser.errors import ResourceError

log = logging.getLogger("teaser")

_SILENT_SECONDS = 30.0  # a busy machine may leave a healthy worker without a turn for a while
_MAX_FAILURES = 3
_MAX_PAUSE = 30.0
_spawn = multiprocessing.get_context("spawn")


class _Worker:
    """A worker as its parent knows it."""

    def __init__(self, sockets: list[socket.socket], counts: Any, own: int) -> None:
        self.own = own
        self.pipe, theirs = _spawn.Pipe()
        arguments = (sockets, theirs, counts, own)
        self.process: SpawnProcess = _spawn.Process(target=work, args=arguments)
        # The worker inherits the mask, so that no signal ends it before it has its handlers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self.process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.has_started = False
        self.failure = ""
        self.seen = time.monotonic()

    def listen(self) -> None:
        """Take in what the worker tells."""
        try:
            while self.pipe.poll():
                kind, *reason = self.pipe.recv()
                self.seen = time.monotonic()
                self.has_started |= kind == STARTED
                if kind == FAILED:
                    self.failure = reason[0]
        except (EOFError, OSError):
            self.pipe.close()

    def signal(self, number: int) -> None:
        """Send a signal, if the worker lives."""
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, number)

    def ending(self) -> str:
        """Return how a worker ended, as a sentence's end."""
        code = self.process.exitcode
        if self.failure:
            return self.failure
        if code is not None and code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"


class Workers:
    """Processes that accept from the same sockets.

    A worker that ends is replaced. If the first workers cannot start, the server ends and says
    why. Later, a worker that cannot start is tried again after a growing pause, as long as another
    one serves; after three failures with none left the server ends.

    Parameters
    ----------
    number
        The number of workers.
    sockets
        The bound sockets.
    stop_timeout
        Seconds for requests in progress when the server stops.
    ready
        Called once all workers accept connections.
    """

    def __init__(
        self,
        number: int,
        sockets: list[socket.socket],
        stop_timeout: float,
        *,
        ready: Callable[[], object],
    ) -> None:
        self.number = number
        self.sockets = sockets
        self.stop_timeout = stop_timeout
        self._ready = ready
        self._is_ready = False
        self._workers: list[_Worker] = []
        self._counts = _spawn.RawArray("l", number)
        self._failures = 0
        self._next_start = 0.0

    def run(self) -> None:
        """Run until SIGTERM or SIGINT; SIGHUP is passed on to the workers.

        Raises
        ------
        ResourceError
            If no worker can start.
        """
        with _caught_signals() as signals:
            try:
                while not self._received(signals):
                    self._fill()
                    self._wait(signals, 1.0)
                    self._look()
            finally:
                self._stop(signals)

    def _fill(self) -> None:
        """Start the workers that are missing, unless it is too early for another attempt."""
        while len(self._workers) < self.number and time.monotonic() >= self._next_start:
            own = min(set(range(self.number)) - {each.own for each in self._workers})
            Balance(self._counts, own).leave()  # until it serves
            self._workers.append(_Worker(self.sockets, self._counts, own))

    def _wait(self, signals: Connection, seconds: float) -> None:
        """Wait until a worker tells something or ends, a signal comes, or time has passed."""
        pipes = [each.pipe for each in self._workers if not each.pipe.closed]
        wait([signals, *pipes, *(each.process.sentinel for each in self._workers)], seconds)

    def _look(self) -> None:
        """Take in what happened to the workers."""
        for worker in list(self._workers):
            if not worker.pipe.closed:
                worker.listen()
            if not worker.process.is_alive():
                self._workers.remove(worker)
                Balance(self._counts, worker.own).leave()
                self._note_end(worker)
            elif worker.has_started and self._is_silent(worker):
                log.error("a worker did not answer for %g seconds and is replaced", _SILENT_SECONDS)
                worker.process.kill()
        started = sum(worker.has_started for worker in self._workers)
        if started == self.number:
            self._failures = 0
            if not self._is_ready:
                self._is_ready = True
                self._ready()

    def _is_silent(self, worker: _Worker) -> bool:
        # A worker that stops on its own is silent while its requests end.
        return time.monotonic() - worker.seen > _SILENT_SECONDS + self.stop_timeout

    def _note_end(self, worker: _Worker) -> None:
        """Decide what follows from the end of a worker."""
        if worker.has_started:
            log.warning("a worker is replaced: %s", worker.ending())
            return
        self._failures += 1
        is_serving = any(each.has_started for each in self._workers)
        if not self._is_ready or (self._failures >= _MAX_FAILURES and not is_serving):
            raise ResourceError(f"A worker cannot start: {worker.ending()}")
        pause = min(2.0**self._failures, _MAX_PAUSE)
        self._next_start = time.monotonic() + pause
        log.error("a worker cannot start, next attempt in %g s: %s", pause, worker.ending())

    def _received(self, signals: Connection) -> list[int]:
        """Return the signals that ask for a stop; pass SIGHUP on."""
        stops = []
        while signals.poll():
            number = signals.recv()
            if number != signal.SIGHUP:
                stops.append(number)
                continue
            for worker in self._workers:
                worker.signal(signal.SIGHUP)
        return stops

    def _stop(self, signals: Connection) -> None:
        """Stop all workers; kill them after the time for requests, or at Ctrl+C."""
        for each in self.sockets:
            each.close()
        for worker in self._workers:
            worker.signal(signal.SIGTERM)
        end = time.monotonic() + self.stop_timeout + KILL_SECONDS + 1
        while alive := [each for each in self._workers if each.process.is_alive()]:
            left = end - time.monotonic()
            if left <= 0 or signal.SIGINT in self._received(signals):
                break
            wait([signals, *(each.process.sentinel for each in alive)], left)
        for worker in self._workers:
            worker.process.kill()
            worker.process.join()


@contextmanager
def _caught_signals() -> Iterator[Connection]:
    """Send the numbers of signals through a connection, which wakes a `wait`."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    before = {each: signal.signal(each, lambda n, _: sender.send(n)) for each in SIGNALS}
    try:
        yield receiver
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        sender.close()
        receiver.close()
