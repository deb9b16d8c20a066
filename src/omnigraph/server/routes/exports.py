"""Exports: one cut of a graph as a stream of lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, cast

from starlette.responses import Response

from omnigraph.engine.changes.export_file import write_export
from omnigraph.policy.actions import Action
from omnigraph.server.http.answers import NDJSON
from omnigraph.server.http.exchange import Exchange, bound_branch, named_branch
from omnigraph.server.http.models import ExportRequest
from omnigraph.server.http.streams import Produced, Sink, Streamed


async def export(exchange: Exchange) -> Response:
    """Every entity of a branch, or of some types, as records that can be loaded again."""
    body = await exchange.json(ExportRequest)
    branch = named_branch(body.branch)
    exchange.allow(Action.EXPORT, branch=branch)
    core = exchange.graph.core

    def produce(sink: Sink) -> object:
        return write_export(core.view(bound_branch(branch)), cast("BinaryIO", sink), body.type_names)

    return await streamed(exchange, produce)


async def streamed(exchange: Exchange, produce: Callable[[Sink], object], kind: str = NDJSON) -> Response:
    """A response that a thread produces: memory is reserved first, then the graph's one cut is taken."""
    server, cut = exchange.server, exchange.graph.cut
    await server.transport.acquire()
    try:
        cut.take()
    except BaseException:
        server.transport.release()
        raise

    def release() -> None:
        cut.give_back()
        server.transport.release()

    produced = Produced(server.pools, produce, release)
    await produced.begun()
    return Streamed(produced, kind)
