"""Arithmetic on columns: doubles, and 64-bit signed integers that tell which rows overflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_INT64 = np.iinfo(np.int64)
_TOO_WIDE = "integer overflow: arithmetic on integers is 64 bits wide and signed"


@dataclass(frozen=True, slots=True)
class Failed:
    """The rows whose value cannot be computed (in the column itself they are null), and why."""

    rows: pa.Array
    why: str

    def where(self, mask: pa.Array) -> Failed | None:
        """Only the rows for which the mask is true; None when there are none."""
        rows = pc.and_(self.rows, mask)
        return Failed(rows, self.why) if pc.any(rows).as_py() else None


def either(*failures: Failed | None) -> Failed | None:
    """The rows of all of them, for the first of their reasons."""
    present = [each for each in failures if each is not None]
    if len(present) < 2:
        return present[0] if present else None
    rows = present[0].rows
    for each in present[1:]:
        rows = pc.or_(rows, each.rows)
    return Failed(rows, present[0].why)


def as_number(column: pa.Array, width: pa.DataType) -> tuple[pa.Array, Failed | None]:
    """A column of numbers as int64 or as double, to which an integer is rounded."""
    if pa.types.is_floating(width):
        return column.cast(width, safe=False), None
    try:
        return column.cast(width), None
    except pa.ArrowInvalid:
        beyond = pc.greater(column, pa.scalar(_INT64.max, column.type))
        return pc.if_else(beyond, None, column).cast(width), Failed(pc.fill_null(beyond, False), _TOO_WIDE)


def constant_number(value: int | float, width: pa.DataType, length: int) -> tuple[pa.Array, Failed | None]:
    """The same for one value in every row."""
    if pa.types.is_floating(width):
        return pa.repeat(pa.scalar(float(value), width), length), None
    if _INT64.min <= value <= _INT64.max:
        return pa.repeat(pa.scalar(value, width), length), None
    return pa.nulls(length, width), Failed(pa.repeat(pa.scalar(True), length), _TOO_WIDE)


def compute(op: str, left: pa.Array, right: pa.Array) -> tuple[pa.Array, Failed | None]:
    """`left op right` on two columns of one width; null in, null out, and null for a zero divisor."""
    try:
        return _CHECKED[op](left, right), None
    except pa.ArrowInvalid:
        known = pc.and_(pc.is_valid(left), pc.is_valid(right))
        sides = (pc.fill_null(side, 0).to_numpy(zero_copy_only=False) for side in (left, right))
        failed = pc.and_(known, pa.array(_OVERFLOWS[op](*sides)))
        plain = [pc.if_else(failed, None, side) for side in (left, right)]
        return _CHECKED[op](*plain), Failed(failed, f"integer overflow in '{op}'")


def _divide(left: pa.Array, right: pa.Array) -> pa.Array:
    zero = pa.scalar(0, right.type)
    nonzero = pc.if_else(pc.equal(right, zero), None, right)
    return pc.divide_checked(left, nonzero)


def _remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    """What truncating division leaves: it has the sign of the dividend; null for a zero divisor."""
    valid = pc.and_(pc.and_(pc.is_valid(left), pc.is_valid(right)), pc.not_equal(right, pa.scalar(0, right.type)))
    safe = [pc.fill_null(pc.if_else(valid, side, None), 1).to_numpy(zero_copy_only=False) for side in (left, right)]
    return pc.if_else(valid, pa.array(np.fmod(*safe), left.type), None)


Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def _sum_overflows(left: Int64s, right: Int64s) -> Mask:
    with np.errstate(over="ignore"):
        total = left + right
    # The sign of a sum that wrapped differs from that of both operands.
    return ((left ^ total) & (right ^ total)) < 0


def _difference_overflows(left: Int64s, right: Int64s) -> Mask:
    with np.errstate(over="ignore"):
        difference = left - right
    return ((left ^ right) & (left ^ difference)) < 0


def _product_overflows(left: Int64s, right: Int64s) -> Mask:
    with np.errstate(over="ignore"):
        product = left * right
    divisor = np.where(left == 0, 1, left)
    # Dividing the least integer by -1 wraps as well, and would hide that the product did.
    wrapped = (left == -1) & (right == _INT64.min)
    divisor = np.where(wrapped, 1, divisor)
    overflows: Mask = wrapped | ((left != 0) & (product // divisor != right))
    return overflows


_CHECKED: Mapping[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": _divide,
    "%": _remainder,
}
_OVERFLOWS: Mapping[str, Callable[[Any, Any], Mask]] = {
    "+": _sum_overflows,
    "-": _difference_overflows,
    "*": _product_overflows,
}
