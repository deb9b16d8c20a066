"""Putting a pattern into order: tests as soon as they can run, then the cheapest hop, or a scan where none is left.

Work is near linear in the pattern, whatever its shape: each part waits for the variables it reads and is looked at
again only when one of them arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    AntiJoin,
    Expand,
    ExpandTest,
    Filter,
    Mark,
    MatchOp,
    NodeScan,
    ShortestPath,
    Unwind,
)
from omnigraph.compiler.ir.pattern import Pattern
from omnigraph.compiler.ir.ranges import can_fail
from omnigraph.compiler.ir.walk import variables

# Costs are tuples that end in something unique, so that the order is total and the same every time.
StartCost = Callable[[str], tuple[Any, ...]]
LinkCost = Callable[[Link, str], tuple[Any, ...]]


def compose(pattern: Pattern, start_cost: StartCost, link_cost: LinkCost) -> tuple[MatchOp, ...]:
    """A pipeline of the pattern; `link_cost` is asked with the end that is bound."""
    return _Composer(pattern, start_cost, link_cost).run()


class _Composer:
    """One run of composing: what waits, what is ready, and what has been emitted."""

    def __init__(self, pattern: Pattern, start_cost: StartCost, link_cost: LinkCost) -> None:
        self._pattern = pattern
        self._start_cost = start_cost
        self._link_cost = link_cost
        self._ops: list[MatchOp] = []
        self._frame: set[str] = set()
        self._waiting: dict[str, list[_Part]] = {}
        self._ready: list[tuple[tuple[int, int], _Part]] = []
        self._links_at: dict[str, list[tuple[int, Link]]] = {}
        self._used: set[int] = set()
        self._hops: list[tuple[tuple[Any, ...], int, Link, str]] = []
        self._starts: list[tuple[bool, tuple[Any, ...], str]] = []
        self._joined = 0
        self._alternatives = list(pattern.alternatives)
        self._answers: list[Mark] = []  # those that no other part of the pattern reads
        self._last_marks: list[Mark] = []

    def run(self) -> tuple[MatchOp, ...]:
        pattern = self._pattern
        for at, link in enumerate(pattern.links):
            self._wait(_Part(1 if link.edge_var is None else 2, at, link), {link.tail, link.head})
            for end in {link.tail, link.head}:
                self._links_at.setdefault(end, []).append((at, link))
        for at, condition in enumerate(pattern.filters):
            self._wait(_Part(0, at, condition), variables(condition))
        for at, path in enumerate(pattern.paths):
            self._wait(_Part(3, at, path), {path.link.tail, path.link.head})
        for at, unwind in enumerate(pattern.unwinds):
            self._wait(_Part(3, at + len(pattern.paths), unwind), variables(unwind.expr))
        failing = [block for block in pattern.negations if can_fail(block)]
        for at, block in enumerate(pattern.negations):
            if block not in failing:
                self._wait(_Part(4, at, block), block.outer)
        read = _read_inside(pattern)
        for at, mark in enumerate(pattern.marks):
            if can_fail(mark):
                self._last_marks.append(mark)
            elif mark.var not in read:
                self._answers.append(mark)
            else:
                self._wait(_Part(5, at, mark), mark.outer)
        for var in pattern.nodes:
            heappush(self._starts, (True, self._start_cost(var), var))
        for var in sorted(pattern.bound):
            self._enter(var)
        while (
            self._settle()
            or self._alternate()
            or self._hop()
            or self._scan()
            or self._answer()
            or self._join_optional()
            or self._mark_last()
        ):
            pass
        # What may fail comes last: a row that something else drops must not get there.
        return (*self._ops, *failing, *(Filter(condition, late=True) for condition in pattern.late))

    def _settle(self) -> bool:
        """Emit the first part that only needed its variables: filters, then tests, edge bindings, paths, negations."""
        if not self._ready:
            return False
        _, part = heappop(self._ready)
        match part.item:
            case Link() as link:
                if part.at not in self._used:
                    self._used.add(part.at)
                    self._ops.append(ExpandTest(link, self._pattern.of(link.edge_var)))
                    self._enter(link.edge_var)
            case ShortestPath() as path:
                self._ops.append(path)
                self._enter(path.var)
            case AntiJoin() as block:
                self._ops.append(block)
            case Unwind() as unwind:
                self._ops.append(unwind)
                self._enter(unwind.var)
            case Mark() as mark:
                self._ops.append(mark)
                self._enter(mark.var)
            case condition:
                self._ops.append(Filter(condition))
        return True

    def _hop(self) -> bool:
        """Bind the far end of the cheapest link that starts in the frame."""
        while self._hops:
            _, at, link, source = heappop(self._hops)
            target = link.other(source)
            if at not in self._used and target not in self._promised():
                self._used.add(at)
                self._ops.append(Expand(link, source, self._pattern.of(target), self._pattern.of(link.edge_var)))
                self._enter(target)
                self._enter(link.edge_var)
                return True
        return False

    def _alternate(self) -> bool:
        """Extend by the first `either` block whose variables are there."""
        for block in self._alternatives:
            if self._frame.issuperset(block.outer):
                self._alternatives.remove(block)
                self._ops.append(block)
                for var in block.binds:
                    self._enter(var)
                return True
        return False

    def _promised(self) -> set[str]:
        """The variables that an `either` block is going to bind."""
        return {var for block in self._alternatives for var in block.binds}

    def _behind_alternatives(self) -> set[str]:
        """The variables that links tie to what an `either` block is going to bind, rather than to what it needs."""
        ends = {var for block in self._alternatives for var in block.outer}
        found, pending = set[str](), [*self._promised()]
        while pending:
            var = pending.pop()
            for _, link in self._links_at.get(var, ()):
                other = link.other(var)
                if other not in found and other not in ends:
                    found.add(other)
                    pending.append(other)
        return found

    def _scan(self) -> bool:
        """Start another part of the pattern, first of all one that an equality ties to the rows so far."""
        behind = self._behind_alternatives() if self._alternatives else set[str]()
        later = [start for start in self._starts if start[2] in behind]
        if later and any(start[2] not in behind | self._frame for start in self._starts):
            self._starts = [start for start in self._starts if start[2] not in behind]
            heapify(self._starts)
        else:
            later = []
        found = self._start()
        for start in later:
            heappush(self._starts, start)
        return found

    def _start(self) -> bool:
        while self._starts:
            _, _, var = heappop(self._starts)
            if var not in self._frame:
                kind = "edge" if var in self._pattern.edges else "node"
                self._ops.append(NodeScan(var, self._pattern.nodes[var], self._pattern.of(var), kind=kind))
                self._enter(var)
                return True
        return False

    def _answer(self) -> bool:
        """Find out what is only returned for the rows that no other part drops any more."""
        for mark in self._answers:
            if self._frame.issuperset(mark.outer):
                self._answers.remove(mark)
                self._ops.append(mark)
                self._enter(mark.var)
                return True
        return False

    def _join_optional(self) -> bool:
        """Extend by the first optional block that is left, now that every other row has been dropped."""
        if self._joined == len(self._pattern.optionals):
            return False
        block = self._pattern.optionals[self._joined]
        self._joined += 1
        self._ops.append(block)
        for var in block.binds:
            self._enter(var)
        return True

    def _mark_last(self) -> bool:
        """Find out a truth value that may fail, for the rows that everything else has left."""
        if not self._last_marks:
            return False
        mark = self._last_marks.pop(0)
        self._ops.append(mark)
        self._enter(mark.var)
        return True

    def _wait(self, part: _Part, reads: Iterable[str]) -> None:
        part.missing = set(reads)
        for var in part.missing:
            self._waiting.setdefault(var, []).append(part)
        self._look(part)

    def _enter(self, var: str | None) -> None:
        if var is None or var in self._frame:
            return
        self._frame.add(var)
        for at, link in self._links_at.get(var, ()):
            if at not in self._used:
                heappush(self._hops, (self._link_cost(link, var), at, link, var))
        for part in self._waiting.pop(var, ()):
            part.missing.discard(var)
            self._look(part)

    def _look(self, part: _Part) -> None:
        if not part.missing:
            heappush(self._ready, ((part.rank, part.at), part))
        elif len(part.missing) == 1 and self._frame and isinstance(part.item, ir.Compare | ir.SameNode):
            (var,) = part.missing
            if var in self._pattern.nodes:
                heappush(self._starts, (False, self._start_cost(var), var))


def _read_inside(pattern: Pattern) -> frozenset[str]:
    """The variables that parts of the pattern read before its rows are complete, apart from the ends of links."""
    found = {var for part in (*pattern.filters, *(each.expr for each in pattern.unwinds)) for var in variables(part)}
    blocks = (pattern.negations, pattern.optionals, pattern.alternatives, pattern.marks)
    outer = [block.outer for each in blocks for block in each]
    return frozenset(found).union(*outer)


class _Part:
    """A part of the pattern that waits for its variables; `rank` orders what is ready at the same time."""

    __slots__ = ("at", "item", "missing", "rank")

    def __init__(self, rank: int, at: int, item: Link | ShortestPath | AntiJoin | Mark | Unwind | ir.Condition) -> None:
        self.rank = rank
        self.at = at
        self.item = item
        self.missing: set[str] = set()
