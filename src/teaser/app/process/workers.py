"""The parent of the workers: starts and stops them, and replaces them for a new model."""

import logging
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from teaser.app.process.acceptor import Balance
from teaser.app.process.uvicorn_server import KILL_SECONDS
from teaser.app.process.worker import (
    FAILED,
    LEAVE,
    REFUSED,
    RELOAD,
    RELOADED,
    SIGNALS,
    STARTED,
    Common,
    Start,
    work,
)
from teaser.app.serving import model_holder
from teaser.app.serving.model_holder import folder_stamp
from teaser.errors import ResourceError

log = logging.getLogger("teaser")

_SILENT_SECONDS = 30.0  # a busy machine may leave a healthy worker without a turn for a while
# A worker that has less than this share of a processor after so many seconds competes for one.
_GENTLE_SECONDS, _GENTLE_SHARE = 5.0, 0.2
_MAX_FAILURES = 3
_MAX_PAUSE = 30.0


class _Worker:
    """A worker as its parent knows it.

    Attributes
    ----------
    generation
        How many models were served before the one that it serves.
    """

    def __init__(
        self, common: Common, start: Start, generation: int, others: "list[_Worker]"
    ) -> None:
        self.start = start
        self.generation = generation
        self.pipe, theirs = multiprocessing.Pipe()
        method = _start_method()
        # A forked process has these open too, and would not notice that its parent is gone.
        inherited = [self.pipe, *(each.pipe for each in others)] if method == "fork" else []
        arguments = (common, start, theirs, inherited)
        context: Any = multiprocessing.get_context(method)
        self.process: BaseProcess = context.Process(target=work, args=arguments)
        # The worker inherits the mask, so that no signal ends it before it has its handlers.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self.process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.has_started = self.is_leaving = self.is_asking = False
        self.failure, self.may_pass, self.description = "", False, ""
        self.begun = self.seen = time.monotonic()

    def listen(self) -> None:
        """Take in what the worker tells."""
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                kind, *said = self.pipe.recv()
                self.seen = time.monotonic()
                if kind == STARTED:
                    self.has_started, self.description = True, said[0]
                elif kind == FAILED:
                    self.failure, self.may_pass = said
                elif kind == RELOAD:
                    self.is_asking = True
            return
        self.pipe.close()

    def tell(self, *message: str) -> None:
        """Tell the worker something, if it lives."""
        with suppress(OSError):
            self.pipe.send(message)

    def leave(self) -> None:
        """Let the worker give its connections to others, finish its requests and end."""
        self.is_leaving = True
        self.tell(LEAVE)

    def signal(self, number: int) -> None:
        """Send a signal, if the worker lives."""
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, number)

    def processor_seconds(self) -> float:
        """Return the processor time of the worker; infinite where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return math.inf
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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

    When the model's folder changes, a further worker loads it, while the processor is idle. If the
    model is good, that worker serves, an old one gives it its connections and ends, and the others
    are replaced in the same way, one at a time. If it is not, the present workers stay. At most two
    models are in use: the next replacement begins when all workers of the one before have ended.

    Parameters
    ----------
    number
        The number of workers.
    common
        What all workers have in common.
    ready
        Called once all workers accept connections.
    """

    def __init__(self, number: int, common: Common, *, ready: Callable[[], object]) -> None:
        self.number = number
        self.common = common
        self.stop_timeout = common.settings.stop_timeout
        self._ready = ready
        self._is_ready = False
        self._workers: list[_Worker] = []
        self._failures = 0
        self._next_start = 0.0
        self._generation = 0
        self._description = ""  # of the model of this generation, for the API
        self._folder = common.settings.model
        self._stamp: object = folder_stamp(self._folder)
        self._candidate: _Worker | None = None  # has the next model, and does not serve yet
        self._is_asked = False  # for a new model, though the folder has not changed
        self._refusals = 0
        self._next_candidate = 0.0

    def run(self) -> None:
        """Run until SIGTERM or SIGINT; SIGHUP asks for the model of the folder.

        Raises
        ------
        ResourceError
            If no worker can start.
        """
        with _caught_signals() as signals:
            try:
                while not self._received(signals):
                    self._fill()
                    self._watch()
                    self._wait(signals, 1.0)
                    self._look()
            finally:
                self._stop(signals)

    def _start(self, generation: int, **how: bool) -> _Worker:
        used = {each.start.own for each in self._workers}
        own = min(set(range(len(self.common.counts))) - used)
        Balance(self.common.counts, own).leave()  # until it serves
        worker = _Worker(self.common, Start(own, **how), generation, self._workers)
        self._workers.append(worker)
        return worker

    def _fill(self) -> None:
        """Start the workers that are missing, unless it is too early for another attempt."""
        serving = [w for w in self._workers if not w.is_leaving and w is not self._candidate]
        old = [worker for worker in serving if worker.generation < self._generation]
        starting = [worker for worker in serving if not worker.has_started]
        if time.monotonic() < self._next_start:
            return
        for _ in range(self.number - len(serving)):
            self._start(self._generation)
        if old and len(serving) <= self.number and not starting:
            self._start(self._generation, is_gentle=True)
        elif old and len(serving) > self.number and not starting:
            old[0].leave()

    def _watch(self) -> None:
        """Start a worker with the next model, if there is one and the time has come."""
        stamp = folder_stamp(self._folder)
        is_wanted = self._is_asked or stamp != self._stamp
        if not (is_wanted and self._is_ready and self._candidate is None):
            return
        leaving = [each for each in self._workers if each.is_leaving]
        if any(w.generation < self._generation for w in self._workers if w not in leaving):
            return
        for worker in leaving:  # with requests that never end
            worker.signal(signal.SIGTERM)
        if leaving or time.monotonic() < self._next_candidate:
            return
        self._stamp, self._is_asked = stamp, False
        self._candidate = self._start(self._generation + 1, takes_folder=True, is_gentle=True)

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
                worker.pipe.close()
                Balance(self.common.counts, worker.start.own).leave()
                self._note_end(worker)
            elif worker.has_started and self._is_silent(worker):
                log.error("a worker did not answer for %g seconds and is replaced", _SILENT_SECONDS)
                worker.process.kill()
            elif self._is_starved(worker):
                self._compete(worker)
        if self._candidate is not None and self._candidate.has_started:
            self._take_up(self._candidate)
        self._note_questions()
        started = sum(each.has_started and not each.is_leaving for each in self._workers)
        if started >= self.number:
            self._failures = 0
            if not self._is_ready:
                self._is_ready = True
                self._ready()

    def _is_silent(self, worker: _Worker) -> bool:
        # A worker that stops on its own is silent while its requests end.
        return time.monotonic() - worker.seen > _SILENT_SECONDS + self.stop_timeout

    def _is_starved(self, worker: _Worker) -> bool:
        """Return whether a worker waits for an idle processor, and finds none."""
        if not worker.start.is_gentle or worker.has_started or worker.failure:
            return False
        seconds = time.monotonic() - worker.begun
        return seconds > _GENTLE_SECONDS and worker.processor_seconds() < _GENTLE_SHARE * seconds

    def _compete(self, worker: _Worker) -> None:
        """Start a worker that waited for an idle processor again, now in competition."""
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        again = self._start(worker.generation, takes_folder=worker.start.takes_folder)
        if worker is self._candidate:
            self._candidate = again

    def _take_up(self, candidate: _Worker) -> None:
        """Let the next model be the one that is served."""
        self._generation, self._candidate = candidate.generation, None
        self._refusals, self.common.stale.value = 0, 0
        self._description = candidate.description
        log.warning("a new model is served from %s", self._folder)
        self._answer(*self._outcome())

    def _note_questions(self) -> None:
        """Note that workers ask for a new model; one that leaves has been replaced by it."""
        for worker in self._workers:
            if worker.is_asking and worker.generation < self._generation:
                worker.is_asking = False
                worker.tell(*self._outcome())
            elif worker.is_asking and self._candidate is None:
                self._is_asked = True

    def _outcome(self) -> tuple[str, str]:
        """Return what a worker is told that asked for a new model and is replaced by one.

        It may have asked after the folder had changed again, for a model that nobody has read yet.
        """
        if folder_stamp(self._folder) == self._stamp:
            return RELOADED, self._description
        return REFUSED, "The folder changed again while its model was taken. Ask again soon."

    def _answer(self, kind: str, said: str) -> None:
        """Tell the workers that asked for a new model what became of it."""
        for worker in self._workers:
            if worker.is_asking:
                worker.is_asking = False
                worker.tell(kind, said)

    def _note_end(self, worker: _Worker) -> None:
        """Decide what follows from the end of a worker."""
        if worker is self._candidate:
            self._refuse(worker)
        elif worker.is_leaving:
            if worker.process.exitcode:
                log.warning("a worker that was replaced did not end well: %s", worker.ending())
        elif worker.has_started:
            log.warning("a worker is replaced: %s", worker.ending())
        else:
            self._note_failure(worker)

    def _refuse(self, candidate: _Worker) -> None:
        """Note that the model's folder cannot be used; try again if that may pass."""
        reason = candidate.ending()
        if not (candidate.may_pass and self._refusals):
            log.error("%s: %s", model_holder.REFUSED, reason)
        self._candidate, self.common.stale.value = None, 1
        if candidate.may_pass or not candidate.failure:
            self._refusals += 1
            self._stamp = None
            self._next_candidate = time.monotonic() + min(2.0**self._refusals, _MAX_PAUSE)
        self._answer(REFUSED, reason)

    def _note_failure(self, worker: _Worker) -> None:
        self._failures += 1
        is_serving = any(each.has_started for each in self._workers)
        if not self._is_ready or (self._failures >= _MAX_FAILURES and not is_serving):
            raise ResourceError(f"A worker cannot start: {worker.ending()}")
        pause = min(2.0**self._failures, _MAX_PAUSE)
        self._next_start = time.monotonic() + pause
        log.error("a worker cannot start, next attempt in %g s: %s", pause, worker.ending())

    def _received(self, signals: Connection) -> list[int]:
        """Return the signals that ask for a stop; SIGHUP asks for a new model."""
        stops = []
        while signals.poll():
            number = signals.recv()
            if number == signal.SIGHUP:
                self._is_asked = True
            else:
                stops.append(number)
        return stops

    def _stop(self, signals: Connection) -> None:
        """Stop all workers; kill them after the time for requests, or at Ctrl+C."""
        for each in self.common.sockets:
            each.close()
        self.common.handover.close()
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


def _start_method() -> str:
    """Return how a worker is started: by a fork where that is safe, else in a new interpreter.

    A fork has all that is imported, and takes milliseconds in place of seconds. But it has only the
    thread that forked, so the pool of polars must not run yet: whoever used it in the new process
    would wait forever.
    """
    tasks = Path("/proc/self/task")
    if sys.platform != "linux" or threading.active_count() > 1 or not tasks.exists():
        return "spawn"
    names = [(task / "comm").read_text() for task in tasks.iterdir()]
    return "spawn" if any(name.startswith(_POOLS) for name in names) else "fork"


_POOLS = (*(f"polars-{digit}" for digit in range(10)), "tokio", "async-executor")


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
