"""How many rows each operator of a plan is expected to yield: what `explain` shows and what the order follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, TypeAlias

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.estimates import Estimates, mean_degree, reached
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    Aggregate,
    AntiJoin,
    Distinct,
    Either,
    Expand,
    ExpandTest,
    Fetch,
    Filter,
    LeftJoin,
    Limit,
    Mark,
    MatchOp,
    NodeScan,
    Rank,
    ResultOp,
    Sort,
    Unwind,
)
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import properties, variables

# What is known about none of them: the share of rows that a condition on several variables, a `not` or grouping leaves.
_KEPT = 0.5
_JOINED = 0.05
_ITEMS = 4

# By which edge type, and whether along it.
_Way: TypeAlias = tuple[str, bool]
# Among so many nodes those with many edges show; one named node is as likely to have few.
_MANY_NODES = 1_000

Expected = Mapping[int, float]
"""Rows by the identity of the operator, which lives as long as its plan."""


class EdgeEnds(NamedTuple):
    """What a scan yields that begins with the ends of a few edges: how many, of which edges, and whether tails."""

    rows: float
    edge: str
    tails: bool


def expected_rows(
    plan: ReadPlan,
    estimates: Estimates,
    collapsed: Mapping[int, frozenset[str]] | None = None,
    begins: Mapping[int, EdgeEnds] | None = None,
) -> Expected:
    """The estimate of every operator, those inside `not` and `optional` included.

    After the operators in `collapsed`, by their identity, rows that are equal in these variables are one; scans in
    `begins` do not yield all nodes.
    """
    found: dict[int, float] = {}
    _read(plan, _Known(estimates, collapsed or {}, begins or {}), found)
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """The estimates, and what earlier operators of the plan say about variables."""

    estimates: Estimates
    collapsed: Mapping[int, frozenset[str]]
    begins: Mapping[int, EdgeEnds] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    reached: dict[str, _Way] = field(default_factory=dict)  # how an edge led to it
    left: set[tuple[str, _Way]] = field(default_factory=set)  # how edges led on from many nodes

    def distinct(self, expr: ir.Expr) -> float | None:
        """How many different values an expression has, if they are those of one property or node."""
        if isinstance(expr, ir.Node):
            return self.estimates.rows(self.types[expr.var]) if expr.var in self.types else None
        read = list(dict.fromkeys(properties(expr)))
        if len(read) != 1 or read[0][0] not in self.types:
            return None
        return self.estimates.distinct(self.types[read[0][0]], read[0][1])

    def groups(self, exprs: Iterable[ir.Expr], entities: Iterable[str], rows: float) -> float:
        """How many different combinations there are among so many rows."""
        counts = [self.distinct(expr) for expr in exprs]
        counts += [self.estimates.rows(self.types[var]) if var in self.types else None for var in entities]
        known = [count for count in counts if count is not None]
        most = prod(known) if len(known) == len(counts) else rows * _KEPT
        return max(1.0, min(rows, most))

    def share(self, condition: ir.Condition) -> float | None:
        """The share of rows that a condition on several variables keeps; None where nothing is known."""
        match condition:
            case ir.Compare("=", left, right):
                counts = [count for count in map(self.distinct, (left, right)) if count is not None]
                return 1.0 / max(counts) if counts else None
            case ir.Compare():
                return _KEPT
            case ir.Or(parts):
                shares = [self.share(part) for part in parts]
                return min(1.0, sum(share for share in shares if share is not None)) if None not in shares else None
            case _:
                return None

    def filtered(self, condition: ir.Condition) -> float:
        """The share of rows that a filter keeps."""
        used = variables(condition)
        if len(used) == 1 and (var := next(iter(used))) in self.types:
            return self.estimates.selectivity(self.types[var], condition)
        share = self.share(condition)
        return _KEPT if share is None else share

    def onward(self, op: Expand) -> float:
        """Nodes per row after a hop: from a node that an edge led to, or that is in a row for each of its edges, more
        than from one taken at random."""
        forward = op.source == op.link.tail
        most, first = reached(self.estimates, op.link, forward=forward), 0.0
        step = self._step(op, (op.link.edge, forward))
        if step:
            first = mean_degree(self.estimates, op.link, forward=forward)
        return min(most * step / first, self.estimates.rows(op.target_type)) if first else most

    def _step(self, op: Expand, way: _Way) -> float:
        """The degree that the nodes of the rows have, where it is not the mean."""
        again, onward = (op.source, way) in self.left, self.reached.get(op.source) == way
        skew = self.estimates.skew(op.link.edge) if not op.link.undirected and (again or onward) else None
        if skew is None:
            return 0.0
        return (skew.out if way[1] else skew.into) if again else skew.through

    def linked(self, link: Link) -> float:
        """The share of pairs that an edge links: those with many edges are in more rows, and linked more often."""
        skew, edges = self.estimates.skew(link.edge), self._edges(link)
        if skew is None or not edges or not link.is_single or link.undirected:
            direction = "both" if link.undirected else "out"
            return min(1.0, self.estimates.degree(link.edge, direction) / self.estimates.rows(link.head_type))
        along, against = (link.edge, True), (link.edge, False)
        leaving = self.estimates.degree(link.edge, "out")
        if self.reached.get(link.tail) == along:
            leaving = skew.through
        if (link.tail, along) in self.left:
            leaving = skew.out
        entering = self.estimates.degree(link.edge, "in")
        if self.reached.get(link.head) == along or (link.head, against) in self.left:
            entering = skew.into
        return min(1.0, leaving * entering / edges)

    def _edges(self, link: Link) -> float:
        return 0.0 if link.ways else self.estimates.degree(link.edge, "out") * self.estimates.rows(link.tail_type)


def _read(plan: ReadPlan, known: _Known, found: dict[int, float]) -> float:
    rows = sum(_read(part, _Known(known.estimates, known.collapsed), found) for part in plan.parts)
    if not plan.parts:
        rows = 1.0 if plan.source is None else _read(plan.source.plan, known, found)
        if plan.source is not None:
            found[id(plan.source)] = rows
        rows = _match(plan.match, rows, known, found)
    for op in plan.result:
        rows = _result(op, rows, known)
        found[id(op)] = rows
    return rows


def _match(ops: Iterable[MatchOp], rows: float, known: _Known, found: dict[int, float]) -> float:
    estimates = known.estimates
    for op in ops:
        match op:
            case NodeScan(var, type_name, predicates, joins):
                known.types[var] = type_name
                rows *= estimates.rows(type_name) * _kept(estimates, type_name, predicates)
                shares = [known.share(condition) for condition in joins]
                rows *= prod(_JOINED if share is None else share for share in shares)
                if (ends := known.begins.get(id(op))) is not None:
                    rows = min(rows, ends.rows)
                    known.left.add((var, (ends.edge, ends.tails)))
            case Expand(link, source, predicates, edge_predicates):
                before, way = rows, (link.edge, source == link.tail)
                rows *= known.onward(op) * _kept(estimates, op.target_type, predicates)
                if before >= _MANY_NODES:
                    known.left.add((source, way))
                rows *= _kept(estimates, link.edge, edge_predicates)
                known.types[op.target] = op.target_type
                if link.edge_var is not None:
                    known.types[link.edge_var] = link.edge
                if link.is_single:
                    known.reached[op.target] = way
            case ExpandTest(link, edge_predicates):
                rows *= known.linked(link) * _kept(estimates, link.edge, edge_predicates)
            case Filter(condition):
                rows *= known.filtered(condition)
            case AntiJoin((ExpandTest(link, ()) as test,)):
                found[id(test)] = rows * known.linked(link)
                rows *= 1.0 - known.linked(link)
            case AntiJoin(inner):
                _match(inner, rows, known, found)
                rows *= _KEPT
            case Unwind():
                rows *= _ITEMS
            case Mark(inner):
                _match(inner, rows, known, found)
            case Either(branches):
                rows = sum(_match(branch.ops, rows, known, found) for branch in branches)
            case LeftJoin(inner):
                rows = max(rows, _match(inner, rows, known, found))
            case _:
                pass
        if id(op) in known.collapsed:
            rows = known.groups((), known.collapsed[id(op)], rows)
        found[id(op)] = rows
    return rows


def _kept(estimates: Estimates, type_name: str, conditions: Iterable[ir.Condition]) -> float:
    return prod(estimates.selectivity(type_name, condition) for condition in conditions)


def _result(op: ResultOp, rows: float, known: _Known) -> float:
    match op:
        case Rank(fetch=fetch) | Sort(fetch=fetch):
            return _at_most(rows, fetch)
        case Aggregate():
            return known.groups([key.expr for key in op.keys], op.entities, rows) if op.is_keyed else 1.0
        case Distinct(entities):
            return known.groups((), entities, rows) if entities else rows * _KEPT
        case Limit(per=per) if per:
            return rows * _KEPT
        case Limit(limit):
            return _at_most(rows, Fetch(limit, None)) if limit is not None else rows
        case _:
            return rows


def _at_most(rows: float, fetch: Fetch | None) -> float:
    if fetch is None or not isinstance(fetch.limit, ir.Const) or not isinstance(fetch.limit.value, int):
        return rows
    return min(rows, float(fetch.limit.value))
