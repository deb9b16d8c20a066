"""Simpler plans with the same rows, where this executor has a cheaper way: rows counted, edges without their ends."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import (
    Aggregate,
    Distinct,
    Expand,
    ExpandTest,
    Filter,
    MatchOp,
    NodeScan,
    Project,
    ResultOp,
    Sort,
    SortKey,
    WindowColumns,
)
from omnigraph.compiler.ir.pattern import map_match
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.types import UNION
from omnigraph.engine.read.match.joins import joins_by
from omnigraph.engine.read.plan.multiplicity import is_countable


def refined(plan: ReadPlan, keeps: frozenset[str] = frozenset(), *, ordered: bool = True) -> ReadPlan:
    """The plan as it is run here; `keeps` are the nodes that a stage hands on besides its columns.

    Without `ordered` nothing that follows depends on the order of its rows.
    """
    if not ordered and _keeps_all(plan):
        plan = replace(plan, result=tuple(op for op in plan.result if not isinstance(op, Sort)))
    if plan.parts:
        plan = replace(plan, parts=tuple(map(refined, plan.parts)))
    if plan.source is not None:
        kept, follows_order = frozenset(plan.source.keeps), _depends_on_order(plan, ordered=ordered)
        inner = refined(plan.source.plan, kept, ordered=follows_order)
        return replace(plan, source=replace(plan.source, plan=inner))
    return _without_ends(_counting_rows(map_match(plan, lambda ops, _: _joining(ops))), keeps)


def _keeps_all(plan: ReadPlan) -> bool:
    """Whether the same rows come out, whatever their order is."""
    return all(isinstance(op, Project | Distinct) or (isinstance(op, Sort) and op.fetch is None) for op in plan.result)


def _depends_on_order(plan: ReadPlan, *, ordered: bool) -> bool:
    """Whether the rows of a plan, or their order if that matters, follow from the order of the stage before it."""
    if plan.parts or not plan.result:
        return True
    first = plan.result[0]
    if isinstance(first, Aggregate):
        return first.is_keyed or bool(first.entities) or not all(is_countable(each.expr) for each in first.columns)
    return ordered or not _keeps_all(plan)


def _joining(ops: tuple[MatchOp, ...]) -> tuple[MatchOp, ...]:
    """Conditions right after a scan that decide which of its nodes fit a row become look-ups of the scan."""
    found: list[MatchOp] = []
    for op in ops:
        before = found[-1] if found else None
        if isinstance(op, Filter) and isinstance(before, NodeScan) and joins_by(op.condition, before.var):
            found[-1] = replace(before, joins=(*before.joins, op.condition))
        else:
            found.append(op)
    return tuple(found)


def _counting_rows(plan: ReadPlan) -> ReadPlan:
    """`count($v)` of what is in every row counts rows, so that `$v` need not be known."""
    bound = {var for op in plan.match for var in _always_bound(op)}
    return replace(plan, result=tuple(_counted(op, bound) for op in plan.result))


def _always_bound(op: MatchOp) -> set[str | None]:
    match op:
        case NodeScan(var):
            return {var}
        case Expand(link):
            return {op.target, link.edge_var}
        case ExpandTest(link):
            return {link.edge_var}
        case _:
            return set()


def _counted(op: ResultOp, bound: set[str | None]) -> ResultOp:
    if not isinstance(op, Aggregate):
        return op
    columns = []
    for column in op.columns:
        match column.expr:
            case ir.AggregateCall("count", ir.Node(var), False) as call if var in bound:
                columns.append(replace(column, expr=replace(call, arg=None)))
            case _:
                columns.append(column)
    return replace(op, columns=tuple(columns))


def _without_ends(plan: ReadPlan, keeps: frozenset[str]) -> ReadPlan:
    """A hop of which only the edge is needed is a scan of edges: an edge has both ends, and knows their ids."""
    if len(plan.match) < 2:
        return plan
    scan, hop, *rest = plan.match
    if not isinstance(scan, NodeScan) or not isinstance(hop, Expand) or scan.kind != "node":
        return plan
    link, edge = hop.link, hop.link.edge_var
    ends = {link.tail, link.head}
    if edge is None or scan.predicates or scan.joins or hop.predicates or scan.var not in ends:
        return plan
    if not link.is_single or link.undirected or link.ways or link.along is not None or UNION in link.edge:
        return plan
    if not all(isinstance(op, Filter) for op in rest) or ends & (keeps | _read_by((*rest, *plan.result))):
        return plan
    if any(isinstance(op, WindowColumns) for op in plan.result):
        return plan
    edges = NodeScan(edge, link.edge, hop.edge_predicates, columns=hop.edge_columns, kind="edge")
    columns = {link.tail: "src", link.head: "dst"}
    result = tuple(_by_ends(op, edge, columns) if isinstance(op, Sort) else op for op in plan.result)
    return replace(plan, match=(edges, *rest), result=result)


def _read_by(ops: tuple[MatchOp | ResultOp, ...]) -> frozenset[str]:
    """What operators read, but for the ties of an order."""
    return frozenset().union(*(variables(op) for op in ops))


def _by_ends(op: Sort, edge: str, columns: dict[str, str]) -> Sort:
    """The same order in terms of the edge; behind the edge itself nothing is left open."""
    before = op.ties[: op.ties.index(edge)] if edge in op.ties else op.ties
    keys = tuple(SortKey(ir.Property(edge, columns[var], ir.STRING)) for var in before)
    return replace(op, keys=(*op.keys, *keys), ties=(edge,) if edge in op.ties else ())
