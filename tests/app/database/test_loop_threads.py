"""Threads of an event loop: results, errors, contexts, cancelled work, threads that end."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from teaser.app.database import loop_threads
from teaser.app.database.loop_threads import LoopThreads

LONG = 60  # seconds; no wait in a test is meant to take as long
person = ContextVar("person", default="nobody")


def nothing() -> None:
    """Be told that work has ended, and do nothing."""


def test_results_and_errors_come_back_in_the_context_of_the_caller() -> None:
    threads = LoopThreads()

    def fail() -> None:
        raise ZeroDivisionError("of the work")

    async def ask() -> None:
        person.set("Ada")
        assert await threads.begin(person.get, nothing) == "Ada"
        assert await threads.begin(threading.current_thread, nothing) != threading.current_thread()
        with pytest.raises(ZeroDivisionError, match="of the work"):
            await threads.begin(fail, nothing)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.begin(lambda: next(iter([])), nothing)
        assert await threads.begin(lambda: person.set("Bob") and person.get(), nothing) == "Bob"
        assert person.get() == "Ada"

    asyncio.run(ask())


def test_the_thread_that_worked_last_works_next() -> None:
    threads = LoopThreads()
    together = threading.Barrier(3)

    def meet() -> int:
        together.wait(LONG)
        return threading.get_ident()

    async def ask() -> None:
        at_once = await asyncio.gather(*(threads.begin(meet, nothing) for _ in range(3)))
        assert len(set(at_once)) == 3
        one_by_one = [await threads.begin(threading.get_ident, nothing) for _ in range(9)]
        assert len(set(one_by_one)) == 1
        assert one_by_one[0] in at_once

    asyncio.run(ask())


def test_the_end_is_told_once_in_the_loop_also_of_work_that_nobody_waits_for() -> None:
    threads = LoopThreads()
    ended: list[int] = []
    go_on = threading.Event()

    async def ask() -> None:
        def end() -> None:
            ended.append(threading.get_ident())

        left = threads.begin(lambda: go_on.wait(LONG), end)
        await asyncio.sleep(0.05)
        left.cancel()
        await asyncio.sleep(0.05)
        assert not ended
        go_on.set()
        while not ended:
            await asyncio.sleep(0.01)
        assert await threads.begin(lambda: 7, end) == 7

    asyncio.run(ask())
    assert ended == [threading.get_ident()] * 2


def test_what_is_cancelled_before_it_begins_is_not_done() -> None:
    threads, done, ended = LoopThreads(), list[str](), list[str]()
    inside, go_on = threading.Event(), threading.Event()

    async def ask() -> None:
        def busy() -> None:
            inside.set()
            go_on.wait(LONG)

        first = threads.begin(busy, nothing)
        assert inside.wait(LONG)
        threads._idle += queues  # as if it were idle: the next job waits in its queue
        second = threads.begin(lambda: done.append("done"), lambda: ended.append("ended"))
        second.cancel()
        go_on.set()
        await first
        while not ended:
            await asyncio.sleep(0.01)

    queues: list[Any] = []

    def noted() -> Any:
        queues.append(SimpleQueue())
        return queues[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_threads, "SimpleQueue", noted)
        asyncio.run(ask())
    assert not done


def test_a_thread_ends_after_a_time_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_threads, "_IDLE_SECONDS", 0.02)
    threads = LoopThreads()

    async def ask(work: Callable[[], int]) -> int:
        return await threads.begin(work, nothing)

    first = asyncio.run(ask(threading.get_ident))
    end = time.monotonic() + LONG
    while any(each.ident == first for each in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert not threads._idle
    assert asyncio.run(ask(lambda: 7)) == 7


def test_a_thread_whose_time_is_over_does_what_it_was_just_given() -> None:
    """It was taken from the idle ones before it could leave them, and the job comes after."""
    threads = LoopThreads()
    queue: Any = SimpleQueue()
    timed_out = iter([True])
    get = queue.get

    class Late:
        """A queue whose first wait ends without a job."""

        def get(self, timeout: float | None = None) -> Any:
            if next(timed_out, False):
                raise Empty
            return get(timeout=timeout)

    queue.put("job")
    late: Any = Late()
    job: Any = threads._next(late)
    assert job == "job"


def test_a_loop_that_is_closed_hears_nothing_and_the_thread_goes_on() -> None:
    threads, go_on, begun = LoopThreads(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait(LONG)

    async def leave() -> None:
        threads.begin(work, nothing)
        assert begun.wait(LONG)

    asyncio.run(leave())
    go_on.set()

    async def ask() -> int:
        return await threads.begin(lambda: 7, nothing)

    assert asyncio.run(ask()) == 7
