"""`graphs list` and `alias`: what only a server can answer."""

from __future__ import annotations

from omnigraph.cli.address.scope import ServerScope, resolve_scope
from omnigraph.cli.address.target import served_target, server_base
from omnigraph.cli.call import Call
from omnigraph.cli.input.params import params_of, plain_or_json
from omnigraph.cli.table.globals import ADDRESSING
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.rows import Envelope
from omnigraph.cli.verbs.data.query import print_rows
from omnigraph.errors import BadRequest


def list_graphs(call: Call) -> None:
    """The graphs of a server; a default graph plays no role."""
    scope = resolve_scope(call)
    assert isinstance(scope, ServerScope), "a served command resolves a server scope or fails"
    with server_base(call, ServerScope(scope.server, None)).remote() as server:
        graphs = sorted(server.server_graphs(), key=lambda each: each["graph_id"])
    if call.json:
        output.document({"graphs": graphs})
    else:
        output.write("".join(f"{each['graph_id']}\t{each['uri']}\n" for each in graphs))


def alias(call: Call) -> None:
    """A stored read under its short name."""
    offending = [name for name in ADDRESSING if call.given(name)]
    if offending:
        raise BadRequest(
            "an alias uses the server, graph and stored query of its binding in the operator config; "
            f"remove {', '.join(offending)}"
        )
    name, arguments = call.required("NAME"), call.rest("ARG")
    bound = call.config.aliases.get(name)
    if bound is None:
        known = ", ".join(sorted(call.config.aliases)) or "none"
        raise BadRequest(f"unknown alias '{name}' (defined: {known})")
    if len(arguments) > len(bound.args):
        raise BadRequest(f"alias '{name}' takes {len(bound.args)} positional arg(s), but {len(arguments)} were given")
    given = {name: plain_or_json(value) for name, value in zip(bound.args, arguments, strict=False)}
    params = {**bound.params, **given, **params_of(call)}
    with served_target(call, ServerScope(bound.server, bound.graph), write=False).remote() as graph:
        result = graph.queries.run(bound.query, params or None)
    envelope = Envelope(result.query_name, "main", None, result.columns, result.rows(), result.commit_id)
    print_rows(call, envelope, bound.format)
