"""Binding a variable to the nodes of a type: what storage can filter is pushed down, the rest is checked here."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import NodeScan
from omnigraph.compiler.ir.walk import properties
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.columns.arrays import Rows, chosen
from omnigraph.engine.read.columns.costs import add_cost, cost_kind, cost_of
from omnigraph.engine.read.columns.coverage import selective
from omnigraph.engine.read.columns.entities import SCAN_SECONDS_PER_ROW, Entities
from omnigraph.engine.read.frames.frame import START, Bound, Frame, concatenate
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import TYPE, is_union, of_member
from omnigraph.engine.read.match.joins import Join, join_of
from omnigraph.engine.read.match.key_lookup import rows_by_key
from omnigraph.engine.read.search.text_predicates import searched, searched_rows
from omnigraph.engine.values.pushdown import Pushed, push

# A product is made and filtered in pieces of about this many rows.
_PIECE = 1 << 20
# For more rows than this asking storage once beats reading the columns of each.
_FEW_HITS = 1_000
# Up to so many rows comparing a column in memory is as fast as asking an index.
_FEW_IN_MEMORY = 100_000

_SCANS = cost_kind("filtered scans")


def scan(run: Run, frame: Frame, op: NodeScan, live: frozenset[str], *, exists: bool = False) -> Frame:
    """Extend every row by each node that fits; with `exists`, rows that agree on what is `live` collapse on the way."""
    nodes = matching_nodes(run, op)
    if frame is START:
        return Frame(len(nodes), {op.var: Bound(op.table_key, nodes)})
    join = join_of(run, op, nodes)
    conditions = [condition for condition in op.joins if join is None or condition != join.condition]
    step = _PIECE if join is not None and join.is_narrow else max(1, _PIECE // max(len(nodes), 1))
    pieces: list[Frame] = []
    total = 0
    for begin in range(0, frame.length, step):
        piece = frame.take(np.arange(begin, min(begin + step, frame.length)))
        wider = _product(run, piece, op, nodes) if join is None else _joined(run, piece, op, join)
        for condition in conditions:
            wider = wider.where(run.kept(wider, condition))
        pieces.append(wider.only(live).unique() if exists else wider)
        total += pieces[-1].length
        run.budget.admit(total, row_bytes=8 * len(wider.bound))
    return concatenate(pieces)


def matching_nodes(run: Run, op: NodeScan) -> Rows:
    """Ascending row ids of the nodes that satisfy the scan's own predicates."""
    if is_union(op.table_key):
        return _matching_in_union(run, op)
    entities = run.entities(op.table_key)
    named = rows_by_key(run, op, entities)
    run.budget.check()  # a list of very many parts takes long to look at, here, when it is pushed and when it is asked
    if named is not None:
        rows, rest = named
        return chosen(rows, run.matching(op.var, op.table_key, rows, rest)) if rest else rows
    pushed = push(ir.And(op.predicates), run.bindings)
    run.budget.check()
    if pushed.keeps_nothing or not entities.row_count:
        return np.empty(0, np.int64)
    hits = searched_rows(run, op.table_key, op.predicates, narrowed=pushed.filter is not None)
    if hits is not None:
        return _found(run, op, entities, hits)
    read = [name for predicate in op.predicates for _, name in properties(predicate)]
    key = (entities.version_key, *sorted(read))
    spent = cost_of(entities.memory.cache(_SCANS), key)
    if spent.seconds > entities.row_count * SCAN_SECONDS_PER_ROW * len(read):
        # Filtering in storage has cost as much, and more of it is to be expected.
        entities.hold(read, spent.bytes / spent.rows if spent.rows else None)
    if entities.cached(read) and not _indexed(entities, op):
        rows = entities.all_rows()
        if not op.predicates:
            return rows
        return chosen(rows, run.matching(op.var, op.table_key, rows, op.predicates))
    if not entities.as_named:
        pushed = Pushed(None, ir.And(op.predicates))  # a filter speaks about stored names
    wanted = [] if pushed.rest is None else [name for _, name in properties(pushed.rest)]
    if pushed.filter is not None:
        wanted += _worth_reading(run, op, entities)
    begin, known = time.perf_counter(), entities.bytes_read
    rows = entities.scan(wanted, pushed.filter)
    if (pushed.filter is not None or wanted) and not _indexed(entities, op):
        # What a row takes is known only where the scan brought every column that the filter reads.
        size, count = (entities.bytes_read - known, len(rows)) if {*wanted} >= {*read} else (0, 0)
        add_cost(entities.memory.cache(_SCANS), key, time.perf_counter() - begin, rows=count, size=size)
    if pushed.rest is None:
        return rows
    return chosen(rows, run.matching(op.var, op.table_key, rows, (pushed.rest,)))


def _indexed(entities: Entities, op: NodeScan) -> bool:
    """Whether an index finds the rows faster than comparing all of them in memory does."""
    return entities.row_count > _FEW_IN_MEMORY and selective(entities, op.predicates)


def _found(run: Run, op: NodeScan, entities: Entities, hits: Rows) -> Rows:
    """Those of the rows whose text matches that satisfy the other predicates too."""
    others = tuple(predicate for predicate in op.predicates if searched(predicate) is None)
    if not others or not len(hits):
        return hits
    pushed = push(ir.And(others), run.bindings)
    if len(hits) > _FEW_HITS and pushed.filter is not None and entities.as_named:
        hits = np.intersect1d(hits, entities.scan((), pushed.filter), assume_unique=True)
        others = () if pushed.rest is None else (pushed.rest,)
    return chosen(hits, run.matching(op.var, op.table_key, hits, others))


def _matching_in_union(run: Run, op: NodeScan) -> Rows:
    """The same for every type of a union, coded; in this order they ascend."""
    found = [np.empty(0, np.int64)]
    for name in union_members(op.type_name):
        key = f"{op.kind}:{name}"
        if not run.exists(key):
            continue  # a type that came later has no nodes here
        found.append(run.numbering.coded(key, matching_nodes(run, _of_member(op, name))))
    return np.concatenate(found)


def _of_member(op: NodeScan, name: str) -> NodeScan:
    """The scan of one type of a union."""
    columns = tuple(each for each in op.columns if each != TYPE)
    predicates = tuple(of_member(each, name) for each in op.predicates)
    return replace(op, type_name=name, columns=columns, predicates=predicates)


def _worth_reading(run: Run, op: NodeScan, entities: Entities) -> Iterable[str]:
    """Columns that later steps need and that are cheap to bring along while the filter runs."""
    if names_one(run, op):
        return op.columns
    schema = entities.handle.schema
    return [name for name in op.columns if pa.types.is_primitive(schema.field(name).type)]


def names_one(run: Run, op: NodeScan) -> bool:
    """Whether a predicate asks for one node by its id or key."""
    key = (run.view.catalog.nodes[op.type_name].key or ()) if op.kind == "node" else ()
    for predicate in op.predicates:
        match predicate:
            case ir.Compare("=", ir.Property(name=name), ir.Const() | ir.Param()) if name == "id" or (name,) == key:
                return True
    return False


def _product(run: Run, frame: Frame, op: NodeScan, nodes: Rows) -> Frame:
    run.budget.admit(frame.length * len(nodes), row_bytes=8 * (len(frame.bound) + 1))
    repeated = frame.take(np.repeat(np.arange(frame.length), len(nodes)))
    return repeated.bind(op.var, op.table_key, np.tile(nodes, frame.length))


def _joined(run: Run, frame: Frame, op: NodeScan, join: Join) -> Frame:
    run.budget.admit(int(join.counts(frame).sum()), row_bytes=8 * (len(frame.bound) + 1))
    owner, found = join.pairs(frame)
    return frame.take(owner).bind(op.var, op.table_key, found)
