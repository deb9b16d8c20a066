"""Comparisons agree with exact rational arithmetic for every pair of numeric types."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.values.compare import Always, Bound, compare_columns, compare_constant, fit

OPS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
KINDS = (pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64())
_EDGES = [0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]


def _values(kind: pa.DataType) -> st.SearchStrategy[int | float]:
    if pa.types.is_integer(kind):
        low = 0 if pa.types.is_unsigned_integer(kind) else -(2 ** (kind.bit_width - 1))
        high = 2**kind.bit_width - 1 if low == 0 else 2 ** (kind.bit_width - 1) - 1
        return st.sampled_from([edge for edge in _EDGES if low <= edge <= high]) | st.integers(low, high)
    edges = st.sampled_from([float(edge) for edge in _EDGES] + [0.5, -2.7, 1e30, -1e30])
    free = st.floats(allow_nan=False, allow_infinity=False, width=32 if pa.types.is_float32(kind) else 64)
    return (edges | free).map(lambda v: float(np.float32(v)) if pa.types.is_float32(kind) else v)


@given(data=st.data(), left=st.sampled_from(KINDS), right=st.sampled_from(KINDS), op=st.sampled_from(sorted(OPS)))
def test_two_columns_compare_by_mathematical_value(
    data: st.DataObject, left: pa.DataType, right: pa.DataType, op: str
) -> None:
    pairs = data.draw(
        st.lists(st.tuples(st.none() | _values(left), st.none() | _values(right)), min_size=1, max_size=8)
    )
    found = compare_columns(op, pa.array([a for a, _ in pairs], left), pa.array([b for _, b in pairs], right))
    expected = [None if a is None or b is None else OPS[op](Fraction(a), Fraction(b)) for a, b in pairs]
    assert found.to_pylist() == expected


_WHOLE_KINDS = tuple(kind for kind in KINDS if not pa.types.is_float32(kind))
_CONSTANTS = st.sampled_from([*_EDGES, -(2**70), 2**70, 0.5, 2.0, -2.7, 1e30]) | st.integers() | st.floats(
    allow_nan=False, allow_infinity=False
)  # fmt: skip


@given(data=st.data(), kind=st.sampled_from(_WHOLE_KINDS), op=st.sampled_from(sorted(OPS)), constant=_CONSTANTS)
def test_a_constant_compares_by_mathematical_value_even_outside_the_range_of_the_column(
    data: st.DataObject, kind: pa.DataType, op: str, constant: int | float
) -> None:
    values = data.draw(st.lists(st.none() | _values(kind), min_size=1, max_size=8))
    found = compare_constant(op, pa.array(values, kind), constant)
    assert found.to_pylist() == [None if v is None else OPS[op](Fraction(v), Fraction(constant)) for v in values]


def test_a_constant_is_rounded_to_the_width_of_a_float32_column() -> None:
    column = pa.array([0.1, 0.2, None], pa.float32())
    assert compare_constant("=", column, 0.1).to_pylist() == [True, False, None]
    assert compare_constant("<", column, 1e300).to_pylist() == [True, True, None]
    assert compare_constant("=", column, 1e300).to_pylist() == [False, False, None]


@pytest.mark.parametrize("op", sorted(OPS))
def test_text_compares_by_utf8_bytes_and_false_is_below_true(op: str) -> None:
    words = ["a", "Z", "é", "z", "", "\U0001f600", "￿"]
    found = compare_constant(op, pa.array(words), "é").to_pylist()
    assert found == [OPS[op](word.encode(), "é".encode()) for word in words]
    assert compare_constant(op, pa.array([False, True, None]), True).to_pylist() == [
        OPS[op](False, True), OPS[op](True, True), None,
    ]  # fmt: skip


def test_a_null_constant_makes_every_row_unknown() -> None:
    assert compare_constant("!=", pa.array([1, None]), None).to_pylist() == [None, None]


def test_dates_compare_as_epoch_numbers() -> None:
    days = pa.array([0, 5], pa.int32()).cast(pa.date32())
    moments = pa.array([0, 1_700_000_000_123], pa.int64()).view(pa.date64())
    assert compare_constant(">", days, 1).to_pylist() == [False, True]
    assert compare_constant("=", moments, 1_700_000_000_123).to_pylist() == [False, True]


def test_an_integer_between_two_doubles_becomes_a_bound_on_its_neighbour() -> None:
    between = 2**53 + 1
    assert fit("=", between, pa.float64()) == Always(False)
    assert fit("<", between, pa.float64()) == Bound("<=", 2.0**53)
    assert fit(">=", between, pa.float64()) == Bound(">", 2.0**53)
    assert fit("<", 2**53 + 3, pa.float64()) == Bound("<", 2.0**53 + 4)
