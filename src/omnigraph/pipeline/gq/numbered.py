"""Hops by row ids on Spark: where neighbour lists are kept beside the graph, tasks map them and rows carry numbers.

A join by the texts of ends moves every edge through Spark more than once. Nodes and edges that a hop over lists leads
to are *unread*: the frame has their row ids and nothing else, until a step asks for more; then one join of numbers
fetches it for the rows that are left. So groups, counts and distinct rows of nodes are those of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import Aggregate, Expand, ExpandTest, MatchOp, NodeScan, pipelines
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.columns.arrays import Rows as RowIds
from omnigraph.engine.read.plan.outline import Outline
from omnigraph.engine.views.view import View
from omnigraph.pipeline.gq import few
from omnigraph.pipeline.gq.carry import Batches, reported, reporting
from omnigraph.pipeline.gq.frame import Frame, Lowering, Rows, Unread
from omnigraph.pipeline.gq.steps import Hop, Taken
from omnigraph.pipeline.gq.values import ROW
from omnigraph.pipeline.spark.lists import MappedLists, mapped_lists
from omnigraph.pipeline.spark.shares import shared_frame

_NUMBER = 8  # bytes
_Columns = Mapping[tuple[str, str], str]


class NumberedHops:
    """The hops of one plan that lists can answer; the outline says which variables are needed after each of its steps.

    `variables` are those that hops start at or lead to: what is scanned for them has row ids.
    """

    def __init__(self, low: Lowering, view: View, plan: ReadPlan, outline: Outline) -> None:
        self.low = low
        self.view = view
        self.plan = plan
        self.outline = outline
        self._lists: dict[str, MappedLists | None] = {}
        self._live = {id(stage.op): stage.live for stage in outline.stages}
        self._bound = frozenset(var for stage in outline.stages for var in stage.binds)
        self._in_the_end = outline.stages[-1].live if outline.stages else frozenset()
        hops = [op for op in plan.match if isinstance(op, Expand)]
        self._last_hop = hops[-1] if hops else None
        self._whole: dict[int, Frame] = {}
        self.starts = frozenset(var for op in self._answered(plan.match) for var in _starts(op))
        self.variables = self.starts | {var for op in self._answered(plan.match) for var in _added(op)}

    # --- what can be answered --------------------------------------------------------------------

    def _answered(self, ops: Iterable[MatchOp]) -> Iterator[Expand | ExpandTest]:
        for op in ops:
            if isinstance(op, Expand | ExpandTest) and self._lists_of(op.link) is not None:
                yield op
            for inner in pipelines(op):
                yield from self._answered(inner)

    def _lists_of(self, link: Link) -> MappedLists | None:
        if link.ways or not link.is_single or link.along is not None:
            return None
        if link.edge not in self._lists:
            self._lists[link.edge] = mapped_lists(self.view, self.view.catalog.edges[link.edge])
        return self._lists[link.edge]

    def is_unread(self, op: NodeScan) -> bool:
        """Whether all nodes of a large type are only where hops start."""
        if op.kind == "edge" or op.predicates or op.joins or len(union_members(op.type_name)) != 1:
            return False
        if op.var not in self.starts or op.var in self._in_the_end or op.var not in self._bound:
            return False
        entry = self.view.find(self.view.catalog.nodes[op.type_name])
        return entry is not None and entry.row_count > few.MOST

    def is_read_at_once(self, op: Expand) -> bool:
        """Whether a later hop would repeat what is needed of this one's nodes in the end."""
        return op is not self._last_hop and op.target in self._in_the_end

    def note_whole(self, rows: Rows) -> Rows:
        """Remember that rows are all nodes of a type, and nothing else."""
        self._whole[id(rows.frame)] = rows.frame
        return rows

    # --- hops ------------------------------------------------------------------------------------

    def expand(self, rows: Rows, op: Expand) -> Rows | None:
        """The rows with the row ids of neighbours, and of edges if they are bound; None where lists cannot tell."""
        link, start = op.link, rows.columns.get((op.source, ROW))
        lists = self._lists_of(link)
        if start is None or lists is None:
            return None
        direction = "both" if link.undirected else "out" if op.source == link.tail else "in"
        hop = Hop(lists, direction, link.edge_var is not None)
        added = _added(op)
        names = {var: self.low.names.fresh() for var in added}
        kept = self._carried(rows, op)
        if id(rows.frame) in self._whole and not kept and self._only_counts(op):
            times = self.low.names.fresh()
            frame = self._counted_steps(hop.turned(), names[op.target], times)
            found = _extended(rows, frame, kept, added, names)
            return replace(found, kinds={**found.kinds, times: ir.INT64}, times=times)
        if id(rows.frame) in self._whole:
            near = start if (op.source, ROW) in kept else None
            frame = self._all_steps(hop, near, list(names.values()))
        else:
            frame = _mapped(rows.frame, partial(_steps, hop, start), list(kept.values()), list(names.values()))
        return _extended(rows, frame, kept, added, names)

    def test(self, rows: Rows, op: ExpandTest) -> Rows | None:
        """The rows whose ends are linked, one for each edge if edges are bound; None where lists cannot tell."""
        link = op.link
        tail, head = (rows.columns.get((var, ROW)) for var in (link.tail, link.head))
        lists = self._lists_of(link)
        if tail is None or head is None or lists is None:
            return None
        hop = Hop(lists, "both" if link.undirected else "out", link.edge_var is not None)
        added = _added(op)
        names = {var: self.low.names.fresh() for var in added}
        kept = self._carried(rows, op)
        frame = _mapped(rows.frame, partial(_links, hop, (tail, head)), list(kept.values()), list(names.values()))
        return _extended(rows, frame, kept, added, names)

    def _carried(self, rows: Rows, op: MatchOp) -> _Columns:
        """The columns that something after a step reads; inside of blocks all of them."""
        live = self._live.get(id(op))
        if live is None:
            return rows.columns
        ordered = {each.column for each in rows.order}
        return {
            key: column
            for key, column in rows.columns.items()
            if key[0] in live or key[0] not in self._bound or column in ordered
        }

    def _all_steps(self, hop: Hop, near: str | None, names: Sequence[str]) -> Frame:
        """Every step that there is, in shares of the lists themselves."""
        columns = [*(() if near is None else (near,)), *names]
        schema = StructType([StructField(name, LongType()) for name in columns])
        opened = hop.opened()
        size = sum(map(len, opened.ways)) * _NUMBER * len(columns)

        def read(share: int) -> Batches:
            def batches() -> Batches:
                taken = hop.opened().share(share)
                arrays = [*(() if near is None else (taken.near,)), *_numbers(taken)]
                yield pa.RecordBatch.from_arrays([pa.array(each) for each in arrays], names=columns)

            return reported(batches())

        return shared_frame(self.low.spark, read, opened.shares, size, schema)

    def _only_counts(self, op: Expand) -> bool:
        """Whether of the nodes where a hop starts only their number matters, and of equal rows as well."""
        return self.outline.counts and op is self.plan.match[-1] and op.link.edge_var is None

    def _counted_steps(self, hop: Hop, name: str, times: str) -> Frame:
        """Where the steps of a turned hop start, and how many there are; a node may be in two shares."""
        schema = StructType([StructField(column, LongType()) for column in (name, times)])
        opened = hop.opened()

        def read(share: int) -> Batches:
            def batches() -> Batches:
                nodes, counts = np.unique(hop.opened().share(share).near, return_counts=True)
                yield pa.RecordBatch.from_arrays([pa.array(nodes), pa.array(counts)], names=[name, times])

            return reported(batches())

        size = sum(min(len(lists), lists.last_owner + 1) for lists in opened.ways) * _NUMBER * 2
        return shared_frame(self.low.spark, read, opened.shares, size, schema)

    # --- in the end ------------------------------------------------------------------------------

    def settled(self, rows: Rows) -> tuple[Rows, list[str]]:
        """The rows that results are made of, equal ones as one where that is the same, and which variables to read."""
        columns = [rows.columns[var, ROW] for var in rows.unread]
        shown = self.plan.result[0] if self.plan.result else None
        read = _read(shown)
        wanted = [var for var in rows.unread if read is None or var in read]
        if not columns or set(columns) != set(rows.frame.columns) or not wanted:
            return rows, wanted
        if self.outline.exists:
            return rows.with_frame(rows.frame.distinct()), wanted
        if self.outline.counts and len(columns) == 1 and isinstance(shown, Aggregate):
            times = self.low.names.fresh()
            frame = rows.frame.groupBy(*columns).agg(F.count(F.lit(1)).alias(times))
            return replace(rows, frame=frame, kinds={**rows.kinds, times: ir.INT64}, times=times), wanted
        return rows, wanted


def _starts(op: Expand | ExpandTest) -> tuple[str, ...]:
    return (op.source,) if isinstance(op, Expand) else (op.link.tail, op.link.head)


def _added(op: Expand | ExpandTest) -> dict[str, Unread]:
    """The variables that a hop binds: the node that it leads to, and its edge."""
    link = op.link
    found = {op.target: Unread(op.target_type)} if isinstance(op, Expand) else {}
    return found if link.edge_var is None else {**found, link.edge_var: Unread(link.edge, link)}


def _read(op: object) -> frozenset[str] | None:
    """The variables of which a first result operator reads more than which they are; None for all of them."""
    if not isinstance(op, Aggregate):
        return None
    found = frozenset(op.entities)
    for column in op.columns:
        match column.expr:
            case ir.AggregateCall(function="count", arg=ir.Node(), where=None):
                continue
            case expr:
                found |= variables(expr)
    return found


def _extended(rows: Rows, frame: Frame, kept: _Columns, added: Mapping[str, Unread], names: Mapping[str, str]) -> Rows:
    columns = {**kept, **{(var, ROW): names[var] for var in added}}
    there = {var for var, _ in columns}
    return replace(
        rows,
        frame=frame,
        columns=columns,
        kinds={**rows.kinds, **dict.fromkeys(names.values(), ir.INT64)},
        unread={var: what for var, what in {**rows.unread, **added}.items() if var in there},
    )


# --- inside a task -----------------------------------------------------------------------------------------


def _mapped(frame: Frame, found: object, kept: list[str], names: list[str]) -> Frame:
    """A frame of the kept columns for each place that `found` gives, and of the numbers that come with it."""
    fields = {field.name: field for field in frame.schema.fields}
    schema = StructType([*(fields[name] for name in kept), *(StructField(name, LongType()) for name in names)])

    def work(batches: Batches) -> Batches:
        for rows, at, numbers in found(batches):  # type: ignore[operator]
            carried = rows.select(kept).take(pa.array(at))
            arrays = [*carried.columns, *map(pa.array, numbers)]
            yield pa.RecordBatch.from_arrays(arrays, names=[*kept, *names])

    return frame.mapInArrow(reporting(work), schema)


_Found = Iterator[tuple[pa.RecordBatch, RowIds, list[RowIds]]]


def _steps(hop: Hop, start: str, batches: Batches) -> _Found:
    opened = hop.opened()
    for batch in batches:
        rows, (near,) = _present(batch, start)
        for taken in opened.steps(near):
            yield rows, taken.owner, _numbers(taken)


def _links(hop: Hop, ends: tuple[str, str], batches: Batches) -> _Found:
    opened = hop.opened()
    for batch in batches:
        rows, (tails, heads) = _present(batch, *ends)
        if not hop.each_edge:
            yield rows, np.flatnonzero(opened.linked(tails, heads)), []
            continue
        for at, edges in opened.edges(tails, heads):
            yield rows, at, [edges]


def _present(batch: pa.RecordBatch, *columns: str) -> tuple[pa.RecordBatch, list[RowIds]]:
    """The rows that have a value in each of the columns, and the values."""
    for name in columns:
        if batch.column(name).null_count:
            batch = batch.filter(pc.is_valid(batch.column(name)))
    return batch, [batch.column(name).to_numpy(zero_copy_only=False) for name in columns]


def _numbers(taken: Taken) -> list[RowIds]:
    return [taken.far] if taken.edge is None else [taken.far, taken.edge]
