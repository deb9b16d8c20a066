"""Links on Spark: pairs of a near and a far end; one hop is the edges themselves, more of them are searched."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link, Way
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.pipeline.gq.entities import Conditions, Entities, qualified
from omnigraph.pipeline.gq.frame import Frame, Rows
from omnigraph.pipeline.gq.scan import Among
from omnigraph.pipeline.gq.values import KEY, ROW, qualifier
from omnigraph.pipeline.gq.walks import Walks


class Hops:
    """Lowers the links of one query."""

    def __init__(self, entities: Entities, walks: Walks) -> None:
        self.entities = entities
        self.walks = walks
        self.low = entities.low

    def hops(self, rows: Rows, link: Link, source: str, edge_predicates: Conditions = ()) -> Rows:
        """(near, far) pairs of a link seen from one end: each pair once, or one row per edge when edges are bound."""
        keys = self.keys(rows, source, link)
        starts = None if keys is None else keys.unique()
        if self._is_searched(link, starts):
            near, far, row = self.low.names.fresh(), self.low.names.fresh(), self.low.names.fresh()
            if starts is None:
                column = rows.frame.select(self.end(rows, source, link).alias("start"))
                starts = column.dropna().distinct().toArrow().column(0).combine_chunks()
            frame = self.walks.pairs(starts, link, source, (near, far, row))
            ends = {**_ends(near, far), ("", ROW): row}
            return Rows(frame, ends, {near: ir.STRING, far: ir.STRING, row: ir.INT64})
        found = self._edges(link, source, edge_predicates, starts)
        if link.edge_var is not None:
            if starts is not None:
                self.low.few.may_be(found.frame)
            return found.with_frame(self.low.few.collected(found.frame))
        near, far = found.columns["", "near"], found.columns["", "far"]
        return Rows(found.frame.select(near, far).distinct(), _ends(near, far), {near: ir.STRING, far: ir.STRING})

    def end(self, rows: Rows, var: str, link: Link) -> Frame:
        """What the pairs of a link know the node of a variable by."""
        return self.entities.identity(rows, var, link) if link.ways else F.col(rows.id(var))

    def keys(self, rows: Rows, var: str, link: Link) -> pa.Array | None:
        """What the pairs of a link know the node of each row by, where the rows are few enough to be known."""
        table = self.low.few.known(rows.frame)
        if table is None:
            return None
        keys = table[rows.key(var) if link.ways else rows.id(var)].combine_chunks().drop_null()
        if not link.ways or (var, KEY) in rows.columns:
            return keys
        return pc.binary_join_element_wise(pa.scalar(qualifier(link.type_of(var))), keys, "")

    def _is_searched(self, link: Link, starts: pa.Array | None) -> bool:
        if not link.is_single or link.along is not None:
            return True
        return link.edge_var is None and starts is not None and self.walks.has_lists(link, len(starts))

    # --- edges -----------------------------------------------------------------------------------

    def _edges(self, link: Link, source: str, conditions: Conditions, starts: pa.Array | None) -> Rows:
        """The edges of a link, without those that have none of the starts at the near end where these are known."""
        if not link.ways:
            ends = ("src", "dst") if link.undirected else ("src",) if source == link.tail else ("dst",)
            known = None if starts is None else Among(ends, starts)
            edges = self.entities.edges(link.edge, link, conditions, known)
            return self._oriented(edges, link, turned=source != link.tail)
        near, far = self.low.names.fresh(), self.low.names.fresh()
        parts = []
        for way in link.ways:
            edges = self.entities.edges(way.edge, link, conditions)
            turned, same_type = way.against != (source != link.tail), way.from_type == way.to_type
            part = self._oriented(edges, link, turned=turned, same_type=same_type)
            parts.append(_between(part, way if source == link.tail else _turned(way), near, far))
        return self.entities.united(parts)

    def _oriented(self, edges: Rows, link: Link, *, turned: bool, same_type: bool = True) -> Rows:
        """The edges with the ends as `near` and `far`; without a direction each edge counts from both of its ends."""
        var = link.edge_var or ""
        src, dst = edges.columns[var, "src"], edges.columns[var, "dst"]
        near, far = self.low.names.fresh(), self.low.names.fresh()
        forward = edges.frame.withColumns({near: F.col(src), far: F.col(dst)})
        backward = edges.frame.withColumns({near: F.col(dst), far: F.col(src)})
        if link.undirected and same_type:
            # A self-loop is one edge at one node, not two.
            frame = forward.unionByName(backward.where(F.col(src) != F.col(dst)))
        else:
            frame = backward if turned else forward
        columns = {**edges.columns, **_ends(near, far)}
        return replace(edges, frame=frame, columns=columns, kinds={**edges.kinds, near: ir.STRING, far: ir.STRING})

    def shortest(self, rows: Rows, op: ShortestPath) -> Rows:
        """The rows with the path between their two ends, which are linked."""
        link = op.link
        tail, head = self.low.names.fresh(), self.low.names.fresh()
        both = {tail: self.end(rows, link.tail, link), head: self.end(rows, link.head, link)}
        rows = rows.with_frame(self.low.hold(rows.frame.withColumns(both)))
        return self.walks.paths(rows, op, (tail, head))


def _ends(near: str, far: str) -> dict[tuple[str, str], str]:
    return {("", "near"): near, ("", "far"): far}


def _between(rows: Rows, way: Way, near: str, far: str) -> Rows:
    """The ends with their types, under names that all ways of a link share."""
    ends = {
        near: qualified(way.from_type, F.col(rows.columns["", "near"])),
        far: qualified(way.to_type, F.col(rows.columns["", "far"])),
    }
    columns = {**rows.columns, **_ends(near, far)}
    kinds = {**rows.kinds, near: ir.STRING, far: ir.STRING}
    return replace(rows, frame=rows.frame.withColumns(ends), columns=columns, kinds=kinds)


def _turned(way: Way) -> Way:
    return Way(way.edge, way.to_type, way.from_type, not way.against)
