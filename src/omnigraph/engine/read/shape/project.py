"""Result columns: values are fetched here, for the surviving rows only, and whole nodes become objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Output, Project
from omnigraph.compiler.ir.plan import ResultColumn
from omnigraph.compiler.ir.walk import properties
from omnigraph.compiler.types import PropType
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.pieces import VALUES, pieces
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import OPTIONAL, TYPE, Columns, is_union
from omnigraph.engine.values.arrow import arrow_type, relisted, shown

# What the object of an edge calls its ends, and their columns.
ENDS = {"from": "src", "to": "dst"}


def project(run: Run, frame: Frame, op: Project) -> Frame:
    """The frame with its result columns; order and duplicates stay."""
    return replace(frame, outputs=dict(output_columns(run, frame, op.columns)))


def output_columns(run: Run, frame: Frame, outputs: Iterable[Output]) -> Iterable[tuple[str, pa.Array]]:
    """Each named column over the rows of the frame."""
    outputs = tuple(outputs)
    _load(run, frame, outputs)
    held = 0
    for output in outputs:
        whole = _whole(run, frame, output.expr)
        if whole is not None or frame.length <= VALUES:
            yield output.name, _values(run, frame, output.expr) if whole is None else whole
            continue
        parts: list[pa.Array] = []
        for low, high in pieces(frame.length, VALUES):
            parts.append(_values(run, frame.between(low, high), output.expr))
            held += parts[-1].nbytes
            run.budget.admit(1, row_bytes=held)
        yield output.name, pa.concat_arrays(parts)


def _whole(run: Run, frame: Frame, expr: ir.Expr) -> pa.Array | None:
    """A column of all rows of one table that is in memory already."""
    bound = frame.bound.get(expr.var) if isinstance(expr, ir.Property) else None
    columns = None if bound is None or not frame.length else run.columns(bound.table_key)
    if bound is None or not isinstance(expr, ir.Property) or not isinstance(columns, Entities):
        return None
    return columns.whole_values(expr.name, bound.rows)


def _values(run: Run, frame: Frame, expr: ir.Expr) -> pa.Array:
    if isinstance(expr, ir.Property) and frame.length:
        bound = frame.bound[expr.var]
        return run.columns(bound.table_key).values(expr.name, bound.rows)
    if isinstance(expr, ir.Node):
        return _objects(run, frame, expr)
    return run.evaluator(frame).column(expr, value_type(run, expr.type))


def result_table(run: Run, frame: Frame, columns: tuple[ResultColumn, ...]) -> pa.Table:
    """The finished rows with exactly the promised names and types, as they are shown."""
    arrays = [shown(_as_promised(frame.outputs[column.name], value_type(run, column.type))) for column in columns]
    return pa.Table.from_arrays(arrays, [column.name for column in columns])


def united_columns(run: Run, frames: Sequence[Frame], columns: Sequence[ResultColumn]) -> dict[str, pa.Array]:
    """The result columns of several frames, one after the other, in the types that they share."""
    return {
        column.name: pa.concat_arrays(
            [_alike(frame.outputs[column.name], value_type(run, column.type)) for frame in frames]
        )
        for column in columns
    }


def value_type(run: Run, kind: ir.ValueType) -> pa.DataType:
    """The Arrow type of a result value; a node is a struct of its id and its properties."""
    if isinstance(kind, ir.NodeObject):
        if run.node_ids:
            return pa.utf8()
        ends = [(name, pa.utf8()) for name in ENDS] if kind.kind == "edge" else []
        if kind.fields is not None:
            shared = ((name, arrow_type(each)) for name, each in kind.fields)
            return pa.struct([("id", pa.utf8()), (TYPE, pa.utf8()), *ends, *shared])
        info = run.table_type(f"{kind.kind}:{kind.type_name}")
        names = [name for name in info.properties if name not in info.blobs]
        return pa.struct([("id", pa.utf8()), *ends, *((name, arrow_type(info.properties[name])) for name in names)])
    if run.node_ids and kind.members is not None:
        return arrow_type(_with_ids(kind))
    return pa.null() if kind == ir.NULL else arrow_type(kind)


def _with_ids(kind: PropType) -> PropType:
    """The type with ids in the place of nodes."""
    if kind.members is None:
        return kind
    if kind.scalar == "Node":
        return PropType("String", list=kind.list)
    return replace(kind, members=tuple((name, _with_ids(each)) for name, each in kind.members))


def column_of(kind: ir.NodeObject, member: str) -> str:
    """The stored column behind a member of an object."""
    return ENDS.get(member, member) if kind.kind == "edge" else member


def _load(run: Run, frame: Frame, outputs: tuple[Output, ...]) -> None:
    """Read every column that a variable needs in one go."""
    if not frame.length:
        return
    needed: dict[str, list[str]] = {}
    for output in outputs:
        expr = output.expr
        if isinstance(expr, ir.Property):
            needed.setdefault(expr.var, []).append(expr.name)
        elif not isinstance(expr, ir.RankCall):
            only_ids = run.node_ids and isinstance(expr, ir.Node)
            for var, name in properties(expr):
                if not only_ids or name == "id":
                    needed.setdefault(var, []).append(name)
    for var, names in needed.items():
        bound = frame.bound[var]
        run.columns(bound.table_key).load(names, bound.rows)


def _objects(run: Run, frame: Frame, expr: ir.Node) -> pa.Array:
    kind = value_type(run, expr.type)
    if not frame.length:
        return pa.array([], kind)
    bound = frame.bound[expr.var]
    columns = run.columns(bound.table_key)
    if run.node_ids:
        if expr.fields is None:
            return columns.values("id", bound.rows)
        kind = _NAMED  # until rows are ordered and told apart: one id may belong to nodes of two types
    parts = [
        _type_names(columns, bound)
        if field.name == TYPE
        else columns.values(column_of(expr.type, field.name), bound.rows)
        for field in kind
    ]
    missing = pa.array(bound.rows < 0) if expr.optional else None
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)


def _type_names(columns: Columns, bound: Bound) -> pa.Array:
    key = bound.table_key.removeprefix(OPTIONAL)
    if is_union(key):
        return columns.values(TYPE, bound.rows)
    name = pa.scalar(key.partition(":")[2])
    return pc.if_else(pa.array(bound.rows >= 0), name, pa.scalar(None, pa.utf8()))


_NAMED = pa.struct([("id", pa.utf8()), (TYPE, pa.utf8())])


def _alike(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if pa.types.is_struct(column.type) else _as_promised(column, kind)


def _as_promised(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type.equals(kind):
        return column
    if pa.types.is_struct(column.type):
        if pa.types.is_string(kind):
            return pc.struct_field(column, "id")
        parts = [_as_promised(column.field(field.name), field.type) for field in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=column.is_null())
    if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
        return relisted(column, _as_promised(column.flatten(), kind.value_type))
    return column.cast(kind)
