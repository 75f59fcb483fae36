"""Sockets: free ports, names, Nagle's algorithm; the limit of open files."""

import resource
import socket
from collections.abc import Iterator

import pytest

from teaser.app.process.listener import (
    bound_sockets,
    connections_for,
    free_port,
    port_of,
    raise_file_limit,
)
from teaser.errors import ParameterError


@pytest.fixture
def file_limit() -> Iterator[tuple[int, int]]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_free_port_is_free() -> None:
    port = free_port("127.0.0.1")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))


def test_all_addresses_of_a_name_get_one_port_and_send_small_packets_at_once() -> None:
    with bound_sockets("localhost", 0) as sockets:
        assert {each.getsockname()[1] for each in sockets} == {port_of(sockets)}
        assert port_of(sockets) != 0
        for each in sockets:
            assert each.proto == socket.IPPROTO_TCP
            assert each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    assert all(each.fileno() == -1 for each in sockets)


def test_nobody_can_connect_before_a_process_listens() -> None:
    with (
        bound_sockets("127.0.0.1", 0) as sockets,
        pytest.raises(ConnectionRefusedError),
        socket.create_connection(("127.0.0.1", port_of(sockets)), timeout=10),
    ):
        pass


@pytest.mark.parametrize("host", ["192.0.2.1", "nothing here", "x" * 300])
def test_a_host_that_is_not_here_is_one_sentence(host: str) -> None:
    with (
        pytest.raises(ParameterError, match=f"Nothing can listen on '?{host}"),
        bound_sockets(host, 0),
    ):
        pass


def test_the_soft_limit_of_open_files_is_raised(file_limit: tuple[int, int]) -> None:
    soft, hard = file_limit
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    raise_file_limit()
    raised, same = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert same == hard
    assert raised == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))


@pytest.mark.parametrize(("files", "most"), [(1024, 832), (256, 64), (100, 25)])
def test_connections_leave_files_for_the_rest(
    file_limit: tuple[int, int], files: int, most: int
) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, file_limit[1]))
    assert connections_for(2048) == most
    assert connections_for(10) == 10
