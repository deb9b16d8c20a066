"""Numbering values: equal values get equal numbers, which makes grouping and distinctness integer work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ranges import can_fail
from omnigraph.compiler.ir.walk import expressions, variables
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import distinct
from omnigraph.engine.read.frames.frame import Bound, Frame, combine
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import TYPE, is_union
from omnigraph.engine.values.equality import one_list
from omnigraph.engine.values.json_values import json_texts
from omnigraph.engine.values.sums import FEW_GROUPS, group_sizes

Numbered = tuple[Rows, int]


def number_expr(run: Run, frame: Frame, expr: ir.Expr) -> Numbered:
    """A number per row, equal for equal values of the expression; a node is numbered by what it is."""
    if isinstance(expr, ir.Node):
        found, inverse = distinct(frame.rows(expr.var))
        return inverse, len(found)
    if isinstance(expr, ir.Record):
        return number_expr(run, frame, expr.node) if expr.node is not None else _number_record(run, frame, expr)
    if isinstance(expr, ir.Choice) and all(isinstance(each, ir.Const) for each in (*expr.values, expr.otherwise)):
        return _number_choice(run, frame, expr)
    if isinstance(expr, ir.Property) and (known := _known_numbers(run, frame, expr)) is not None:
        return known
    return per_entity(run, frame, expr, number)


def _number_record(run: Run, frame: Frame, expr: ir.Record) -> Numbered:
    found = (np.zeros(frame.length, np.int64), min(frame.length, 1))
    for member in expr.members:
        found = combine(*found, *number_expr(run, frame, member.value))
    return found


def _known_numbers(run: Run, frame: Frame, expr: ir.Property) -> Numbered | None:
    """The numbers of a column of text that is in memory, which are worked out once."""
    bound = frame.bound[expr.var]
    if not frame.length or not bound.table_key.startswith(("node:", "edge:")) or is_union(bound.table_key):
        return None
    found = run.entities(bound.table_key).codes(expr.name, bound.rows)
    if found is None:
        return None
    codes, different = found
    if different is not None:
        return codes, different
    # Only numbers that occur count.
    there = np.zeros(int(codes.max()) + 1, np.bool_)
    there[codes] = True
    if there.all():
        return codes, len(there)
    return (np.cumsum(there) - 1)[codes], int(there.sum())


def _number_choice(run: Run, frame: Frame, expr: ir.Choice) -> Numbered:
    """A choice between constants, whose places serve as numbers."""
    constants = [each.value for each in (*expr.values, expr.otherwise) if isinstance(each, ir.Const)]
    different = list(dict.fromkeys(constants))
    places = [different.index(value) for value in constants]
    if len(different) > FEW_GROUPS or can_fail(expr):
        consts = [ir.Const(place, ir.INT64) for place in places]
        numbered = ir.Choice(expr.conditions, tuple(consts[:-1]), consts[-1], ir.INT64)
        found = run.evaluator(frame).column(numbered, pa.int64()).to_numpy(zero_copy_only=False)
    else:
        # Byte by byte without a branch: a place is moved by its distance from the chosen one, or by nothing.
        found = np.full(frame.length, places[-1], np.int8)
        for condition, place in zip(reversed(expr.conditions), reversed(places[:-1]), strict=True):
            found += run.kept(frame, condition).view(np.int8) * (np.int8(place) - found)
    there = group_sizes(found, len(different)) > 0
    if there.all():
        return found.astype(np.int64, copy=False), len(different)
    return (np.cumsum(there) - 1)[found], int(there.sum())


def number(column: pa.Array) -> Numbered:
    """A number per value, null being a value too."""
    kind = column.type
    if pa.types.is_null(kind) or not len(column):
        return np.zeros(len(column), np.int64), min(len(column), 1)
    if pa.types.is_struct(kind):
        return _number_nodes(column)
    if pa.types.is_nested(kind):
        if one_list(column) is not None:
            return np.zeros(len(column), np.int64), 1
        column = json_texts(column)
    elif pa.types.is_floating(kind):
        column = one_zero(column)
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def _number_nodes(column: pa.StructArray) -> Numbered:
    """A node is what its id says, within its type; the members of a null object are null."""
    numbers, count = number(column.field("id"))
    if column.type.get_field_index(TYPE) < 0:
        return numbers, count
    return combine(numbers, count, *number(column.field(TYPE)))


def per_entity(run: Run, frame: Frame, expr: ir.Expr, numbering: Callable[[pa.Array], Numbered]) -> Numbered:
    """Number the values of an expression."""
    values, place = entity_values(run, frame, expr)
    numbers, count = numbering(values)
    return numbers[place], count


def entity_values(run: Run, frame: Frame, expr: ir.Expr) -> tuple[pa.Array, Rows]:
    """Values of an expression, and which of them each row has.

    An expression that reads one variable only is evaluated once per distinct entity, however often it occurs.
    """
    single = _single_variable(expr)
    if single is None:
        return value_column(run, frame, expr), np.arange(frame.length)
    bound = frame.bound[single]
    entities, place = distinct(bound.rows)
    few = Frame(len(entities), {single: Bound(bound.table_key, entities)})
    return value_column(run, few, expr), place


def value_column(run: Run, frame: Frame, expr: ir.Expr) -> pa.Array:
    """The expression as a column; a constant numbers like nothing, so it may as well be null."""
    value = run.evaluator(frame).value(expr)
    return value if isinstance(value, pa.Array) else pa.nulls(frame.length)


def one_zero(column: pa.Array) -> pa.Array:
    """Floats with -0.0 turned into 0.0, which is the same number."""
    return pc.add(column, pa.scalar(0.0, column.type))


def _single_variable(expr: ir.Expr) -> str | None:
    if any(isinstance(part, ir.Column | ir.Score | ir.RankCall) for part in expressions(expr)):
        return None
    used = variables(expr)
    return next(iter(used)) if len(used) == 1 else None
