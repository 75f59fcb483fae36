"""The HTTP server of one process: how uvicorn is configured, says that it serves, and stops."""

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from teaser.app.process.acceptor import Acceptor, Balance
from teaser.app.process.connection import Connection, ConnectionLimits, limited
from teaser.app.process.handover import Handover
from teaser.app.process.listener import QUEUE, cannot_listen
from teaser.app.settings import Settings

log = logging.getLogger("teaser")

# After stop_timeout, the seconds for the application to end, and then for the process.
_END_SECONDS = 2.0
KILL_SECONDS = 2 * _END_SECONDS
# Connections are given to another worker in so many steps at the most, with a pause after each.
_GIVE_AWAY_SECONDS, _GIVE_AWAY_STEPS = 0.1, 50
_TICK_SECONDS = 1.0


class Server(uvicorn.Server):
    """A server that says when it serves, and that ends in a limited time.

    At SIGTERM or SIGINT it stops accepting and closes idle connections. Requests in progress have
    `stop_timeout` seconds. Then their connections are aborted. If a thread does not end even then,
    the process ends without it. A second SIGINT ends without waiting.

    Parameters
    ----------
    app
        The application.
    settings
        The settings of the server.
    started
        Called once connections are accepted.
    beat
        Called every few seconds while the event loop runs.
    balance
        The connections of all workers; None for a single process.
    handover
        Connections of workers that leave; None for a single process.
    """

    def __init__(
        self,
        app: Any,
        settings: Settings,
        *,
        started: Callable[[], object],
        beat: Callable[[], Awaitable[None]] | None = None,
        balance: Balance | None = None,
        handover: Handover | None = None,
    ) -> None:
        self._protocol = limited(AutoHTTPProtocol, ConnectionLimits.of(settings))
        super().__init__(_configure(app, settings, self._protocol, beat))
        self._stop_timeout = settings.stop_timeout
        self._say_started = started
        self._balance = balance
        self._handover = handover
        self._leaving: asyncio.Task[None] | None = None
        self._acceptors: list[Acceptor] = []
        self._last_resort: threading.Timer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, listen, and say so."""
        await super().startup([])  # without sockets: connections are accepted here
        # Freeze start-up objects: collecting them causes pauses. They live as long as the process.
        gc.collect()
        gc.freeze()
        for each in sockets or []:
            try:
                each.listen(QUEUE)
            except OSError as error:  # another process listens since the socket was bound
                await self.lifespan.shutdown()
                host, port, *_ = each.getsockname()
                raise cannot_listen(host, port, error) from None
        self._protocol.registry.share(self._balance)
        self._acceptors = [
            Acceptor(each, self._new_protocol, self._balance) for each in sockets or []
        ]
        if (queue := self._handover) is not None:
            continued = Acceptor(queue.receiver, self._continued, self._balance, queue.take)
            self._acceptors.append(continued)
        self._loop = asyncio.get_running_loop()
        self._say_started()

    def leave(self) -> None:
        """Accept nothing more, give all connections to other workers, then end; from any thread.

        Requests in progress have the time that they need, until a signal asks for a stop. Before
        the server has started, and after its end, nothing happens.
        """
        self._call_in_loop(self._leave)

    def _leave(self) -> None:
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._give_away())

    async def _give_away(self) -> None:
        self._close_acceptors()
        await asyncio.sleep(_GIVE_AWAY_SECONDS)  # those accepted just now are not yet known
        registry = self._protocol.registry
        # The first request of a person in another worker takes longer: they come one by one.
        n = -(-len(registry) // _GIVE_AWAY_STEPS)
        while self._handover is not None and len(registry):
            registry.give_away(self._handover, n)
            await asyncio.sleep(_GIVE_AWAY_SECONDS)
        self._stop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; unlike uvicorn, do not raise the signal again, so that the exit code is 0."""
        self.force_exit |= self.should_exit and sig == signal.SIGINT
        self._stop()

    async def main_loop(self) -> None:
        """Look after the date and the beat each second, until the server has to stop.

        uvicorn looks ten times a second whether it has to: each time costs a fifth of a
        millisecond, because a processor that was idle begins with empty caches.
        """
        with _woken_by_signals(asyncio.get_running_loop()):
            while not await self.on_tick(0):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), _TICK_SECONDS)

    def _call_in_loop(self, function: Callable[[], object]) -> None:
        """Call a function in the event loop, from any thread or from the handler of a signal."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it is closed: nobody waits
                self._loop.call_soon_threadsafe(function)

    def _stop(self) -> None:
        self.should_exit = True
        self._call_in_loop(self._stopped.set)
        if self._last_resort is None:
            seconds = self._stop_timeout + KILL_SECONDS
            self._last_resort = threading.Timer(seconds, _end_process)
            self._last_resort.daemon = True
            self._last_resort.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish for as long as the limit allows."""
        self._close_acceptors()
        loop = asyncio.get_running_loop()
        handle = loop.call_later(self._stop_timeout, self._abort_connections)
        await super().shutdown(sockets)
        handle.cancel()

    def _close_acceptors(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        self._protocol.registry.share(None)

    def _new_protocol(self) -> Connection:
        return self._protocol(self.config, self.server_state, self.lifespan.state)

    def _continued(self) -> asyncio.Protocol:
        protocol = self._new_protocol()
        protocol.is_taken_over = True
        return protocol

    def _abort_connections(self) -> None:
        left = list(self.server_state.connections)
        if left:
            log.warning("requests that did not end before the server stopped: %d", len(left))
        for connection in left:
            connection.transport.abort()


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let a signal wake the loop, whichever thread it reaches.

    Python calls its handler in the main thread, which else may wait for the next event first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals have no handlers there
        return
    receiver, sender = socket.socketpair()
    with receiver, sender:
        receiver.setblocking(False)
        sender.setblocking(False)
        loop.add_reader(receiver, receiver.recv, 4096)
        before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(receiver)


def _configure(
    app: Any,
    settings: Settings,
    protocol: type[asyncio.Protocol],
    beat: Callable[[], Awaitable[None]] | None,
) -> uvicorn.Config:
    """Return the configuration of uvicorn, the same for one process and for each worker."""
    # uvicorn takes fractions of a second, although its types do not say so.
    timeouts: dict[str, Any] = {
        "timeout_keep_alive": settings.idle_timeout,
        # This is the last resort: `Server` aborts connections at stop_timeout.
        "timeout_graceful_shutdown": settings.stop_timeout + _END_SECONDS,
    }
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        log_config=None,  # see teaser.app.telemetry.logs
        access_log=False,
        proxy_headers=False,  # see teaser.app.server
        callback_notify=beat,
        timeout_notify=5,
        **timeouts,
    )


def _end_process() -> None:
    log.error("a thread did not end when the server stopped; the process ends without it")
    os._exit(0)
