"""Evaluates the plan's conditions and expressions over Arrow columns, with three-valued logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.functions import FUNCTIONS
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ranges import can_fail
from omnigraph.compiler.ir.walk import expressions, variables
from omnigraph.compiler.query.params import ParamValue
from omnigraph.compiler.temporal import DateTime
from omnigraph.compiler.types import INTEGER, INTEGER_RANGE, PropType
from omnigraph.engine.values.arithmetic import Failed, as_number, compute, constant_number, either
from omnigraph.engine.values.arrow import arrow_type
from omnigraph.engine.values.compare import MIRRORED, compare_columns, compare_constant
from omnigraph.engine.values.fixed import Fixed, Operand, broadcast, stored
from omnigraph.engine.values.functions import Call
from omnigraph.engine.values.operands import (
    argument_width,
    call_kernel,
    compare_fixed,
    member,
    one_chunk,
    one_constant,
    refuse,
    repeated,
    rounded,
    stored_constant,
    undecided,
)
from omnigraph.engine.values.text_test import text_test

Leaf: TypeAlias = Callable[[ir.Expr], pa.Array]
"""Gives the column behind an expression that only the caller can look up: a property, a score, a text match."""

Shared: TypeAlias = Callable[[ir.Expr], pa.ListScalar | None]
"""Gives the list behind an expression that has the same one in every row; None where that is not known."""


def _not_shared(expr: ir.Expr) -> None:
    """For rows that come without such knowledge."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """What one execution fixes: the parameters, and the instant that `now()` means."""

    params: Mapping[str, ir.ConstValue]
    now: DateTime

    @classmethod
    def of(cls, params: Mapping[str, ParamValue], now: DateTime) -> Bindings:
        """From parameters as the compiler bound them."""
        return cls({name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}, now)


def fixed(expr: ir.Expr, bindings: Bindings) -> Fixed | None:
    """The value of an expression that reads no row; None for any other, and where it has none."""
    known = _spelt(expr, bindings)
    if known is not None or not isinstance(expr, ir.Function | ir.Choice) or variables(expr):
        return known
    if any(isinstance(part, ir.Column | ir.Score | ir.AggregateCall) for part in expressions(expr)):
        return None
    found, failed = Evaluator(_no_column, 1, bindings).attempt(expr)
    if failed is not None:
        return None
    return found if isinstance(found, Fixed) else Fixed(stored(found[0]))


def _spelt(expr: ir.Expr, bindings: Bindings) -> Fixed | None:
    match expr:
        case ir.Const(value):
            return Fixed(stored_constant(value))
        case ir.Param(name):
            return Fixed(stored_constant(bindings.params.get(name)))
        case ir.Now():
            return Fixed(bindings.now.ms)
        case _:
            return None


def _no_column(expr: ir.Expr) -> pa.Array:
    raise ir.IllTyped(f"{type(expr).__name__} in a constant")


class Evaluator:
    """Conditions and expressions over `length` rows whose columns `leaf` supplies."""

    __slots__ = ("bindings", "leaf", "length", "shared")

    def __init__(self, leaf: Leaf, length: int, bindings: Bindings, shared: Shared = _not_shared) -> None:
        self.leaf = leaf
        self.shared = shared
        self.length = length
        self.bindings = bindings

    @classmethod
    def over(cls, rows: pa.Table, bindings: Bindings) -> Evaluator:
        """For conditions about the rows of one table, whatever the variable is called."""

        def column(expr: ir.Expr) -> pa.Array:
            if not isinstance(expr, ir.Property):
                raise ir.IllTyped(f"{type(expr).__name__} in a condition on stored rows")
            return one_chunk(rows[expr.name])

        return cls(column, rows.num_rows, bindings)

    def keep(self, condition: ir.Condition) -> pa.Array:
        """True exactly where the condition is true."""
        return pc.fill_null(self.truth(condition), False)

    def truth(self, condition: ir.Condition) -> pa.Array:
        """True, false or null (unknown) per row; an error when what decides about some row cannot be computed."""
        answer, failed = self._truth(condition)
        refuse(failed)
        return answer

    def value(self, expr: ir.Expr) -> Operand:
        """The expression per row, or one fixed value; an error when some row has none."""
        found, failed = self._value(expr)
        refuse(failed)
        return found

    def attempt(self, expr: ir.Expr) -> tuple[Operand, Failed | None]:
        """The same, with the rows that have no value."""
        return self._value(expr)

    def full(self, operand: Operand, kind: pa.DataType) -> pa.Array:
        """What `attempt` found as a full column."""
        return self._column(operand, kind)

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
                return self._over(partial(text_test, op, self.length), left, right)
            case ir.In(value, options, negated):
                same = self.shared(options)
                if same is None:
                    found, failed = self._over(partial(member, self.length), value, options)
                else:
                    operand, failed = self._value(value)
                    found = member(self.length, operand, same)
                return (pc.invert(found) if negated else found), failed
            case ir.IsNull(operand, negated):
                tested, failed = self._value(operand)
                return undecided(self._null_test(tested, negated=negated), failed), failed
            case ir.IsTrue(operand):
                answer, failed = self._value(operand)
                return self._column(answer, pa.bool_()), failed
            case ir.SameNode(left, right, negated):
                return (pc.not_equal if negated else pc.equal)(self.leaf(left), self.leaf(right)), None
            case ir.And(parts):
                return self._all(parts)
            case ir.Or(parts):
                return self._any(parts)
            case ir.Not(part):
                answer, failed = self._truth(part)
                return pc.invert(answer), failed
            case ir.NotTrue(part):
                answer, failed = self._truth(part)
                return undecided(pc.invert(pc.fill_null(answer, False)), failed), failed
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
                return self._broadcast(compare_fixed(op, left.value, right.value), pa.bool_())
            case Fixed(), _:
                return compare_constant(MIRRORED[op], right, one_constant(left.value))
            case _, Fixed():
                return compare_constant(op, left, one_constant(right.value))
            case _:
                return compare_columns(op, left, right)

    def _null_test(self, operand: Operand, *, negated: bool) -> pa.Array:
        if isinstance(operand, Fixed):
            return self._broadcast((operand.value is None) != negated, pa.bool_())
        return pc.is_valid(operand) if negated else pc.is_null(operand)

    # --- values ----------------------------------------------------------------------------------

    def _value(self, expr: ir.Expr) -> tuple[Operand, Failed | None]:
        if (known := _spelt(expr, self.bindings)) is not None:
            return known, None
        match expr:
            case ir.Arithmetic():
                return self._arithmetic(expr)
            case ir.Function("coalesce"):
                return self._first_known(expr)
            case ir.Function("nullif"):
                return self._unless_equal(expr)
            case ir.Function():
                return self._function(expr)
            case ir.Choice():
                return self._choice(expr)
            case ir.Record():
                return self._record(expr)
        if isinstance(expr, ir.CONDITIONS):
            return self._truth(expr)
        return self.leaf(expr), None

    # --- functions -------------------------------------------------------------------------------

    def _function(self, expr: ir.Function) -> tuple[Operand, Failed | None]:
        """A kernel over its arguments; where one of them is null, so is the result, whatever became of the others."""
        function = FUNCTIONS[expr.name]
        sides = [self._argument(arg, function.param(at).kind, expr.type) for at, arg in enumerate(expr.args)]
        if any(isinstance(operand, Fixed) and operand.value is None for operand, _, _ in sides):
            return Fixed(None), None
        operands, kinds = tuple(side[0] for side in sides), tuple(side[2] for side in sides)
        constant = all(isinstance(operand, Fixed) for operand in operands)
        call = Call(operands, kinds, 1 if constant else self.length, arrow_type(expr.type))
        values, failed = call_kernel(expr.name, call)
        if constant:
            values = repeated(values, self.length)
            failed = None if failed is None else Failed(pa.repeat(failed.rows[0], self.length), failed.why)
        return values, either(self._spoilt(*((side[0], side[1]) for side in sides)), failed)

    def _argument(self, arg: ir.Expr, kind: str, result: PropType) -> tuple[Operand, Failed | None, pa.DataType]:
        """An argument in the form its kernel takes: numbers as int64, as double, or all as uint64."""
        found, failed = self._value(arg)
        assert isinstance(arg.type, PropType)
        wanted = pa.null() if arg.type == ir.NULL else arrow_type(arg.type)
        width = argument_width(kind, arg.type, result)
        if width is not None and not (isinstance(found, Fixed) and found.value is None):
            if isinstance(found, Fixed):
                assert isinstance(found.value, int | float)
                if pa.types.is_floating(width):
                    return Fixed(float(found.value)), failed, width
                low, high = INTEGER_RANGE["U64" if pa.types.is_uint64(width) else "I64"]
                if low <= found.value <= high:
                    return found, failed, width
            return (*self._number(found, width, failed), width)
        return found, failed, wanted

    def _record(self, expr: ir.Record) -> tuple[pa.Array, Failed | None]:
        """A struct of its members; that of a node that was not found is null."""
        kind = arrow_type(expr.type)
        found = [self._value(member.value) for member in expr.members]
        parts = [self._column(operand, field.type) for (operand, _), field in zip(found, kind, strict=True)]
        missing = parts[0].is_null() if expr.node is not None and expr.type.nullable else None
        record = pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
        return record, either(*(failed for _, failed in found))

    def _choice(self, expr: ir.Choice) -> tuple[Operand, Failed | None]:
        """The value of the first condition that is true; what is not chosen may fail."""
        kind = arrow_type(expr.type)
        plain = self._plain_choice(expr, kind)
        if plain is not None:
            return plain, None
        open_rows = self._broadcast(value=True, kind=pa.bool_())
        failures: list[Failed | None] = []
        chosen: list[pa.Array] = []
        values: list[pa.Array] = []
        for condition, value in zip(expr.conditions, expr.values, strict=True):
            answer, failed = self._truth(condition)
            failures.append(None if failed is None else failed.where(open_rows))
            taken = pc.and_(open_rows, pc.fill_null(answer, False))
            column, failed = self._branch(value, kind)
            failures.append(None if failed is None else failed.where(taken))
            chosen.append(taken)
            values.append(column)
            open_rows = pc.and_not(open_rows, taken)
        column, failed = self._branch(expr.otherwise, kind)
        failures.append(None if failed is None else failed.where(open_rows))
        for taken, value in zip(reversed(chosen), reversed(values), strict=True):
            column = pc.if_else(taken, value, column)
        bad = either(*failures)
        return (column if bad is None else pc.if_else(bad.rows, pa.scalar(None, kind), column)), bad

    def _plain_choice(self, expr: ir.Choice, kind: pa.DataType) -> pa.Array | None:
        """A choice between constants, none of which has to be made a column; None where something may fail."""
        spelt = [_spelt(value, self.bindings) for value in (*expr.values, expr.otherwise)]
        if pa.types.is_nested(kind) or can_fail(expr) or any(known is None for known in spelt):
            return None
        scalars = [self._one(known.value, kind) for known in spelt if known is not None]
        tests = [pc.fill_null(self._truth(condition)[0], False) for condition in expr.conditions]
        found = pc.case_when(pc.make_struct(*tests), *scalars)
        return found if isinstance(found, pa.Array) else pa.repeat(found, self.length)

    def _one(self, value: Any, kind: pa.DataType) -> pa.Scalar:
        numeric = value is not None and (pa.types.is_floating(kind) or pa.types.is_integer(kind))
        return broadcast(rounded(value, kind) if numeric else value, kind, 1)[0]

    def _branch(self, expr: ir.Expr, kind: pa.DataType) -> tuple[pa.Array, Failed | None]:
        """A value in the type that all branches share."""
        found, failed = self._value(expr)
        if isinstance(found, Fixed):
            if found.value is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                return self._broadcast(found.value, kind), failed
            if kind == pa.int64():
                return self._number(found, kind, failed)
            return self._broadcast(rounded(found.value, kind), kind), failed
        if found.type.equals(kind):
            return found, failed
        if kind == pa.int64():
            return self._number(found, kind, failed)
        return found.cast(kind, safe=False), failed

    def _first_known(self, expr: ir.Function) -> tuple[Operand, Failed | None]:
        kind = arrow_type(expr.type)
        column, bad = self._branch(expr.args[0], kind)
        for arg in expr.args[1:]:
            if bad is None and not column.null_count:
                break
            # A row that failed has no value to go on from.
            needed = pc.is_null(column) if bad is None else pc.and_not(pc.is_null(column), bad.rows)
            following, failed = self._branch(arg, kind)
            column = pc.if_else(needed, following, column)
            bad = either(bad, None if failed is None else failed.where(needed))
        return column, bad

    def _unless_equal(self, expr: ir.Function) -> tuple[Operand, Failed | None]:
        kind = arrow_type(expr.type)
        column, failed = self._branch(expr.args[0], kind)
        other, spoilt = self._branch(expr.args[1], kind)
        equal = pc.fill_null(compare_columns("=", column, other), False)
        return pc.if_else(equal, pa.scalar(None, kind), column), self._spoilt((column, failed), (other, spoilt))

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
        return broadcast(value, kind, self.length)
