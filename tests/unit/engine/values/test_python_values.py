"""Values of columns as Python has them are those of Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.values.python_values import python_values

NUMBERS = [0, -1, 1, 999, 1_000, -62_135_596_800_000, 253_402_300_799_999, 1_600_000_000_123, None, 5, 6, 7]


@pytest.mark.parametrize("count", [0, 1, 8, 9, 12])
@pytest.mark.parametrize("kind", [pa.timestamp("ms", "UTC"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.int64()])
def test_values_are_those_of_arrow(kind: pa.DataType, count: int) -> None:
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        numbers: list[Any] = [None if each is None else each // 1_000_000 for each in NUMBERS[:count]]
    else:
        numbers = NUMBERS[:count]
    column = pa.array(numbers, pa.int64()).cast(kind)
    chunks = pa.chunked_array([column.slice(0, count // 2), column.slice(count // 2)], kind)
    for each in (column, chunks, column.slice(1)):
        found, expected = python_values(each), each.to_pylist()
        assert found == expected
        assert [repr(value) for value in found] == [repr(value) for value in expected]


def test_years_that_python_does_not_have_are_what_arrow_makes_of_them() -> None:
    column = pa.array([253_402_300_800_000] * 10, pa.int64()).cast(pa.timestamp("ms", "UTC"))
    outcomes = []
    for convert in (python_values, pa.Array.to_pylist):
        try:
            outcomes.append(str(convert(column)))
        except (ValueError, OverflowError) as error:
            outcomes.append(f"{type(error)}: {error}")
    assert outcomes[0] == outcomes[1]
