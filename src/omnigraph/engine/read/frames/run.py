"""One execution of one plan: the pinned tables it may open, the values it was given and what it may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Fetch
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.pieces import VALUES, pieces
from omnigraph.engine.read.columns.rowindex import distinct, distinct_rows
from omnigraph.engine.read.frames.budget import Budget
from omnigraph.engine.read.frames.explain import Profile, TableReads
from omnigraph.engine.read.frames.frame import Bound, Frame, numpy_of
from omnigraph.engine.read.frames.made import MadeColumns
from omnigraph.engine.read.frames.paths import PathColumns
from omnigraph.engine.read.frames.unions import (
    MADE,
    MARKED,
    OPTIONAL,
    PATH,
    Columns,
    MarkColumns,
    Numbering,
    OptionalColumns,
    UnionColumns,
    is_union,
    of_member,
)
from omnigraph.engine.values.arrow import TableType
from omnigraph.engine.values.equality import one_list
from omnigraph.engine.values.operands import effort
from omnigraph.engine.values.predicate import Bindings, Evaluator, Leaf
from omnigraph.engine.views.view import View
from omnigraph.errors import ParameterError

if TYPE_CHECKING:
    from omnigraph.embeddings.provider import Embedder


@dataclass
class Run:
    """State of one execution; used by one thread."""

    view: View
    bindings: Bindings
    budget: Budget
    leaf: Callable[[Run, Frame], Leaf]
    match: Callable[..., Frame]  # runs a pipeline inside an operator
    embedder: Embedder | None = None
    traversal: str = "auto"
    keep_derived: bool = False
    node_ids: bool = False
    profile: Profile = field(default_factory=Profile)
    paths: dict[str, PathColumns] = field(default_factory=dict)
    made: dict[str, MadeColumns] = field(default_factory=dict)
    path_kinds: dict[str, Mapping[str, PropType]] = field(default_factory=dict)
    _tables: dict[str, Entities] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Without itself inside: nothing of a run should wait for the garbage collector.
        tables = self._tables
        self.profile.bytes_read = lambda: sum([table.bytes_read for table in tables.values()])

    def entities(self, table_key: str) -> Entities:
        """One table's values as this execution has read them so far."""
        if table_key not in self._tables:
            self._tables[table_key] = Entities(self.view, self.table_type(table_key))
        return self._tables[table_key]

    def table_type(self, table_key: str) -> TableType:
        """The type behind the key of one table."""
        kind, _, name = table_key.partition(":")
        return self.view.catalog.nodes[name] if kind == "node" else self.view.catalog.edges[name]

    def exists(self, table_key: str) -> bool:
        """Whether the type of one table existed at this view already."""
        return self.view.find(self.table_type(table_key)) is not None

    def columns(self, table_key: str) -> Columns:
        """The values of a variable, whatever it ranges over."""
        if table_key.startswith(OPTIONAL):
            return OptionalColumns(self, table_key.removeprefix(OPTIONAL))
        if table_key == MARKED:
            return MarkColumns()
        if table_key.startswith(MADE):
            return self.made_columns(table_key.removeprefix(MADE))
        if table_key.startswith(PATH):
            return self.paths[table_key.removeprefix(PATH)]
        return UnionColumns(self, table_key) if is_union(table_key) else self.entities(table_key)

    def made_columns(self, var: str) -> MadeColumns:
        """The columns of rows that this execution makes itself."""
        return self.made.setdefault(var, MadeColumns())

    @cached_property
    def numbering(self) -> Numbering:
        """How row ids of different tables fit into one column."""
        return Numbering(self.view.catalog)

    def reads(self) -> tuple[TableReads, ...]:
        """What was read from which table so far."""
        return tuple(TableReads(key, used.rows_read, used.bytes_read) for key, used in sorted(self._tables.items()))

    def evaluator(self, frame: Frame) -> Evaluator:
        """Evaluates expressions over the rows of a frame."""
        return Evaluator(self.leaf(self, frame), frame.length, self.bindings, partial(self._shared_list, frame))

    def _shared_list(self, frame: Frame, expr: ir.Expr) -> pa.ListScalar | None:
        """The list that an expression gives in every row, where all entities of the rows have the same one."""
        if frame.length < 2 or not isinstance(expr, ir.Property) or (bound := frame.bound.get(expr.var)) is None:
            return None
        if bound.table_key.startswith(OPTIONAL):
            return None
        if not bool((bound.rows != bound.rows[0]).any()):
            return one_list(self.columns(bound.table_key).values(expr.name, bound.rows[:1]))
        # A stage hands a list on to each of its rows.
        made = bound.table_key.startswith(MADE)
        return one_list(self.columns(bound.table_key).values(expr.name, distinct_rows(bound.rows))) if made else None

    def kept(self, frame: Frame, condition: ir.Condition) -> Mask:
        """Which rows of a frame satisfy a condition; a long frame is looked at in pieces."""
        if frame.length <= VALUES:
            return numpy_of(self.evaluator(frame).keep(condition))
        found = np.empty(frame.length, np.bool_)
        for low, high in pieces(frame.length, VALUES):
            found[low:high] = numpy_of(self.evaluator(frame.between(low, high)).keep(condition))
        return found

    def matching(self, var: str, table_key: str, rows: Rows, predicates: tuple[ir.Condition, ...]) -> Mask:
        """Which rows satisfy conditions on this one variable; each distinct entity is looked at once."""
        if is_union(table_key):
            return self._matching_of_members(var, table_key, rows, predicates)
        wanted, place_of = distinct(rows)
        left, frame = None, Frame(len(wanted), {var: Bound(table_key, wanted)})  # None: all of them
        keep: Mask | None = None
        ordered = sorted(predicates, key=effort)
        for place, predicate in enumerate(ordered):
            found = numpy_of(self.evaluator(frame).keep(predicate))
            if left is not None:
                assert keep is not None
                keep[left] &= found  # its own by now: an array of flags is not kept elsewhere
            else:
                keep = found if keep is None else keep & found
            if place + 1 == len(ordered):
                break
            kept = np.flatnonzero(keep) if left is None else left[keep[left]]
            if len(kept) * 2 < frame.length:
                # What is left is asked the rest; with most of them still there, cutting them out would cost more.
                left, frame = kept, Frame(len(kept), {var: Bound(table_key, wanted[kept])})
        keep = np.ones(len(wanted), np.bool_) if keep is None else keep
        return keep if wanted is rows else keep[place_of]

    def _matching_of_members(self, var: str, table_key: str, rows: Rows, predicates: tuple[ir.Condition, ...]) -> Mask:
        """The same table by table: row ids of one table lie close together, and so do their values."""
        keep = np.zeros(len(rows), np.bool_)
        for member, places, plain in self.numbering.split(table_key, rows):
            own = tuple(of_member(each, member.partition(":")[2]) for each in predicates)
            keep[places] = self.matching(var, member, plain, own)
        return keep

    def constant(self, expr: ir.Const | ir.Param) -> ir.ConstValue:
        """The value of a constant or parameter."""
        return expr.value if isinstance(expr, ir.Const) else self.bindings.params.get(expr.name)

    def fetch_count(self, fetch: Fetch | None) -> int | None:
        """How many leading rows are wanted in the end; None for all."""
        if fetch is None:
            return None
        limit, offset = self.row_number(fetch.limit, "limit"), self.row_number(fetch.offset, "offset")
        return None if limit is None else limit + (offset or 0)

    def row_number(self, expr: ir.Const | ir.Param | None, word: str) -> int | None:
        """A number of rows; a null parameter sets no bound."""
        value = None if expr is None else cast("int | None", self.constant(expr))
        if value is not None and value < 0:
            name = expr.name if isinstance(expr, ir.Param) else None
            raise ParameterError("P004", f"{word} must not be negative, got {value}", parameter=name)
        return value
