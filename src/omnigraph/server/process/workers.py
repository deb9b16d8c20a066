"""One process or several behind one socket; correctness lives in storage, so workers need not know each other."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.errors import OmnigraphError, StartRefused
from omnigraph.server.process.listening import announce
from omnigraph.server.settings import METRICS_BIND, Settings

# Importing Arrow and Lance starts threads, and what was forked from several threads may hang. The parent of workers
# imports neither: each worker does, and a deployment that is handed in is one that imports them when it is made.
if TYPE_CHECKING:
    from omnigraph.server.process.deployment import Deployment

Deploy: TypeAlias = "Callable[[], Deployment]"

_YOUNG_SECONDS = 5.0  # a worker that fails sooner would fail again
_PAUSE_SECONDS = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LOG = logging.getLogger("omnigraph.server")


def serve_with(deploy: Deploy, settings: Settings, listen: Callable[[], socket.socket], *, workers: int = 1) -> None:
    """Open the graphs, bind, say where, serve; with several workers each opens them for itself after the fork."""
    if workers == 1:
        _serve(_opened(deploy), settings, listen())
        return
    if settings.metrics_bind is not None:
        raise StartRefused(f"{METRICS_BIND} works with one worker only; scrape /metrics instead")
    listening = SharedSocket.of(listen())
    crew = _Crew(lambda: _forked(deploy, settings, listening), listening.close)
    crew.start(workers)
    announce(listening)
    crew.watch()


class SharedSocket(socket.socket):
    """A listening socket of several workers that gives one connection a turn of the event loop.

    asyncio takes all that wait at once: of 8 connections that are opened together one worker got 8, the other none.
    """

    _has_given = False

    @classmethod
    def of(cls, listening: socket.socket) -> SharedSocket:
        """The same socket, taken over."""
        family, kind, proto = listening.family, listening.type, listening.proto
        return cls(family, kind, proto, listening.detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """A connection; BlockingIOError, as if none waited, every other time."""
        if self._has_given:
            self._has_given = False
            raise BlockingIOError
        found = super().accept()
        self._has_given = True
        return found


class _Crew:
    """Workers of one address: one that dies is replaced, unless it fails before it could have served anything."""

    def __init__(self, fork: Callable[[], int], close: Callable[[], None]) -> None:
        self._fork = fork
        self._close = close
        self._started: dict[int, float] = {}
        self._stopping = False
        self._failed = False

    def start(self, workers: int) -> None:
        """Fork, and pass on what asks the server to stop or to read everything again."""
        for _ in range(workers):
            self._add()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._forward)

    def watch(self) -> None:
        """Until all have ended; OmnigraphError when they could not go on."""
        while self._started:
            child, status = os.wait()
            began = self._started.pop(child, None)
            if began is None or self._stopping:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code == 0:
                self._stop()  # a worker that was asked to stop stops the whole server
            elif code > 0 and _is_young(began):
                self._failed = True
                self._stop()
            else:
                _LOG.error("a worker died and is replaced", extra={"pid": child, "status": code})
                if _is_young(began):
                    time.sleep(_PAUSE_SECONDS)
                self._add()
        if self._failed:
            raise OmnigraphError("a worker failed; its last words are above")

    def _add(self) -> None:
        # A signal between the fork and the next line would not reach the new worker.
        with _blocked():
            self._started[self._fork()] = time.monotonic()

    def _forward(self, number: int, _: object) -> None:
        if number == signal.SIGHUP:
            for child in self._started:
                _signal(child, number)
        else:
            self._stop()

    def _stop(self) -> None:
        self._stopping = True
        self._close()  # a connection accepted from now on would never be answered
        for child in self._started:
            _signal(child, signal.SIGTERM)


def _forked(deploy: Deploy, settings: Settings, listening: socket.socket) -> int:
    """A child that serves; the parent has one thread, so none is cut off in the middle of its work."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for number in _SIGNALS:  # the parent's way to handle them is not the child's
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what it is about to open is new enough
        deployment = _opened(deploy)
        if deployment.successor is None:
            signal.signal(signal.SIGHUP, hangup)
        _serve(deployment, settings, listening, worker=True)
        status = 0
    except OmnigraphError as error:
        sys.stderr.write(f"error: {error.message}\n")
    finally:
        sys.stderr.flush()
        os._exit(status)


def _opened(deploy: Deploy) -> Deployment:
    """The deployment, opened after it is decided how this process allocates: opening starts threads."""
    from omnigraph.server.process.heap import choose_allocator

    choose_allocator()
    return deploy()


def _serve(deployment: Deployment, settings: Settings, listening: socket.socket, *, worker: bool = False) -> None:
    from omnigraph.server.process.serve import run

    run(deployment, settings, listening, worker=worker)


def _is_young(began: float) -> bool:
    return time.monotonic() - began < _YOUNG_SECONDS


@contextmanager
def _blocked() -> Iterator[None]:
    """Keep signals waiting for the length of a block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _signal(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return
