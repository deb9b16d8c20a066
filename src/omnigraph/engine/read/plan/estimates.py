"""Row estimates for planning: row counts from the snapshot, shares and degrees from the statistics of tables."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.estimates import NEUTRAL, Skew
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.columns.value_statistics import ValueStatistics
from omnigraph.engine.read.plan.statistics import column_statistics, edge_skew
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
            case ir.Compare(op, ir.Property(name=name), value):
                share = self._compared(type_name, name, op, value)
                if share is not None:
                    return share
            case ir.In(ir.Property(name=name), options, negated) if (
                known := self._values(type_name, name)
            ) is not None:
                length = self._length(options)
                if length is not None:
                    share = min(1.0, length * known.equal_share)
                    return max(1.0 - known.null_share - share, 0.0) if negated else share
            case ir.IsNull(ir.Property(name=name), negated) if (known := self._values(type_name, name)) is not None:
                return 1.0 - known.null_share if negated else known.null_share
            case ir.And(parts):
                return min(self.selectivity(type_name, part) for part in parts) if parts else 1.0
            case ir.Or(parts):
                return min(1.0, sum(self.selectivity(type_name, part) for part in parts))
        return NEUTRAL.selectivity(type_name, condition)

    def distinct(self, type_name: str, name: str) -> float | None:
        """As many as there are nodes for a key; otherwise what the statistics say."""
        if self._is_key(type_name, name):
            return self.rows(type_name)
        known = self._values(type_name, name)
        return None if known is None else known.distinct

    def skew(self, edge: str) -> Skew | None:
        """From the statistics of one edge type."""
        info = self._view.catalog.edges.get(edge)
        return None if info is None or not self._count(edge) else edge_skew(self._view, info)

    def _compared(self, type_name: str, name: str, op: str, value: ir.Expr) -> float | None:
        known = self._values(type_name, name)
        if known is None:
            return None
        present = 1.0 - known.null_share
        if op in ("=", "!="):
            return known.equal_share if op == "=" else max(present - known.equal_share, 0.0)
        number = _number(value.value) if isinstance(value, ir.Const) else None
        below = None if number is None else known.below(number)
        if below is None:
            return None
        if op in ("<=", ">"):
            below = min(below + known.equal_share, present)
        # Never nothing: what was not seen when statistics were made may be there.
        return max(below if op in ("<", "<=") else present - below, 1.0 / (known.rows + 1))

    def _values(self, type_name: str, name: str) -> ValueStatistics | None:
        catalog = self._view.catalog
        info = catalog.nodes.get(type_name) or catalog.edges.get(type_name)
        if info is None or name not in info.properties or self._is_key(type_name, name):
            return None
        return column_statistics(self._view, info, name)

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


def _number(value: object) -> float | None:
    """A constant as the number that its column is ordered by."""
    match value:
        case bool():
            return None
        case int() | float():
            return float(value)
        case Date(days):
            return float(days)
        case DateTime(millis):
            return float(millis)
        case _:
            return None
