"""Links on Spark: pairs of a near and a far end, reachability as repeated joins, and the shortest of all ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link, Way
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.compiler.types import PropType
from omnigraph.pipeline.gq.entities import Conditions, Entities, as_, qualified
from omnigraph.pipeline.gq.frame import Frame, Rows
from omnigraph.pipeline.gq.values import SEPARATOR

_FEW_HOPS = 3
_PATH_NODES = PropType("String", list=True)


class Hops:
    """Lowers the links of one query."""

    def __init__(self, entities: Entities) -> None:
        self.entities = entities
        self.low = entities.low

    def hops(self, rows: Rows, link: Link, source: str, edge_predicates: Conditions = ()) -> Rows:
        """(near, far) pairs of a link seen from one end: each pair once, or one row per edge when edges are bound."""
        found = self._edges(link, source, edge_predicates)
        if link.edge_var is not None:
            return found
        near, far = found.columns["", "near"], found.columns["", "far"]
        pairs = Rows(found.frame.select(near, far).distinct(), _ends(near, far), {near: ir.STRING, far: ir.STRING})
        return pairs if (link.min_hops, link.max_hops) == (1, 1) else self._reach(rows, link, source, pairs)

    def end(self, rows: Rows, var: str, link: Link) -> Frame:
        """What the pairs of a link know the node of a variable by."""
        return self.entities.identity(rows, var, link) if link.ways else F.col(rows.id(var))

    # --- edges -----------------------------------------------------------------------------------

    def _edges(self, link: Link, source: str, conditions: Conditions) -> Rows:
        if not link.ways:
            edges = self.entities.edges(link.edge, link, conditions)
            return self._oriented(edges, link, turned=source != link.tail)
        near, far = self.low.names.fresh(), self.low.names.fresh()
        parts = []
        for way in link.ways:
            edges = self.entities.edges(way.edge, link, conditions)
            part = self._oriented(edges, link, turned=way.against != (source != link.tail))
            parts.append(_between(part, way if source == link.tail else _turned(way), near, far))
        return self.entities.united(parts)

    def _oriented(self, edges: Rows, link: Link, *, turned: bool) -> Rows:
        """The edges with the ends as `near` and `far`; without a direction each edge counts from both of its ends."""
        var = link.edge_var or ""
        src, dst = edges.columns[var, "src"], edges.columns[var, "dst"]
        near, far = self.low.names.fresh(), self.low.names.fresh()
        forward = edges.frame.withColumns({near: F.col(src), far: F.col(dst)})
        backward = edges.frame.withColumns({near: F.col(dst), far: F.col(src)})
        if link.undirected:
            # A self-loop is one edge at one node, not two.
            frame = forward.unionByName(backward.where(F.col(src) != F.col(dst)))
        else:
            frame = backward if turned else forward
        columns = {**edges.columns, **_ends(near, far)}
        return replace(edges, frame=frame, columns=columns, kinds={**edges.kinds, near: ir.STRING, far: ir.STRING})

    # --- reachability ----------------------------------------------------------------------------

    def _reach(self, rows: Rows, link: Link, source: str, pairs: Rows) -> Rows:
        """(start, node) pairs that lie m to n hops apart, breadth first.

        A node counts at its shortest distance only, and a start never reaches itself by a cycle, unless that is what
        the link asks for. A self-loop is one more hop on the node at the head of the link: the reached node, or the
        start of a walk against the link.
        """
        edges = self._held_edges(pairs)
        loops = edges.where("a = b").select(as_("a", "loop"))
        at_head = "node" if source == link.tail else "start"
        starts = rows.frame.select(self.end(rows, source, link).alias("start")).distinct()
        found = []
        for hop, before, fresh in self._layers(starts, edges, link):
            if hop >= link.min_hops and not link.is_cycle:
                found.append(before.join(loops, F.col(at_head) == F.col("loop"), "left_semi"))
            if hop >= link.min_hops:
                found.append(fresh)
        reached = found[0]
        for more in found[1:]:
            reached = reached.unionByName(more)
        near, far = self.low.names.fresh(), self.low.names.fresh()
        frame = reached.select("start", "node").distinct().select(as_("start", near), as_("node", far))
        return Rows(frame, _ends(near, far), {near: ir.STRING, far: ir.STRING})

    def _layers(
        self, starts: Frame, edges: Frame, link: Link, *, for_paths: bool = False, with_nodes: bool = False
    ) -> Iterator[tuple[int, Frame, Frame]]:
        """(hop, nodes one hop before, nodes first met at this hop), each by its start, from the first hop on.

        With nodes, a `path` comes along: of all shortest ways from the start the one whose ids come first.
        """
        # Plans that hold each other double with every hop, so long walks forget them, and those after another walk.
        forgets = for_paths or link.max_hops > _FEW_HOPS
        first = starts.where("start IS NOT NULL").select("start", as_("start", "node"))
        frontier = self.low.hold(first.withColumn("path", F.array(_step("node", link))) if with_nodes else first)
        # On a cycle the start is met like any other node, so it counts as not seen yet.
        seen = frontier.select("start", "node").limit(0) if link.is_cycle else frontier.select("start", "node")
        for hop in count(1):
            # A long walk ends where nothing new is found.
            if hop > link.max_hops or (link.max_hops > _FEW_HOPS and hop > link.min_hops and frontier.isEmpty()):
                return
            steps = frontier.join(edges, F.col("node") == F.col("a"))
            if with_nodes:
                longer = F.concat(F.col("path"), F.array(_step("b", link)))
                steps = steps.groupBy("start", as_("b", "node")).agg(F.min(longer).alias("path"))
            else:
                steps = steps.select("start", as_("b", "node")).distinct()
            known = seen.select(as_("start", "s"), as_("node", "n"))
            same = (F.col("start") == F.col("s")) & (F.col("node") == F.col("n"))
            fresh = self._settled(steps.join(known, same, "left_anti"), forgets=forgets)
            yield hop, frontier, fresh
            seen = self._settled(seen.unionByName(fresh.select("start", "node")), forgets=forgets)
            frontier = fresh

    def _held_edges(self, pairs: Rows) -> Frame:
        near, far = pairs.columns["", "near"], pairs.columns["", "far"]
        return self.low.hold(pairs.frame.select(as_(near, "a"), as_(far, "b")))

    def _settled(self, frame: Frame, *, forgets: bool) -> Frame:
        """What later hops read again."""
        return frame.localCheckpoint() if forgets else self.low.hold(frame)

    # --- shortest paths --------------------------------------------------------------------------

    def shortest(self, rows: Rows, op: ShortestPath) -> Rows:
        """The rows with the path between their two ends, which are linked."""
        link, with_nodes = op.link, "nodes" in op.columns
        tail, head = self.low.names.fresh(), self.low.names.fresh()
        both = {tail: self.end(rows, link.tail, link), head: self.end(rows, link.head, link)}
        rows = rows.with_frame(rows.frame.withColumns(both).localCheckpoint())
        one_hop = replace(link, min_hops=1, max_hops=1, edge_var=None)
        edges = self._held_edges(self.hops(rows, one_hop, link.tail))
        paths = self._paths(rows.frame.select(as_(tail, "start")).distinct(), edges, link, with_nodes=with_nodes)
        start, node = self.low.names.fresh(), self.low.names.fresh()
        named = {name: self.low.names.fresh() for name in ("id", "length", *(("nodes",) if with_nodes else ()))}
        # A distance below the lower bound is made up for by one more hop around the head's loop.
        looped = F.col("hop") < link.min_hops
        made = [
            as_("start", start),
            as_("node", node),
            F.concat("start", F.lit(SEPARATOR), "node").alias(named["id"]),
            F.when(looped, F.col("hop") + 1).otherwise(F.col("hop")).cast("long").alias(named["length"]),
        ]
        if with_nodes:
            ids = F.transform("path", lambda step: step["id"])
            made.append(F.when(looped, F.concat(ids, F.slice(ids, -1, 1))).otherwise(ids).alias(named["nodes"]))
        ends = (F.col(tail) == F.col(start)) & (F.col(head) == F.col(node))
        frame = rows.frame.join(paths.select(*made), ends).drop(tail, head, start, node)
        kinds = {"id": ir.STRING, "length": ir.INT64, "nodes": _PATH_NODES}
        return replace(
            rows,
            frame=frame,
            columns={**rows.columns, **{(op.var, name): column for name, column in named.items()}},
            kinds={**rows.kinds, **{column: kinds[name] for name, column in named.items()}},
        )

    def _paths(self, starts: Frame, edges: Frame, link: Link, *, with_nodes: bool) -> Frame:
        """(start, node, hop) of everything within reach, with the path if it is wanted."""
        found = None
        for hop, before, fresh in self._layers(starts, edges, link, for_paths=True, with_nodes=with_nodes):
            if found is None:
                at_start = before.withColumn("hop", F.lit(0))
                found = at_start.limit(0) if link.is_cycle else at_start
            found = found.unionByName(fresh.withColumn("hop", F.lit(hop)))
        assert found is not None
        return found


def _ends(near: str, far: str) -> dict[tuple[str, str], str]:
    return {("", "near"): near, ("", "far"): far}


def _step(node: str, link: Link) -> Frame:
    """A node on a path: compared by its id first, by its type after that."""
    if not link.ways:
        return F.struct(F.col(node).alias("id"))
    return F.struct(
        F.expr(f"substring({node}, locate('{SEPARATOR}', {node}) + 1)").alias("id"),
        F.substring_index(node, SEPARATOR, 1).alias("type"),
    )


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
