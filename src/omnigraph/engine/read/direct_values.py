"""Values of the nodes and edges around one node, answered in one go (decision 0073): `direct.py` for more than one end.

The start is of one type once it is found, so that each hop leads along the edges of one type. What is read of each node
and edge, and in which columns, is therefore found out once for each type that the start can have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Expand
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.temporal import DateTime
from omnigraph.compiler.types import PropType, union_members
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.few import numbers, take, widest
from omnigraph.engine.read.columns.held import Held
from omnigraph.engine.read.columns.key_index import RowsWith
from omnigraph.engine.read.columns.pieces import in_order
from omnigraph.engine.read.columns.rowindex import RowIndex
from omnigraph.engine.read.direct_parts import (
    BUCKET_BITS,
    IN_EARNEST,
    MOST_BYTES,
    MOST_ROWS,
    DirectForm,
    Touch,
    column_of,
    edges_of,
    hold_columns,
    keys_of,
    lists_of,
    start_and_hops,
)
from omnigraph.engine.read.frames.frame import combine
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.plan.plans import Planned
from omnigraph.engine.read.plan.route_start import Hop
from omnigraph.engine.read.plan.values_route import Retyped, Values, hop_from
from omnigraph.engine.read.shape.order import dense_ranks
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.values.arrow import arrow_type, shown, shown_type
from omnigraph.engine.values.predicate import Bindings, Evaluator

_NO_PARAMETERS = Bindings({}, DateTime(0))


class ValuesAround(DirectForm):
    """What one such read needs at one view."""

    __slots__ = ("_empty", "_nothing", "_schema", "_starts", "is_partial")

    def __init__(
        self,
        starts: list[tuple[RowsWith, _Program | None]],
        route: Values,
        sources: Iterable[Touch],
        run: Run,
        planned: Planned,
    ) -> None:
        super().__init__(run, planned, sources)
        self._starts = starts
        self._schema = pa.schema([(each.name, shown_type(_kind(each.expr))) for each in route.outputs])
        self._empty = pa.RecordBatch.from_arrays(
            [pa.nulls(0, field.type) for field in self._schema], schema=self._schema
        )
        self._nothing = (0,) * (len(self.ops) - len(planned.plan.result))
        self.is_partial = not all(program is not None and program.is_whole for _, program in starts)

    def answer(self, key: str) -> tuple[pa.RecordBatch, tuple[int, ...], None] | None:
        """The rows, and how many there were after each operator of the match; None when memory does not tell."""
        self._called()
        text = key.encode()
        found = [(program, row) for rows_with, program in self._starts for row in rows_with(text)]
        if not found:
            return self._empty, self._nothing, None
        program, row = found[0]
        if program is None or len(found) > 1:
            return None
        answer = program.answer(row)
        if answer is None:
            return None
        columns, counts = answer
        if not columns:
            return self._empty, (*counts, *self._nothing[len(counts) :]), None
        return pa.RecordBatch.from_arrays(columns, schema=self._schema), counts, None


@dataclass(frozen=True, slots=True)
class _Step:
    """A hop from what is in one slot: its target goes into the next slot, and the edge into the one after that."""

    source: int
    lists: Adjacency
    with_edges: bool

    def around(self, rows: Rows) -> tuple[Rows | None, list[Rows]] | None:
        """Which row each neighbour is of, None where there is one row; the neighbours, and edges that lead there."""
        if len(rows) == 1 and not self.with_edges:
            return None, [self.lists.around(int(rows[0]))]
        if int(self.lists.degrees(rows).sum()) > MOST_ROWS:
            return None
        if self.with_edges:
            at, nodes, edges = self.lists.expand(rows)
            found = [nodes, edges]
        else:
            at, nodes = self.lists.step(rows)
            found = [nodes]
        return (None if len(rows) == 1 else at), found


@dataclass(frozen=True, slots=True)
class _Column:
    """A whole column of the nodes or edges in one slot."""

    slot: int
    held: Held
    places: int  # the same number for columns of one slot that have the same rows


@dataclass(frozen=True, slots=True)
class _Level:
    """Something to order rows by; None where its values are not in memory, which are rarely needed."""

    column: _Column | None
    descending: bool = False


@dataclass(frozen=True, slots=True)
class _Program:
    """The read for one type of the start."""

    steps: tuple[_Step | int, ...]  # a number: how many nodes a second variable for the start has, one or none
    levels: tuple[_Level, ...]
    columns: dict[tuple[str, str], _Column | None]  # by variable and name; None for one that is null
    outputs: tuple[ir.Expr, ...]
    most: int

    @property
    def is_whole(self) -> bool:
        """Whether every order of rows can be told."""
        return all(level.column is not None for level in self.levels)

    def answer(self, row: int) -> tuple[list[pa.Array], tuple[int, ...]] | None:
        """The columns of the answer, none without rows, and the number of rows after each operator."""
        slots, counts = [np.array([row])], [1]
        for step in self.steps:
            if isinstance(step, int):
                counts += (len(slots[0]), step)
                continue
            around = step.around(slots[step.source])
            if around is None:
                return None
            at, found = around
            count = len(found[0])
            counts.append(count)
            if not count:
                return [], tuple(counts)
            if count > max(self.most, 1):
                return None
            if at is not None:
                slots = [each.take(at) for each in slots]
            elif count > 1:
                slots = [each.repeat(count) for each in slots]
            slots += found
        rows = _Found(slots)
        if rows.length > 1 and not self._put_in_order(rows):
            return None
        return [self._output(expr, rows) for expr in self.outputs], tuple(counts)

    def _put_in_order(self, rows: _Found) -> bool:
        """False where that takes values that are not in memory."""
        code, count = np.zeros(rows.length, np.int64), 1
        for level in self.levels:
            if count == rows.length:
                break
            if level.column is None:
                return False
            ranks = dense_ranks(rows.values(level.column), descending=level.descending)
            code, count = combine(code, count, *ranks)
        if bool((code[1:] < code[:-1]).any()):
            rows.take(in_order(code))
        return True

    def _output(self, expr: ir.Expr, rows: _Found) -> pa.Array:
        if isinstance(expr, ir.Property):
            return shown(self._leaf(rows, expr))
        evaluator = Evaluator(partial(self._leaf, rows), rows.length, _NO_PARAMETERS)
        return shown(evaluator.column(expr, _kind(expr)))

    def _leaf(self, rows: _Found, expr: ir.Expr) -> pa.Array:
        assert isinstance(expr, ir.Property)
        column = self.columns[expr.var, expr.name]
        return pa.nulls(rows.length, _kind(expr)) if column is None else rows.values(column)


class _Found:
    """The rows of one answer: what each variable is bound to, and the places of that in its columns."""

    __slots__ = ("_places", "_slots", "length")

    def __init__(self, slots: list[Rows]) -> None:
        self._slots, self.length = slots, len(slots[-1])
        self._places: dict[int, Rows] = {}

    def take(self, order: Rows) -> None:
        """Put the rows into an order."""
        self._slots = [each.take(order) for each in self._slots]
        self._places.clear()

    def values(self, column: _Column) -> pa.Array:
        """The value of each row."""
        places = self._places.get(column.places)
        if places is None:
            places = self._places[column.places] = column.held.index.positions(self._slots[column.slot])
        if self.length == 1:
            return column.held.values.slice(int(places[0]), 1)
        return take(column.held.values, numbers(places))


def _kind(expr: ir.Expr) -> pa.DataType:
    assert isinstance(expr.type, PropType)
    return pa.null() if expr.type == ir.NULL else arrow_type(expr.type)


# --- making one --------------------------------------------------------------------------------------


def direct_values(run: Run, planned: Planned, route: Values, tries: int) -> ValuesAround | None:
    """The direct form of such a read, if what it needs is in memory; after a few tries columns are read for it."""
    starts: list[tuple[RowsWith, _Program | None]] = []
    hops: list[Hop] = []
    touched: list[Touch] = []
    for name in union_members(route.start.type_name):
        if not run.exists(f"node:{name}"):
            continue
        keys = keys_of(run.entities(f"node:{name}"))
        if keys is None:
            return None
        laid = _Layout.of(route, name)
        program = None if laid is None else laid.program(run, route, tries)
        starts.append((keys.finder(BUCKET_BITS), program))
        if laid is not None and program is not None:
            hops += laid.hops
            touched += laid.touched(run)
    if not any(program is not None for _, program in starts):
        return None
    return ValuesAround(starts, route, [*start_and_hops(run, route.start, hops), *touched], run, planned)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which table each variable is of when the start is of one type, and in which slot it is."""

    tables: dict[str, str | None]  # by variable; None for a second variable for the start that is null
    slots: dict[str, int]
    hops: tuple[Hop, ...]
    reads: tuple[ir.Property, ...]

    @classmethod
    def of(cls, route: Values, type_name: str) -> _Layout | None:
        """None where a hop from there could take several edge types."""
        tables: dict[str, str | None] = {route.start.var: f"node:{type_name}"}
        slots, hops, slot = {route.start.var: 0}, [], 1
        for step in route.steps:
            if isinstance(step, Retyped):
                tables[step.var] = f"node:{type_name}" if step.type_name == type_name else None
                slots[step.var] = 0
                continue
            hop = hop_from(step, (tables[step.source] or "").removeprefix("node:"))
            if hop is None:
                return None
            hops.append(hop)
            tables[step.target], slots[step.target], slot = f"node:{hop.target_type}", slot, slot + 1
            if step.link.edge_var is not None:
                tables[step.link.edge_var], slots[step.link.edge_var], slot = f"edge:{hop.edge}", slot, slot + 1
        parts = [part for each in route.outputs for part in expressions(each.expr)]
        reads = [*(part for part in parts if isinstance(part, ir.Property)), *(key.column for key in route.order)]
        return cls(tables, slots, tuple(hops), tuple(reads))

    def program(self, run: Run, route: Values, tries: int) -> _Program | None:
        """The program, if what it needs is in memory."""
        if not all(run.exists(table) for hop in self.hops for table in hop.tables):
            return None
        if tries >= IN_EARNEST:
            for table in {each for each in self.tables.values() if each is not None}:
                names = [each.name for each in self.reads if self.tables[each.var] == table]
                hold_columns(run.entities(table), list(dict.fromkeys(names)))
        steps = self._steps(run, route)
        places: list[tuple[int, RowIndex]] = []
        columns = {(each.var, each.name): self._column(run, each, places) for each in self.reads}
        if steps is None or any(each is None and self.tables[var] is not None for (var, _), each in columns.items()):
            return None
        width = sum(0 if each is None else widest(each.held.values) for each in columns.values())
        keys = [_Level(columns[key.column.var, key.column.name], key.descending) for key in route.order]
        ties = [_Level(self._column(run, ir.Property(var, "id", ir.STRING), places)) for var in route.ties]
        outputs = tuple(each.expr for each in route.outputs)
        return _Program(steps, (*keys, *ties), columns, outputs, min(MOST_ROWS, MOST_BYTES // max(width, 1)))

    def touched(self, run: Run) -> list[Touch]:
        """What has to be asked for now and then, so that columns do not count as unused."""
        named = {(table, each.name) for each in self.reads if (table := self.tables[each.var]) is not None}
        return [partial(run.entities(table).held_whole, name) for table, name in sorted(named)]

    def _steps(self, run: Run, route: Values) -> tuple[_Step | int, ...] | None:
        found: list[_Step | int] = []
        hops = iter(self.hops)
        for step in route.steps:
            if isinstance(step, Retyped):
                found.append(int(self.tables[step.var] is not None))
                continue
            lists = self._lists(run, step, next(hops))
            if lists is None:
                return None
            found.append(_Step(self.slots[step.source], lists, step.link.edge_var is not None))
        return tuple(found)

    def _lists(self, run: Run, step: Expand, hop: Hop) -> Adjacency | None:
        return lists_of(run, hop) if step.link.edge_var is None else edges_of(run, hop)

    def _column(self, run: Run, expr: ir.Property, places: list[tuple[int, RowIndex]]) -> _Column | None:
        """A column that is in memory and of the type that is promised; `places` are those of the columns before it."""
        key, slot = self.tables[expr.var], self.slots[expr.var]
        table = None if key is None else run.entities(key)
        held = None if table is None or not table.as_named else column_of(table, expr.name)
        if held is None or held.values.type != _kind(expr):
            return None
        # One column may have rows that were deleted since, and another one not.
        alike = (at for at, (of, index) in enumerate(places) if of == slot and index.is_like(held.index))
        number = next(alike, len(places))
        if number == len(places):
            places.append((slot, held.index))
        return _Column(slot, held, number)
