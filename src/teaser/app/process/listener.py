"""Listening sockets, and how many files a process may open."""

import contextlib
import errno
import resource
import socket
import sys
from collections.abc import Iterator

from teaser.errors import ParameterError

# The kernel keeps so many connections until a worker accepts them (or fewer: net.core.somaxconn).
QUEUE = 4096
_MOST_FILES = 65_536
_KEPT_FILES = 192  # for the database, static files, the model and logs


@contextlib.contextmanager
def bound_sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Bind a socket to every address of a host; nobody can connect before a process listens.

    Parameters
    ----------
    host
        A name or an address.
    port
        The port; 0 for any free one.

    Raises
    ------
    ParameterError
        If the host has no address here, or the port is in use.
    """
    with contextlib.ExitStack() as stack:
        sockets: list[socket.socket] = []
        for family, address in _addresses(host, port):
            own_port = port or (port_of(sockets) if sockets else 0)
            with contextlib.suppress(_AbsentAddressError):
                bound = stack.enter_context(_bind(family, (address, own_port)))
                sockets.append(bound)
        if not sockets:
            raise ParameterError(f"Nothing can listen on {host}: it is no address of this machine.")
        yield sockets


def port_of(sockets: list[socket.socket]) -> int:
    """Return the port that sockets are bound to."""
    return int(sockets[0].getsockname()[1])


def free_port(host: str) -> int:
    """Return a port that nothing listens on."""
    with bound_sockets(host, 0) as sockets:
        return port_of(sockets)


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard one, or to 65,536 if that is less."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinity = resource.RLIM_INFINITY
    wanted = _MOST_FILES if hard == infinity else min(hard, _MOST_FILES)
    if soft == infinity or soft >= wanted:
        return
    # macOS refuses more than the kernel's own limit, whatever the hard limit says.
    for limit in (wanted, 10_240):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
            return


def connections_for(wanted: int) -> int:
    """Return how many connections a process can hold: as many as wanted, if files suffice."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = sys.maxsize if soft == resource.RLIM_INFINITY else soft
    return min(wanted, max(files - _KEPT_FILES, files // 4, 1))


class _AbsentAddressError(Exception):
    """A host name has an address that this machine does not have."""


def _addresses(host: str, port: int) -> list[tuple[int, str]]:
    """Return family and address of everything that a host name means."""
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise ParameterError(
            f"Nothing can listen on {host!r}: it is no address and no known name. "
            "Use an address of this machine, such as 127.0.0.1."
        ) from None
    return list(dict.fromkeys((family, str(where[0])) for family, _, _, _, where in found))


def _bind(family: int, where: tuple[str, int]) -> socket.socket:
    try:
        # asyncio turns Nagle's algorithm off only for sockets that name their protocol.
        opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError:  # a kernel without IPv6
        raise _AbsentAddressError from None
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(where)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise _AbsentAddressError from None
        raise cannot_listen(*where, error) from None
    return opened


def cannot_listen(host: str, port: int, error: OSError) -> ParameterError:
    """Return the error that says why nothing can listen on a port."""
    return ParameterError(
        f"Nothing can listen on {host} port {port}: {error.strerror}. "
        "Choose another with --port, or 0 for any that is free."
    )
