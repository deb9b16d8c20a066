"""Ids are distinct exactly where Python's set says so, whatever their order."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.engine.values.rowset import last_positions
from omnigraph.storage.lance.id_columns import all_distinct, ascend

texts = st.lists(st.text("abé", max_size=2), max_size=6)


@given(texts, st.booleans(), st.integers(0, 6))
def test_distinct_ids_are_told_from_repeated_ones(ids: list[str], ordered: bool, cut: int) -> None:
    given_ids = sorted(ids, key=str.encode) if ordered else ids
    column = pa.array(given_ids, pa.utf8())
    assert all_distinct(column) == (len(set(ids)) == len(ids))
    assert all_distinct(pa.chunked_array([column[:cut], column[cut:]])) == all_distinct(column)
    assert ascend(column) == (given_ids == sorted(set(ids), key=str.encode))
    assert ascend(pa.chunked_array([column[:cut], column[:0], column[cut:]])) == ascend(column)
    last = {text: place for place, text in enumerate(given_ids)}
    assert last_positions(column).tolist() == sorted(last.values())


def test_ids_that_are_absent_are_not_in_order() -> None:
    assert not ascend(pa.array(["a", None, "b"]))
    assert not ascend(pa.chunked_array([["a"], [None], ["b"]]))
