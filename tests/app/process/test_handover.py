"""Open connections go from one process to another, and the client notices nothing."""

import os
import socket

import pytest

from teaser.app.process.handover import Handover


def test_a_connection_goes_on_in_another_process() -> None:
    handover = Handover()
    client, served = socket.socketpair()
    client.sendall(b"sent before")
    assert handover.give(served)
    served.close()
    child = os.fork()
    if child == 0:
        taken = handover.take()
        taken.setblocking(True)
        taken.sendall(taken.recv(100).upper())
        os._exit(0)
    client.settimeout(30)
    assert client.recv(100) == b"SENT BEFORE"
    assert os.waitpid(child, 0)[1] == 0
    # This process has not taken it, so it has an own end only in the queue, which is empty now.
    with pytest.raises(BlockingIOError):
        handover.take()
    assert client.recv(100) == b""
    client.close()
    handover.close()


def test_a_queue_that_is_full_says_so_and_keeps_all() -> None:
    handover = Handover()
    client, served = socket.socketpair()
    given = 0
    while given < 5000 and handover.give(served):
        given += 1
    assert 0 < given < 5000
    for _ in range(given):
        handover.take().close()
    with pytest.raises(BlockingIOError):
        handover.take()
    assert handover.give(served)
    client.close()
    served.close()
    handover.close()
