"""How many rows an operator may yield: what plan ordering asks, and the answer without statistics."""

from __future__ import annotations

from typing import Protocol

from omnigraph.compiler.ir import expr as ir

# Only their order matters: a scan is large, a hop multiplies a little, equality is worth more than a range.
_ROWS = 1000.0
_DEGREE = 4.0
_EQUALITY = 0.05
_RANGE = 0.3
_TEXT = 0.2
_OTHER = 0.5


class Estimates(Protocol):
    """Row estimates; the engine answers from table statistics, tests and plain compilation from the defaults."""

    def rows(self, type_name: str) -> float:
        """Nodes of a type."""

    def degree(self, edge: str, direction: str) -> float:
        """Neighbours per node along an edge type; direction is `out`, `in` or `both`."""

    def selectivity(self, type_name: str, condition: ir.Condition) -> float:
        """The share of a type's nodes (or edges) that a condition keeps."""


class NeutralEstimates:
    """Every type is equally large; only the shape of conditions counts."""

    def rows(self, type_name: str) -> float:
        """The same for all."""
        return _ROWS

    def degree(self, edge: str, direction: str) -> float:
        """The same for all, doubled without a direction."""
        return _DEGREE * 2 if direction == "both" else _DEGREE

    def selectivity(self, type_name: str, condition: ir.Condition) -> float:
        """By the kind of test."""
        match condition:
            case ir.Compare("=") | ir.In(negated=False) | ir.SameNode(negated=False):
                return _EQUALITY
            case ir.Compare(op) if op != "!=":
                return _RANGE
            case ir.TextTest() | ir.IsTrue() | ir.IsNull(negated=False):
                return _TEXT
            case ir.And(parts):
                return min(self.selectivity(type_name, part) for part in parts)
            case ir.Or(parts):
                return min(1.0, sum(self.selectivity(type_name, part) for part in parts))
            case ir.Possibly(part):
                return self.selectivity(type_name, part)
            case _:
                return _OTHER


NEUTRAL = NeutralEstimates()
