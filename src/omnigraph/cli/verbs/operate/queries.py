"""`queries list` and `queries validate`: the stored queries of an applied graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnigraph.cli.address.scope import cluster_scope
from omnigraph.cli.call import Call
from omnigraph.cli.terminal import output
from omnigraph.compiler.compile import compile_query
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.query.stored import StoredQuery, registry
from omnigraph.display import counted
from omnigraph.errors import BadRequest

if TYPE_CHECKING:
    from omnigraph.cluster.boot import AppliedGraph


def list_queries(call: Call) -> None:
    """Names, parameters and what they say about themselves."""
    stored = registry(_graph(call).queries).values()
    if call.json:
        output.document({"queries": [_json(query) for query in stored]})
        return
    for query in stored:
        kind = "mutation" if query.is_mutation else "read"
        params = ", ".join(f"${param.name}: {param.type}" for param in query.query.params)
        output.line(f"{kind}  {query.name}({params}) [mcp: {query.name}]")
        for label, text in (("description", query.query.description), ("instruction", query.query.instruction)):
            if text is not None:
                output.line(_aligned(f"    {label}: ", text))
    if not stored:
        output.line("(no stored queries registered)")


def validate(call: Call) -> int:
    """Whether every stored query fits the schema that its graph accepts now."""
    import omnigraph as og

    applied = _graph(call)
    stored = registry(applied.queries)
    with og.open(applied.uri, read_only=True) as graph:
        catalog = graph.schema.catalog
    breakages, warnings = [], []
    for name, query in stored.items():
        try:
            compile_query(query.source, catalog, name)
        except CompileError as error:
            breakages.append({"query": name, "message": error.summary})
        for param in query.query.params:
            if param.type.dim is not None:
                message = f"the parameter ${param.name} is a vector, which few callers can provide"
                warnings.append({"query": name, "message": message})
    _report(call, len(stored), breakages, warnings)
    return 1 if breakages else 0


def _report(call: Call, count: int, breakages: list[dict[str, str]], warnings: list[dict[str, str]]) -> None:
    if call.json:
        output.document({"ok": not breakages, "breakages": breakages, "warnings": warnings})
        return
    for found in breakages:
        output.line(f"ERROR  query '{found['query']}': {found['message']}")
    for found in warnings:
        output.line(f"WARN   query '{found['query']}': {found['message']}")
    if not breakages:
        output.line(f"OK  {counted(count, 'stored query')} type-check against the schema")


def _graph(call: Call) -> AppliedGraph:
    """The applied graph that is addressed, or the only one."""
    from omnigraph.cluster.boot import read_applied

    scope = cluster_scope(call)
    graphs = {graph.id: graph for graph in read_applied(scope.root, call.env).graphs}
    if scope.graph is None and len(graphs) == 1:
        return next(iter(graphs.values()))
    if scope.graph is None:
        raise BadRequest(f"the cluster has {len(graphs)} graphs ({', '.join(graphs)}); pass --graph <id>")
    if scope.graph not in graphs:
        known = ", ".join(graphs)
        raise BadRequest(f"graph '{scope.graph}' is not applied in cluster '{scope.root}' (applied: {known})")
    return graphs[scope.graph]


def _json(query: StoredQuery) -> dict[str, Any]:
    notes = {"description": query.query.description, "instruction": query.query.instruction}
    return {
        "name": query.name,
        "mcp_expose": True,
        "tool_name": None,
        "mutation": query.is_mutation,
        **{key: text for key, text in notes.items() if text is not None},
        "params": [
            {"name": param.name, "type": str(param.type).removesuffix("?"), "nullable": param.type.nullable}
            for param in query.query.params
        ],
    }


def _aligned(label: str, text: str) -> str:
    first, *rest = text.splitlines() or [""]
    return "\n".join([label + first, *(" " * len(label) + line for line in rest)])
