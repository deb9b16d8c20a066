"""Evaluates the plan's conditions and expressions over Arrow columns, with three-valued logic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.temporal import Date, DateTime
from omnigraph.compiler.types import INTEGER
from omnigraph.engine.values.arithmetic import Failed, as_number, compute, constant_number, either
from omnigraph.engine.values.compare import (
    MIRRORED,
    Bound,
    Constant,
    compare_columns,
    compare_constant,
    fit,
    typed_array,
)
from omnigraph.errors import BadRequest

Leaf: TypeAlias = Callable[[ir.Expr], pa.Array]
"""Gives the column behind an expression that only the caller can look up: a property, a score, a text match."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """What one execution fixes: the parameters, and the instant that `now()` means."""

    params: Mapping[str, ir.ConstValue]
    now: DateTime

    @classmethod
    def of(cls, params: Mapping[str, ParamValue], now: DateTime) -> Bindings:
        """From parameters as the compiler bound them."""
        return cls({name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}, now)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is the same for every row, in stored form: dates as days, date-times as milliseconds."""

    value: Constant | tuple[Constant, ...]


Operand: TypeAlias = pa.Array | Fixed


def fixed(expr: ir.Expr, bindings: Bindings) -> Fixed | None:
    """The value of an expression that reads no row, unless it has to be computed."""
    match expr:
        case ir.Const(value):
            return Fixed(_stored(value))
        case ir.Param(name):
            return Fixed(_stored(bindings.params.get(name)))
        case ir.Now():
            return Fixed(bindings.now.ms)
        case _:
            return None


class Evaluator:
    """Conditions and expressions over `length` rows whose columns `leaf` supplies."""

    __slots__ = ("bindings", "leaf", "length")

    def __init__(self, leaf: Leaf, length: int, bindings: Bindings) -> None:
        self.leaf = leaf
        self.length = length
        self.bindings = bindings

    @classmethod
    def over(cls, rows: pa.Table, bindings: Bindings) -> Evaluator:
        """For conditions about the rows of one table, whatever the variable is called."""

        def column(expr: ir.Expr) -> pa.Array:
            if not isinstance(expr, ir.Property):
                raise ir.IllTyped(f"{type(expr).__name__} in a condition on stored rows")
            return _one_chunk(rows[expr.name])

        return cls(column, rows.num_rows, bindings)

    def keep(self, condition: ir.Condition) -> pa.Array:
        """True exactly where the condition is true."""
        return pc.fill_null(self.truth(condition), False)

    def truth(self, condition: ir.Condition) -> pa.Array:
        """True, false or null (unknown) per row; an error when what decides about some row cannot be computed."""
        answer, failed = self._truth(condition)
        _refuse(failed)
        return answer

    def value(self, expr: ir.Expr) -> Operand:
        """The expression per row, or one fixed value; an error when some row has none."""
        found, failed = self._value(expr)
        _refuse(failed)
        return found

    def column(self, expr: ir.Expr, kind: pa.DataType) -> pa.Array:
        """The expression as a full column of an Arrow type that represents its values exactly."""
        return self._column(self.value(expr), kind)

    # --- conditions ------------------------------------------------------------------------------

    def _truth(self, condition: ir.Condition) -> tuple[pa.Array, Failed | None]:
        """True, false or null (unknown) per row, and the rows for which a value it depends on cannot be computed."""
        match condition:
            case ir.Compare(op, left, right):
                return self._over(partial(self._compare, op), left, right)
            case ir.TextTest(op, left, right):
                return self._over(partial(self._text, op), left, right)
            case ir.In(value, options, negated):
                found, failed = self._over(self._member, value, options)
                return (pc.invert(found) if negated else found), failed
            case ir.IsNull(operand, negated):
                tested, failed = self._value(operand)
                return _undecided(self._null_test(tested, negated=negated), failed), failed
            case ir.IsTrue(operand):
                return self._column(self.value(operand), pa.bool_()), None
            case ir.SameNode(left, right, negated):
                return (pc.not_equal if negated else pc.equal)(self.leaf(left), self.leaf(right)), None
            case ir.And(parts):
                return self._all(parts)
            case ir.Or(parts):
                return self._any(parts)
            case ir.NotTrue(part):
                answer, failed = self._truth(part)
                return _undecided(pc.invert(pc.fill_null(answer, False)), failed), failed
            case ir.Possibly(part):
                answer, failed = self._truth(part)
                kept = pc.fill_null(answer, False)
                return (kept if failed is None else pc.or_(kept, failed.rows)), None

    def _over(
        self, test: Callable[[Operand, Operand], pa.Array], left: ir.Expr, right: ir.Expr
    ) -> tuple[pa.Array, Failed | None]:
        """A test of two operands; where one of them is null the other one does not matter."""
        first, second = self._value(left), self._value(right)
        return test(first[0], second[0]), self._spoilt(first, second)

    def _spoilt(self, *sides: tuple[Operand, Failed | None]) -> Failed | None:
        failed = either(*(side[1] for side in sides))
        for operand, own in sides if failed is not None else ():
            if isinstance(operand, Fixed):
                if operand.value is None:
                    return None
                continue
            known = pc.is_valid(operand) if own is None else pc.or_(pc.is_valid(operand), own.rows)
            failed = None if failed is None else failed.where(known)
        return failed

    def _all(self, parts: tuple[ir.Condition, ...]) -> tuple[pa.Array, Failed | None]:
        """A row that some part excludes is excluded, whatever became of the others."""
        if not parts:
            return self._broadcast(value=True, kind=pa.bool_()), None
        found = [self._truth(part) for part in parts]
        answer = reduce(pc.and_kleene, (one for one, _ in found))
        failed = either(*(own for _, own in found))
        for one, own in found if failed is not None else ():
            possible = pc.fill_null(one, False)
            failed = None if failed is None else failed.where(possible if own is None else pc.or_(possible, own.rows))
        return answer, failed

    def _any(self, parts: tuple[ir.Condition, ...]) -> tuple[pa.Array, Failed | None]:
        """A row that some part keeps is kept, whatever became of the others."""
        if not parts:
            return self._broadcast(value=False, kind=pa.bool_()), None
        found = [self._truth(part) for part in parts]
        answer = reduce(pc.or_kleene, (one for one, _ in found))
        failed = either(*(own for _, own in found))
        return answer, None if failed is None else failed.where(pc.invert(pc.fill_null(answer, False)))

    def _compare(self, op: str, left: Operand, right: Operand) -> pa.Array:
        match left, right:
            case Fixed(), Fixed():
                return self._broadcast(_compare_fixed(op, left.value, right.value), pa.bool_())
            case Fixed(), _:
                return compare_constant(MIRRORED[op], right, _scalar(left.value))
            case _, Fixed():
                return compare_constant(op, left, _scalar(right.value))
            case _:
                return compare_columns(op, left, right)

    def _text(self, op: str, text: Operand, needle: Operand) -> pa.Array:
        if isinstance(needle, Fixed) and not isinstance(text, Fixed):
            if needle.value is None:
                return pa.nulls(self.length, pa.bool_())
            test = pc.match_substring if op == "contains" else pc.starts_with
            return test(text, str(needle.value))
        texts, needles = self._column(text, pa.utf8()), self._column(needle, pa.utf8())
        valid = pc.and_(pc.is_valid(texts), pc.is_valid(needles))
        haystack, wanted = _strings(texts), _strings(needles)
        found = np.strings.find(haystack, wanted) >= 0 if op == "contains" else np.strings.startswith(haystack, wanted)
        return pc.if_else(valid, pa.array(found, pa.bool_()), None)

    def _member(self, value: Operand, options: Operand) -> pa.Array:
        if isinstance(options, Fixed):
            if options.value is None:
                return pa.nulls(self.length, pa.bool_())
            assert isinstance(options.value, tuple)
            if isinstance(value, Fixed):
                answer = None if value.value is None else _scalar(value.value) in options.value
                return self._broadcast(answer, pa.bool_())
            return _among(value, options.value)
        return self._member_of_column(value, options)

    def _member_of_column(self, value: Operand, lists: pa.Array) -> pa.Array:
        owners = pc.list_parent_indices(lists)
        items = pc.list_flatten(lists)
        if isinstance(value, Fixed):
            equal = compare_constant("=", items, _scalar(value.value))
            known = pa.scalar(value.value is not None)
        else:
            equal = compare_columns("=", items, value.take(owners))
            known = pc.is_valid(value)
        found = np.zeros(self.length, dtype=bool)
        found[owners.filter(pc.fill_null(equal, False)).to_numpy()] = True
        return pc.if_else(pc.and_(pc.is_valid(lists), known), pa.array(found), None)

    def _null_test(self, operand: Operand, *, negated: bool) -> pa.Array:
        if isinstance(operand, Fixed):
            return self._broadcast((operand.value is None) != negated, pa.bool_())
        return pc.is_valid(operand) if negated else pc.is_null(operand)

    # --- values ----------------------------------------------------------------------------------

    def _value(self, expr: ir.Expr) -> tuple[Operand, Failed | None]:
        if (known := fixed(expr, self.bindings)) is not None:
            return known, None
        if isinstance(expr, ir.Arithmetic):
            return self._arithmetic(expr)
        return self.leaf(expr), None

    def _arithmetic(self, expr: ir.Arithmetic) -> tuple[Operand, Failed | None]:
        width = pa.int64() if expr.type.scalar in INTEGER else pa.float64()
        sides = [self._value(side) for side in (expr.left, expr.right)]
        if any(isinstance(operand, Fixed) and operand.value is None for operand, _ in sides):
            return Fixed(None), None
        numbers = [self._number(operand, width, failed) for operand, failed in sides]
        values, failed = compute(expr.op, numbers[0][0], numbers[1][0])
        return values, either(self._spoilt(*numbers), failed)

    def _number(self, side: Operand, width: pa.DataType, failed: Failed | None) -> tuple[pa.Array, Failed | None]:
        if isinstance(side, Fixed):
            assert isinstance(side.value, int | float)
            values, beyond = constant_number(side.value, width, self.length)
        else:
            values, beyond = as_number(side, width)
        return values, either(failed, beyond)

    def _column(self, operand: Operand, kind: pa.DataType) -> pa.Array:
        return self._broadcast(operand.value, kind) if isinstance(operand, Fixed) else operand

    def _broadcast(self, value: Any, kind: pa.DataType) -> pa.Array:
        if value is None:
            return pa.nulls(self.length, kind)
        return pa.repeat(typed_array([value], kind)[0], self.length)


def _among(column: pa.Array, options: tuple[Constant, ...]) -> pa.Array:
    fitted = (fit("=", option, column.type) for option in options if option is not None)
    values = [bound.value for bound in fitted if isinstance(bound, Bound)]
    if pa.types.is_floating(column.type) and 0 in values:
        values += [0.0, -0.0]  # hashing tells the two zeros apart, comparison does not
    found = pc.is_in(column, value_set=typed_array(values, column.type))
    return pc.if_else(pc.is_valid(column), found, None)


_TEMPORAL = frozenset({Date, DateTime})


def _stored(value: ir.ConstValue) -> Constant | tuple[Constant, ...]:
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


def _compare_fixed(op: str, left: object, right: object) -> bool | None:
    # Python compares integers with floats exactly, and text by code point, which is the order of UTF-8 bytes.
    return None if left is None or right is None else bool(_FIXED[op](left, right))


def _scalar(value: Constant | tuple[Constant, ...]) -> Constant:
    if isinstance(value, tuple):
        raise ir.IllTyped("a list where one value is compared")
    return value


def _strings(texts: pa.Array) -> np.ndarray[Any, Any]:
    return np.array(pc.fill_null(texts, "").to_pylist(), dtype=np.dtypes.StringDType())


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _undecided(answer: pa.Array, failed: Failed | None) -> pa.Array:
    return answer if failed is None else pc.if_else(failed.rows, None, answer)


def _refuse(failed: Failed | None) -> None:
    if failed is not None and pc.any(failed.rows).as_py():
        raise BadRequest(failed.why)


_FIXED: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
