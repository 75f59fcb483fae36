"""Connections: the time each may be silent, and how many a process holds."""

import asyncio
import logging
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any

from teaser.app.process.acceptor import Balance
from teaser.app.process.handover import Handover
from teaser.app.process.listener import connections_for
from teaser.app.settings import Settings

if TYPE_CHECKING:  # any protocol of uvicorn has what is used of this one
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol
else:
    _Protocol = asyncio.Protocol

log = logging.getLogger("teaser")

_SWEEP_SECONDS = 1.0
# Thousands of connections can become silent at once: requests go on between closing some of them.
_CLOSED_AT_ONCE, _PAUSE_SECONDS = 32, 0.01
_MAX_HEAD = 65_536  # bytes of an unfinished head; h11 allows less, httptools has no limit
_TIMEOUT_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"The request did not come to its end in time. Try again.\n"
)


class _NOTHING:
    """Stands for the parser h11, which tells what it has not used of the bytes that came."""

    trailing_data = (b"", False)


@dataclass(frozen=True)
class ConnectionLimits:
    """How long connections of a process may be silent, and how many there may be.

    Parameters
    ----------
    head
        Seconds until the head of a request must have come.
    idle
        Seconds without a byte, in a body or in a response that is not read.
    most
        The largest number of connections.
    """

    head: float
    idle: float
    most: int

    @classmethod
    def of(cls, settings: Settings) -> "ConnectionLimits":
        """Return the limits that settings ask for, as far as the limit of open files allows."""
        most = connections_for(settings.max_connections)
        return cls(settings.head_timeout, settings.idle_timeout, most)


class Connections:
    """The connections of one process, by what is expected of them; each group oldest first.

    At the limit a newcomer takes the place of the oldest connection that has no finished head,
    then of the oldest between two requests, of the oldest with an unfinished body, and of the one
    that has not read its response for longest. Visitors send their head at once and read what they
    get, so others cannot keep them out.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.handover: Handover | None = None
        self._balance: Balance | None = None
        # Dictionaries keep the order of insertion, and forget a member in constant time.
        self.waiting: dict[Connection, None] = {}
        self.idle: dict[Connection, None] = {}
        self.busy: dict[Connection, None] = {}
        self.leaving: set[Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self.waiting) + len(self.idle) + len(self.busy)

    def move(self, connection: "Connection", group: dict["Connection", None]) -> None:
        """Put a connection at the end of a group."""
        self.remove(connection)
        group[connection] = None

    def remove(self, connection: "Connection") -> None:
        """Forget a connection."""
        for group in (self.waiting, self.idle, self.busy):
            group.pop(connection, None)

    def leave(self, connection: "Connection") -> None:
        """Forget a connection that has ended."""
        self.remove(connection)
        self.leaving.discard(connection)
        self._publish()

    def share(self, balance: Balance | None) -> None:
        """Tell other workers how many there are, from now on; or that this one does not serve."""
        if balance is None and self._balance is not None:
            self._balance.leave()
        self._balance = balance
        self._publish()

    def give_away(self, handover: Handover, n: int) -> None:
        """Give n more connections to other workers: after their request, if they have one now.

        Call it again for those that could not be given yet.
        """
        self.handover = handover
        all_of_them = chain(self.waiting, self.idle, self.busy)
        self.leaving.update(islice((c for c in all_of_them if c not in self.leaving), n))
        for connection in [*self.leaving]:
            connection.give_away()

    def _publish(self) -> None:
        if self._balance is not None:
            self._balance.publish(len(self))

    def add(self, connection: "Connection") -> None:
        """Take a new connection, and close another one if there are too many."""
        if self._sweep is None:
            self._plan_sweep()
        is_full = len(self) >= self.limits.most
        leaving = self._first_to_leave() or connection if is_full else None
        self.waiting[connection] = None
        if leaving is not None:
            log.warning(
                "there are %d connections, the most that this process holds; "
                "those without a finished request are closed for new ones",
                self.limits.most,
            )
            self.remove(leaving)
            leaving.transport.abort()
        self._publish()

    def _first_to_leave(self) -> "Connection | None":
        unfinished = (each for each in self.busy if each.has_unfinished_body())
        unread = sorted(filter(Connection.is_unread, self.busy), key=Connection.last_sent)
        return next(chain(self.waiting, self.idle, unfinished, unread), None)

    def _plan_sweep(self, seconds: float = _SWEEP_SECONDS) -> None:
        period = min(seconds, self.limits.head / 4, self.limits.idle / 4)
        self._sweep = asyncio.get_running_loop().call_later(period, self._close_silent)

    def _close_silent(self) -> None:
        """Close some of those that have been silent for too long, and plan the next look."""
        self._sweep = None
        now = asyncio.get_running_loop().time()
        late = takewhile(lambda each: each.is_late(now, self.limits), self.waiting)
        closed = list(islice(late, _CLOSED_AT_ONCE))
        for connection in [*closed, *self.idle, *self.busy]:
            connection.close_if_silent(now, self.limits)
        if len(closed) == _CLOSED_AT_ONCE:
            self._plan_sweep(_PAUSE_SECONDS)
        elif len(self):
            self._plan_sweep()


class Connection(_Protocol):
    """What every connection does beside HTTP: note its progress. A mixin of uvicorn's protocols.

    Attributes
    ----------
    registry
        The connections of this process.
    is_taken_over
        Whether another worker had the connection before, until the end of a request.
    """

    registry: Connections
    is_taken_over = False

    def connection_made(self, transport: Any) -> None:
        """Register the connection."""
        super().connection_made(transport)
        loop = asyncio.get_running_loop()
        self._moved = self._sent = loop.time()
        self._head_bytes = 0
        self._is_begun = False  # a request, of which not all has come
        self.registry.add(self)
        if self.is_taken_over:
            self.registry.move(self, self.registry.idle)
            seconds = self.timeout_keep_alive
            self.timeout_keep_alive_task = loop.call_later(seconds, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.registry.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read bytes; note whether a head has begun or is finished."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        registry, now = self.registry, asyncio.get_running_loop().time()
        if self._is_answering():
            if self not in registry.busy:
                registry.move(self, registry.busy)
            self._moved, self._head_bytes = now, 0
            return
        if self not in registry.waiting:  # the first bytes of a further request
            registry.move(self, registry.waiting)
            self._moved = now
        self._head_bytes += len(data)
        if self._head_bytes > _MAX_HEAD:
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering():
            self.registry.move(self, self.registry.idle)
            self._moved = asyncio.get_running_loop().time()
            self.give_away()

    def on_message_begin(self) -> None:
        """Note that a request has begun."""
        self._is_begun = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Note that all of a request has come."""
        self._is_begun = False
        super().on_message_complete()

    def give_away(self) -> None:
        """Give the connection to another worker, if this one leaves and is done with it."""
        handover = self.registry.handover if self in self.registry.leaving else None
        if handover is None or self.transport.is_closing() or not self._is_between_requests():
            return
        if handover.give(self.transport.get_extra_info("socket")):
            self.transport.abort()  # the other worker has it open, so the client notices nothing

    def _is_between_requests(self) -> bool:
        """Return whether nothing of a request or a response is with this process."""
        is_unread = self._is_begun or getattr(self, "conn", _NOTHING).trailing_data[0] != b""
        is_unsent = self._is_answering() or self.transport.get_write_buffer_size() > 0
        is_cut = self.cycle is not None and self.cycle.more_body  # answered before its body came
        return not (is_unread or is_unsent or is_cut)

    def has_unfinished_body(self) -> bool:
        """Return whether the body of the present request has not come to its end."""
        return self._is_answering() and bool(self.cycle.more_body)

    def resume_writing(self) -> None:
        """Go on with a response, of which the client has read some 50 kB."""
        self._sent = asyncio.get_running_loop().time()
        super().resume_writing()

    def is_unread(self) -> bool:
        """Return whether the response waits for the client to read."""
        return self.flow.write_paused

    def last_sent(self) -> float:
        """Return the time at which the client had last read what there was, or much of it."""
        return self._sent

    def is_late(self, now: float, limits: ConnectionLimits) -> bool:
        """Return whether a connection that waits for a head has waited too long."""
        return now - self._moved > limits.head

    def close_if_silent(self, now: float, limits: ConnectionLimits) -> None:
        """Close the connection if the client should have sent or read something by now."""
        if self.transport.get_write_buffer_size() == 0:
            self._sent = now
        if now - self._sent > limits.idle:
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self in self.registry.waiting and self.is_late(now, limits):
            self._refuse(is_said=self._head_bytes > 0)
        elif self.has_unfinished_body() and self._is_silent(now, limits):
            self._refuse(is_said=not self.cycle.response_started)

    def _is_silent(self, now: float, limits: ConnectionLimits) -> bool:
        """Return whether nothing came for too long, although this side would have read it."""
        return now - self._moved > limits.idle and not self.flow.read_paused

    def _is_answering(self) -> bool:
        """Return whether the head of a request has come and its response is not finished."""
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, *, is_said: bool) -> None:
        if is_said:
            self.transport.write(_TIMEOUT_ANSWER)
        self.transport.close()


def limited(protocol: type[asyncio.Protocol], limits: ConnectionLimits) -> type[Connection]:
    """Return a protocol of uvicorn whose connections keep to limits."""
    own = {"registry": Connections(limits)}
    return type("Limited" + protocol.__name__, (Connection, protocol), own)
