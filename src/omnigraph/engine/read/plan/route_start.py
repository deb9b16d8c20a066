"""Where a read that is answered in one go begins, and its hops: one node that is named, edges of one type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import MatchOp, NodeScan
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.match.key_lookup import id_text, names_node


@dataclass(frozen=True, slots=True)
class Start:
    """The node that such a read begins at: of which type, and what its key, or its id, has to be."""

    var: str
    type_name: str  # or several, as a union has them
    column: ir.Property
    key: ir.Param | ir.Const

    def id(self, values: Mapping[str, Any]) -> str | None:
        """The id of the node in one call; None for a value that cannot be one."""
        return id_text(self.column.type, constant(self.key, values))


@dataclass(frozen=True, slots=True)
class Hop:
    """One hop: over all edges of a type, from the node before it, to the nodes that satisfy conditions."""

    edge: str
    tail_type: str
    head_type: str
    direction: str
    target: str
    target_type: str
    predicates: tuple[ir.Compare, ...] = ()

    @property
    def tables(self) -> tuple[str, str, str]:
        """The tables of its edges and of the nodes at both ends."""
        return f"edge:{self.edge}", f"node:{self.tail_type}", f"node:{self.head_type}"


def constant(expr: ir.Const | ir.Param, values: Mapping[str, Any]) -> Any:
    """The value of a constant or a parameter in one call."""
    return expr.value if isinstance(expr, ir.Const) else values.get(expr.name)


def start_of(op: MatchOp, catalog: Catalog) -> Start | None:
    """The start that a scan is; None where it asks for anything else than one node by its key or id."""
    if not isinstance(op, NodeScan) or op.kind != "node" or op.joins:
        return None
    match op.predicates:
        case (ir.Compare("=", ir.Property() as column, (ir.Param() | ir.Const()) as key),):
            pass
        case (ir.Compare("=", (ir.Param() | ir.Const()) as key, ir.Property() as column),):
            pass
        case _:
            return None
    types = union_members(op.type_name)
    named = bool(types) and all(names_node(catalog.nodes[name], column) for name in types)
    return Start(op.var, op.type_name, column, key) if named else None
