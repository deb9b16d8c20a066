"""Nodes and edges as values: the columns they have, and the objects that they are in results."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import EdgeVar, NodeVar
from omnigraph.compiler.types import PropType, union_members

# Which type an entity of a union has; no declared property can carry the name.
TYPE_COLUMN = "@type"
# What the language calls stored columns, and their names; no declared property can carry either.
NODE_COLUMNS = {"id": "id"}
EDGE_COLUMNS = {"id": "id", "from": "src", "to": "dst"}


def whole(var: str, variable: NodeVar | EdgeVar, scope: Scope) -> ir.Node:
    """A node or an edge as a value: identity in comparisons and counts, an object in results."""
    info = scope.info(variable)
    names = tuple(name for name in info.properties if name not in info.blobs)
    if isinstance(variable, EdgeVar):
        shared = tuple((name, info.properties[name]) for name in names)
        fields = None if variable.type_name in scope.catalog.edges else shared
        return ir.Node(var, variable.type_name, ("src", "dst", *names), variable.optional, fields, "edge")
    united = variable.interface is not None or variable.type_name not in scope.catalog.nodes
    fields = tuple((name, info.properties[name]) for name in names) if united else None
    return ir.Node(var, variable.type_name, names, variable.optional, fields)


def node_record(node: ir.Node, scope: Scope) -> ir.Record:
    """A node or an edge as the object that it is in results, made of its parts."""
    variable = scope.find(node.var)
    assert variable is not None
    kinds = scope.info(variable).properties
    shown = {stored: name for name, stored in EDGE_COLUMNS.items()} if node.kind == "edge" else {}
    parts: list[tuple[str, ir.Expr, PropType]] = [("id", ir.Property(node.var, "id", ir.STRING), ir.STRING)]
    if node.fields is not None:
        parts.append((TYPE_COLUMN, _type_name(node), ir.STRING))
    for name in node.properties:
        kind = kinds.get(name, ir.STRING)
        parts.append((shown.get(name, name), ir.Property(node.var, name, kind), kind))
    members = tuple((name, kind) for name, _, kind in parts)
    kind = PropType("Node", nullable=node.optional, members=members)
    return ir.Record(tuple(ir.Member(name, value) for name, value, _ in parts), kind, node)


def _type_name(node: ir.Node) -> ir.Expr:
    types = union_members(node.type_name)
    return ir.Property(node.var, TYPE_COLUMN, ir.STRING) if len(types) > 1 else ir.Const(node.type_name, ir.STRING)
