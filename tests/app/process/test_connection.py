"""Connections: silent ones end, a full process makes room, requests in progress are left alone."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from teaser.app.process.connection import ConnectionLimits, Connections, limited
from teaser.app.process.handover import Handover
from teaser.app.process.listener import bound_sockets, port_of

GET = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"
LONG = 60.0


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Read the body, then answer: at once, after a second, or with more than a client takes."""
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    rest = 500 if scope["path"] == "/large" else 0
    length = [(b"content-length", b"%d" % (100_000 * rest + 5))]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    for _ in range(rest):
        await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
    await send({"type": "http.response.body", "body": b"hello"})


class Served:
    """A server in a thread, whose connections have limits."""

    def __init__(self, sockets: list[socket.socket], limits: ConnectionLimits) -> None:
        self.port = port_of(sockets)
        self.opened: list[socket.socket] = []
        protocol: Any = limited(AutoHTTPProtocol, limits)
        self.registry: Connections = protocol.registry
        keep_alive: Any = limits.idle
        self.server = uvicorn.Server(
            uvicorn.Config(
                app, http=protocol, lifespan="off", log_config=None, timeout_keep_alive=keep_alive
            )
        )
        self.thread = threading.Thread(target=self.server.run, args=(sockets,))
        self.thread.start()
        self.wait_for(lambda: self.server.started)

    def connect(self, sent: bytes = b"") -> socket.socket:
        before = len(self.registry)
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        self.opened.append(connection)
        connection.sendall(sent)
        self.wait_for(lambda: len(self.registry) > before or before >= self.registry.limits.most)
        return connection

    def stop(self) -> None:
        for connection in self.opened:
            connection.close()
        self.wait_for(lambda: not self.server.server_state.connections)
        self.server.should_exit = True
        self.thread.join()

    def wait_for(self, found: Callable[[], bool]) -> None:
        until = time.monotonic() + 20
        while not found():
            assert time.monotonic() < until
            time.sleep(0.01)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    with contextlib.ExitStack() as stack:

        def start(*, head: float = LONG, idle: float = LONG, most: int = 100) -> Served:
            sockets = stack.enter_context(bound_sockets("127.0.0.1", 0))
            served = Served(sockets, ConnectionLimits(head, idle, most))
            stack.callback(served.stop)
            return served

        yield start


def answer(connection: socket.socket) -> bytes:
    """Return what the server sends until it closes."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while more := connection.recv(65_536):
            received += more
    return received


def has_answer(connection: socket.socket, sent: bytes = b"") -> bool:
    """Send something, and return whether the whole answer comes."""
    connection.sendall(sent)
    received = b""
    while not received.endswith(b"hello") and (more := connection.recv(1000)):
        received += more
    return received.startswith(b"HTTP/1.1 200 OK") and received.endswith(b"hello")


def is_open(connection: socket.socket) -> bool:
    connection.settimeout(0.1)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionResetError:
        return False


def test_an_unfinished_head_ends(serve: Callable[..., Served]) -> None:
    served = serve(head=0.6)
    again = served.connect(GET)
    assert has_answer(again)
    silent, begun = served.connect(), served.connect(GET[:20])
    again.sendall(GET[:20])
    for _ in range(4):  # bytes that trickle in do not extend the time
        with contextlib.suppress(OSError):
            begun.sendall(b"x")
        time.sleep(0.2)
    assert answer(silent) == b""
    assert b" 408 " in answer(again)
    answer(begun)  # the end; bytes that came after it reset the connection
    served.wait_for(lambda: len(served.registry) == 0)


def test_silence_in_a_body_between_requests_and_in_reading_ends(
    serve: Callable[..., Served],
) -> None:
    served = serve(idle=0.5)
    unread = served.connect(GET.replace(b"/", b"/large", 1))
    body = served.connect(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\nabc")
    between = served.connect(GET)
    assert b" 408 " in answer(body)
    assert answer(between).endswith(b"hello")
    for _ in range(20):  # a client that reads very little ends, too
        with contextlib.suppress(OSError):
            unread.recv(1000)
        time.sleep(0.05)
    served.wait_for(lambda: len(served.registry) == 0)
    assert len(answer(unread)) < 50_000_000


def test_a_slow_answer_is_waited_for(serve: Callable[..., Served]) -> None:
    served = serve(idle=0.2)
    assert b"hello" in answer(served.connect(GET.replace(b"/", b"/slow", 1)))


def test_a_full_process_closes_the_oldest_half_open_connection(
    serve: Callable[..., Served],
) -> None:
    served = serve(most=4)
    between = served.connect(GET)
    assert has_answer(between)
    half_open = [served.connect(GET[:20]) for _ in range(3)]
    visitor = served.connect(GET)
    assert has_answer(visitor)
    assert [is_open(each) for each in [*half_open, between, visitor]] == [False, *[True] * 4]
    for _ in range(50):  # as many as like: the one between two requests and the visitor stay
        served.connect(GET[:20])
    assert has_answer(visitor, GET)
    assert is_open(between)


def test_a_full_process_closes_what_is_not_read(serve: Callable[..., Served]) -> None:
    served = serve(most=2)
    for _ in range(2):
        served.connect(GET.replace(b"/", b"/large", 1))
    served.wait_for(lambda: [each.is_unread() for each in served.registry.busy] == [True, True])
    assert has_answer(served.connect(GET))
    assert len(served.registry) == 2


def test_a_process_full_of_finished_requests_refuses(serve: Callable[..., Served]) -> None:
    served = serve(most=2)
    slow = [served.connect(GET.replace(b"/", b"/slow", 1)) for _ in range(2)]
    served.wait_for(lambda: len(served.registry.busy) == 2)
    assert not is_open(served.connect())
    assert all(has_answer(each) for each in slow)


def test_connections_are_given_away_some_at_a_time(serve: Callable[..., Served]) -> None:
    """One that has a request is given when that is answered; the others stay as they are."""
    served, handover = serve(), Handover()
    idle = [served.connect(GET) for _ in range(3)]
    assert all(has_answer(connection) for connection in idle)
    asked = served.connect(GET.replace(b"/ ", b"/slow "))
    served.wait_for(lambda: len(served.registry.busy) == 1)
    loop = next(iter(served.registry.busy)).loop

    def give(n: int) -> None:
        loop.call_soon_threadsafe(served.registry.give_away, handover, n)

    give(2)
    served.wait_for(lambda: len(served.registry) == 2)
    taken = [handover.take() for _ in range(2)]
    with pytest.raises(BlockingIOError):
        handover.take()
    assert has_answer(asked)
    assert len(served.registry) == 2
    give(2)
    served.wait_for(lambda: len(served.registry) == 0)
    taken += [handover.take() for _ in range(2)]
    assert {each.getpeername() for each in taken} == {each.getsockname() for each in (*idle, asked)}
    for each in taken:
        each.close()
    handover.close()
