"""Matching on Spark: scans and hops as joins, and blocks as joins with what their pipelines find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce

from pyspark.sql import functions as F

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    FOUND,
    Aggregate,
    AntiJoin,
    Either,
    Expand,
    ExpandTest,
    Filter,
    LeftJoin,
    Mark,
    MatchOp,
    NodeScan,
    Output,
    ShortestPath,
    Sort,
    Unwind,
)
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.types import PropType, union_members
from omnigraph.engine.read.frames.run import Run
from omnigraph.pipeline.gq.entities import Conditions, Entities, as_
from omnigraph.pipeline.gq.frame import Frame, Lowering, Rows
from omnigraph.pipeline.gq.hops import Hops
from omnigraph.pipeline.gq.numbered import NumberedHops
from omnigraph.pipeline.gq.stages import unwound
from omnigraph.pipeline.gq.values import ROW, Keys
from omnigraph.pipeline.gq.walks import Walks


class Matcher:
    """Lowers match operators; `needed` says which columns of each variable something reads."""

    def __init__(self, low: Lowering, run: Run, needed: Mapping[str, frozenset[str]], numbered: NumberedHops) -> None:
        self.low = low
        self.run = run
        self.numbered = numbered
        self.entities = Entities(low, run.view, needed, numbered.variables)
        self.hops = Hops(self.entities, Walks(low, run))

    def matched(self, ops: Iterable[MatchOp], rows: Rows) -> Rows:
        """The rows that results are made of."""
        rows, wanted = self.numbered.settled(self._match(rows, ops))
        return self.entities.read(rows, wanted)

    def match(self, rows: Rows, ops: Iterable[MatchOp]) -> Rows:
        """The rows after every operator of a block."""
        return self.entities.read(self._match(rows, ops))

    def _match(self, rows: Rows, ops: Iterable[MatchOp]) -> Rows:
        """The same with some variables unread; a condition that stands before all variables waits for the first."""
        waiting: Conditions = ()
        for op in ops:
            if rows.frame is None and isinstance(op, Filter):
                waiting += (op.condition,)
                continue
            if rows.frame is not None and not isinstance(op, NodeScan | Filter | Unwind | ShortestPath):
                rows = rows.with_frame(self.low.few.collected(rows.frame))
            found = self._numbered(rows, op) or self._step(self.entities.read(rows), op)
            if isinstance(op, ExpandTest | Filter | AntiJoin) and self.low.few.known(rows.frame) is not None:
                self.low.few.may_be(found.frame)  # fewer than before
            rows = self.low.keep(found, waiting)
            waiting = ()
        return rows

    def _numbered(self, rows: Rows, op: MatchOp) -> Rows | None:
        """The same by row ids, where neighbour lists are kept and rows are not few anyway."""
        if rows.frame is None:
            if not isinstance(op, NodeScan) or not self.numbered.is_unread(op):
                return None
            return self.numbered.note_whole(self.entities.unread(op.type_name, op.var))
        if not isinstance(op, Expand | ExpandTest) or self.low.few.known(rows.frame) is not None:
            return None
        found = self.numbered.expand(rows, op) if isinstance(op, Expand) else self.numbered.test(rows, op)
        if found is None:
            return None
        conditions = {} if op.link.edge_var is None else {op.link.edge_var: op.edge_predicates}
        now = isinstance(op, Expand) and self.numbered.is_read_at_once(op)
        if isinstance(op, Expand):
            conditions[op.target] = op.predicates
        wanted = [var for var, own in conditions.items() if own or (now and var in found.unread)]
        return self.entities.read(found, wanted, conditions)

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
            case Mark():
                return self._mark(rows, op)
            case Either():
                return self._either(rows, op)
            case Unwind():
                return unwound(self.low, self._one_row() if rows.frame is None else rows, op)
            case AntiJoin():
                return self._anti_join(rows, op)
            case LeftJoin():
                return self._left_join(rows, op)
            case ShortestPath():
                return self.hops.shortest(rows, op)

    # --- nodes and links -------------------------------------------------------------------------

    def _scan(self, rows: Rows, op: NodeScan) -> Rows:
        bound = self.entities.scanned_edges if op.kind == "edge" else self.entities.nodes
        nodes = bound(op.type_name, op.var, op.predicates)
        if rows.frame is None:
            return self.low.keep(nodes, op.joins)
        pairs = [pair for condition in op.joins if (pair := _equality(condition, op.var)) is not None]
        if not pairs:
            return self.low.keep(_joined(rows, nodes, None, "cross"), op.joins)
        rows, here = self.low.computed(rows, [pair[0] for pair in pairs])
        nodes, there = self.low.computed(nodes, [pair[1] for pair in pairs])
        rest = tuple(condition for condition in op.joins if _equality(condition, op.var) is None)
        same = list(zip(map(F.col, here), map(F.col, there), strict=True))
        return self.low.keep(_joined(rows, nodes, same, "inner"), rest)

    def _expand(self, rows: Rows, op: Expand) -> Rows:
        link = op.link
        pairs = self.hops.hops(rows, link, op.source, op.edge_predicates)
        near, far = F.col(pairs.columns["", "near"]), F.col(pairs.columns["", "far"])
        wider = _joined(rows, pairs, [(self.hops.end(rows, op.source, link), near)], "inner")
        if not op.predicates and not link.ways and self.entities.needs_id_only(op.target_type, op.target):
            columns = {**wider.columns, (op.target, "id"): wider.columns["", "far"]}
            del columns["", "far"]
            if op.target in self.numbered.starts and ("", ROW) in columns:
                columns[op.target, ROW] = columns.pop(("", ROW))
            found = _without(replace(wider, columns=columns), [("", "near"), ("", ROW)])
        else:
            nodes = self.entities.nodes(op.target_type, op.target, op.predicates, self._ends_of(pairs, link))
            found = _joined(wider, nodes, [(far, self.hops.end(nodes, op.target, link))], "inner")
            found = _without(found, [("", "near"), ("", "far"), ("", ROW)])
        known = self.low.few.column(pairs.frame, pairs.columns["", "near"])
        self.low.few.expect(found.frame, self.hops.keys(rows, op.source, link), known)
        return found

    def _ends_of(self, pairs: Rows, link: Link) -> Keys | None:
        """The far ends of a link's pairs, where these are few and known."""
        ends = self.low.few.column(pairs.frame, pairs.columns["", "far"])
        return None if ends is None else Keys(ends.unique(), bool(link.ways))

    def _expand_test(self, rows: Rows, op: ExpandTest) -> Rows:
        link = op.link
        pairs = self.hops.hops(rows, link, link.tail, op.edge_predicates)
        near, far = F.col(pairs.columns["", "near"]), F.col(pairs.columns["", "far"])
        how = "left_semi" if link.edge_var is None else "inner"
        ends = [(self.hops.end(rows, link.tail, link), near), (self.hops.end(rows, link.head, link), far)]
        found = _joined(rows, pairs, ends, how)
        return found if how == "left_semi" else _without(found, [("", "near"), ("", "far"), ("", ROW)])

    # --- not -------------------------------------------------------------------------------------

    def _anti_join(self, rows: Rows, op: AntiJoin) -> Rows:
        """Run the inner pipeline once per distinct assignment of the variables it reads."""
        ids = [rows.key(var) for var in op.outer]
        if not ids:
            found = self.match(Rows(None), op.ops)
            return rows if found.frame.isEmpty() else rows.with_frame(rows.frame.limit(0))
        inner = self.match(self._distinct(rows, op.outer), op.ops)
        aliases = {column: self.low.names.fresh() for column in ids}
        gone = inner.frame.select(*(as_(column, alias) for column, alias in aliases.items())).distinct()
        return rows.with_frame(rows.frame.join(gone, _all_same(aliases), "left_anti"))

    def _left_join(self, rows: Rows, op: LeftJoin) -> Rows:
        """Extend each row by what the inner pipeline finds for it, or by null."""
        if rows.frame is None:
            rows = self._one_row()
        inner = self.match(self._distinct(rows, op.outer) if op.outer else Rows(None), op.ops)
        aliases = {rows.key(var): self.low.names.fresh() for var in op.outer}
        bound = {key: column for key, column in inner.columns.items() if key[0] in op.binds}
        found = inner.frame.select(*(as_(column, alias) for column, alias in aliases.items()), *bound.values())
        frame = rows.frame.join(found, _all_same(aliases), "left").drop(*aliases.values())
        kinds = {**rows.kinds, **{column: inner.kinds[column] for column in bound.values()}}
        return replace(rows, frame=frame, columns={**rows.columns, **bound}, kinds=kinds)

    def _mark(self, rows: Rows, op: Mark) -> Rows:
        """Add a column that says whether the inner pipeline finds anything, or what an aggregate makes of that."""
        if rows.frame is None:
            rows = self._one_row()
        if op.call is not None:
            return self._folded(rows, op, op.call)
        column = self.low.names.fresh()
        columns, kinds = {**rows.columns, (op.var, FOUND): column}, {**rows.kinds, column: ir.BOOL}
        if not op.outer:
            there = not self.match(self._one_row(), op.ops).frame.isEmpty()
            return replace(rows, frame=rows.frame.withColumn(column, F.lit(there)), columns=columns, kinds=kinds)
        inner = self.match(self._distinct(rows, op.outer), op.ops)
        aliases = {rows.key(var): self.low.names.fresh() for var in op.outer}
        found = inner.frame.select(*(as_(name, alias) for name, alias in aliases.items())).distinct()
        found = found.withColumn(column, F.lit(True))
        frame = rows.frame.join(found, _all_same(aliases), "left").drop(*aliases.values())
        return replace(
            rows, frame=frame.withColumn(column, F.coalesce(F.col(column), F.lit(False))), columns=columns, kinds=kinds
        )

    def _folded(self, rows: Rows, op: Mark, call: ir.AggregateCall) -> Rows:
        from omnigraph.pipeline.gq.shape import Shaper  # few patterns are aggregated

        inner = self.match(self._distinct(rows, op.outer) if op.outer else self._one_row(), op.ops)
        shaper = Shaper(self.low, self.run)
        inner = shaper.shape(inner, Sort((), op.ties))
        inner = shaper.shape(inner, Aggregate((Output(FOUND, call),), op.outer))
        folded, column = inner.outputs[FOUND], self.low.names.fresh()
        assert isinstance(folded, str)
        aliases = {rows.key(var): self.low.names.fresh() for var in op.outer}
        inside = dict(zip((inner.key(var) for var in op.outer), aliases.values(), strict=True))
        found = inner.frame.select(*(as_(name, alias) for name, alias in inside.items()), as_(folded, column))
        frame = rows.frame.join(found, _all_same(aliases), "left") if aliases else rows.frame.crossJoin(found)
        if call.function in ("count", "collect"):  # of nothing they are 0 and an empty list
            nothing = F.lit(0).cast("bigint") if call.function == "count" else F.array()
            frame = frame.withColumn(column, F.coalesce(F.col(column), nothing.cast(found.schema[column].dataType)))
        assert isinstance(call.type, PropType)
        columns, kinds = {**rows.columns, (op.var, FOUND): column}, {**rows.kinds, column: call.type}
        return replace(rows, frame=frame.drop(*aliases.values()), columns=columns, kinds=kinds)

    def _either(self, rows: Rows, op: Either) -> Rows:
        """Extend each row by what any of the inner pipelines finds for it."""
        if rows.frame is None:
            rows = self._one_row()
        parts = [
            self.match(self._distinct(rows, op.outer) if op.outer else self._one_row(), branch.ops)
            for branch in op.branches
        ]
        aliases = {rows.key(var): self.low.names.fresh() for var in op.outer}
        first = {key: column for key, column in parts[0].columns.items() if key[0] in op.binds}
        fresh = {key: self.low.names.fresh() for key in first}
        frames = [
            part.frame.select(
                *(as_(name, alias) for name, alias in aliases.items()),
                *(as_(part.columns[key], column) for key, column in fresh.items()),
            )
            for part in parts
        ]
        found = reduce(lambda one, other: one.unionByName(other), frames)
        bound = replace(parts[0], frame=found, columns=fresh)
        found = found.dropDuplicates([*aliases.values(), *(bound.key(var) for var in op.binds)])
        frame = rows.frame.join(found, _all_same(aliases), "inner").drop(*aliases.values())
        kinds = {**rows.kinds, **{column: parts[0].kinds[first[key]] for key, column in fresh.items()}}
        return replace(rows, frame=frame, columns={**rows.columns, **fresh}, kinds=kinds)

    def _one_row(self) -> Rows:
        return Rows(self.low.spark.range(1).select(as_("id", self.low.names.fresh())))

    def _distinct(self, rows: Rows, variables: Iterable[str]) -> Rows:
        """Each assignment of some variables once."""
        kept = {key: column for key, column in rows.columns.items() if key[0] in variables}
        frame = rows.frame.select(*kept.values()).dropDuplicates([rows.key(var) for var in variables])
        if self.low.few.known(rows.frame) is not None:
            self.low.few.may_be(frame)
        return Rows(frame, kept, {name: rows.kinds[name] for name in kept.values()})


def _joined(left: Rows, right: Rows, pairs: list[tuple[Frame, Frame]] | None, how: str) -> Rows:
    if how == "cross" or pairs is None:
        frame = left.frame.crossJoin(right.frame)
    else:
        frame = left.frame.join(right.frame, _all_equal(pairs), how)
    if how == "left_semi":
        return left.with_frame(frame)
    return replace(left, frame=frame, columns={**left.columns, **right.columns}, kinds={**left.kinds, **right.kinds})


def _without(rows: Rows, keys: Iterable[tuple[str, str]]) -> Rows:
    gone = [rows.columns[key] for key in keys if key in rows.columns]
    columns = {key: column for key, column in rows.columns.items() if column not in gone}
    return replace(rows, frame=rows.frame.drop(*gone), columns=columns)


def _all_equal(pairs: list[tuple[Frame, Frame]]) -> Frame:
    condition = F.lit(True)
    for left, right in pairs:
        condition = condition & (left == right)
    return condition


def _all_same(aliases: Mapping[str, str]) -> Frame:
    """Equal ids, where a variable without a value is equal to itself."""
    condition = F.lit(True)
    for left, right in aliases.items():
        condition = condition & F.col(left).eqNullSafe(F.col(right))
    return condition


def _equality(condition: ir.Condition, var: str) -> tuple[ir.Expr, ir.Expr] | None:
    """(expression over the rows so far, expression over the new variable) of a condition that a join can answer."""
    match condition:
        case ir.Compare("=", left, right) if left.type.scalar == right.type.scalar:  # type: ignore[union-attr]
            pass
        case ir.SameNode(left, right, negated=False) if _is_union(left) == _is_union(right):
            pass
        case _:
            return None
    for here, there in ((left, right), (right, left)):
        if variables(there) == {var} and variables(here) and var not in variables(here):
            return here, there
    return None


def _is_union(node: ir.Node) -> bool:
    return len(union_members(node.type_name)) != 1
