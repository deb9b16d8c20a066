"""Matching on Spark: scans, hops as joins, reachability as repeated joins, `not` as an anti-join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count

from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    AntiJoin,
    Expand,
    ExpandTest,
    Filter,
    LeftJoin,
    MatchOp,
    NodeScan,
    ShortestPath,
)
from omnigraph.compiler.ir.walk import expressions, variables
from omnigraph.engine.arrow import TableType, row_schema
from omnigraph.engine.view import View
from omnigraph.pipeline.gq.frame import Frame, Lowering, Rows
from omnigraph.pipeline.gq.scan import Scan, kind_of, node_type, not_on_spark, scan_frame

Conditions = tuple[ir.Condition, ...]
_FEW_HOPS = 3


class Matcher:
    """Lowers match operators; `needed` says which columns of each variable something reads."""

    def __init__(self, low: Lowering, view: View, needed: Mapping[str, frozenset[str]]) -> None:
        self.low = low
        self.view = view
        self.needed = needed

    def match(self, rows: Rows, ops: Iterable[MatchOp]) -> Rows:
        """The rows after every operator; a condition that stands before all variables waits for the first of them."""
        waiting: Conditions = ()
        for op in ops:
            if rows.frame is None and isinstance(op, Filter):
                waiting += (op.condition,)
                continue
            rows = self.low.keep(self._step(rows, op), waiting)
            waiting = ()
        return rows

    def _step(self, rows: Rows, op: MatchOp) -> Rows:
        match op:
            case NodeScan():
                return self._scan(rows, op)
            case Expand():
                return self._expand(rows, op)
            case ExpandTest():
                return self._expand_test(rows, op)
            case Filter(condition):
                return self.low.keep(rows, (condition,))
            case AntiJoin():
                return self._anti_join(rows, op)
            case LeftJoin():
                return self._left_join(rows, op)
            case ShortestPath():
                raise not_on_spark("a shortest path")

    # --- tables ----------------------------------------------------------------------------------

    def _entities(self, info: TableType, var: str, conditions: Conditions) -> Rows:
        """The entities of a table as bindings of one variable."""
        wanted = {"id", *self.needed.get(var, ())} & set(row_schema(info).names)
        return self._table(info, var, sorted(wanted), conditions)

    def _table(self, info: TableType, var: str, names: Iterable[str], conditions: Conditions) -> Rows:
        columns = {name: self.low.names.fresh() for name in names}
        early = tuple(condition for condition in conditions if not _ranks(condition))
        frame = scan_frame(self.low.spark, self.view, self.low.bindings, Scan(info, var, columns, early))
        rows = Rows(
            frame,
            {(var, name): column for name, column in columns.items()},
            {column: kind_of(info, name) for name, column in columns.items()},
        )
        return self.low.keep(rows, tuple(condition for condition in conditions if _ranks(condition)))

    def _scan(self, rows: Rows, op: NodeScan) -> Rows:
        nodes = self._entities(node_type(self.view.catalog, op.type_name), op.var, op.predicates)
        if rows.frame is None:
            return self.low.keep(nodes, op.joins)
        pairs = [pair for condition in op.joins if (pair := _equality(condition, op.var)) is not None]
        if not pairs:
            return self.low.keep(_joined(rows, nodes, None, "cross"), op.joins)
        rows, here = self.low.computed(rows, [pair[0] for pair in pairs])
        nodes, there = self.low.computed(nodes, [pair[1] for pair in pairs])
        rest = tuple(condition for condition in op.joins if _equality(condition, op.var) is None)
        return self.low.keep(_joined(rows, nodes, list(zip(here, there, strict=True)), "inner"), rest)

    # --- hops ------------------------------------------------------------------------------------

    def _expand(self, rows: Rows, op: Expand) -> Rows:
        link = op.link
        hops = self._hops(rows, link, op.source, op.edge_predicates)
        near, far = hops.columns["", "near"], hops.columns["", "far"]
        wider = _joined(rows, hops, [(rows.id(op.source), near)], "inner")
        info = node_type(self.view.catalog, op.target_type)
        nodes = self._entities(info, op.target, op.predicates)
        found = _joined(wider, nodes, [(far, nodes.id(op.target))], "inner")
        return _without(found, [("", "near"), ("", "far")])

    def _expand_test(self, rows: Rows, op: ExpandTest) -> Rows:
        link = op.link
        hops = self._hops(rows, link, link.tail, op.edge_predicates)
        near, far = hops.columns["", "near"], hops.columns["", "far"]
        how = "left_semi" if link.edge_var is None else "inner"
        found = _joined(rows, hops, [(rows.id(link.tail), near), (rows.id(link.head), far)], how)
        return found if how == "left_semi" else _without(found, [("", "near"), ("", "far")])

    def _hops(self, rows: Rows, link: Link, source: str, edge_predicates: Conditions) -> Rows:
        """(near, far) pairs of a link seen from one end: each pair once, or one row per edge when edges are bound."""
        if link.ways:
            raise not_on_spark("a traversal over several edge types, or between unions of types,")
        if link.edge_var is not None:
            return self._bound_edges(link, source, edge_predicates)
        pairs = self._pairs(link, source)
        if (link.min_hops, link.max_hops) == (1, 1):
            return pairs
        return self._reach(rows, link, source, pairs)

    def _bound_edges(self, link: Link, source: str, conditions: Conditions) -> Rows:
        assert link.edge_var is not None
        info = self.view.catalog.edges[link.edge]
        wanted = {"id", "src", "dst", *self.needed.get(link.edge_var, ())} & set(row_schema(info).names)
        edges = self._table(info, link.edge_var, sorted(wanted), conditions)
        src, dst = edges.columns[link.edge_var, "src"], edges.columns[link.edge_var, "dst"]
        return self._oriented(edges, src, dst, link, source)

    def _pairs(self, link: Link, source: str) -> Rows:
        info = self.view.catalog.edges[link.edge]
        edges = self._table(info, "", ["dst", "src"], ())
        found = self._oriented(edges, edges.columns["", "src"], edges.columns["", "dst"], link, source)
        found = _without(found, [("", "src"), ("", "dst")])
        return found.with_frame(found.frame.distinct())

    def _oriented(self, edges: Rows, src: str, dst: str, link: Link, source: str) -> Rows:
        """The edges with the ends as `near` and `far`; without a direction each edge counts from both of its ends."""
        near, far = self.low.names.fresh(), self.low.names.fresh()
        forward = edges.frame.withColumns({near: F.col(src), far: F.col(dst)})
        backward = edges.frame.withColumns({near: F.col(dst), far: F.col(src)})
        if link.undirected:
            # A self-loop is one edge at one node, not two.
            frame = forward.unionByName(backward.where(F.col(src) != F.col(dst)))
        else:
            frame = forward if source == link.tail else backward
        columns = {**edges.columns, ("", "near"): near, ("", "far"): far}
        return replace(edges, frame=frame, columns=columns, kinds={**edges.kinds, near: ir.STRING, far: ir.STRING})

    # --- reachability ----------------------------------------------------------------------------

    def _reach(self, rows: Rows, link: Link, source: str, pairs: Rows) -> Rows:
        """(start, node) pairs that lie m to n hops apart, breadth first.

        A node counts at its shortest distance only, and a start never reaches itself by a cycle. A self-loop is one
        more hop on the node at the head of the link: the reached node, or the start of a walk against the link.
        """
        edges = self.low.hold(
            pairs.frame.select(_as(pairs.columns["", "near"], "a"), _as(pairs.columns["", "far"], "b"))
        )
        loops = edges.where("a = b").select(_as("a", "loop"))
        at_head = "node" if source == link.tail else "start"
        start = rows.id(source)
        frontier = self.low.hold(rows.frame.select(_as(start, "start"), _as(start, "node")).distinct())
        seen, found = frontier, []
        for hop in count(1):
            # A long walk ends where nothing new is found.
            if hop > link.max_hops or (link.max_hops > _FEW_HOPS and hop > link.min_hops and frontier.isEmpty()):
                break
            steps = frontier.join(edges, F.col("node") == F.col("a")).select("start", _as("b", "node")).distinct()
            known = seen.select(_as("start", "s"), _as("node", "n"))
            same = (F.col("start") == F.col("s")) & (F.col("node") == F.col("n"))
            fresh = self._settled(steps.join(known, same, "left_anti"), link)
            if hop >= link.min_hops:
                found += [frontier.join(loops, F.col(at_head) == F.col("loop"), "left_semi"), fresh]
            seen, frontier = self._settled(seen.unionByName(fresh), link), fresh
        reached = found[0]
        for more in found[1:]:
            reached = reached.unionByName(more)
        near, far = self.low.names.fresh(), self.low.names.fresh()
        frame = reached.distinct().select(_as("start", near), _as("node", far))
        return Rows(frame, {("", "near"): near, ("", "far"): far}, {near: ir.STRING, far: ir.STRING})

    def _settled(self, frame: Frame, link: Link) -> Frame:
        """What later hops read again; plans that hold each other double with every hop, so long walks forget them."""
        return frame.localCheckpoint() if link.max_hops > _FEW_HOPS else self.low.hold(frame)

    # --- not -------------------------------------------------------------------------------------

    def _anti_join(self, rows: Rows, op: AntiJoin) -> Rows:
        """Run the inner pipeline once per distinct assignment of the variables it reads."""
        ids = [rows.id(var) for var in op.outer]
        if not ids:
            found = self.match(Rows(None), op.ops)
            return rows if found.frame.isEmpty() else rows.with_frame(rows.frame.limit(0))
        inner = self.match(self._distinct(rows, op.outer), op.ops)
        aliases = {column: self.low.names.fresh() for column in ids}
        gone = inner.frame.select(*(_as(column, alias) for column, alias in aliases.items())).distinct()
        return rows.with_frame(rows.frame.join(gone, _all_same(aliases), "left_anti"))

    def _left_join(self, rows: Rows, op: LeftJoin) -> Rows:
        """Extend each row by what the inner pipeline finds for it, or by null."""
        if rows.frame is None:
            raise not_on_spark("'optional' before anything is matched")
        inner = self.match(self._distinct(rows, op.outer) if op.outer else Rows(None), op.ops)
        aliases = {rows.id(var): self.low.names.fresh() for var in op.outer}
        bound = {key: column for key, column in inner.columns.items() if key[0] in op.binds}
        found = inner.frame.select(*(_as(column, alias) for column, alias in aliases.items()), *bound.values())
        frame = rows.frame.join(found, _all_same(aliases), "left").drop(*aliases.values())
        kinds = {**rows.kinds, **{column: inner.kinds[column] for column in bound.values()}}
        return replace(rows, frame=frame, columns={**rows.columns, **bound}, kinds=kinds)

    def _distinct(self, rows: Rows, variables: Iterable[str]) -> Rows:
        """Each assignment of some variables once."""
        kept = {key: column for key, column in rows.columns.items() if key[0] in variables}
        frame = rows.frame.select(*kept.values()).dropDuplicates([rows.id(var) for var in variables])
        return Rows(frame, kept, {name: rows.kinds[name] for name in kept.values()})


def _joined(left: Rows, right: Rows, pairs: list[tuple[str, str]] | None, how: str) -> Rows:
    if how == "cross" or pairs is None:
        frame = left.frame.crossJoin(right.frame)
    else:
        frame = left.frame.join(right.frame, _all_equal(pairs), how)
    if how == "left_semi":
        return left.with_frame(frame)
    return replace(left, frame=frame, columns={**left.columns, **right.columns}, kinds={**left.kinds, **right.kinds})


def _without(rows: Rows, keys: Iterable[tuple[str, str]]) -> Rows:
    gone = [rows.columns[key] for key in keys]
    columns = {key: column for key, column in rows.columns.items() if column not in gone}
    return replace(rows, frame=rows.frame.drop(*gone), columns=columns)


def _all_equal(pairs: list[tuple[str, str]]) -> Frame:
    condition = F.lit(True)
    for left, right in pairs:
        condition = condition & (F.col(left) == F.col(right))
    return condition


def _all_same(aliases: Mapping[str, str]) -> Frame:
    """Equal ids, where a variable without a value is equal to itself."""
    condition = F.lit(True)
    for left, right in aliases.items():
        condition = condition & F.col(left).eqNullSafe(F.col(right))
    return condition


def _as(column: str, name: str) -> Frame:
    return F.col(column).alias(name)


def _equality(condition: ir.Condition, var: str) -> tuple[ir.Expr, ir.Expr] | None:
    """(expression over the rows so far, expression over the new variable) of a condition that a join can answer."""
    match condition:
        case ir.Compare("=", left, right) if left.type.scalar == right.type.scalar:  # type: ignore[union-attr]
            pass
        case ir.SameNode(left, right, negated=False):
            pass
        case _:
            return None
    for here, there in ((left, right), (right, left)):
        if variables(there) == {var} and variables(here) and var not in variables(here):
            return here, there
    return None


def _ranks(condition: ir.Condition) -> bool:
    return any(isinstance(part, ir.RankCall) for part in expressions(condition))
