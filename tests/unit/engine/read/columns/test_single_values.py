"""Values at single places are those that Arrow gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.read.columns.single_values import single_values

KINDS = {
    pa.string(): st.text(max_size=5),
    pa.large_string(): st.text(max_size=5),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
}


@given(st.data(), st.sampled_from(list(KINDS)), st.integers(0, 2))
def test_values_are_those_of_arrow(data: st.DataObject, kind: pa.DataType, skipped: int) -> None:
    values = data.draw(st.lists(KINDS[kind], min_size=skipped + 1, max_size=6))
    column = pa.array(values, kind).slice(skipped)
    found = single_values([column, column])
    assert found is not None
    assert [(found[0](at), found[1](at)) for at in range(len(column))] == [(each, each) for each in column.to_pylist()]


@pytest.mark.parametrize("values", [[1, None], [], [1.5], [True], [[1]]], ids=str)
def test_other_columns_are_left_to_arrow(values: list[Any]) -> None:
    assert single_values([pa.array([1]), pa.array(values)]) is None
