"""Workers that share an address share its connections."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from omnigraph.server.process.listening import Bind, bound_socket
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


def test_the_parent_of_workers_imports_nothing_that_starts_threads() -> None:
    """What Arrow and Lance have running in other threads would be cut off by the fork, and Lance warns of it."""
    parts = "main", "logs", "settings", "process.listening", "process.workers", "studio.sign_in"
    names = [f"omnigraph.server.{part}" for part in parts]
    names += ["omnigraph.cli.verbs.operate.serve", "omnigraph.cli.address.target", "prometheus_client", "uvicorn"]
    code = f"import sys, {', '.join(names)}; print([n for n in ('lance', 'pyarrow', 'numpy') if n in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
