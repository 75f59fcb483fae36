"""Threads for requests that use the store: apart from all others, and waited for with a limit."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from time import monotonic
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from teaser.app.database.deadline import LATE, StoreUse, using
from teaser.app.database.loop_threads import LoopThreads
from teaser.errors import StoreTimeoutError

T = TypeVar("T")
# Semaphores of an event loop: turns to begin, and threads that are not in use.
_Free: TypeAlias = tuple[asyncio.Semaphore, asyncio.Semaphore]
_LOOK_SECONDS = 0.05
# Work that takes longer than this lets other work begin: it may wait for the database.
_TURN_SECONDS = 0.02


class StoreThreads:
    """Run work that uses the store in threads of its own.

    A database that hangs can hold up these threads only. Whoever waits for one gives up when the
    work is late in the store, however long its thread stays there. And while the database hangs,
    nobody waits for a thread for longer than the work may take. Work that would write is then
    refused before it waits for a thread, so that it is not behind pages that can be made.

    Threads that compute at the same time share one interpreter, which switches between them every
    fifth of a millisecond (see `teaser.app.server`) for nothing. So work begins in turn: when the
    work before it has ended and its answer is sent, or when it takes long.

    Parameters
    ----------
    seconds
        The time that the transactions of one request may take together.
    n_threads
        The number of threads.
    is_hanging
        Returns whether the database does not answer in time.
    is_refusing_writes
        Returns whether a transaction that writes would be refused at once.
    at_once
        How many requests work at once, while none takes long: 1 for a database that computes in
        the same thread, as SQLite does, and more if others can compute while it answers.
    """

    def __init__(
        self,
        seconds: float,
        n_threads: int = 4,
        is_hanging: Callable[[], bool] = lambda: False,
        is_refusing_writes: Callable[[], bool] = lambda: False,
        *,
        at_once: int = 1,
    ) -> None:
        self.seconds = seconds
        self.n_threads = n_threads
        self._is_hanging = is_hanging
        self._is_refusing_writes = is_refusing_writes
        self._left: set[StoreUse] = set()
        self._at_once = at_once
        self._threads = LoopThreads()
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, _Free] = WeakKeyDictionary()

    async def run(
        self, work: Callable[[], T], *, patience: float = math.inf, writes: bool = False
    ) -> T:
        """Return what the work returns.

        Parameters
        ----------
        work
            What to do in a thread.
        patience
            The seconds after which to give up in any case; only for work that stores nothing.
        writes
            Whether the work cannot be done without writing.

        Raises
        ------
        StoreTimeoutError
            If the work is late in the store, or if no thread has begun it: every one is stuck
            there, or the database hangs and the time is over, or the work would be refused there.
        """
        if writes and self._is_refusing_writes():
            raise StoreTimeoutError(LATE)
        asked = monotonic()
        use = StoreUse(self.seconds)

        def start() -> T:
            use.start()
            with using(use):
                return work()

        turns, threads = free = self._of_loop()
        if turns.locked() or threads.locked():
            task: asyncio.Future[T] = asyncio.ensure_future(self._wait(start, free))
        else:
            task = await self._begin(start, free)  # at once, so that no task is needed
        # Nothing is late before this time, so there is nothing to look at.
        wait = _LOOK_SECONDS if self._left else min(patience, self.seconds)
        try:
            while not (await asyncio.wait({task}, timeout=wait))[0]:
                wait = _LOOK_SECONDS
                waited = monotonic() - asked
                is_hopeless = not use.has_started and (
                    self._n_stuck >= self.n_threads
                    or (waited >= self.seconds and self._is_hanging())
                )
                if use.abandon_if_late() or is_hopeless or waited > patience:
                    raise StoreTimeoutError(LATE)
            return task.result()
        finally:
            if not task.done():  # it is late, or the request was cancelled
                self._leave(task, use)

    async def iterate(self, items: Iterator[T]) -> AsyncIterator[T]:
        """Yield what an iterator yields; each step is one use of the store."""
        while step := await self.run(lambda: list(islice(items, 1))):
            yield step[0]

    async def _wait(self, start: Callable[[], T], free: _Free) -> T:
        """Return what the work returns, after others had their turn."""
        return await (await self._begin(start, free))

    async def _begin(self, start: Callable[[], T], free: _Free) -> asyncio.Future[T]:
        """Let work begin in a thread when it has its turn, which ends when the work takes long."""
        turns, threads = free
        await turns.acquire()
        held = [turns]

        def end_turn() -> None:
            if held:
                held.pop().release()

        loop = asyncio.get_running_loop()
        timer = loop.call_later(_TURN_SECONDS, end_turn)

        def end() -> None:
            timer.cancel()
            threads.release()
            # In the round after the next, once the caller has sent its answer: work that began
            # before would share the interpreter with it.
            loop.call_soon(loop.call_soon, end_turn)

        try:
            await threads.acquire()
        except BaseException:
            timer.cancel()
            end_turn()
            raise
        try:
            return self._threads.begin(start, end)
        except BaseException:
            end()
            raise

    def _of_loop(self) -> _Free:
        """Return what belongs to the present event loop."""
        loop = asyncio.get_running_loop()
        found = self._free.get(loop)
        if found is None:
            found = asyncio.Semaphore(self._at_once), asyncio.Semaphore(self.n_threads)
            self._free[loop] = found
        return found

    @property
    def _n_stuck(self) -> int:
        """The number of threads that are late in the store, and whose callers have left."""
        return sum(use.is_abandoned or use.abandon_if_late() for use in self._left)

    def _leave(self, task: asyncio.Future[T], use: StoreUse) -> None:
        """Leave work: what has not begun never will; a thread is watched until it ends."""
        if use.abandon_unstarted():
            task.cancel()  # it gives up its place in the queue
        else:
            self._left.add(use)

        def end(done: asyncio.Future[T]) -> None:
            self._left.discard(use)
            if not done.cancelled():
                done.exception()  # nobody asks for it any more

        task.add_done_callback(end)
