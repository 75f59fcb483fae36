"""Accept connections from a listening socket, and leave some to the other workers."""

import asyncio
import logging
import multiprocessing
import socket
from collections.abc import Callable, MutableSequence

log = logging.getLogger("teaser")

_GIVE_WAY_SECONDS = 0.01
_NO_FILES_SECONDS = 0.1
_MOST_AT_ONCE = 64
_ABSENT = -1


def new_counts(number: int) -> MutableSequence[int]:
    """Return the numbers of connections of so many workers, of which none serves yet."""
    # Zeros would stand for workers without connections, to which the others give way.
    counts: MutableSequence[int] = multiprocessing.RawArray("l", [_ABSENT] * number)
    return counts


class Balance:
    """How many connections each worker holds, in memory that all of them share.

    Parameters
    ----------
    counts
        One number for each worker; below 0 if it does not serve.
    own
        The position of this worker.
    """

    def __init__(self, counts: MutableSequence[int], own: int) -> None:
        self._counts = counts
        self._own = own

    def publish(self, number: int) -> None:
        """Tell the others how many connections this worker holds."""
        self._counts[self._own] = number

    def leave(self) -> None:
        """Tell the others that this worker does not serve."""
        self._counts[self._own] = _ABSENT

    def n_behind(self) -> int:
        """Return how many workers hold fewer connections than this one."""
        return sum(_ABSENT < number < self._counts[self._own] for number in self._counts)


class Acceptor:
    """Accepts from one socket, one connection in each round of the event loop.

    All workers are woken by a new connection, and the first to run would take them all. A worker
    that holds more connections than others therefore gives way for a moment, the longer the more
    of them hold fewer. If they do not come, it takes one connection, then 2, 4, 8, ...

    Parameters
    ----------
    listening
        The socket.
    protocol
        Makes the protocol of a new connection.
    balance
        The connections of all workers; None for a single process.
    accept
        Returns a connection from the socket; by default it is a new one.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        balance: Balance | None,
        accept: Callable[[], socket.socket] | None = None,
    ) -> None:
        self._listening = listening
        self._take = accept or (lambda: listening.accept()[0])
        self._protocol = protocol
        self._balance = balance
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[object]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._at_once = 1  # how many it takes after it gave way
        listening.setblocking(False)
        self._loop.add_reader(listening, self._notice)

    def close(self) -> None:
        """Accept nothing more."""
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()

    def _notice(self) -> None:
        n_behind = self._balance.n_behind() if self._balance is not None else 0
        if n_behind:
            self._resume_after(n_behind * _GIVE_WAY_SECONDS, self._at_once)
            self._at_once = min(2 * self._at_once, _MOST_AT_ONCE)
        else:
            self._at_once = 1
            self._accept(1)

    def _resume_after(self, seconds: float, most: int) -> None:
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(seconds, self._resume, most)

    def _resume(self, most: int) -> None:
        self._loop.add_reader(self._listening, self._notice)
        self._accept(most)

    def _accept(self, most: int) -> None:
        for _ in range(most):
            try:
                accepted = self._take()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._at_once = 1
                return  # another worker was first, or the client is gone
            except OSError as error:
                log.error("a connection cannot be accepted: %s", error.strerror)
                self._resume_after(_NO_FILES_SECONDS, 1)
                return
            accepted.setblocking(False)
            connected = self._loop.connect_accepted_socket(self._protocol, accepted)
            task: asyncio.Task[object] = self._loop.create_task(connected)
            self._tasks.add(task)  # the loop alone would not keep it
            task.add_done_callback(self._tasks.discard)
