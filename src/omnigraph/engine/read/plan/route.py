"""Which reads can be answered in one go: hops from one node named by its key, table sizes, searches by words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Aggregate, Expand, Limit, MatchOp, NodeScan, Project, ResultOp, Sort
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.plan.route_start import Hop, Start, constant, start_of
from omnigraph.engine.read.plan.search_route import Search, search_of
from omnigraph.engine.read.plan.values_route import Values, values_of
from omnigraph.engine.values.arrow import arrow_type, shown_type


@dataclass(frozen=True, slots=True)
class Route:
    """The start of such a read, its hops, and what it asks for about the nodes where they end."""

    start: Start
    hops: tuple[Hop, ...]
    end_type: str
    outputs: tuple[tuple[str, ir.Property], ...]  # values of those nodes in the order of their ids …
    counted: str | None  # … or the name of the column with the number of different ones


@dataclass(frozen=True, slots=True)
class Total:
    """A read that only asks how many rows a table has: which one, and the names of the columns that say so."""

    table_key: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskedGroups:
    """What one call asks for: the key of the start, and the groups from `begin` to `end` of their order."""

    key: str
    begin: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Groups:
    """Hops from one node, and how many different nodes there are for each value of a text where they end."""

    start: Start
    hops: tuple[Hop, ...]
    by: ir.Property
    counts_ends: bool  # otherwise the nodes before them
    columns: tuple[str, ...]  # both, in the order of the answer
    value_first: bool
    order: tuple[tuple[bool, bool], ...]  # whether by the value, and whether descending; the value is among them
    limit: ir.Const | ir.Param | None
    offset: ir.Const | ir.Param | None

    def asked(self, values: Mapping[str, Any]) -> AskedGroups | None:
        """What these values ask for; None where they are null or wrong, which the executor has to say."""
        key = self.start.id(values)
        begin = 0 if self.offset is None else constant(self.offset, values)
        count = None if self.limit is None else constant(self.limit, values)
        if key is None or not isinstance(begin, int) or begin < 0:
            return None
        if self.limit is None:
            return AskedGroups(key, begin, None)
        return AskedGroups(key, begin, begin + count) if isinstance(count, int) and count > 0 else None


AnyRoute: TypeAlias = Route | Groups | Values | Total | Search


def route_of(plan: ReadPlan, catalog: Catalog) -> AnyRoute | None:
    """The route of a plan; None when it asks for anything else."""
    if plan.source is not None or plan.parts or not plan.match:
        return None
    if (total := _total(plan)) is not None:
        return total
    if (search := search_of(plan)) is not None:
        return search
    start = start_of(plan.match[0], catalog)
    return None if start is None else _from_one(plan, start) or values_of(plan, start)


def _from_one(plan: ReadPlan, start: Start) -> Route | Groups | None:
    hops = _hops(plan.match)
    if is_union(f"node:{start.type_name}") or hops is None:
        return None
    if (groups := _groups(plan.result, start, hops)) is not None:
        return groups
    if any(hop.predicates for hop in hops):
        return None
    last, end_type = _end(plan.match)
    outputs, counted = _asked(plan.result, last, hops=len(hops))
    if outputs is None and counted is None:
        return None
    return Route(start, hops, end_type, outputs or (), counted)


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


def _hops(ops: tuple[MatchOp, ...]) -> tuple[Hop, ...] | None:
    found, before = [], ops[0].var if isinstance(ops[0], NodeScan) else ""
    for op in ops[1:]:
        if not isinstance(op, Expand) or op.source != before or op.edge_predicates:
            return None
        link, predicates = op.link, tuple(each for each in op.predicates if _is_fixed(each, op.target))
        if len(predicates) < len(op.predicates):
            return None
        if not link.is_single or link.ways or link.along is not None or link.edge_var is not None:
            return None
        if is_union(f"node:{link.tail_type}") or is_union(f"node:{link.head_type}") or is_union(f"edge:{link.edge}"):
            return None
        direction = "both" if link.undirected else "in" if op.source == link.head else "out"
        ends = (op.target, op.target_type)
        found.append(Hop(link.edge, link.tail_type, link.head_type, direction, *ends, predicates))
        before = op.target
    return tuple(found)


def _is_fixed(condition: ir.Condition, var: str) -> TypeGuard[ir.Compare]:
    """Whether a condition compares a property of a node with a constant: it is the same in every call."""
    match condition:
        case ir.Compare(_, ir.Property(of), ir.Const()) | ir.Compare(_, ir.Const(), ir.Property(of)):
            return of == var
    return False


def _groups(result: tuple[ResultOp, ...], start: Start, hops: tuple[Hop, ...]) -> Groups | None:
    """Counts of different nodes by a text, in an order that leaves no two groups equal."""
    match result:
        case (Aggregate((_, _) as columns, ()), Sort(keys, (), _), Limit(limit, offset, ())):
            pass
        case (Aggregate((_, _) as columns, ()), Sort(keys, (), None)):
            limit = offset = None
        case _:
            return None
    values = [each for each in columns if isinstance(each.expr, ir.Property)]
    counted = [var for each in columns if (var := _counted_node(each.expr)) is not None]
    # Different nodes are counted where the hops end, or one hop before.
    if len(values) != 1 or len(counted) != 1 or counted[0] not in [hop.target for hop in hops[-2:]]:
        return None
    by, name = values[0].expr, values[0].name
    order = tuple((each.expr.name == name, each.descending) for each in keys if isinstance(each.expr, ir.Column))
    if len(order) < len(keys) or not any(by_value for by_value, _ in order):
        return None
    assert isinstance(by, ir.Property)
    if by.var != hops[-1].target or by.type.scalar != "String" or by.type.list or by.type.enum is not None:
        return None
    names = tuple(each.name for each in columns)
    return Groups(start, hops, by, counted[0] == by.var, names, columns[0] is values[0], order, limit, offset)


def _counted_node(expr: ir.Expr | ir.AggregateCall) -> str | None:
    """The variable whose different nodes are counted."""
    if (
        not isinstance(expr, ir.AggregateCall)
        or expr.function != "count"
        or not expr.distinct
        or expr.where is not None
    ):
        return None
    node = expr.arg
    return node.var if isinstance(node, ir.Node) and not node.optional else None


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
            kinds = [arrow_type(expr.type) for _, expr in outputs]
            as_stored = all(shown_type(kind) == kind for kind in kinds)
            if as_stored and len(outputs) == len(columns) and all(expr.var == last for _, expr in outputs):
                return tuple(outputs), None
        case (Aggregate((output,), ()),):
            if _counted_node(output.expr) == last:
                return None, output.name
    return None, None
