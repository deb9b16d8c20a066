"""Parts of evaluating an expression: constants as columns store them, calls of functions, values that failed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions import Failure
from omnigraph.compiler.functions.text import compiled
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.walk import expressions
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import FLOATING, PropType
from omnigraph.engine.values.arithmetic import Failed
from omnigraph.engine.values.compare import Constant, compare_columns, compare_constant, equal_values, typed_array
from omnigraph.engine.values.fixed import Fixed, Operand, broadcast
from omnigraph.engine.values.functions import KERNELS, Call
from omnigraph.errors import BadRequest

_FIXED: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def call_kernel(name: str, call: Call) -> tuple[pa.Array, Failed | None]:
    """What a function gives for its arguments, and for which rows it has no value."""
    try:
        answer = KERNELS[name](call)
    except Failure as failure:  # it has no value for any row
        return pa.nulls(call.length, call.kind), Failed(pa.repeat(pa.scalar(True), call.length), str(failure))
    values, failed = answer if isinstance(answer, tuple) else (answer, None)
    return (values if values.type.equals(call.kind) else values.cast(call.kind)), failed


def repeated(values: pa.Array, length: int) -> pa.Array:
    """One value for every row."""
    if pa.types.is_nested(values.type):
        return values.take(pa.array(np.zeros(length, np.int64)))
    return pa.repeat(values[0], length)


def argument_width(kind: str, given: PropType, result: PropType) -> pa.DataType | None:
    """The Arrow type that a kernel takes an argument of this kind in; None for its own."""
    if not given.is_numeric:
        return None
    match kind:
        case "Integer" | "Group":
            return pa.int64()
        case "Float":
            return pa.float64()
        case "Number":
            return pa.float64() if given.scalar in FLOATING else pa.int64()
        case "T" if result.scalar == "U64":
            return pa.uint64()
        case "T":
            return pa.float64() if result.scalar in FLOATING else pa.int64()
        case _:
            return None


def rounded(value: Any, kind: pa.DataType) -> Any:
    """A constant as a column of this type would hold it."""
    if pa.types.is_float32(kind):
        return float(np.float32(value))
    return float(value) if pa.types.is_floating(kind) else value


def usable_needle(op: str, needle: str) -> str:
    """The text to look for; a pattern that is none is refused."""
    if op == "matches":
        try:
            compiled(needle)
        except Failure as failure:
            raise BadRequest(str(failure)) from None
    return needle


def among(column: pa.Array, options: tuple[Constant, ...]) -> pa.Array:
    """Whether each value is one of some constants; null stays null."""
    values = equal_values(options, column.type)
    if pa.types.is_floating(column.type) and 0 in values:
        values += [0.0, -0.0]  # hashing tells the two zeros apart, comparison does not
    found = pc.is_in(column, value_set=typed_array(values, column.type))
    return pc.if_else(pc.is_valid(column), found, None)


def member(length: int, value: Operand, options: Operand | pa.ListScalar) -> pa.Array:
    """Whether a value is in a list, per row."""
    if isinstance(options, pa.ListScalar):
        return _member_of_one(length, value, options)
    if not isinstance(options, Fixed):
        return _member_of_column(value, options)
    if options.value is None:
        return pa.nulls(length, pa.bool_())
    assert isinstance(options.value, tuple)
    if isinstance(value, Fixed):
        answer = None if value.value is None else one_constant(value.value) in options.value
        return broadcast(answer, pa.bool_(), length)
    return among(value, options.value)


def _member_of_one(length: int, value: Operand, options: pa.ListScalar) -> pa.Array:
    """Whether values are in the list that all rows share: its items are hashed once, unless types differ or round."""
    items = options.values
    if isinstance(value, Fixed) or not value.type.equals(items.type) or pa.types.is_floating(items.type):
        return _member_of_column(value, repeated(pa.array([options], options.type), length))
    return pc.if_else(pc.is_valid(value), pc.is_in(value, value_set=items.drop_null()), None)


def _member_of_column(value: Operand, lists: pa.Array) -> pa.Array:
    """Whether a value is in the list of each row."""
    owners = pc.list_parent_indices(lists)
    items = pc.list_flatten(lists)
    if isinstance(value, Fixed):
        equal = compare_constant("=", items, one_constant(value.value))
        known = pa.scalar(value.value is not None)
    else:
        equal = compare_columns("=", items, value.take(owners))
        known = pc.is_valid(value)
    found = np.zeros(len(lists), dtype=bool)
    found[owners.filter(pc.fill_null(equal, False)).to_numpy()] = True
    return pc.if_else(pc.and_(pc.is_valid(lists), known), pa.array(found), None)


_TEMPORAL = frozenset({Date, DateTime})


def stored_constant(value: ir.ConstValue) -> Constant | tuple[Constant, ...]:
    """A constant as columns store it: days and milliseconds for dates and instants."""
    match value:
        case tuple():
            if _TEMPORAL.isdisjoint(map(type, value)):
                return cast("tuple[Constant, ...]", value)
            return tuple(_stored_scalar(item) for item in value)
        case _:
            return _stored_scalar(value)


def _stored_scalar(value: ir.Scalar | None) -> Constant:
    match value:
        case Date(days):
            return days
        case DateTime(ms):
            return ms
        case _:
            return value


def compare_fixed(op: str, left: object, right: object) -> bool | None:
    """A comparison of two constants; None when one of them is null."""
    # Python compares integers with floats exactly, and text by code point, which is the order of UTF-8 bytes.
    return None if left is None or right is None else bool(_FIXED[op](left, right))


def one_constant(value: Constant | tuple[Constant, ...]) -> Constant:
    """A constant that is not a list."""
    if isinstance(value, tuple):
        raise ir.IllTyped("a list where one value is compared")
    return value


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def undecided(answer: pa.Array, failed: Failed | None) -> pa.Array:
    """An answer, null where a value failed."""
    return answer if failed is None else pc.if_else(failed.rows, None, answer)


def refuse(failed: Failed | None) -> None:
    """Raise what failed for any row."""
    if failed is not None and pc.any(failed.rows).as_py():
        raise BadRequest(failed.why)


def effort(condition: ir.Condition) -> int:
    """How much work a condition is, roughly: texts cost more than numbers, a search more than both."""
    total = 0
    for part in expressions(condition):
        match part:
            case ir.TextMatch():
                total += 100
            case ir.Function(args=args):
                total += 10 if any(getattr(arg.type, "scalar", "") == "String" for arg in args) else 2
            case ir.TextTest() | ir.Arithmetic() | ir.Choice():
                total += 2
            case _:
                pass
    return total
