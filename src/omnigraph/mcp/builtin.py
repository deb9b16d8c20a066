"""Tools that every graph has, without stored queries: looking, searching, checked reads, and changes to be reviewed.

They are the verbs of the SDK, awaited; what answers them decides about rights. What changes rows goes to a branch of
its own, and a person merges it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from omnigraph.compiler.diagnostics import did_you_mean
from omnigraph.errors import BadRequest, BranchNotFound, NotFound

# An answer is for a model to read: so many rows, and not more than so many on request.
ROWS, MOST_ROWS = 100, 1_000
_FOUND = 10
_TEXT = {"type": "string"}
_MAIN = "main"

Run: TypeAlias = Callable[[Any, Mapping[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what it is for, what it takes, and which rights it is listed for.

    `here` is needed on the branch in use, `there` on a new branch; `whole` asks for a reader of everything.
    """

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...]
    run: Run
    here: frozenset[str] = frozenset({"read"})
    there: frozenset[str] = frozenset()
    whole: bool = False

    @property
    def writes(self) -> bool:
        return bool(self.there)

    def entry(self) -> dict[str, Any]:
        """In the form of the catalog, with the schema of its arguments."""
        schema = {"type": "object", "properties": dict(self.properties), "required": list(self.required)}
        return {
            "name": self.name,
            "tool_name": self.name,
            "description": self.description,
            "mutation": self.writes,
            "params": [],
            "input_schema": {**schema, "additionalProperties": False},
        }


def tools_for(here: frozenset[str], there: frozenset[str], *, restricted: bool) -> list[Tool]:
    """The tools that a caller with these actions may use."""
    return [
        each for each in TOOLS.values() if each.here <= here and each.there <= there and not (each.whole and restricted)
    ]


async def call(graph: Any, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool on an awaited graph; arguments that it does not take are refused."""
    tool = TOOLS[name]
    for given in arguments:
        if given not in tool.properties:
            near = did_you_mean(given, tool.properties)
            raise BadRequest(f"'{name}' takes no argument '{given}'{f'; {near}' if near else ''}")
    for needed in tool.required:
        if arguments.get(needed) is None:
            raise BadRequest(f"'{name}' needs the argument '{needed}'")
    for given, shape in tool.properties.items():
        _require_kind(name, given, arguments.get(given), shape["type"])
    return await tool.run(graph, arguments)


def _require_kind(name: str, given: str, value: Any, kind: str) -> None:
    wanted = {"string": str, "integer": int, "object": Mapping}[kind]
    if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise BadRequest(f"'{given}' of '{name}' is {'an' if kind[0] in 'aeio' else 'a'} {kind}")


async def _describe(graph: Any, _: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await graph.describe()).document()
    return {name: value for name, value in found.items() if name != "uri"}


async def _look_up(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    kind, wanted = given["type"], given["id"]
    found = await graph.get(kind, wanted)
    if found is None:
        raise NotFound(f"{kind} '{wanted}' not found")
    return {"type": kind, "id": wanted, "entity": found}


async def _neighbours(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: given.get(name) for name in ("edge", "direction", "after")}
    limit = _bounded(given.get("limit"), _FOUND)
    document: dict[str, Any] = (await graph.neighbours(given["type"], given["id"], limit=limit, **options)).document()
    return document


async def _search(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """One query for each property; which names there are comes from the graph, so none is taken from the agent."""
    described = {each.name: each for each in (await graph.describe()).types if each.kind == "node"}
    kind = described.get(given["type"])
    if kind is None:
        near = did_you_mean(given["type"], described)
        raise NotFound(f"there is no node type '{given['type']}'{f'; {near}' if near else ''}")
    texts = [each.name for each in kind.declared if each.indexed and each.type.rstrip("?") == "String"]
    wanted = [each for each in texts if given.get("property") in (None, each)]
    if not wanted:
        listed = ", ".join(texts) or "none"
        raise BadRequest(f"'{kind.name}' has no text index on that property (indexed texts: {listed})")
    limit, found = _bounded(given.get("limit"), _FOUND), []
    for name in wanted:
        source = (
            f"query find($text: String) {{ match {{ $x: {kind.name} search($x.{name}, $text) }} return {{ $x }}"
            f" order {{ bm25($x.{name}, $text) }} limit {limit} }}"
        )
        rows = (await graph.query(source, None, {"text": given["text"]})).rows(js_safe=True)
        found += [{"property": name, "entity": row["x"]} for row in rows]
    return {"type": kind.name, "found": found[: limit * len(wanted)]}


async def _query(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    found = await graph.query(given["query"], None, given.get("params"))
    rows, limit = found.rows(js_safe=True), _bounded(given.get("limit"), ROWS)
    cut = {"truncated": True, "advice": "narrow the match or use limit in the query"} if len(rows) > limit else {}
    return {"rows": rows[:limit], "row_count": len(rows), "graph_commit_id": found.commit_id, **cut}


async def _explain(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"plan": str(await graph.explain(given["query"], None, given.get("params")))}


async def _history(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    found = await graph.commits.list(limit=_bounded(given.get("limit"), _FOUND))
    return {"commits": [each.document() for each in found]}


async def _propose(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    branch = given["branch"].strip()
    if branch in (_MAIN, graph.branch_name):
        raise BadRequest(f"a proposal goes to a branch of its own, not to '{branch}'; choose a new name")
    change = (given["query"], None, given.get("params"), branch)
    created = False
    try:
        done = await graph.mutate(*change, message=given["message"])
    except BranchNotFound:  # tried first, because the caller may not be allowed to list branches
        await graph.branches.create(branch)
        created, done = True, await graph.mutate(*change, message=given["message"])
    return {
        "branch": branch,
        "branch_created": created,
        "affected_nodes": done.affected_nodes,
        "affected_edges": done.affected_edges,
        "graph_commit_id": done.commit_id,
        "advice": "nothing but this branch has changed; use graph_request_merge when the proposal is complete",
    }


async def _request_merge(graph: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    source, into = given["branch"], given.get("into") or graph.branch_name
    found = await graph.branches.merge(source, into, preview=True)
    return {
        "branch": source,
        "into": into,
        "outcome": found.outcome.value,
        "changes": {
            name: {"inserted": each.inserted, "updated": each.updated, "deleted": each.deleted}
            for name, each in sorted(found.changes.items())
        },
        "conflicts": [{"entity": each.entity, "kind": each.kind, "message": each.message} for each in found.conflicts],
        "advice": f"a person merges it: omnigraph branch merge {source} --into {into}",
    }


def _bounded(limit: int | None, usual: int) -> int:
    wanted = usual if limit is None else limit
    if not 1 <= wanted <= MOST_ROWS:
        raise BadRequest(f"limit must be between 1 and {MOST_ROWS}")
    return wanted


_LIMIT = {"type": "integer", "description": f"at most {MOST_ROWS}"}
_QUERY = {"type": "string", "description": "text in the query language: query q($n: String) { match … return … }"}
_PARAMS = {"type": "object", "description": "values of the query's parameters, by name"}
_KIND = {"type": "string", "description": "a type of the schema"}
_ID = {"type": "string", "description": "the id of the entity; where the type has a key, that is it"}
_MERGE = frozenset({"read"})

TOOLS: Mapping[str, Tool] = {
    each.name: each
    for each in (
        Tool(
            "graph_describe",
            "Types with their properties, keys, indexes and counts, and the branches. Call this first.",
            {},
            (),
            _describe,
        ),
        Tool("graph_look_up", "One entity by type and id.", {"type": _KIND, "id": _ID}, ("type", "id"), _look_up),
        Tool(
            "graph_neighbours",
            "The edges of a node by type and direction, counted, with a page of each.",
            {
                "type": _KIND,
                "id": _ID,
                "edge": {"type": "string", "description": "only this edge type"},
                "direction": {"type": "string", "description": "out or in"},
                "limit": _LIMIT,
                "after": {"type": "string", "description": "what a group gave as `after`, to continue it"},
            },
            ("type", "id"),
            _neighbours,
        ),
        Tool(
            "graph_search",
            "Full-text search in the indexed texts of a node type, best first.",
            {"type": _KIND, "text": _TEXT, "property": _TEXT, "limit": _LIMIT},
            ("type", "text"),
            _search,
        ),
        Tool(
            "graph_query",
            "Run a read in the query language; it is checked against the schema and bounded in time and rows.",
            {"query": _QUERY, "params": _PARAMS, "limit": _LIMIT},
            ("query",),
            _query,
        ),
        Tool(
            "graph_explain",
            "Check a read without running it: errors with their place, or its plan.",
            {"query": _QUERY, "params": _PARAMS},
            ("query",),
            _explain,
        ),
        Tool("graph_history", "The newest commits of the branch in use.", {"limit": _LIMIT}, (), _history),
        Tool(
            "graph_propose",
            "Run a mutation on a branch of its own, created if it is missing; the branch in use stays as it is.",
            {
                "query": _QUERY,
                "params": _PARAMS,
                "branch": {"type": "string", "description": "such as proposals/rename-ada"},
                "message": {"type": "string", "description": "why this is changed; kept with the commit"},
            },
            ("query", "branch", "message"),
            _propose,
            there=frozenset({"change", "branch_create"}),
        ),
        Tool(
            "graph_request_merge",
            "What merging a branch would change, its conflicts, and how a reviewer merges it. Merges nothing.",
            {"branch": _TEXT, "into": _TEXT},
            ("branch",),
            _request_merge,
            here=_MERGE,
            whole=True,
        ),
    )
}
