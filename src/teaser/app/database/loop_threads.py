"""Threads that work for an event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")
# A thread that had nothing to do for so long ends.
_IDLE_SECONDS = 10.0


@dataclass(slots=True)
class _Job(Generic[T]):
    """What a thread does, and who hears of it."""

    work: Callable[[], T]
    ended: Callable[[], None]
    loop: asyncio.AbstractEventLoop
    context: Context
    done: asyncio.Future[T]

    def do(self) -> Callable[[], None]:
        """Work; return what the loop is to do with the result."""
        if self.done.cancelled():
            return self.ended
        try:
            result = self.context.run(self.work)
        except StopIteration as error:  # a future does not take it
            return partial(self._end, self.done.set_exception, _as_runtime_error(error))
        except BaseException as error:  # it is the caller's
            return partial(self._end, self.done.set_exception, error)
        return partial(self._end, self.done.set_result, result)

    def _end(self, tell: Callable[[Any], None], what: object) -> None:
        if not self.done.done():
            tell(what)
        self.ended()


def _as_runtime_error(error: StopIteration) -> RuntimeError:
    found = RuntimeError("The work raised StopIteration.")
    found.__cause__ = error
    return found


_Queue: TypeAlias = "SimpleQueue[_Job[Any]]"


class LoopThreads:
    """Threads that are started when they are needed.

    The one that worked last works next: what it uses is in the cache of a core. The threads end
    with the process, which does not wait for their work. anyio's threads do more around the work,
    enough to slow a press.
    """

    def __init__(self) -> None:
        self._idle: deque[_Queue] = deque()

    def begin(self, work: Callable[[], T], ended: Callable[[], None]) -> asyncio.Future[T]:
        """Let a thread do work, and return its result to come; call it in an event loop.

        Parameters
        ----------
        work
            What to do, in the context of the caller; nothing, if the future is cancelled before.
        ended
            Called in the loop when the thread has ended the work or has left out what was
            cancelled, whether or not somebody waits; not after the loop is closed.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        try:
            queue = self._idle.pop()
        except IndexError:
            queue = SimpleQueue()
            Thread(target=self._run, args=(queue,), name="store", daemon=True).start()
        queue.put(_Job(work, ended, loop, copy_context(), done))
        return done

    def _run(self, queue: _Queue) -> None:
        while (job := self._next(queue)) is not None:
            end, loop = job.do(), job.loop
            del job  # a thread without work keeps no request
            self._idle.append(queue)
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(end)
            del end

    def _next(self, queue: _Queue) -> _Job[Any] | None:
        """Return the next job; None after a time without one."""
        try:
            return queue.get(timeout=_IDLE_SECONDS)
        except Empty:
            pass
        try:
            self._idle.remove(queue)
        except ValueError:  # it is not idle any more: its job comes now
            return queue.get()
        return None
