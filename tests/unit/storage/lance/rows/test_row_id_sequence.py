"""The row ids in the descriptions of fragments are those that a scan shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.rows.row_id_sequence import Run, Scattered, parse_sequence
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.testing.graphs import row_steps

SCHEMA = pa.schema([key_field(), pa.field("n", pa.int64())])
ROWS = 3_000


def rows(numbers: np.ndarray, shift: int = 0) -> pa.Table:
    return pa.table({"id": [f"p{at:05d}" for at in numbers], "n": numbers + shift}, schema=SCHEMA)


def landed(outcome: object) -> TableHandle:
    assert isinstance(outcome, Landed)
    return outcome.handle


def without(table: TableHandle, gone: np.ndarray) -> TableHandle:
    staged = row_steps.stage_delete(table, rows(gone)["id"].combine_chunks())
    assert staged is not None
    return landed(tables.commit(staged))


def replaced(table: TableHandle, numbers: np.ndarray) -> TableHandle:
    return landed(tables.commit(row_steps.stage_upsert(table, rows(numbers, 1))))


SHAPES: dict[str, Callable[[TableHandle], TableHandle]] = {
    "as written": lambda table: table,
    "with a deletion vector": lambda table: without(table, np.array([5, 6, 700])),
    "a few holes": lambda table: tables.compact(without(table, np.array([5, 6, 700, *range(1_000, 1_400)]))),
    "every second one": lambda table: tables.compact(without(table, np.arange(0, ROWS, 2))),
    "a few from everywhere": lambda table: tables.compact(without(table, np.flatnonzero(np.arange(ROWS) % 97))),
    "replaced rows": lambda table: replaced(table, np.array([7, 3, 2_999])),
    "replaced rows among the others": lambda table: tables.compact(replaced(table, np.arange(1_500, 100, -3))),
    "several appends": lambda table: tables.compact(
        replaced(replaced(table, np.arange(9_000, 9_050)), np.arange(9_100, 9_120))
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_description_lists_what_a_scan_shows(tmp_path: Path, shape: str) -> None:
    address = normalize_root(tmp_path).table("nodes/t")
    table = SHAPES[shape](landed(tables.commit(tables.stage_create(address, SCHEMA, rows(np.arange(ROWS))))))
    for fragment in table.dataset.get_fragments():
        described = fragment.metadata
        found = parse_sequence(bytes(described.row_id_meta.asdict()["Inline"]), described.physical_rows)
        by_offset = np.empty(described.physical_rows, np.int64)
        if isinstance(found, Scattered):
            assert (np.diff(found.ids) > 0).all()
            by_offset[found.offsets] = found.ids
        else:
            by_offset[:] = np.concatenate([np.arange(run.first, run.end) for run in found])
        seen = fragment.scanner(columns=["_rowid", "_rowaddr"]).to_table()
        offsets = seen["_rowaddr"].to_numpy() & np.uint64(0xFFFFFFFF)
        assert by_offset[offsets].tolist() == seen["_rowid"].to_pylist()


def test_runs_follow_one_another() -> None:
    content = bytes([10, 6, 10, 4, 8, 2, 16, 5, 10, 6, 10, 4, 8, 9, 16, 11])
    assert parse_sequence(content, 5) == (Run(2, 5, 0), Run(9, 11, 3))


@pytest.mark.parametrize(
    "content",
    [b"\x0a", b"\x0a\x02\x0a\x7f", b"\x0b\x01", b"\x0a\x02\x32\x00", b"\x0a\x00", b"\x0a\x04\x0a\x02\x10\x03"],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="row ids"):
        parse_sequence(content, 5)
