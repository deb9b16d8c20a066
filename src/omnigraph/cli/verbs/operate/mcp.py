"""`mcp`: a graph as tools for an agent, on stdin and stdout."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.address.target import ServedTarget, read_target, write_target
from omnigraph.cli.call import Call
from omnigraph.cli.input.files import source_file
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.mcp.source import ToolSource


def mcp(call: Call) -> None:
    """Speak the protocol until the agent goes away."""
    writes = call.given("--allow-writes")
    target = write_target(call) if writes else read_target(call)
    if isinstance(target, ServedTarget):
        if call.text("--query") is not None:
            raise BadRequest("a server has its own stored queries; --query goes with a graph in storage")
        asyncio.run(_serve(_served(target, call.value("--branch"))))
        return
    path = call.text("--query")
    from omnigraph.mcp.source import StoredSource

    with target.storage_writer() if writes else target.storage_reader() as graph:
        bound = graph.branch(call.value("--branch"))
        asyncio.run(_serve(StoredSource(bound, None if path is None else Path(source_file(path)), writes=writes)))


def _served(target: ServedTarget, branch: str) -> ToolSource:
    from omnigraph.client.aio import AsyncGraph
    from omnigraph.client.transport import AsyncTransport
    from omnigraph.mcp.source import ServedSource

    return ServedSource(AsyncGraph(AsyncTransport(target.uri, target.token), branch))


async def _serve(source: ToolSource) -> None:
    from omnigraph.mcp.protocol import serve_stdio

    await serve_stdio(source, version("omnigraph"))
