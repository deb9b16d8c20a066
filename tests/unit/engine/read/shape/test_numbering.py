"""Equal values get equal numbers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.engine.read.shape.numbering import number


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "a", ""]),
        pa.array([[1], None, [1], []], pa.list_(pa.int32())),
        pa.array([[1.0, 2.0], None, [1.0, 2.0], [2.0, 1.0]], pa.list_(pa.float32(), 2)),
        pa.array([0.0, None, -0.0, 1.0]),
    ],
)
def test_equal_values_get_equal_numbers_and_null_is_a_value(column: pa.Array) -> None:
    numbers, count = number(column)
    first, second, third, last = numbers.tolist()
    assert first == third
    assert len({first, second, last}) == count == 3
