"""Which reads can be answered in one go: plain hops from one node named by its key, table sizes, searches by words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Aggregate, Expand, MatchOp, NodeScan, Project, ResultOp, Sort
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.plan.search_route import Search, search_of


@dataclass(frozen=True, slots=True)
class Hop:
    """One plain hop: over all edges of a type, from the node before it."""

    edge: str
    tail_type: str
    head_type: str
    direction: str


@dataclass(frozen=True, slots=True)
class Route:
    """The start of such a read, its hops, and what it asks for about the nodes where they end."""

    type_name: str
    key: ir.Param | ir.Const
    hops: tuple[Hop, ...]
    end_type: str
    outputs: tuple[tuple[str, ir.Property], ...]  # values of those nodes in the order of their ids …
    counted: str | None  # … or the name of the column with the number of different ones


@dataclass(frozen=True, slots=True)
class Total:
    """A read that only asks how many rows a table has: which one, and the names of the columns that say so."""

    table_key: str
    columns: tuple[str, ...]


AnyRoute: TypeAlias = Route | Total | Search


def route_of(plan: ReadPlan, catalog: Catalog) -> AnyRoute | None:
    """The route of a plan; None when it asks for anything else."""
    if plan.source is not None or plan.parts or not plan.match:
        return None
    if (total := _total(plan)) is not None:
        return total
    if (search := search_of(plan)) is not None:
        return search
    start = _start(plan.match[0], catalog)
    hops = _hops(plan.match)
    if start is None or hops is None:
        return None
    type_name, key = start
    last, end_type = _end(plan.match)
    outputs, counted = _asked(plan.result, last, hops=len(hops))
    if outputs is None and counted is None:
        return None
    return Route(type_name, key, hops, end_type, outputs or (), counted)


def _total(plan: ReadPlan) -> Total | None:
    match plan.match, plan.result:
        case (NodeScan(predicates=(), joins=()) as scan,), (Aggregate(columns, ()),):
            plain = all(
                isinstance(call := each.expr, ir.AggregateCall)
                and (call.function, call.arg, call.where) == ("count", None, None)
                for each in columns
            )
            if plain and not is_union(scan.table_key):
                return Total(scan.table_key, tuple(each.name for each in columns))
    return None


def _start(op: MatchOp, catalog: Catalog) -> tuple[str, ir.Param | ir.Const] | None:
    if not isinstance(op, NodeScan) or op.kind != "node" or op.joins or is_union(op.table_key):
        return None
    match op.predicates:
        case (ir.Compare("=", ir.Property() as column, (ir.Param() | ir.Const()) as key),):
            pass
        case (ir.Compare("=", (ir.Param() | ir.Const()) as key, ir.Property() as column),):
            pass
        case _:
            return None
    named = column.name == "id" or catalog.nodes[op.type_name].key == (column.name,)
    return (op.type_name, key) if named and column.type.scalar == "String" else None


def _hops(ops: tuple[MatchOp, ...]) -> tuple[Hop, ...] | None:
    found, before = [], ops[0].var if isinstance(ops[0], NodeScan) else ""
    for op in ops[1:]:
        if not isinstance(op, Expand) or op.source != before or op.predicates or op.edge_predicates:
            return None
        link = op.link
        if not link.is_single or link.ways or link.along is not None or link.edge_var is not None:
            return None
        if is_union(f"node:{link.tail_type}") or is_union(f"node:{link.head_type}") or is_union(f"edge:{link.edge}"):
            return None
        direction = "both" if link.undirected else "in" if op.source == link.head else "out"
        found.append(Hop(link.edge, link.tail_type, link.head_type, direction))
        before = op.target
    return tuple(found)


def _end(ops: tuple[MatchOp, ...]) -> tuple[str, str]:
    last = ops[-1]
    if isinstance(last, Expand):
        return last.target, last.target_type
    assert isinstance(last, NodeScan)
    return last.var, last.type_name


def _asked(
    result: tuple[ResultOp, ...], last: str, *, hops: int
) -> tuple[tuple[tuple[str, ir.Property], ...] | None, str | None]:
    match result:
        case (Sort((), _, None), Project(columns)) if hops <= 1:
            # The start is one node, so the order of all ids is that of the ids at its end.
            outputs = [(each.name, each.expr) for each in columns if isinstance(each.expr, ir.Property)]
            if len(outputs) == len(columns) and all(expr.var == last for _, expr in outputs):
                return tuple(outputs), None
        case (Aggregate((output,), ()),):
            call = output.expr
            if isinstance(call, ir.AggregateCall) and call.function == "count" and call.distinct and call.where is None:
                node = call.arg
                if isinstance(node, ir.Node) and node.var == last and not node.optional:
                    return None, output.name
    return None, None
