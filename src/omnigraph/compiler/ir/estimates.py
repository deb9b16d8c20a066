"""How many rows an operator may yield: what plan ordering asks, and the answer without statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.types import union_members, union_name

# Only their order matters: a scan is large, a hop multiplies a little, equality is worth more than a range.
_ROWS = 1000.0
_DEGREE = 4.0
_EQUALITY = 0.05
_RANGE = 0.3
_TEXT = 0.2
_OTHER = 0.5


@dataclass(frozen=True, slots=True)
class Skew:
    """How unevenly edges are spread: what a node has that was reached, or is left, by an edge taken at random.

    `out` edges at the source of one, `into` it at the target of one, `through`: out of the target of one. With equal
    degrees all three are the mean.
    """

    out: float
    into: float
    through: float


class Estimates(Protocol):
    """Row estimates; the engine answers from table statistics, tests and plain compilation from the defaults."""

    def rows(self, type_name: str) -> float:
        """Nodes of a type."""

    def degree(self, edge: str, direction: str) -> float:
        """Neighbours per node along an edge type; direction is `out`, `in` or `both`."""

    def selectivity(self, type_name: str, condition: ir.Condition) -> float:
        """The share of a type's nodes (or edges) that a condition keeps."""

    def distinct(self, type_name: str, name: str) -> float | None:
        """How many different values a property has; None where that is not known."""

    def skew(self, edge: str) -> Skew | None:
        """How unevenly edges of a type are spread; None where that is not known."""


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

    def distinct(self, type_name: str, name: str) -> float | None:
        """Not known."""
        return None

    def skew(self, edge: str) -> Skew | None:
        """Not known."""
        return None


NEUTRAL = NeutralEstimates()
# Far bounds reach everything anyway; the cap keeps the numbers finite.
_FAR = 16


def reached(estimates: Estimates, link: Link, *, forward: bool) -> float:
    """Nodes per start along a link; over several hops the numbers add up, but no node is reached twice."""
    degree = mean_degree(estimates, link, forward=forward)
    most = estimates.rows(link.head_type if forward else link.tail_type)
    total, last = float(link.min_hops == 0), 1.0
    for hop in range(1, min(link.max_hops, _FAR) + 1):
        last *= degree
        total += last if hop >= link.min_hops else 0.0
        if last > most or total > most:
            return most
    return total


def mean_degree(estimates: Estimates, link: Link, *, forward: bool) -> float:
    """Neighbours per node: the edges of all ways over the nodes that a step may start from."""
    if link.undirected:
        return sum(estimates.degree(name, "both") for name in union_members(link.edge))
    if not link.ways:
        return estimates.degree(link.edge, "out" if forward else "in")
    start = link.tail_type if forward else link.head_type
    population = estimates.rows(start if link.max_hops == 1 else union_name(link.node_types))
    total = 0.0
    for way in link.ways:
        near = way.from_type if forward else way.to_type
        total += estimates.degree(way.edge, "out" if forward != way.against else "in") * estimates.rows(near)
    return total / population
