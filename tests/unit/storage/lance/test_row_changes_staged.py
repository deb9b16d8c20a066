"""Staged upserts, updates and deletes find the same rows whether or not an index on the key covers them."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.storage.base.layout import Address, normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import IndexSpec, Landed, Refused, Staged, TableHandle
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.storage_graph import NODE_SCHEMA, people

NAMES = [f"p{number:03d}" for number in range(120)]


@pytest.fixture
def indexed(tmp_path: Path) -> TableHandle:
    """Eighty rows under a BTREE, and twenty more that it does not cover."""
    address: Address = normalize_root(tmp_path).table("nodes/x")
    handle = land(tables.stage_create(address, NODE_SCHEMA))
    handle = land(row_steps.stage_upsert(handle, people(**dict.fromkeys(NAMES[:80], 0))))
    handle = land(tables.stage_index(handle, [IndexSpec("id", "BTREE", "id_idx")]))
    return land(row_steps.stage_insert(handle, people(**dict.fromkeys(NAMES[80:100], 0))))


def land(staged: Staged | None) -> TableHandle:
    assert staged is not None
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed), outcome
    assert outcome.exact
    return outcome.handle


def ages(handle: TableHandle) -> dict[str, int]:
    rows = handle.scan()
    assert len(set(rows["id"].to_pylist())) == rows.num_rows
    return dict(zip(rows["id"].to_pylist(), rows["age"].to_pylist(), strict=True))


@pytest.mark.parametrize("forked", [False, True], ids=["main", "fork"])
@pytest.mark.parametrize("seed", range(4))
def test_a_partly_indexed_table_changes_like_a_dictionary(indexed: TableHandle, forked: bool, seed: int) -> None:
    handle, dice = indexed, random.Random(seed)
    expected = dict.fromkeys(NAMES[:100], 0)
    if forked:
        tables.create_ref(handle, "feature", source=None, version=handle.version)
        handle = tables.open_table(handle.address.on("feature"))
    for step in range(1, 7):
        chosen = dice.sample(NAMES, 15)
        if step % 3:
            staged = row_steps.stage_upsert(handle, people(**dict.fromkeys(chosen, step)))
            assert staged.updated == len(expected.keys() & set(chosen))
            expected |= dict.fromkeys(chosen, step)
        else:
            removed = row_steps.stage_delete(handle, pa.array(chosen))
            assert removed is not None
            staged = removed
            assert staged.deleted == len(expected.keys() & set(chosen))
            expected = {name: age for name, age in expected.items() if name not in chosen}
        handle = land(staged)
        assert ages(handle) == expected


def test_of_two_upserts_staged_on_one_indexed_version_one_is_refused(indexed: TableHandle) -> None:
    first, second = (row_steps.stage_upsert(indexed, people(new=age)) for age in (1, 2))
    land(first)
    assert isinstance(tables.commit(second), Refused)
    assert ages(tables.open_table(indexed.address))["new"] == 1
