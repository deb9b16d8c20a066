"""Merging through the index on `id`: the same content as without it, on any history, and still one winner per slot."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from omnigraph.storage.base.layout import Address, normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.patch import numbered
from omnigraph.storage.lance.tables import IndexSpec, Landed, Refused, Staged, TableHandle
from omnigraph.testing.graphs import row_steps

SCHEMA = pa.schema([key_field(), pa.field("v", pa.int64())])
ID_INDEX = IndexSpec(column="id", index_type="BTREE", name="id_idx")

Content = dict[str, int]


@pytest.fixture
def address(tmp_path: Path) -> Address:
    """A table of a hundred rows with an index on its ids."""
    made = normalize_root(tmp_path).table("nodes/x")
    land(tables.stage_create(made, SCHEMA))
    land(row_steps.stage_insert(tables.open_table(made), rows({f"k{number}": number for number in range(100)})))
    land(tables.stage_index(tables.open_table(made), [ID_INDEX]))
    return made


def rows(content: Content) -> pa.Table:
    return pa.table({"id": list(content), "v": list(content.values())}, schema=SCHEMA)


def land(staged: Staged | None) -> None:
    assert staged is not None
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed)
    assert outcome.exact


def content_of(handle: TableHandle) -> Content:
    found = handle.scan(["id", "v"]).to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["v"] for row in found}


def test_of_two_indexed_merges_on_one_version_the_second_is_refused(address: Address) -> None:
    base = tables.open_table(address)
    staged = [row_steps.stage_upsert(base, rows({name: 1})) for name in ("k1", "fresh")]
    assert isinstance(tables.commit(staged[0]), Landed)
    assert isinstance(tables.commit(staged[1]), Refused)


def test_an_indexed_update_keeps_the_identity_of_its_rows(address: Address) -> None:
    columns = ["id", "_rowid", "_row_created_at_version"]
    before = tables.open_table(address).scan(columns).sort_by("id")
    land(row_steps.stage_upsert(tables.open_table(address), rows({"k1": -1, "k99": -1})))
    assert tables.open_table(address).scan(columns).sort_by("id") == before


def test_one_patch_replaces_adds_and_removes(address: Address) -> None:
    columns = ["id", "v", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    base = tables.open_table(address)
    before = {row["id"]: row for row in base.scan(columns).to_pylist()}
    staged = row_steps.stage_upsert(
        base, rows({"new": 1, "k5": -5, "other": 2, "k50": -50}), pa.array(["k7", "absent"])
    )
    assert (staged.inserted, staged.updated, staged.deleted) == (2, 2, 1)
    land(staged)
    patched = tables.open_table(address)
    after = {row["id"]: row for row in patched.scan(columns).to_pylist()}
    assert after.keys() == before.keys() - {"k7"} | {"new", "other"}
    for name in ("k5", "k50"):
        assert after.pop(name) == before.pop(name) | {"v": -int(name[1:]), columns[-1]: patched.version}
    assert len({row["_rowid"] for row in after.values()}) == len(after)
    assert all(row == after[name] for name, row in before.items() if name != "k7")


def test_row_ids_far_apart_are_kept(address: Address) -> None:
    fragment = json.loads(numbered(['{"physical_rows": 2}'], np.array([1 << 40, 3], np.uint64))[0])
    assert bytes(fragment["row_id_meta"]["Inline"])[-16:] == (1 << 40).to_bytes(8, "little") + (3).to_bytes(8, "little")


@pytest.mark.parametrize("seed", range(4))
def test_any_history_of_indexed_merges_gives_what_a_dict_gives(address: Address, seed: int) -> None:
    chance = random.Random(seed)
    expected: dict[str | None, Content] = {None: content_of(tables.open_table(address))}
    for _ in range(40):
        ref = chance.choice(list(expected))
        base = tables.open_table(address.on(ref))
        for staged, content in step(base, dict(expected[ref]), chance):
            land(staged)
            expected[ref] = content
        if chance.random() < 0.1 and len(expected) < 4:
            name = f"fork{len(expected)}"
            version = tables.open_table(address.on(ref)).version
            tables.create_ref(tables.open_table(address), name, source=ref, version=version)
            expected[name] = dict(expected[ref])
        for other, content in expected.items():
            assert content_of(tables.open_table(address.on(other))) == content


def step(base: TableHandle, content: Content, chance: random.Random) -> Iterator[tuple[Staged, Content]]:
    names = list({f"k{chance.randrange(150)}" for _ in range(chance.randrange(1, 8))})
    change = {name: chance.randrange(1_000) for name in names}
    match chance.choice(["upsert", "upsert", "update", "delete", "index", "compact"]):
        case "upsert":
            yield row_steps.stage_upsert(base, rows(change)), content | change
        case "update" if known := {name: value for name, value in change.items() if name in content}:
            yield row_steps.stage_update(base, rows(known)), content | known
        case "delete" if any(name in content for name in names):
            staged = row_steps.stage_delete(base, pa.array(names))
            assert staged is not None
            assert staged.deleted == sum(name in content for name in names)
            yield staged, {name: value for name, value in content.items() if name not in names}
        case "index":
            yield tables.stage_index(base, [ID_INDEX]), content
        case "compact":
            tables.compact(base)
