"""Ids: canonical key texts, composite keys, explicit ids, fresh ULIDs."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.catalog import compile_schema
from omnigraph.engine.intake.columns.identity import assign_ids, canonical_text, fresh_ulids, key_texts
from omnigraph.ids import is_ulid, new_ulid

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pa.array(["é"]), ["é"]),
        (pa.array([-5, None], pa.int32()), ["-5", None]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([19723], pa.date32()), ["19723"]),
        (pa.array([1704067200000], pa.date64()), ["1704067200000"]),
        (pa.array([16777217.0, 0.1, -0.0, 1e21], pa.float32()), ["16777216", "0.1", "0", "1000000000000000000000"]),
        (pa.array([0.1, 1e-7]), ["0.1", "0.0000001"]),
    ],
    ids=lambda v: str(v.type) if isinstance(v, pa.Array) else "",
)
def test_each_stored_value_has_one_canonical_text(column: pa.Array, texts: list[str | None]) -> None:
    assert canonical_text(column).to_pylist() == texts


@given(st.lists(st.tuples(TEXT, st.integers(-9, 9), TEXT), max_size=5))
def test_composite_keys_are_compact_json_arrays_of_texts(rows: list[tuple[str, int, str]]) -> None:
    info = compile_schema("node N { a: String b: I32 c: String @key(c, b, a) }").nodes["N"]
    columns = {
        name: pa.array([row[i] for row in rows], kind)
        for i, (name, kind) in enumerate([("a", pa.utf8()), ("b", pa.int32()), ("c", pa.utf8())])
    }
    expected = [json.dumps([a, str(b), c], ensure_ascii=False, separators=(",", ":")) for a, b, c in rows]
    assert key_texts(info, columns).to_pylist() == expected


def test_an_explicit_id_must_be_the_derived_one() -> None:
    info = compile_schema("node N { a: String @key }").nodes["N"]
    columns: dict[str, Any] = {"a": pa.array(["x", "y", "z"])}
    ids, [offence] = assign_ids(info, pa.array(["x", "q", None]), columns)
    assert ids.to_pylist() == ["x", "y", "z"]
    assert (offence.row, offence.code) == (1, "W016")
    assert "does not match its canonical @key id 'y'" in offence.message


def test_rows_without_key_or_id_get_fresh_ulids() -> None:
    info = compile_schema("node N { a: String }").nodes["N"]
    ids, offences = assign_ids(info, pa.array(["mine", None, None]), {})
    assert offences == []
    first, *fresh = ids.to_pylist()
    assert first == "mine"
    assert all(map(is_ulid, fresh))
    assert fresh == sorted(set(fresh))


def test_fresh_ulids_continue_the_process_wide_order() -> None:
    before = new_ulid()
    minted = fresh_ulids(5_000).to_pylist()
    after = new_ulid()
    assert all(map(is_ulid, minted))
    assert [before, *minted, after] == sorted({before, *minted, after})


@given(st.integers(0, 2**128 - 1), st.integers(1, 5))
def test_ulids_by_column_spell_like_single_ones(start: int, count: int) -> None:
    from omnigraph import ids
    from omnigraph.engine.intake.columns import identity

    start = min(start, 2**128 - count)
    original, identity.reserve_ulids = identity.reserve_ulids, lambda n: start
    try:
        assert fresh_ulids(count).to_pylist() == [ids._encode_ulid(start + step) for step in range(count)]
    finally:
        identity.reserve_ulids = original


def test_many_ulids_spell_like_single_ones_where_digits_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph import ids

    start = (5 << 100) + (1 << 40) - 40_000
    monkeypatch.setattr("omnigraph.engine.intake.columns.identity.reserve_ulids", lambda count: start)
    minted = fresh_ulids(70_000)
    for at in (0, 1, 7_231, 7_232, 39_999, 40_000, 69_999):
        assert minted[at].as_py() == ids._encode_ulid(start + at)
    assert minted.to_pylist() == sorted(set(minted.to_pylist()))


def test_no_rows_need_no_ids() -> None:
    assert fresh_ulids(0).to_pylist() == []
