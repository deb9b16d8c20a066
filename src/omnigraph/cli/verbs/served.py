"""`graphs list` and `alias`: what only a server can answer."""

from __future__ import annotations

from omnigraph.cli.call import Call
from omnigraph.cli.globals import ADDRESSING
from omnigraph.cli.params import params_of
from omnigraph.cli.scope import ServerScope, resolve_scope
from omnigraph.cli.target import served
from omnigraph.errors import BadRequest


def list_graphs(call: Call) -> None:
    """The graphs of a server; a default graph plays no role."""
    scope = resolve_scope(call)
    assert isinstance(scope, ServerScope), "a served command resolves a server scope or fails"
    raise served(call, ServerScope(scope.server, None), write=False)


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
    params_of(call)  # what is wrong with them is said before the server is asked
    raise served(call, ServerScope(bound.server, bound.graph), write=False)
