"""Which reads ask for values of the nodes and edges around one node: the start, plain hops, an order, expressions."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Expand, LeftJoin, MatchOp, NodeScan, Output, Project, Sort, SortKey
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.frames.unions import TYPE, is_union
from omnigraph.engine.read.plan.route_start import Hop, Start


@dataclass(frozen=True, slots=True)
class Retyped:
    """A second variable for the start, which is null where the start is of another type."""

    var: str
    type_name: str


@dataclass(frozen=True, slots=True)
class Key:
    """A value to order rows by."""

    column: ir.Property
    descending: bool


@dataclass(frozen=True, slots=True)
class Values:
    """The start of such a read, what leads away from it, and what is returned in which order."""

    start: Start
    steps: tuple[Expand | Retyped, ...]
    order: tuple[Key, ...]
    ties: tuple[str, ...]  # without those that are the same in every row
    outputs: tuple[Output, ...]


def values_of(plan: ReadPlan, start: Start) -> Values | None:
    """The values that a plan asks for around its start; None when it asks for anything else."""
    match plan.result:
        case (Sort(keys, ties, None), Project(outputs)):
            pass
        case _:
            return None
    steps, bound, alike = [], {start.var}, {start.var}
    for op in plan.match[1:]:
        step = _step(op, start, bound - alike | {start.var})
        if step is None:
            return None
        steps.append(step)
        if isinstance(step, Retyped):
            alike.add(step.var)
            bound.add(step.var)
        else:
            bound |= {step.target, *(() if step.link.edge_var is None else (step.link.edge_var,))}
    order = tuple(found for key in keys if (found := _key(key, bound - alike)) is not None)
    if len(order) < len(keys) or not all(_is_computed(each.expr, bound) for each in outputs):
        return None
    return Values(start, tuple(steps), order, tuple(var for var in ties if var not in alike), outputs)


def hop_from(op: Expand, source_type: str) -> Hop | None:
    """The edges of one type that a hop takes from a node of one type; None where it takes several types, or none."""
    link, backward = op.link, op.source == op.link.head
    if not link.ways:
        tables = (f"node:{link.tail_type}", f"node:{link.head_type}", f"edge:{link.edge}")
        if any(map(is_union, tables)) or link.type_of(op.source) != source_type:
            return None
        direction = "both" if link.undirected else "in" if backward else "out"
        return Hop(link.edge, link.tail_type, link.head_type, direction, op.target, op.target_type)
    ways = [(way.to_type, way.from_type) if backward else (way.from_type, way.to_type) for way in link.ways]
    targets = union_members(op.target_type)
    fits = [at for at, (near, far) in enumerate(ways) if near == source_type and far in targets]
    if link.undirected or len(fits) != 1:
        return None
    way, (near, far) = link.ways[fits[0]], ways[fits[0]]
    against = way.against != backward
    tail, head = (far, near) if against else (near, far)
    return Hop(way.edge, tail, head, "in" if against else "out", op.target, far)


def _step(op: MatchOp, start: Start, sources: set[str]) -> Expand | Retyped | None:
    match op:
        case Expand(link, source, (), ()) if link.is_single and link.along is None and source in sources:
            return op
        case LeftJoin((NodeScan(var, type_name, (), (ir.SameNode(left, right, False),)),), (outer,), (bound,)):
            same = {left.var, right.var} == {var, outer} and outer == start.var and bound == var
            return Retyped(var, type_name) if same and not is_union(f"node:{type_name}") else None
    return None


def _key(key: SortKey, bound: set[str]) -> Key | None:
    column = key.expr
    known = isinstance(column, ir.Property) and column.var in bound and column.name != TYPE
    return Key(column, key.descending) if known and isinstance(column, ir.Property) else None


# What is computed from the values of a row alone, and from nothing that changes from call to call.
_COMPUTED = (
    ir.Property, ir.Const, ir.Function, ir.Choice, ir.Arithmetic, ir.Compare, ir.TextTest, ir.IsNull, ir.IsTrue, ir.In,
    ir.And, ir.Or, ir.Not, ir.NotTrue,
)  # fmt: skip


def _is_computed(expr: object, bound: set[str]) -> bool:
    parts = [*expressions(expr)]
    return all(isinstance(part, _COMPUTED) for part in parts) and all(
        part.var in bound and part.name != TYPE for part in parts if isinstance(part, ir.Property)
    )
