"""One process or several behind one socket; correctness lives in storage, so workers need not know each other."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable

from omnigraph.errors import OmnigraphError, StartRefused
from omnigraph.server.process.deployment import Deployment
from omnigraph.server.process.serve import announce, run
from omnigraph.server.settings import METRICS_BIND, Settings

Deploy = Callable[[], Deployment]


def serve_with(deploy: Deploy, settings: Settings, listen: Callable[[], socket.socket], *, workers: int = 1) -> None:
    """Open the graphs, bind, say where, serve; with several workers each opens them for itself after the fork."""
    if workers == 1:
        deployment = deploy()
        run(deployment, settings, listen())
        return
    if settings.metrics_bind is not None:
        raise StartRefused(f"{METRICS_BIND} works with one worker only; scrape /metrics instead")
    listening = listen()
    children = [_forked(deploy, settings, listening) for _ in range(workers)]
    _forward_signals(children)  # before anybody knows that there is somebody to signal
    announce(listening)
    listening.close()
    _wait_for(children)


def _forked(deploy: Deploy, settings: Settings, listening: socket.socket) -> int:
    """A child that serves; the parent never opens a graph, so no thread of Lance is ever forked."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what it is about to open is new enough
        deployment = deploy()
        if deployment.successor is None:
            signal.signal(signal.SIGHUP, hangup)
        run(deployment, settings, listening, announced=False)
        status = 0
    except OmnigraphError as error:
        sys.stderr.write(f"error: {error.message}\n")
    finally:
        sys.stderr.flush()
        os._exit(status)


def _forward_signals(children: list[int]) -> None:
    """Pass on what asks the server to stop or to read everything again."""

    def forward(number: int, _: object) -> None:
        for child in children:
            _signal(child, signal.SIGHUP if number == signal.SIGHUP else signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, forward)


def _wait_for(children: list[int]) -> None:
    """Until all have ended; a worker that dies takes the others with it, so that a supervisor notices."""
    failed = False
    remaining = set(children)
    while remaining:
        child, status = os.wait()
        if child not in remaining:
            continue
        remaining.discard(child)
        if os.waitstatus_to_exitcode(status) != 0:
            failed = True
            for other in remaining:
                _signal(other, signal.SIGTERM)
    if failed:
        raise OmnigraphError("a worker failed; its last words are above")


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return
