"""Open connections on their way from a worker that leaves to those that stay."""

import socket
from contextlib import suppress


class Handover:
    """A queue of open connections, which the processes of one server share.

    A worker that leaves puts its connections into it between two requests, and any other takes
    them out as if they were new. The client notices nothing: its connection stays open, and what it
    sends meanwhile waits in the kernel.
    """

    def __init__(self) -> None:
        # A byte for each connection: with a stream, a kernel of any make keeps them apart.
        self.receiver, self._sender = socket.socketpair()

    def give(self, connection: socket.socket) -> bool:
        """Put a connection into the queue; return whether there was room for it."""
        self._sender.setblocking(False)
        with suppress(OSError):
            return socket.send_fds(self._sender, [b"."], [connection.fileno()]) == 1
        return False

    def take(self) -> socket.socket:
        """Return a connection from the queue.

        Raises
        ------
        BlockingIOError
            If there is none.
        """
        self.receiver.setblocking(False)
        _, descriptors, _, _ = socket.recv_fds(self.receiver, 1, 1)
        if not descriptors:  # this process may open no more files, and the connection is lost
            raise ConnectionAbortedError
        return socket.socket(fileno=descriptors[0])

    def close(self) -> None:
        """Close this process's ends of the queue."""
        self.receiver.close()
        self._sender.close()
