"""Polars hands texts over as views; they load as other texts do, also where rows are refused or computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.engine.intake.columns.views import without_views


def test_views_become_plain_at_any_depth() -> None:
    table = pa.table(pl.DataFrame({"t": ["a"], "l": [["b"]], "s": [{"x": "c", "n": 1}], "b": [b"d"], "n": [1]}))
    assert "view" in str(table.schema)
    plain = without_views(table)
    assert "view" not in str(plain.schema)
    assert plain.to_pylist() == table.to_pylist()
    assert without_views(plain) is plain


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_views_load_where_rows_are_refused_or_computed(tmp_path: Path, kind: str) -> None:
    frame, file = pl.DataFrame({"K": ["A", "B"], "age": ["old", "7"]}), tmp_path / "p.parquet"
    pq.write_table(pa.table(frame), file)
    source: dict[str, Any] = {"frame": frame} if kind == "frame" else {"path": str(file)}
    entry = {"from": "s", "columns": {"k": {"expr": "lower($row.k)"}, "age": {"expr": "to_int($row.age)"}}}
    with og.init(tmp_path / "g.omni", "node P { k: String @key  age: I32? }") as graph:
        done = graph.load(
            mapping={"sources": {"s": source}, "nodes": {"P": entry}}, on_error="skip", rejects=tmp_path / "bad.jsonl"
        )
        assert (dict(done.nodes), sum(done.rejected.values())) == ({"P": 1}, 1)
        assert graph.get("P", "b") == {"id": "b", "k": "b", "age": 7}
        assert '\\"K\\": \\"A\\"' in (tmp_path / "bad.jsonl").read_text()
