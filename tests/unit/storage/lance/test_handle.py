"""Looking rows up by id: a few by filter, many by one scan, with one answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.lance import handle, tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.tables import Landed, TableHandle


@pytest.fixture
def table(tmp_path: Path) -> TableHandle:
    schema = pa.schema([key_field(), pa.field("src", pa.utf8()), pa.field("n", pa.int64())])
    rows = pa.table([["a", "b", "it's", "d"], ["x", "x", "y", None], [1, 2, 3, 4]], schema=schema)
    outcome = tables.commit(tables.stage_create(normalize_root(tmp_path).table("nodes/t"), schema, rows))
    assert isinstance(outcome, Landed)
    return outcome.handle


@pytest.mark.parametrize("limit", [handle._PROBE_LIMIT, 0], ids=["filter", "scan"])
@pytest.mark.parametrize("as_array", [True, False])
def test_rows_are_found_by_any_key_column(
    table: TableHandle, limit: int, as_array: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "_PROBE_LIMIT", limit)

    def asked(values: list[str]) -> list[str] | pa.Array:
        return pa.array(values, pa.utf8()) if as_array else values

    assert sorted(table.take_ids(asked(["it's", "zz", "a"]), ["id"])["id"].to_pylist()) == ["a", "it's"]
    found = table.take_ids(asked(["x"]), ["n"], key="src")
    assert found.column_names == ["n"]
    assert sorted(found["n"].to_pylist()) == [1, 2]
    assert table.take_ids(asked([]), ["id"]).num_rows == 0
    assert table.take_ids(asked(["b"])).to_pylist() == [{"id": "b", "src": "x", "n": 2}]
