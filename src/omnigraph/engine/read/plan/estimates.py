"""Row estimates for planning, from the row counts that the snapshot records; no table is opened for them."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.estimates import NEUTRAL
from omnigraph.compiler.types import union_members
from omnigraph.engine.views.view import View


class SnapshotEstimates:
    """Answers the planner from one view; `lengths` says how many values a list parameter has."""

    def __init__(self, view: View, lengths: Mapping[str, int] | None = None) -> None:
        self._view = view
        self._lengths = lengths or {}

    def rows(self, type_name: str) -> float:
        """Nodes of a type, as published."""
        return float(max(self._count(type_name), 1))

    def degree(self, edge: str, direction: str) -> float:
        """The mean over all nodes on the side where the hop starts; the types of a union add up."""
        return sum(self._degree(name, direction) for name in union_members(edge))

    def _degree(self, edge: str, direction: str) -> float:
        info = self._view.catalog.edges[edge]
        ends = {"out": [info.from_type], "in": [info.to_type], "both": [info.from_type, info.to_type]}[direction]
        return sum(self._count(edge) / self.rows(end) for end in ends)

    def selectivity(self, type_name: str, condition: ir.Condition) -> float:
        """One row for each value that a key is compared with; otherwise by the shape of the condition."""
        match condition:
            case ir.Compare("=", ir.Property(name=name), _) if self._is_key(type_name, name):
                return 1.0 / self.rows(type_name)
            case ir.In(ir.Property(name=name), options, negated=False) if self._is_key(type_name, name):
                length = self._length(options)
                if length is not None:
                    return min(1.0, length / self.rows(type_name))
            case ir.And(parts):
                return min(self.selectivity(type_name, part) for part in parts) if parts else 1.0
            case ir.Or(parts):
                return min(1.0, sum(self.selectivity(type_name, part) for part in parts))
        return NEUTRAL.selectivity(type_name, condition)

    def _is_key(self, type_name: str, name: str) -> bool:
        node = self._view.catalog.nodes.get(type_name)
        return name == "id" or (node is not None and node.key == (name,))

    def _length(self, options: ir.Expr) -> int | None:
        match options:
            case ir.Const(tuple() as values):
                return len(values)
            case ir.Param(name):
                return self._lengths.get(name)
            case _:
                return None

    def _count(self, type_name: str) -> int:
        catalog = self._view.catalog
        types = (catalog.nodes.get(name) or catalog.edges[name] for name in union_members(type_name))
        return sum(0 if (found := self._view.find(info)) is None else found.row_count for info in types)
