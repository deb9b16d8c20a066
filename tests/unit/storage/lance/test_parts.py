"""Scratch parts of loads: adopted by their table under its own field ids, claimed while in use, removed when not."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from lance import blob_array

from omnigraph.ids import new_ulid
from omnigraph.settings import Settings
from omnigraph.storage.base.layout import LOADS_DIR
from omnigraph.storage.base.store import Store, store_for
from omnigraph.storage.lance import parts, tables
from omnigraph.storage.lance.columns import blob_field, key_field
from omnigraph.storage.lance.parts import load_directory
from omnigraph.storage.lance.tables import Landed, TableHandle
from omnigraph.storage.maintenance import load_claims

SCHEMA = pa.schema(
    [
        key_field("id"),
        pa.field("tags", pa.list_(pa.utf8())),
        blob_field("data"),
        pa.field("n", pa.int64()),
    ]
)


def rows(*ids: str) -> pa.Table:
    columns = [pa.array(ids), pa.array([[each] for each in ids]), blob_array([b"x" * 70_000] * len(ids))]
    return pa.Table.from_arrays([*columns, pa.array(range(len(ids)))], schema=SCHEMA)


def landed(staged: tables.Staged) -> TableHandle:
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed)
    return outcome.handle


def a_store(tmp_path: Path) -> Store:
    return store_for(str(tmp_path), Settings(lease_skew_ms=0))


def test_parts_become_rows_of_a_table_whose_columns_were_added_later(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    first = pa.schema([SCHEMA.field("n"), SCHEMA.field("id")])
    base = landed(
        tables.stage_create(store.root.table("nodes/a"), first, pa.table({"n": [7], "id": ["old"]}, schema=first))
    )
    base.dataset.add_columns([SCHEMA.field("tags")])
    base = tables.open_table(base.address)
    small = pa.schema([SCHEMA.field("id"), SCHEMA.field("tags"), SCHEMA.field("n")])
    location = f"{load_directory('l')}/p"
    parts.write_part(store.root, location, rows("x", "y").select(small.names).cast(small))
    done = landed(tables.stage_append(base, parts.adopt(base, [location])))
    found = {row["id"]: row for row in done.scan().to_pylist()}
    assert found["y"] == {"id": "y", "tags": ["y"], "n": 1}
    assert found["old"] == {"id": "old", "tags": None, "n": 7}


def test_adopted_parts_outlive_their_load_and_keep_their_blobs(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    base = landed(tables.stage_create(store.root.table("nodes/a"), SCHEMA, rows("a")))
    location = f"{load_directory('l')}/p"
    parts.write_part(store.root, location, rows("b", "c"))
    for _ in range(2):  # a lost race adopts the same parts again
        fragments = parts.adopt(base, [location])
    done = landed(tables.stage_append(base, fragments))
    replaced = landed(tables.stage_overwrite(done, SCHEMA, fragments=parts.adopt(done, [location], renumber=False)))
    parts.discard_load(store.objects, "l")
    for handle, ids in ((done, ["a", "b", "c"]), (replaced, ["b", "c"])):
        found = handle.scan(["id", "_rowid", "data"], blobs="cells")
        assert found["id"].to_pylist() == ids
        assert [len(cell["data"]) for cell in found["data"].to_pylist()] == [70_000] * len(ids)
        assert len(set(found["_rowid"].to_pylist())) == len(ids)


def test_a_claim_keeps_the_scratch_of_a_live_load_and_takes_it_along(tmp_path: Path) -> None:
    store, load_id = a_store(tmp_path), new_ulid()
    with load_claims.claimed(store, load_id):
        parts.write_part(store.root, f"{load_directory(load_id)}/p", rows("a"))
        assert load_claims.discard_abandoned(store) == []
        assert store.objects.list_tree(load_directory(load_id))
    assert store.objects.list_tree(LOADS_DIR) == []


def test_directories_that_a_late_task_has_made_are_removed_when_no_load_can_be_beginning_there(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    for name in ("late/committed/0-x/0", "young/a", "busy/a"):
        (tmp_path / LOADS_DIR / name).mkdir(parents=True)
    (tmp_path / LOADS_DIR / "busy/a/file").write_text("rows")
    store.objects.write(f"{load_directory('busy')}/claim.json", "{}")
    for name in ("late", "busy"):
        for path in (tmp_path / LOADS_DIR / name, *(tmp_path / LOADS_DIR / name).rglob("*")):
            os.utime(path, (0, 0))
    assert load_claims._discard_empty(store) == [load_directory("late")]
    assert sorted(path.name for path in (tmp_path / LOADS_DIR).iterdir()) == ["busy", "young"]
    (tmp_path / LOADS_DIR / "busy/claim.json").unlink()
    assert load_claims.discard_abandoned(store) == [load_directory("busy")]


def test_what_nobody_claims_is_removed(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    parts.write_part(store.root, f"{load_directory('dead')}/p", rows("a"))
    assert load_claims.discard_abandoned(store) == [load_directory("dead")]
    assert store.objects.list_tree(LOADS_DIR) == []
