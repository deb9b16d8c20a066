"""Workers that share an address share its connections."""

from __future__ import annotations

import socket

import pytest

from omnigraph.server.process.serve import Bind, bound_socket
from omnigraph.server.process.workers import SharedSocket


def test_one_connection_is_taken_a_turn_however_many_wait() -> None:
    with SharedSocket.of(bound_socket(Bind("127.0.0.1", 0))) as listening:
        listening.setblocking(False)
        assert listening.proto == socket.IPPROTO_TCP  # without it asyncio would leave Nagle's algorithm on
        clients = [socket.create_connection(listening.getsockname()) for _ in range(3)]
        taken = []
        for _ in clients:
            taken.append(listening.accept()[0])
            with pytest.raises(BlockingIOError):
                listening.accept()
        with pytest.raises(BlockingIOError):  # none waits, and that is not counted
            listening.accept()
        clients.append(socket.create_connection(listening.getsockname()))
        taken.append(listening.accept()[0])
        assert len(taken) == 4
        for each in (*taken, *clients):
            each.close()
