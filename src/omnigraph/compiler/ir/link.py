"""One traversal of a pattern: which edges lead from where to where, and in how many hops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnigraph.compiler.ir.expr import Condition, require

if TYPE_CHECKING:
    from omnigraph.compiler.ir.ops import Mark

# No traversal takes as many hops; it stands for the missing bound of `{m,}`.
OPEN_HOPS = 1 << 62


@dataclass(frozen=True, slots=True)
class Way:
    """One edge type of a link over several, walked from `from_type` to `to_type`, against its direction if so."""

    edge: str
    from_type: str
    to_type: str
    against: bool = False


@dataclass(frozen=True, slots=True)
class Along:
    """What each step of a link has to satisfy: conditions on its edge and on the nodes it leads from and to.

    The variables are of a step, not of a row; those that nothing reads are None.
    """

    conditions: tuple[Condition, ...] = ()
    edge: str | None = None
    source: str | None = None
    target: str | None = None
    marks: tuple[Mark, ...] = ()  # the patterns that the conditions, or the cost of a step, ask about


@dataclass(frozen=True, slots=True)
class Link:
    """One traversal: `tail` is at the edge's source end, `head` at its target end (left and right if undirected).

    Reachability is measured from tail to head, and only the head's self-loop counts, so a walk that starts at the
    head answers the same question but must look for the loop at its own start. One variable at both ends asks for a
    cycle: the fewest hops that lead back to it, a self-loop being one. A lower bound of 0 links every node to itself.
    With several edge types, or an end that ranges over several node types, `ways` lists the steps there are from left
    to right; an edge between different types that is walked without regard to direction is two of them.
    """

    edge: str
    tail: str
    head: str
    tail_type: str
    head_type: str
    min_hops: int = 1
    max_hops: int = 1
    undirected: bool = False
    edge_var: str | None = None
    ways: tuple[Way, ...] = ()
    along: Along | None = None

    def __post_init__(self) -> None:
        require(0 <= self.min_hops <= self.max_hops > 0, f"hops {self.min_hops}..{self.max_hops}")
        require(self.is_single or self.edge_var is None, "edge binding over several hops")
        alike = bool(self.ways) or self.tail_type == self.head_type
        require(self.max_hops == 1 or alike, "hops that cannot chain")
        require(not self.undirected or alike, "undirected between different types")

    @property
    def is_single(self) -> bool:
        """Whether it is exactly one hop."""
        return self.min_hops == self.max_hops == 1

    @property
    def is_cycle(self) -> bool:
        """Whether one variable stands at both ends, so that the way back to it is asked for."""
        return self.tail == self.head

    @property
    def node_types(self) -> frozenset[str]:
        """The types of the nodes that steps lead from and to."""
        ways = ((way.from_type, way.to_type) for way in self.ways)
        return frozenset(name for ends in ways for name in ends) or frozenset({self.tail_type, self.head_type})

    def other(self, var: str) -> str:
        """The opposite end."""
        return self.head if var == self.tail else self.tail

    def type_of(self, var: str) -> str:
        """The node type at one end."""
        return self.tail_type if var == self.tail else self.head_type
