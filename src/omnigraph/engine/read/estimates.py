"""Row estimates for planning, from the row counts that the snapshot records; no table is opened for them."""

from __future__ import annotations

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.estimates import NEUTRAL
from omnigraph.engine.view import View


class SnapshotEstimates:
    """Answers the planner from one view."""

    def __init__(self, view: View) -> None:
        self._view = view

    def rows(self, type_name: str) -> float:
        """Nodes of a type, as published."""
        return float(max(self._count(type_name), 1))

    def degree(self, edge: str, direction: str) -> float:
        """The mean over all nodes on the side where the hop starts."""
        info = self._view.catalog.edges[edge]
        ends = {"out": [info.from_type], "in": [info.to_type], "both": [info.from_type, info.to_type]}[direction]
        return sum(self._count(edge) / self.rows(end) for end in ends)

    def selectivity(self, type_name: str, condition: ir.Condition) -> float:
        """One row for a test on a key; otherwise by the shape of the condition."""
        node = self._view.catalog.nodes.get(type_name)
        key = node.key if node is not None and node.key is not None else ()
        match condition:
            case ir.Compare("=", ir.Property(name=name), _) if name == "id" or (name,) == key:
                return 1.0 / self.rows(type_name)
            case _:
                return NEUTRAL.selectivity(type_name, condition)

    def _count(self, type_name: str) -> int:
        catalog = self._view.catalog
        found = self._view.find(catalog.nodes.get(type_name) or catalog.edges[type_name])
        return 0 if found is None else found.row_count
