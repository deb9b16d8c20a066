"""From a deployment to a serving process: say where it listens, serve, stop gracefully."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from wsgiref.simple_server import WSGIServer

import uvicorn
from prometheus_client import start_http_server
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from omnigraph.errors import StartRefused
from omnigraph.server.app import REQUEST_ID, Server
from omnigraph.server.http.exchange import PRECONDITION
from omnigraph.server.http.protocol import HEADER_BYTES, protocol
from omnigraph.server.http.rendering import SNAPSHOT_ID
from omnigraph.server.process.deployment import Deployment
from omnigraph.server.process.heap import return_freed
from omnigraph.server.process.listening import announce, parse_bind
from omnigraph.server.process.reload import follow_applied
from omnigraph.server.settings import Settings
from omnigraph.server.tracing import tracing_from

_SWITCH_SECONDS = 0.001
_LOG = logging.getLogger("omnigraph.server")


def run(deployment: Deployment, settings: Settings, listening: socket.socket, *, worker: bool = False) -> None:
    """Serve until SIGINT or SIGTERM; requests in flight end first. The parent of a worker says where it listens."""
    if deployment.successor is not None:
        # Until the loop listens for it, being asked to reload must not end the process.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(_serve(deployment, settings, listening, worker=worker))


async def _serve(deployment: Deployment, settings: Settings, listening: socket.socket, *, worker: bool) -> None:
    # A thread that computes lets go of the interpreter five times as often as usual: probes do not wait for it.
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = Server(deployment, settings, tracing_from(os.environ))
    if worker:
        server.reload_workers = lambda: os.kill(os.getppid(), signal.SIGHUP)
    config = uvicorn.Config(
        with_cors(server, settings),
        http=protocol(server.connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.wire.idle_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    wire = _Wire(config, server)
    metrics = _metrics_listener(server, settings.metrics_bind)
    if not worker:
        announce(listening)
    _LOG.info("serving", extra={"graphs": len(deployment.graphs), "state": deployment.state.value})
    following = asyncio.create_task(follow_applied(server, settings.reload_seconds))
    returning = asyncio.create_task(return_freed(server.pools))
    sweeping = asyncio.create_task(_sweep_uploads(server))
    try:
        await wire.serve(sockets=[listening])
    finally:
        following.cancel()
        returning.cancel()
        sweeping.cancel()
        if metrics is not None:
            metrics.shutdown()
            metrics.server_close()
        server.close()


async def _sweep_uploads(server: Server) -> None:
    """Remove uploaded files that were not used for too long, a few times in that period."""
    while True:
        await server.pools.small(server.uploads.sweep)
        await asyncio.sleep(server.uploads.limits.seconds / 4)


def _metrics_listener(server: Server, bind: str | None) -> WSGIServer | None:
    """An address where only metrics are answered, to every client that can reach it."""
    if bind is None:
        return None
    where = parse_bind(bind)
    try:
        listener, _ = start_http_server(where.port, where.host, server.metrics.registry)
    except OSError as error:
        raise StartRefused(f"cannot listen on {bind} for metrics: {error.strerror}") from error
    return listener


class _Wire(uvicorn.Server):
    """uvicorn's server, which tells endless responses when it is time to end."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._server = server

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal and end with 0 (uvicorn would raise it again afterwards); SIGHUP reads everything again.

        A server that follows no cluster has nothing to read, so a hangup ends it as it ends any program.
        """
        loop = asyncio.get_running_loop()
        handled = [signal.SIGINT, signal.SIGTERM]
        for number in handled:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        if self._server.deployment.successor is not None:
            loop.add_signal_handler(signal.SIGHUP, self._server.reload_asked.set)
            handled.append(signal.SIGHUP)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal makes the server say that it is not ready, so that no more is sent to it; then it ends."""
        seconds = self._server.settings.drain_seconds
        if seconds <= 0 or self._server.draining:
            super().handle_exit(sig, frame)
            return
        self._server.draining = True
        _LOG.info("draining", extra={"seconds": seconds})
        asyncio.get_running_loop().call_later(seconds, super().handle_exit, sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._server.closing.set()
        await super().shutdown(sockets)


def with_cors(server: Server, settings: Settings) -> ASGIApp:
    """The application, open to the origins that were named; to none by default."""
    if not settings.cors_origins:
        return server
    return CORSMiddleware(
        server,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Prefer", "Last-Event-ID", PRECONDITION, REQUEST_ID],
        expose_headers=["ETag", SNAPSHOT_ID, PRECONDITION, REQUEST_ID],
    )
