"""Exact comparison of property values: numbers of any width by mathematical value, text by its UTF-8 bytes.

No operand is ever truncated. A constant is first fitted to the column it meets: what cannot be represented there
turns into a neighbouring bound or into an answer that holds for every value, so the comparison itself runs on one
Arrow type. The same fitted form is what may be pushed down to storage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Op: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
Constant: TypeAlias = bool | int | float | str | None  # dates as epoch days, date-times as epoch milliseconds

KERNELS: Mapping[str, Callable[[Any, Any], pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
MIRRORED: Mapping[str, str] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TRUE_WHEN_LESS = frozenset({"!=", "<", "<="})
_TRUE_WHEN_GREATER = frozenset({"!=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Bound:
    """Compare the column with this value, which its type represents exactly."""

    op: Op
    value: bool | int | float | str


@dataclass(frozen=True, slots=True)
class Always:
    """Every non-null value of the column gives this answer."""

    answer: bool


def fit(op: str, value: bool | int | float | str, kind: pa.DataType) -> Bound | Always:
    """The comparison `column op value` in terms of the column's own type.

    >>> fit("<", 2.7, pa.int32()), fit("=", 2.7, pa.int32()), fit("<", 2**40, pa.int32())
    (Bound(op='<=', value=2), Always(answer=False), Always(answer=True))
    """
    plain = cast("Op", op)
    if isinstance(value, str | bool):
        return Bound(plain, value)
    if pa.types.is_integer(kind):
        return _fit_integer(plain, value, kind)
    if pa.types.is_float32(kind):
        with np.errstate(over="ignore"):
            return _fit_float(plain, float(np.float32(value)))
    if pa.types.is_float64(kind):
        return _fit_double(plain, value)
    return Bound(plain, value)


def equal_values(options: Sequence[Constant], kind: pa.DataType) -> list[Constant]:
    """What values of a column can be equal to of some constants, in terms of its own type and each once."""
    distinct = dict.fromkeys(options)
    distinct.pop(None, None)
    types = set(map(type, distinct))
    if types <= {str, bool}:
        return list(distinct)
    if types == {int} and pa.types.is_integer(kind):
        low, high = _integer_range(kind)
        return [value for value in distinct if low <= value <= high]  # type: ignore[operator]
    fitted = (fit("=", value, kind) for value in distinct if value is not None)
    return [bound.value for bound in fitted if isinstance(bound, Bound)]


def compare_constant(op: str, column: pa.Array, value: Constant) -> pa.Array:
    """`column op value` per row; null where the column is null, everywhere for a null value."""
    if value is None:
        return pa.nulls(len(column), pa.bool_())
    fitted = fit(op, value, column.type)
    if isinstance(fitted, Always):
        return pc.if_else(pc.is_valid(column), fitted.answer, None)
    return KERNELS[fitted.op](column, typed_array([fitted.value], column.type)[0])


def compare_columns(op: str, left: pa.Array, right: pa.Array) -> pa.Array:
    """`left op right` per row; null where either side is null."""
    if left.type.equals(right.type):
        return KERNELS[op](left, right)
    kinds = (left.type, right.type)
    if all(pa.types.is_integer(kind) for kind in kinds):
        if not any(pa.types.is_uint64(kind) for kind in kinds):
            return KERNELS[op](left.cast(pa.int64()), right.cast(pa.int64()))
        return _compare_with_unsigned(op, left, right)
    if pa.types.is_floating(left.type) and _wide_integer(right.type):
        return _compare_integer_float(MIRRORED[op], right, left)
    if _wide_integer(left.type) and pa.types.is_floating(right.type):
        return _compare_integer_float(op, left, right)
    # Every remaining numeric pair (32-bit integers and floats) widens to double without loss.
    return KERNELS[op](left.cast(pa.float64()), right.cast(pa.float64()))


def typed_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Constants as an array of an Arrow type; temporal constants are epoch numbers."""
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_date64(kind):
        # A cast would complain about milliseconds within the day; the stored form keeps them.
        return pa.array(values, pa.int64()).view(kind)
    return pa.array(values, kind)


def _fit_integer(op: Op, value: int | float, kind: pa.DataType) -> Bound | Always:
    if isinstance(value, float):
        if not math.isfinite(value):
            return _beyond(op, value)
        whole = math.floor(value)
        if whole != value:
            # Between two integers: x < 2.7 is x <= 2, x >= 2.7 is x > 2.
            if op in ("=", "!="):
                return Always(op == "!=")
            op = "<=" if op in ("<", "<=") else ">"
        value = whole
    low, high = _integer_range(kind)
    if low <= value <= high:
        return Bound(op, value)
    return Always(op in (_TRUE_WHEN_LESS if value > high else _TRUE_WHEN_GREATER))


def _fit_float(op: Op, value: float) -> Bound | Always:
    return Bound(op, value) if math.isfinite(value) else _beyond(op, value)


def _fit_double(op: Op, value: int | float) -> Bound | Always:
    nearest = float(value)
    if isinstance(value, float) or int(nearest) == value:
        return _fit_float(op, nearest)
    # An integer between two doubles is never equal to one; `nearest` lies on one side of it.
    if op in ("=", "!="):
        return Always(op == "!=")
    if nearest < value:
        return Bound("<=" if op in ("<", "<=") else ">", nearest)
    return Bound("<" if op in ("<", "<=") else ">=", nearest)


def _beyond(op: Op, value: float) -> Always:
    if math.isnan(value):
        return Always(op == "!=")
    return Always(op in (_TRUE_WHEN_LESS if value > 0 else _TRUE_WHEN_GREATER))


def _compare_with_unsigned(op: str, left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_signed_integer(right.type):
        return _compare_with_unsigned(MIRRORED[op], right, left)
    if not pa.types.is_signed_integer(left.type):
        return KERNELS[op](left.cast(pa.uint64()), right.cast(pa.uint64()))
    zero = pa.scalar(0, left.type)
    negative = pc.less(left, zero)
    magnitude = pc.if_else(negative, zero, left).cast(pa.uint64())
    below = pc.if_else(pc.is_valid(right), op in _TRUE_WHEN_LESS, None)
    return pc.if_else(negative, below, KERNELS[op](magnitude, right.cast(pa.uint64())))


def _compare_integer_float(op: str, integers: pa.Array, floats: pa.Array) -> pa.Array:
    valid = pc.and_(pc.is_valid(integers), pc.is_valid(floats))
    whole_numbers = pc.fill_null(integers, 0).to_numpy(zero_copy_only=False)
    fractions = pc.fill_null(floats.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    order = pa.array(_order(whole_numbers, fractions), pa.int8())
    return pc.if_else(valid, KERNELS[op](order, pa.scalar(0, pa.int8())), None)


def _order(integers: np.ndarray[Any, Any], floats: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """-1, 0 or 1 as the integer is below, equal to or above the float, without rounding either."""
    limits = np.iinfo(integers.dtype)
    low, high = float(limits.min), float(limits.max + 1)  # powers of two (or zero): exact as doubles
    whole = np.floor(floats)
    inside = (whole >= low) & (whole < high)
    nearest = np.where(inside, whole, 0.0).astype(integers.dtype)
    order = (integers > nearest).astype(np.int8) - (integers < nearest).astype(np.int8)
    order = np.where((order == 0) & (floats > whole), -1, order)
    return np.where(whole >= high, -1, np.where(whole < low, 1, order)).astype(np.int8)


def _integer_range(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    return -(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1


def _wide_integer(kind: pa.DataType) -> bool:
    return kind in (pa.int64(), pa.uint64())
