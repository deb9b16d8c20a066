"""Deletion vectors read from lance's files say what a scan says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.storage.base.layout import normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.rows.deletions import deleted_offsets
from omnigraph.storage.lance.rows.roaring import roaring_values
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.testing.graphs import row_steps

SCHEMA = pa.schema([key_field(), pa.field("n", pa.int64())])
ROWS = 70_000


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> TableHandle:
    address = normalize_root(tmp_path_factory.mktemp("deleted")).table("nodes/t")
    rows = pa.table({"id": [f"p{at:05d}" for at in range(ROWS)], "n": np.arange(ROWS)}, schema=SCHEMA)
    return landed(tables.commit(tables.stage_create(address, SCHEMA, rows)))


def landed(outcome: object) -> TableHandle:
    assert isinstance(outcome, Landed)
    return outcome.handle


def without(table: TableHandle, gone: np.ndarray) -> TableHandle:
    staged = row_steps.stage_delete(table, pa.array([f"p{at:05d}" for at in gone]))
    assert staged is not None
    return landed(tables.commit(staged))


SHAPES = {
    "a few": np.array([3, 17, 69_999]),
    "many here and there": np.arange(0, ROWS, 7),
    "a dense start": np.arange(6_000),
    "nearly all": np.arange(1, ROWS),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_files_say_what_was_deleted(filled: TableHandle, shape: str) -> None:
    ref, trunk = f"r{len(shape)}", tables.open_table(filled.address)
    tables.create_ref(trunk, ref, source=None, version=filled.version)
    table = without(tables.open_table(filled.address.on(ref)), SHAPES[shape])
    tables.create_ref(trunk, f"{ref}-child", source=ref, version=table.version)
    inheriting = tables.open_table(filled.address.on(f"{ref}-child"))
    for reader in (table, inheriting):
        found = deleted_offsets(reader, reader.dataset.get_fragments()[0])
        assert found is not None
        assert found.tolist() == SHAPES[shape].tolist()


def test_a_fragment_without_deletions_has_none(filled: TableHandle) -> None:
    found = deleted_offsets(filled, filled.dataset.get_fragments()[0])
    assert found is not None
    assert not len(found)


@pytest.mark.parametrize(
    ("content", "values"),
    [
        pytest.param("3a300000 00000000", [], id="nothing"),
        pytest.param("3a300000 01000000 0000 0200 10000000 0100 0500 0900", [1, 5, 9], id="an array"),
        pytest.param("3b300000 01 0000 0400 0100 0a00 0400", [10, 11, 12, 13, 14], id="a run"),
        pytest.param(
            "3b300100 02 0000 0000 0100 0100 0700 0100 0300 0100", [7, 65_539, 65_540], id="an array and a run"
        ),
    ],
)
def test_bitmaps_of_every_kind_are_understood(content: str, values: list[int]) -> None:
    assert roaring_values(bytes.fromhex(content)).tolist() == values


def test_something_else_is_no_bitmap() -> None:
    with pytest.raises(ValueError, match="not a roaring bitmap"):
        roaring_values(b"\x00" * 16)
