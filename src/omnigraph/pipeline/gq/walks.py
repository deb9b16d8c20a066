"""Links of several hops and paths on Spark: searched here, over the topology of the driver, and joined as pairs.

A join of ids per hop shuffles every row of the frontier; the same search over neighbour lists takes a moment.
So the ends come to the driver, each once, and what they reach goes back to Spark.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import ExpandTest, ShortestPath
from omnigraph.compiler.types import union_members
from omnigraph.engine.read.columns.arrays import Rows as RowIds
from omnigraph.engine.read.columns.held import ROW_ID
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.frames.frame import Bound, numpy_of
from omnigraph.engine.read.frames.frame import Frame as EngineFrame
from omnigraph.engine.read.frames.paths import path_types
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import PATH, TYPE, is_union
from omnigraph.engine.read.match.expand import FEW_STARTS, SMALL_EDGE_TABLE, expand_test, linked_lists
from omnigraph.engine.read.match.shortest import shortest_paths
from omnigraph.engine.read.topology.edge_lookup import ends_of
from omnigraph.engine.read.topology.store import ready_topology
from omnigraph.pipeline.gq.carry import to_spark
from omnigraph.pipeline.gq.frame import Frame, Lowering, Rows
from omnigraph.pipeline.gq.values import Keys, qualifier


class Walks:
    """Searches for one query; nodes are known by the keys that a link compares."""

    def __init__(self, low: Lowering, run: Run) -> None:
        self.low = low
        self.run = run

    def has_lists(self, link: Link, starts: int) -> bool:
        """Whether one hop from so many nodes need not build neighbour lists of a large table."""
        if starts <= FEW_STARTS:
            return True
        for edge in {way.edge for way in link.ways} or {link.edge}:
            ends = ends_of(self.run.view, self.run.view.catalog.edges[edge])
            if ends is not None and ends.edges.row_count > SMALL_EDGE_TABLE and ready_topology(ends) is None:
                return False
        return True

    def pairs(self, starts: pa.Array, link: Link, source: str, names: tuple[str, str, str]) -> Frame:
        """(near, far, row id at the far end) of everything that the link leads to from the keys of some nodes, as
        columns of these names; nodes of several types have no row id that tells them apart."""
        rows, _ = self._rows(link, source, starts)
        if link.is_cycle:
            table = f"node:{link.tail_type}"
            back = expand_test(self.run, EngineFrame(len(rows), {link.tail: Bound(table, rows)}), ExpandTest(link))
            reached = back.rows(link.tail)
            near = far = self._keys(link, source, reached)
        else:
            lists = linked_lists(self.run, link, np.sort(rows), backward=source == link.head)
            at, reached, _ = lists.expand(rows)
            self.run.budget.admit(len(at), row_bytes=64)
            near = self._keys(link, source, rows).take(pa.array(at))
            far = self._keys(link, link.other(source), reached)
        return self.low.few.made(pa.table(dict(zip(names, (near, far, pa.array(reached)), strict=True))))

    def paths(self, rows: Rows, op: ShortestPath, ends: tuple[str, str]) -> Rows:
        """The rows with the paths between their two ends, whose keys are in these columns."""
        link = op.link
        table = rows.frame.select(*ends).dropna().distinct().toArrow()
        bound = {}
        for var, name in zip((link.tail, link.head), ends, strict=True):
            keys = table[name].combine_chunks()
            found, known = self._rows(link, var, keys.unique())
            places = numpy_of(pc.index_in(keys, value_set=known)).astype(np.int64)
            bound[var] = Bound(f"node:{link.type_of(var)}", found[places])
        found_paths = shortest_paths(self.run, EngineFrame(table.num_rows, bound), op)
        kinds = {"id": ir.INT64, **path_types(op, self.run.view.catalog)}
        names = {name: self.low.names.fresh() for name in kinds}
        numbers = found_paths.rows(op.var)
        columns = self.run.columns(f"{PATH}{op.var}")
        arrays = {names["id"]: pa.array(numbers, pa.int64())}
        for name, kind in kinds.items():
            if name != "id":
                arrays[names[name]] = to_spark(columns.values(name, numbers), kind)
        keys = [self._keys(link, var, found_paths.rows(var)) for var in (link.tail, link.head)]
        own = [self.low.names.fresh() for _ in keys]
        paths = self.low.few.made(pa.table({**dict(zip(own, keys, strict=True)), **arrays}))
        same = (F.col(ends[0]) == F.col(own[0])) & (F.col(ends[1]) == F.col(own[1]))
        return replace(
            rows,
            frame=rows.frame.join(paths, same).drop(*own, *ends),
            columns={**rows.columns, **{(op.var, name): column for name, column in names.items()}},
            kinds={**rows.kinds, **{names[name]: kind for name, kind in kinds.items()}},
        )

    # --- keys and row ids ------------------------------------------------------------------------

    def _rows(self, link: Link, end: str, keys: pa.Array) -> tuple[RowIds, pa.Array]:
        """The row ids of keys at one end of a link, as a variable there holds them, and the key of each."""
        table, run = f"node:{link.type_of(end)}", self.run
        rows, known = [np.empty(0, np.int64)], [pa.array([], pa.utf8())]
        for name in union_members(link.type_of(end)):
            member = f"node:{name}"
            if not run.exists(member):
                continue
            found = run.entities(member).handle.take_ids(Keys(keys, bool(link.ways)).of(name), ["id", ROW_ID])
            plain = row_ids(found[ROW_ID])
            rows.append(run.numbering.coded(member, plain) if is_union(table) else plain)
            known.append(self._named(link, name, found["id"].combine_chunks().cast(pa.utf8())))
        return np.concatenate(rows), pa.concat_arrays(known)

    def _keys(self, link: Link, end: str, rows: RowIds) -> pa.Array:
        """What the link knows nodes at one of its ends by."""
        table = f"node:{link.type_of(end)}"
        if not len(rows):
            return pa.array([], pa.utf8())
        columns = self.run.columns(table)
        ids = columns.values("id", rows).cast(pa.utf8())
        if not is_union(table):
            return self._named(link, link.type_of(end), ids)
        kinds = columns.values(TYPE, rows)
        return pc.binary_join_element_wise(kinds, ids, qualifier(""))

    @staticmethod
    def _named(link: Link, type_name: str, ids: pa.Array) -> pa.Array:
        return pc.binary_join_element_wise(pa.scalar(qualifier(type_name)), ids, "") if link.ways else ids
