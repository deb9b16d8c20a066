"""Ranges of rows for which the rest of a match is done one after the other, where only the number of rows is asked for.

A hop along all edges makes a row for each, which a graph of a hundred million edges has no room for when its memory is
limited. What follows looks at rows by themselves, so it can be done for a range of them and let go of.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.compiler.ir.ops import AntiJoin, Expand, ExpandTest, MatchOp
from omnigraph.engine.read.frames.frame import Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.expand import linked_lists, ranges

# Rows that a range grows to, about.
_BLOCK = 1 << 22


def blocks(run: Run, frame: Frame, ops: Sequence[MatchOp], live: frozenset[str]) -> list[tuple[int, int]]:
    """The ranges; none where a hop comes first that makes few rows, or where something looks at all rows at a time.

    `live` is what has to be bound after the first operator.
    """
    hop = ops[0]
    if not isinstance(hop, Expand) or hop.target not in live or frame.length < 2:
        return []
    if not live & frame.bound.keys() or not all(map(_is_hop, ops)):
        return []
    rows = frame.rows(hop.source)
    if not bool((rows[1:] > rows[:-1]).all()):
        return []
    growth = linked_lists(run, hop.link, rows, backward=hop.source == hop.link.head).degrees(rows)
    return list(ranges(growth, _BLOCK)) if int(growth.sum()) > 2 * _BLOCK else []


def _is_hop(op: MatchOp) -> bool:
    """Whether an operator follows or tests single edges without conditions, which costs the same row by row."""
    match op:
        case Expand(link, _, (), ()) | ExpandTest(link, ()):
            return link.is_single and not link.ways and link.along is None
        case AntiJoin(ops):
            return all(_is_hop(each) for each in ops)
        case _:
            return False
