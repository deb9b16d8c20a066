"""Where tools come from: a served graph with its stored queries, or a graph in storage with a file of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.compiler.query.stored import declared_in, registry
from omnigraph.compiler.source import Source
from omnigraph.errors import NotFound
from omnigraph.mcp.parameters import split_message

if TYPE_CHECKING:
    from omnigraph.client.aio import AsyncGraph
    from omnigraph.engine.api.graph import Graph
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import MutationResult

# So many commits tell an agent what happened lately.
HISTORY = 50


class ToolSource(Protocol):
    """What an agent can be offered."""

    async def catalog(self) -> list[dict[str, Any]]:
        """The queries, in the form of the server's catalog."""

    async def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of one query, or the receipt of one mutation."""

    async def schema(self) -> str:
        """The schema as it was written."""

    async def branches(self) -> list[str]:
        """The names of the branches."""

    async def history(self) -> list[dict[str, Any]]:
        """The newest commits."""


class ServedSource:
    """A graph of a server; every call passes the server's own gates."""

    def __init__(self, graph: AsyncGraph) -> None:
        self._graph = graph

    async def catalog(self) -> list[dict[str, Any]]:
        return await self._graph.queries.list()

    async def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        writes = {entry["name"]: entry["mutation"] for entry in await self.catalog()}
        if writes.get(name):
            params, message = split_message(arguments)
            return _receipt(await self._graph.queries.mutate(name, params, message=message))
        return _answer(await self._graph.queries.run(name, arguments))

    async def schema(self) -> str:
        return await self._graph.schema.source

    async def branches(self) -> list[str]:
        return await self._graph.branches.list()

    async def history(self) -> list[dict[str, Any]]:
        return [commit.document() for commit in await self._graph.commits.list(limit=HISTORY)]


class StoredSource:
    """A graph in storage and a file of queries; mutations are offered only when asked for."""

    def __init__(self, graph: Graph, queries: Path, *, writes: bool) -> None:
        self._graph = graph
        self._queries = queries
        self._writes = writes

    async def catalog(self) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._catalog)

    def _catalog(self) -> list[dict[str, Any]]:
        text = self._queries.read_text(encoding="utf-8")
        stored = registry(declared_in([Source(text, str(self._queries))]))
        return [each.to_json() for each in stored.values() if self._writes or not each.is_mutation]

    async def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._run, name, arguments)

    def _run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {entry["name"]: entry["mutation"] for entry in self._catalog()}
        if name not in known:
            raise NotFound(f"there is no tool '{name}' (known: {', '.join(known) or 'none'})")
        if known[name]:
            params, message = split_message(arguments)
            return _receipt(self._graph.mutate(self._queries, name, params, message=message))
        return _answer(self._graph.query(self._queries, name, arguments))

    async def schema(self) -> str:
        return await asyncio.to_thread(lambda: self._graph.schema.source)

    async def branches(self) -> list[str]:
        return await asyncio.to_thread(lambda: list(self._graph.branches.list()))

    async def history(self) -> list[dict[str, Any]]:
        found = await asyncio.to_thread(lambda: self._graph.commits.list(limit=HISTORY))
        return [commit.document() for commit in found]


def _answer(found: Result) -> dict[str, Any]:
    """Rows as any JSON reader takes them: integers beyond 2⁵³ are text, as with `js_safe` everywhere else."""
    return {"rows": found.rows(js_safe=True), "graph_commit_id": found.commit_id}


def _receipt(done: MutationResult) -> dict[str, Any]:
    return {
        "affected_nodes": done.affected_nodes,
        "affected_edges": done.affected_edges,
        "graph_commit_id": done.commit_id,
        "commit": None if done.commit is None else done.commit.document(),
    }
