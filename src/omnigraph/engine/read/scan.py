"""Binding a variable to the nodes of a type: what storage can filter is pushed down, the rest is checked here."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import NodeScan
from omnigraph.compiler.ir.walk import properties, variables
from omnigraph.engine.pushdown import Pushed, push
from omnigraph.engine.read.adjacency import Rows, build, spread
from omnigraph.engine.read.entities import Entities
from omnigraph.engine.read.frame import START, Bound, Frame, concatenate, numpy_of
from omnigraph.engine.read.run import Run

# A product is made and filtered in pieces of about this many rows.
_PIECE = 1 << 20


def scan(run: Run, frame: Frame, op: NodeScan, live: frozenset[str], *, exists: bool = False) -> Frame:
    """Extend every row by each node that fits; with `exists`, rows that agree on what is `live` collapse on the way."""
    nodes = matching_nodes(run, op)
    table_key = _table_key(op)
    if frame is START:
        bound = START.bind(op.var, table_key, np.empty(0, np.int64)).bound
        return Frame(len(nodes), {var: Bound(table_key, nodes) for var in bound})
    conditions = list(op.joins)
    equal = next((found for condition in conditions if (found := _equality(condition, op.var))), None)
    if equal is not None:
        conditions.remove(equal[0])
    pieces = []
    width = len(nodes) if equal is None else 1
    step = max(1, _PIECE // max(width, 1))
    for begin in range(0, max(frame.length, 1), step):
        piece = frame.take(np.arange(begin, min(begin + step, frame.length)))
        joined = _product(piece, op.var, table_key, nodes) if equal is None else _join(run, piece, op, nodes, equal[1:])
        run.budget.admit(joined.length, row_bytes=8 * len(joined.bound))
        for condition in conditions:
            joined = joined.where(numpy_of(run.evaluator(joined).keep(condition)))
        if exists:
            joined = joined.only(live).unique()
        pieces.append(joined)
    whole = concatenate(pieces)
    run.budget.admit(whole.length, row_bytes=8 * len(whole.bound))
    return whole


def matching_nodes(run: Run, op: NodeScan) -> Rows:
    """Ascending row ids of the nodes that satisfy the scan's own predicates."""
    entities = run.entities(_table_key(op))
    pushed = push(ir.And(op.predicates), run.bindings)
    if pushed.keeps_nothing or not entities.row_count:
        return np.empty(0, np.int64)
    read = [name for predicate in op.predicates for _, name in properties(predicate)]
    if entities.at_hand(read):
        rows = entities.all_rows()
        return rows[run.matching(op.var, _table_key(op), rows, op.predicates)] if op.predicates else rows
    if not entities.as_named:
        pushed = Pushed(None, ir.And(op.predicates))  # a filter speaks about stored names
    wanted = [] if pushed.rest is None else [name for _, name in properties(pushed.rest)]
    if pushed.filter is not None:
        wanted += _worth_reading(run, op, entities)
    rows = entities.scan(wanted, pushed.filter)
    if pushed.rest is None:
        return rows
    return rows[run.matching(op.var, _table_key(op), rows, (pushed.rest,))]


def _worth_reading(run: Run, op: NodeScan, entities: Entities) -> Iterable[str]:
    """Columns that later steps need and that are cheap to bring along while the filter runs."""
    if _names_one(run, op):
        return op.columns
    schema = entities.handle.schema
    return [name for name in op.columns if pa.types.is_primitive(schema.field(name).type)]


def _names_one(run: Run, op: NodeScan) -> bool:
    key = run.view.catalog.nodes[op.type_name].key or ()
    for predicate in op.predicates:
        match predicate:
            case ir.Compare("=", ir.Property(name=name), ir.Const() | ir.Param()) if name == "id" or (name,) == key:
                return True
    return False


def _table_key(op: NodeScan) -> str:
    return f"node:{op.type_name}"


def _product(frame: Frame, var: str, table_key: str, nodes: Rows) -> Frame:
    repeated = frame.take(np.repeat(np.arange(frame.length), len(nodes)))
    return repeated.bind(var, table_key, np.tile(nodes, frame.length))


def _equality(condition: ir.Condition, var: str) -> tuple[ir.Condition, ir.Expr, ir.Expr] | None:
    """(condition, side of the frame, side of the new variable) of a condition that a hash join can answer."""
    match condition:
        case ir.Compare("=", left, right) if left.type.scalar == right.type.scalar:  # type: ignore[union-attr]
            pass
        case ir.SameNode(left, right, negated=False):
            pass
        case _:
            return None
    for here, there in ((left, right), (right, left)):
        if variables(there) == {var} and variables(here) and var not in variables(here):
            return condition, here, there
    return None


def _join(run: Run, frame: Frame, op: NodeScan, nodes: Rows, sides: tuple[ir.Expr, ir.Expr]) -> Frame:
    new = Frame(len(nodes), {op.var: Bound(_table_key(op), nodes)})
    here, there = _keys(run, frame, sides[0]), _keys(run, new, sides[1])
    place = pc.index_in(here, value_set=pc.unique(there.drop_null()), skip_nulls=True)
    known = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
    codes = numpy_of(place.drop_null()).astype(np.int64)
    owners = pc.index_in(there, value_set=pc.unique(there.drop_null()), skip_nulls=True)
    inside = np.flatnonzero(owners.is_valid().to_numpy(zero_copy_only=False))
    lists = build(numpy_of(owners.drop_null()).astype(np.int64), nodes[inside], np.zeros(len(inside), np.int64))
    start, stop = lists.bounds(codes)
    run.budget.admit(int((stop - start).sum()), row_bytes=8 * (len(frame.bound) + 1))
    owner, entry = spread(start, stop)
    return frame.take(known[owner]).bind(op.var, _table_key(op), lists.neighbours[entry].astype(np.int64))


def _keys(run: Run, frame: Frame, side: ir.Expr) -> pa.Array:
    """The join key per row, computed once per distinct entity."""
    evaluator = run.evaluator(frame)
    value = evaluator.value(side)
    return value if isinstance(value, pa.Array) else pa.nulls(frame.length)
