"""A plan half way: a Spark frame, what its columns are, and the order its rows will have in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.frames.unions import TYPE
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.predicate import Bindings
from omnigraph.pipeline.gq.carry import Batches, carrier, reporting, to_spark
from omnigraph.pipeline.gq.few import FewRows
from omnigraph.pipeline.gq.values import KEY, ROW, Layout, Searches, Step, Values, keeping

Frame: TypeAlias = Any
"""A Spark DataFrame, classic or through Connect."""


@dataclass(frozen=True, slots=True)
class Order:
    """One column to order rows by; null is smallest."""

    column: str
    descending: bool = False

    @property
    def expr(self) -> Any:
        column = F.col(self.column)
        return column.desc_nulls_last() if self.descending else column.asc_nulls_first()


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """A whole node or edge among the result columns: the column of each of its parts."""

    columns: Mapping[str, str]
    is_edge: bool = False

    @property
    def id(self) -> str:
        return self.columns["id"]

    @property
    def key(self) -> str:
        """The column that tells nodes apart."""
        return self.columns.get(KEY, self.id)


Output: TypeAlias = str | NodeColumns


@dataclass(frozen=True, slots=True)
class Unread:
    """An entity of which a frame has the row id only; that of an edge comes with the link that binds it."""

    type_name: str
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """Assignments as a frame. None for `frame` is the one empty row that every pipeline starts from.

    With `times`, which is a column, a row stands for as many.
    """

    frame: Frame
    columns: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (variable, property) → column
    kinds: Mapping[str, PropType] = field(default_factory=dict)  # column → type
    order: tuple[Order, ...] = ()
    outputs: Mapping[str, Output] = field(default_factory=dict)
    score: str | None = None
    unread: Mapping[str, Unread] = field(default_factory=dict)
    times: str | None = None

    def id(self, var: str) -> str:
        """The column of a variable's ids."""
        return self.columns[var, "id"]

    def key(self, var: str) -> str:
        """The column that tells the entities of a variable apart: their ids, unless they are of several types or their
        ids have not been read."""
        if var in self.unread:
            return self.columns[var, ROW]
        return self.columns.get((var, KEY), self.id(var))

    def ties(self, var: str) -> list[str]:
        """The columns that order the entities of a variable: their ids, then their types."""
        return [self.columns[var, name] for name in ("id", TYPE) if (var, name) in self.columns]

    def parts(self, var: str) -> dict[str, str]:
        """The columns of a variable, by property."""
        return {name: column for (owner, name), column in self.columns.items() if owner == var}

    def with_frame(self, frame: Frame) -> Rows:
        return replace(self, frame=frame)

    def layout(self) -> Layout:
        plain = {name: output if isinstance(output, str) else output.id for name, output in self.outputs.items()}
        return Layout(self.columns, self.kinds, plain, self.score)


class Names:
    """Column names that no other column of a query has; Spark would confuse names that differ in case only."""

    def __init__(self) -> None:
        self._numbers = count()

    def fresh(self) -> str:
        return f"c{next(self._numbers)}"


class Lowering:
    """What all steps of one query share."""

    def __init__(self, spark: Any, bindings: Bindings) -> None:
        self.spark = spark
        self.bindings = bindings
        self.names = Names()
        self.searches = Searches()
        self.few = FewRows(spark)
        self._held: list[Frame] = []

    def hold(self, frame: Frame) -> Frame:
        """A frame that several steps read; computed once, and let go when the query is over."""
        held = frame.persist()
        self._held.append(held)
        return held

    def release(self) -> None:
        for frame in self._held:
            frame.unpersist()
        self._held.clear()

    def values(self, rows: Rows) -> Values:
        """What workers need to evaluate expressions over these rows."""
        return Values(rows.layout(), self.bindings, self.searches)

    def stepped(self, rows: Rows, step: Step) -> Rows:
        """The rows after a step that leaves the columns as they are."""
        return rows.with_frame(_mapped(rows.frame, step, rows.frame.schema))

    def keep(self, rows: Rows, conditions: Sequence[ir.Condition]) -> Rows:
        """The rows for which every condition is true."""
        return self.stepped(rows, keeping(self.values(rows), conditions)) if conditions else rows

    def computed(self, rows: Rows, exprs: Iterable[ir.Expr]) -> tuple[Rows, list[str]]:
        """The rows with a column for each expression; what is a column already is not made again."""
        wanted = list(exprs)
        found = [known_column(rows, expr) for expr in wanted]
        new = {self.names.fresh(): expr for expr, known in zip(wanted, found, strict=True) if known is None}
        names = iter(new)
        columns = [next(names) if known is None else known for known in found]
        return (self._added(rows, new) if new else rows), columns

    def _added(self, rows: Rows, new: Mapping[str, ir.Expr]) -> Rows:
        values, kinds = self.values(rows), {name: value_kind(expr) for name, expr in new.items()}
        exprs = dict(new)

        def step(batch: pa.RecordBatch) -> pa.RecordBatch:
            evaluator = values.over(batch)
            arrays = [
                to_spark(evaluator.column(expr, _stored(kinds[name])), kinds[name]) for name, expr in exprs.items()
            ]
            return pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *exprs])

        added = from_arrow_schema(pa.schema([pa.field(name, carrier(kind)) for name, kind in kinds.items()]))
        frame = _mapped(rows.frame, step, StructType([*rows.frame.schema.fields, *added.fields]))
        return replace(rows, frame=frame, kinds={**rows.kinds, **kinds})


def known_column(rows: Rows, expr: ir.Expr) -> str | None:
    """The column that holds an expression already."""
    match expr:
        case ir.Property(var, name):
            return rows.columns[var, name]
        case ir.Node(var):
            return rows.key(var)
        case ir.Score():
            return rows.score
        case ir.Column(name):
            output = rows.outputs[name]
            return output if isinstance(output, str) else output.id
    return None


def value_kind(expr: ir.Expr) -> PropType:
    """The type of an expression's values; a node is its id."""
    return ir.STRING if isinstance(expr.type, ir.NodeObject) else expr.type


def _stored(kind: PropType) -> pa.DataType:
    return pa.null() if kind == ir.NULL else arrow_type(kind)


def _mapped(frame: Frame, step: Step, schema: Any) -> Frame:
    def work(batches: Batches) -> Batches:
        for batch in batches:
            yield step(batch)

    return frame.mapInArrow(reporting(work), schema)
