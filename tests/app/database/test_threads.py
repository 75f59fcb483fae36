"""A database that hangs holds up only what needs it, and what was refused did not happen."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from app.conftest import API, Postgres, TestClient, new_key, new_person, services_of

from teaser.app.database.deadline import time_limit
from teaser.app.database.threads import StoreThreads
from teaser.errors import StoreTimeoutError

Hang = Callable[[], AbstractContextManager[None]]
# Each needs no store, and each was answered by the same few threads as those that do.
ALONE = ("/static/teaser.css", "/metrics", "/healthz", "/openapi.json", "/tour", "/nothing/here")
LONG = 60  # seconds; no wait in a test is meant to take as long


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    """Stop all processes of a PostgreSQL server with SIGSTOP."""
    server.stop()
    try:
        yield
    finally:
        server.resume()


@contextmanager
def locked(file: str) -> Iterator[None]:
    """Hold the write lock of a file of SQLite."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=LONG)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@pytest.fixture
def hang(database_url: str, request: pytest.FixtureRequest) -> Hang:
    """Let the database hang: a lock on SQLite that is held, a PostgreSQL server that is stopped."""
    if database_url.startswith("sqlite"):
        return lambda: locked(database_url.removeprefix("sqlite:///"))
    server: Postgres = request.getfixturevalue("postgres")
    return lambda: stopped(server)


def view(client: TestClient, person: str, number: int) -> Any:
    return client.post(f"{person}/views", json={"item_id": f"i{number}"})


class TestHanging:
    def test_what_needs_no_store_is_answered_meanwhile(
        self, serve: Callable[..., TestClient], database_url: str, hang: Hang
    ) -> None:
        with serve(is_new=True, database_url=database_url, store_timeout=LONG) as client:
            person = new_person(client)
            client.get("/tour")
            with ThreadPoolExecutor(12) as pool:
                with hang():
                    asked = [pool.submit(view, client, person, n) for n in range(12)]
                    assert not wait(asked, timeout=0.5, return_when="FIRST_COMPLETED").done
                    for path in ALONE:
                        assert client.get(path).status_code == 200 + 204 * (path == ALONE[-1])
                    taste = {"history": ["i1"], "k": 3}
                    assert client.post(f"{API}/recommend", json=taste).status_code == 200
                    assert not [done for done in asked if done.done()]
                assert [done.result().status_code for done in asked] == [200] * 12
            assert set(client.get(person).json()["history"]) == {f"i{n}" for n in range(12)}

    def test_the_others_get_503_and_nothing_of_them_happens(
        self, serve: Callable[..., TestClient], database_url: str, hang: Hang
    ) -> None:
        given = {"database_url": database_url, "store_timeout": 2, "keys": "on"}
        with serve(is_new=True, **given) as client:
            client.headers["Authorization"] = f"Bearer {new_key(client)}"
            person = new_person(client)
            assert view(client, person, 1).status_code == 200
            with ThreadPoolExecutor(32) as pool, hang():
                asked = [pool.submit(view, client, person, 2) for _ in range(64)]
                asked.append(pool.submit(client.get, "/readyz"))
                # The database hangs until all are answered.
                assert not wait(asked, timeout=LONG).not_done
                answers = [done.result() for done in asked]
                assert services_of(client).store.is_hanging
            assert {answer.status_code for answer in answers} == {503}
            assert {answer.headers["retry-after"] for answer in answers} == {"1"}
            self._wait_for(lambda: client.get("/readyz").status_code == 200)
            assert client.get(person).json()["history"] == ["i1"]
            assert view(client, person, 3).json()["history"] == ["i1", "i3"]
            assert not services_of(client).store.is_hanging
            assert not services_of(client).store.is_refusing_writes
            pool_of_connections: Any = services_of(client).store._engine.pool
            assert pool_of_connections.checkedout() == 0

    @staticmethod
    def _wait_for(condition: Callable[[], bool]) -> None:
        """Wait for the database to go on: its processes may need a moment."""
        end = time.monotonic() + LONG
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.05)


class TestThreads:
    def test_a_caller_leaves_a_thread_that_is_stuck_and_others_are_told_at_once(self) -> None:
        threads = StoreThreads(0.2, n_threads=1)
        go_on = threading.Event()

        def stuck() -> None:
            with time_limit(0.2):
                assert go_on.wait(LONG)

        async def ask() -> None:
            with pytest.raises(StoreTimeoutError):
                await threads.run(stuck)
            with pytest.raises(StoreTimeoutError):
                await threads.run(lambda: None)
            go_on.set()
            while True:
                try:
                    return await threads.run(lambda: None)
                except StoreTimeoutError:
                    await anyio.sleep(0.01)

        anyio.run(ask)

    def test_others_learn_of_threads_that_are_stuck_after_their_callers_left(self) -> None:
        threads = StoreThreads(0.2, n_threads=1)
        go_on = threading.Event()

        def stuck() -> None:
            with time_limit(0.2):
                assert go_on.wait(LONG)

        async def ask() -> None:
            with pytest.raises(StoreTimeoutError):
                await threads.run(stuck, patience=0.05)  # it is not late yet
            with anyio.fail_after(LONG / 2), pytest.raises(StoreTimeoutError):
                await threads.run(lambda: None)
            go_on.set()

        anyio.run(ask)

    def test_while_the_database_hangs_nobody_waits_longer_for_a_thread_than_in_the_store(
        self,
    ) -> None:
        hangs = threading.Event()
        threads = StoreThreads(0.2, n_threads=1, is_hanging=hangs.is_set)
        has_begun, go_on = threading.Event(), threading.Event()
        done: list[str] = []

        def busy() -> None:  # it computes, so it is not late in the store
            has_begun.set()
            assert go_on.wait(LONG)

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(threads.run, busy)
                while not has_begun.is_set():
                    await anyio.sleep(0.01)
                group.start_soon(threads.run, lambda: done.append("waited"))
                await anyio.sleep(0.5)  # it waits for longer than the limit: nothing hangs
                hangs.set()
                with anyio.fail_after(LONG / 2), pytest.raises(StoreTimeoutError):
                    await threads.run(lambda: done.append("refused"))
                hangs.clear()
                go_on.set()

        with pytest.raises(BaseExceptionGroup) as caught:  # the one that waited is refused, too
            anyio.run(ask)
        assert caught.group_contains(StoreTimeoutError)
        assert done == []

    def test_what_would_be_refused_in_the_store_does_not_wait_for_a_thread(self) -> None:
        refuses = threading.Event()
        threads = StoreThreads(LONG, n_threads=1, is_refusing_writes=refuses.is_set)
        has_begun, go_on = threading.Event(), threading.Event()
        done: list[str] = []

        def busy() -> None:
            has_begun.set()
            assert go_on.wait(LONG)

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(threads.run, busy)
                while not has_begun.is_set():
                    await anyio.sleep(0.01)
                refuses.set()
                with anyio.fail_after(LONG / 2), pytest.raises(StoreTimeoutError):
                    await threads.run(lambda: done.append("written"), writes=True)
                group.start_soon(threads.run, lambda: done.append("read"))
                go_on.set()
            refuses.clear()
            await threads.run(lambda: done.append("written later"), writes=True)

        anyio.run(ask)
        assert done == ["read", "written later"]

    def test_a_long_queue_of_a_database_that_answers_is_no_reason_to_refuse(self) -> None:
        threads = StoreThreads(0.05, n_threads=1)
        done: list[int] = []

        def work(number: int) -> None:
            time.sleep(0.1)
            done.append(number)

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(threads.run, lambda n=number: work(n))

        anyio.run(ask)
        assert sorted(done) == list(range(5))

    def test_a_request_that_is_cancelled_before_it_begins_never_does(self) -> None:
        threads = StoreThreads(LONG, n_threads=1)
        has_begun, go_on = threading.Event(), threading.Event()
        done: list[str] = []

        def busy() -> None:
            has_begun.set()
            assert go_on.wait(LONG)

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(threads.run, busy)
                while not has_begun.is_set():
                    await anyio.sleep(0.01)
                with anyio.move_on_after(0.2):
                    await threads.run(lambda: done.append("stored"))
                go_on.set()
            await threads.run(lambda: None)  # whoever waited longer had a turn before

        anyio.run(ask)
        assert done == []

    def test_only_the_time_in_the_store_counts(self) -> None:
        def work() -> int:
            time.sleep(0.3)
            return 7

        assert anyio.run(StoreThreads(0.1).run, work) == 7

    def test_an_iterator_is_stepped_through_in_the_threads(self) -> None:
        names: set[str] = set()

        def numbers() -> Iterator[int]:
            for number in range(3):
                names.add(threading.current_thread().name)
                yield number

        async def collect() -> list[int]:
            return [number async for number in StoreThreads(1.0).iterate(numbers())]

        assert anyio.run(collect) == [0, 1, 2]
        assert threading.current_thread().name not in names


class TestTurns:
    """Work begins in turn, and nobody waits for what takes long."""

    def test_work_that_is_short_is_done_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each computes in two steps; those of several at once would mix."""
        monkeypatch.setattr("teaser.app.database.threads._TURN_SECONDS", LONG)
        threads, steps = StoreThreads(LONG), list[int]()

        def compute(number: int) -> None:
            for _ in range(2):
                steps.append(number)
                time.sleep(0.002)

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                for number in range(4):
                    group.start_soon(threads.run, partial(compute, number))

        anyio.run(ask)
        assert sorted(steps) == [0, 0, 1, 1, 2, 2, 3, 3]
        assert steps[::2] == steps[1::2]

    def test_the_next_begins_once_the_answer_of_the_one_before_is_sent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("teaser.app.database.threads._TURN_SECONDS", LONG)
        threads, order = StoreThreads(LONG), list[str]()
        begin = threads._threads.begin

        def noted(work: Callable[[], Any], ended: Callable[[], None]) -> Any:
            order.append("begins")
            return begin(work, ended)

        monkeypatch.setattr(threads._threads, "begin", noted)

        async def answer(number: int) -> None:
            assert await threads.run(lambda: number) == number
            order.append("sends")

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                for number in range(4):
                    group.start_soon(answer, number)

        anyio.run(ask)
        assert order == ["begins", "sends"] * 4

    @pytest.mark.parametrize("at_once", [1, 2])
    def test_others_begin_while_work_takes_long(self, at_once: int) -> None:
        """As many threads as there are work at once, if each waits for the last of them."""
        threads, together = StoreThreads(LONG, at_once=at_once), threading.Barrier(4)

        async def ask() -> None:
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(threads.run, lambda: together.wait(LONG))

        anyio.run(ask)
        assert not together.broken

    def test_work_that_was_given_up_leaves_its_turn(self) -> None:
        threads, ends = StoreThreads(0.05, n_threads=2), threading.Event()

        def stuck() -> None:
            with time_limit(LONG):
                ends.wait(LONG)

        async def ask() -> int:
            with pytest.raises(StoreTimeoutError):
                await threads.run(stuck)
            try:
                return await threads.run(lambda: 7)
            finally:
                ends.set()

        assert anyio.run(ask) == 7
