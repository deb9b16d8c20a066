"""Where tools come from: a served graph with its stored queries, or a graph in storage with a file of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.compiler.query.stored import declared_in, registry
from omnigraph.compiler.source import Source
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.errors import NotFound
from omnigraph.mcp import builtin
from omnigraph.mcp.parameters import refuse_unknown, split_message

if TYPE_CHECKING:
    from omnigraph.client.aio import AsyncGraph
    from omnigraph.engine.api.graph import Graph
    from omnigraph.engine.read.shape.result import Result
    from omnigraph.engine.values.result import MutationResult

# So many commits tell an agent what happened lately.
HISTORY = 50
# Any branch that is not protected will do to ask what an agent may propose.
PROPOSAL = "proposals/agent"
# What one read of an agent may use of this process.
LIMITS = Limits(seconds=60.0)
_PARTS = ("branches", "commits")


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
        """What the sender may do on the current branch; every call is checked again."""
        allowed = await self._graph.permissions()
        here = frozenset(allowed["actions"])
        there = frozenset((await self._graph.branch(PROPOSAL).permissions())["actions"])
        stored = await self._graph.queries.list() if {"invoke_query", "read"} <= here else []
        usable = [each for each in stored if "change" in here or not each["mutation"]]
        built_in = builtin.tools_for(here, there, restricted=allowed["restricted"])
        return _together(usable, built_in)

    async def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        stored = {entry["name"]: entry for entry in await self._graph.queries.list()}
        if name in builtin.TOOLS and name not in stored:
            return await builtin.call(self._graph, name, arguments)
        if name in stored:
            refuse_unknown(name, arguments, stored[name])
        if name in stored and stored[name]["mutation"]:
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

    def __init__(self, graph: Graph, queries: Path | None = None, *, writes: bool) -> None:
        self._graph = graph
        self._queries = queries
        self._writes = writes

    async def catalog(self) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._catalog)

    def _catalog(self) -> list[dict[str, Any]]:
        actions = frozenset({"read", "change", "branch_create"} if self._writes else {"read"})
        return _together(self._declared(), builtin.tools_for(actions, actions, restricted=False))

    def _declared(self) -> list[dict[str, Any]]:
        if self._queries is None:
            return []
        text = self._queries.read_text(encoding="utf-8")
        stored = registry(declared_in([Source(text, str(self._queries))]))
        return [each.to_json() for each in stored.values() if self._writes or not each.is_mutation]

    async def run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        declared = await asyncio.to_thread(self._declared)
        if name in builtin.TOOLS and all(each["name"] != name for each in declared):
            if builtin.TOOLS[name].writes and not self._writes:
                raise NotFound(f"there is no tool '{name}': nothing may be written here")
            return await builtin.call(Awaited(self._graph), name, arguments)
        return await asyncio.to_thread(self._run, name, arguments)

    def _run(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = {entry["name"]: entry for entry in self._declared()}
        if name not in known or self._queries is None:
            raise NotFound(f"there is no tool '{name}' (known: {', '.join(known) or 'none'})")
        refuse_unknown(name, arguments, known[name])
        if known[name]["mutation"]:
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


class Awaited:
    """A graph in storage, or a part of one, whose verbs are awaited, as those of a served one are."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name in _PARTS:
            return Awaited(getattr(self._inner, name))
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def run(*arguments: Any, **options: Any) -> Any:
            if name == "query":
                options = {"limits": LIMITS, **options}
            return asyncio.to_thread(found, *arguments, **options)

        return run


def _together(stored: list[dict[str, Any]], built_in: Sequence[builtin.Tool]) -> list[dict[str, Any]]:
    """Stored queries and what every graph has; a stored query takes the place of a tool with its name."""
    taken = {each["tool_name"] for each in stored}
    return [*stored, *(each.entry() for each in built_in if each.name not in taken)]


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
