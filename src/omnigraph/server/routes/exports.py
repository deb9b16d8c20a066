"""Exports: one cut of a graph as a stream of lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, cast

from starlette.responses import Response

from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import NDJSON
from omnigraph.server.http.exchange import Exchange
from omnigraph.server.http.models import ExportRequest
from omnigraph.server.http.streams import Produced, Sink, Streamed
from omnigraph.server.routes.reads import read_target


async def export(exchange: Exchange) -> Response:
    """Every entity of a branch, or of some types, as records that can be loaded again."""
    body = await exchange.json(ExportRequest)
    target = await read_target(exchange, body.branch, body.snapshot, body.at)
    await exchange.allow(Action.EXPORT, branch=target.branch)
    graph = exchange.graph.handle

    def produce(sink: Sink) -> object:
        return graph.export(cast("BinaryIO", sink), body.type_names, branch=target.live, at=target.commit)

    return await streamed(exchange, produce)


async def streamed(exchange: Exchange, produce: Callable[[Sink], object]) -> Response:
    """A response that a thread produces, once memory is reserved; the engine refuses a second one of the same graph."""
    server = exchange.server
    await server.transport.acquire()
    produced = Produced(server.pools, produce, server.transport.release)
    await produced.begun()
    return Streamed(produced, NDJSON)
