"""Accepting: connections are shared among workers; without free files the server waits."""

import asyncio
import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from teaser.app.process.acceptor import Acceptor, Balance, new_counts
from teaser.app.process.listener import bound_sockets


class Worker:
    """An event loop in a thread that accepts from a socket and counts its connections."""

    def __init__(self, listening: socket.socket, balance: Balance | None) -> None:
        self.connections: list[asyncio.BaseTransport] = []
        self.balance = balance
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, args=(listening,))
        self.thread.start()

    def run(self, listening: socket.socket) -> None:
        async def serve() -> None:
            self.done = asyncio.Event()
            acceptor = Acceptor(listening, lambda: Counted(self), self.balance)
            await self.done.wait()
            acceptor.close()
            for transport in self.connections:
                transport.close()
            await asyncio.sleep(0)

        self.loop.run_until_complete(serve())
        self.loop.close()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(lambda: self.done.set())
        self.thread.join()


class Counted(asyncio.Protocol):
    """A connection that its worker counts."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.worker.connections.append(transport)
        if self.worker.balance is not None:
            self.worker.balance.publish(len(self.worker.connections))


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with bound_sockets("127.0.0.1", 0) as sockets:
        sockets[0].listen(100)
        yield sockets[0]


@pytest.fixture
def start(listening: socket.socket) -> Iterator[Callable[..., list[Worker]]]:
    with contextlib.ExitStack() as stack:

        def run(*balances: Balance | None) -> list[Worker]:
            workers = [Worker(listening, balance) for balance in balances]
            for worker in workers:
                stack.callback(worker.stop)
            return workers

        yield run


def has_all(workers: list[Worker], number: int) -> bool:
    return sum(len(worker.connections) for worker in workers) == number


def wait_for(found: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not found():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_workers_that_hold_fewer_and_serve_are_behind() -> None:
    counts = [3, 2, -1]
    assert [Balance(counts, own).n_behind() for own in range(2)] == [1, 0]
    Balance(counts, 2).publish(0)
    assert [Balance(counts, own).n_behind() for own in range(3)] == [2, 1, 0]
    Balance(counts, 1).leave()
    assert counts == [3, -1, 0]
    assert Balance(counts, 0).n_behind() == 1


def test_workers_that_do_not_exist_are_not_behind() -> None:
    counts = new_counts(4)
    Balance(counts, 0).publish(5)
    assert Balance(counts, 0).n_behind() == 0
    Balance(counts, 1).publish(0)
    assert Balance(counts, 0).n_behind() == 1


@pytest.mark.parametrize("is_stuck", [False, True])
def test_connections_are_shared_and_do_not_wait_for_a_worker_that_is_stuck(
    start: Callable[..., list[Worker]], listening: socket.socket, is_stuck: bool
) -> None:
    counts = [0, 0, 0 if is_stuck else -1]  # the third never accepts
    first, second = start(*(Balance(counts, own) for own in range(2)))
    with contextlib.ExitStack() as clients:
        for number in range(1, 21):
            clients.enter_context(socket.create_connection(listening.getsockname()))
            wait_for(partial(has_all, [first, second], number))
        for transport in first.connections + second.connections:
            accepted = transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    # On a busy machine the other worker may not run in the moment that this one gives way.
    assert min(counts[:2]) >= 5


def test_without_free_files_connections_wait(
    start: Callable[..., list[Worker]],
    listening: socket.socket,
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    (worker,) = start(None)
    with socket.socket() as client:
        free = os.dup(client.fileno())
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        try:
            client.connect(listening.getsockname())
            wait_for(lambda: "cannot be accepted: Too many open files" in caplog.text)
            assert not worker.connections
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        wait_for(lambda: len(worker.connections) == 1)
