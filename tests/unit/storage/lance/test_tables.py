"""The door to lance: staged transactions are inert, commits are strict, reads are exact, errors are ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import blob_array

from omnigraph.errors import HistoricalVersionReclaimed, KeyConflict, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import Address, normalize_root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import blob_field, key_field
from omnigraph.storage.lance.tables import Landed, Refused, Staged, TableHandle, Unknown
from omnigraph.testing.graphs import row_steps
from omnigraph.testing.graphs.storage_graph import NODE_SCHEMA, people


@pytest.fixture
def address(tmp_path: Path) -> Address:
    created = normalize_root(tmp_path).table("nodes/x")
    land(tables.stage_create(created, NODE_SCHEMA))
    return created


@pytest.fixture
def filled(address: Address) -> TableHandle:
    """Version 2 with the rows a, b and c."""
    return land(row_steps.stage_upsert(tables.open_table(address), people(a=1, b=2, c=None)))


def land(staged: Staged | None) -> TableHandle:
    assert staged is not None
    outcome = tables.commit(staged)
    assert isinstance(outcome, Landed), outcome
    assert outcome.exact
    return outcome.handle


def ages(handle: TableHandle) -> dict[str, int | None]:
    rows = handle.scan()
    return dict(zip(rows["id"].to_pylist(), rows["age"].to_pylist(), strict=True))


def append(base: TableHandle) -> Staged:
    return tables.stage_append(base, tables.write_fragments(base.address, people(n=1), NODE_SCHEMA))


RECIPES: dict[str, Callable[[TableHandle], Staged | None]] = {
    "insert": lambda base: row_steps.stage_insert(base, people(n=1)),
    "upsert": lambda base: row_steps.stage_upsert(base, people(a=9, n=1)),
    "update": lambda base: row_steps.stage_update(base, people(a=9)),
    "delete": lambda base: row_steps.stage_delete(base, ["a"]),
    "delete-all": lambda base: row_steps.stage_delete(base, ["a", "b", "c"]),
    "overwrite": lambda base: tables.stage_overwrite(base, NODE_SCHEMA, people(n=1)),
    "truncate": lambda base: tables.stage_overwrite(base, NODE_SCHEMA),
    "append": append,
}


# --- staging -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "expected", "counts"),
    [
        ("insert", {"a": 1, "b": 2, "c": None, "n": 1}, (1, 0, 0)),
        ("upsert", {"a": 9, "b": 2, "c": None, "n": 1}, (1, 1, 0)),
        ("update", {"a": 9, "b": 2, "c": None}, (0, 1, 0)),
        ("delete", {"b": 2, "c": None}, (0, 0, 1)),
        ("delete-all", {}, (0, 0, 3)),
        ("overwrite", {"n": 1}, (1, 0, 0)),
        ("truncate", {}, (0, 0, 0)),
        ("append", {"a": 1, "b": 2, "c": None, "n": 1}, (1, 0, 0)),
    ],
)
def test_a_recipe_changes_exactly_its_rows(
    filled: TableHandle, recipe: str, expected: dict[str, int | None], counts: tuple[int, int, int]
) -> None:
    staged = RECIPES[recipe](filled)
    assert staged is not None
    assert (staged.inserted, staged.updated, staged.deleted) == counts
    assert tables.latest_version(filled.address) == 2, "staging must not be visible"
    after = land(staged)
    assert after.version == 3
    assert ages(after) == expected
    assert ages(filled) == {"a": 1, "b": 2, "c": None}, "a handle is pinned"
    assert after.schema.field("id").metadata == NODE_SCHEMA.field("id").metadata


@pytest.mark.parametrize("second", RECIPES)
@pytest.mark.parametrize("first", RECIPES)
def test_of_two_transactions_on_one_version_only_the_first_lands(filled: TableHandle, first: str, second: str) -> None:
    one, two = RECIPES[first](filled), RECIPES[second](filled)
    assert two is not None
    after = ages(land(one))
    assert isinstance(tables.commit(two), Refused)
    assert ages(tables.open_table(filled.address)) == after


@pytest.mark.parametrize("second", ["insert", "upsert", "append", "overwrite"])
@pytest.mark.parametrize("first", ["insert", "upsert", "append", "overwrite"])
def test_an_empty_table_is_as_strict(address: Address, first: str, second: str) -> None:
    base = tables.open_table(address)
    one, two = RECIPES[first](base), RECIPES[second](base)
    assert two is not None
    land(one)
    assert isinstance(tables.commit(two), Refused)


def test_a_table_that_was_emptied_takes_rows_again(filled: TableHandle) -> None:
    emptied = land(row_steps.stage_delete(filled, ["a", "b", "c"]))
    one, two = (row_steps.stage_upsert(emptied, people(**{name: 1})) for name in ("d", "e"))
    assert ages(land(one)) == {"d": 1}
    assert isinstance(tables.commit(two), Refused)


def test_an_insert_of_a_present_id_names_it_and_stages_nothing(filled: TableHandle) -> None:
    with pytest.raises(KeyConflict) as caught:
        row_steps.stage_insert(filled, people(n=1, b=3))
    assert caught.value.entity_id == "b"
    assert tables.latest_version(filled.address) == 2


def test_an_update_of_an_absent_id_is_refused(filled: TableHandle) -> None:
    with pytest.raises(StorageError, match="1 of 2 rows to update are absent") as caught:
        row_steps.stage_update(filled, people(a=1, zz=1))
    assert caught.value.kind == "Precondition"


def test_a_delete_that_matches_nothing_stages_nothing(filled: TableHandle) -> None:
    assert row_steps.stage_delete(filled, []) is None
    assert row_steps.stage_delete(filled, ["nobody"]) is None


def test_an_overwrite_may_change_the_schema(filled: TableHandle) -> None:
    wider = NODE_SCHEMA.append(pa.field("city", pa.utf8(), metadata={"omnigraph.stable_property_id": "12"}))
    rows = filled.scan().append_column(wider.field("city"), pa.nulls(3, pa.utf8()))
    after = land(tables.stage_overwrite(filled, wider, rows))
    assert after.schema.equals(wider, check_metadata=True)
    assert ages(after) == {"a": 1, "b": 2, "c": None}
    staged = tables.write_fragments(filled.address, rows, wider, mode="overwrite")
    assert ages(land(tables.stage_overwrite(after, wider, fragments=staged))) == {"a": 1, "b": 2, "c": None}


def test_a_restore_buries_newer_content_under_a_new_version(filled: TableHandle) -> None:
    newer = land(row_steps.stage_upsert(filled, people(a=100)))
    staged = tables.stage_restore(newer, filled.version)
    staged.properties[tables.OPERATION_ID] = "op"
    restored = land(staged)
    assert (restored.version, ages(restored)) == (4, ages(filled))
    info = restored.transaction()
    assert info is not None
    assert (info.restored, info.operation_id) == (2, "op")
    stale = tables.commit(tables.stage_restore(newer, 1))
    assert isinstance(stale, Landed)
    assert (stale.version, stale.exact) == (5, False)


# --- committing --------------------------------------------------------------------------------------


def test_a_commit_carries_its_uuid_and_properties(filled: TableHandle) -> None:
    staged = row_steps.stage_upsert(filled, people(n=1))
    staged.uuid, staged.properties = "omnigraph-TEST", {tables.OPERATION_ID: "op", tables.BRANCH: "main"}
    info = land(staged).transaction()
    assert info is not None
    assert (info.uuid, info.read_version, info.operation_id) == ("omnigraph-TEST", 2, "op")
    assert info.properties[tables.BRANCH] == "main"
    assert tables.locate(filled.address, "omnigraph-TEST", after=2) == 3
    assert tables.locate(filled.address, "omnigraph-TEST", after=3) is None
    assert tables.locate(filled.address, "omnigraph-OTHER", after=1) is None


def test_a_foreign_append_displaces_nobody_silently(filled: TableHandle) -> None:
    staged = row_steps.stage_upsert(filled, people(n=1))
    lance.write_dataset(people(foreign=1), filled.address.uri, mode="append")
    outcome = tables.commit(staged)
    # The sentinel only fences writers that carry it; the slot check catches what lance rebases.
    assert isinstance(outcome, Refused) or (isinstance(outcome, Landed) and not outcome.exact)


def test_a_lost_acknowledgement_is_unknown_and_can_be_located(filled: TableHandle) -> None:
    staged = row_steps.stage_upsert(filled, people(n=1))
    with failpoints.armed("table_commit.ack_lost=raise"):
        outcome = tables.commit(staged)
    assert isinstance(outcome, Unknown)
    assert tables.locate(filled.address, staged.uuid, after=staged.base_version) == staged.slot


def test_a_failure_before_the_commit_has_no_effect(filled: TableHandle) -> None:
    staged = row_steps.stage_upsert(filled, people(n=1))
    with failpoints.armed("table_commit.pre=raise"), pytest.raises(StorageError):
        tables.commit(staged)
    assert tables.latest_version(filled.address) == 2


def test_a_dataset_is_created_once(tmp_path: Path) -> None:
    address = normalize_root(tmp_path).table("nodes/y")
    assert not tables.dataset_exists(address)
    one, two = tables.stage_create(address, NODE_SCHEMA, people(a=1)), tables.stage_create(address, NODE_SCHEMA)
    assert ages(land(one)) == {"a": 1}
    assert tables.commit(two) == Refused("the dataset exists already")
    assert tables.dataset_exists(address)


FULL_DISK = """
import resource, signal, sys
from omnigraph.errors import StorageError
from omnigraph.storage.lance import tables
from omnigraph.testing.graphs import row_steps
from omnigraph.storage.base.layout import normalize_root
from omnigraph.testing.graphs.storage_graph import people
base = tables.open_table(normalize_root(sys.argv[1]).table("nodes/x"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rows = people(**{f"p{number}": number for number in range(20000)})
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
try:
    row_steps.stage_upsert(base, rows)
except StorageError as error:
    print(error.kind)
"""


def test_a_full_disk_while_staging_is_a_permanent_error(filled: TableHandle, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "Permanent"
    assert ages(tables.open_table(filled.address)) == {"a": 1, "b": 2, "c": None}


# --- reading -----------------------------------------------------------------------------------------


def test_versions_are_pinned_and_missing_ones_were_reclaimed(filled: TableHandle) -> None:
    assert tables.open_table(filled.address, 1).count_rows() == 0
    with pytest.raises(HistoricalVersionReclaimed, match="version 9"):
        tables.open_table(filled.address, 9)


def test_a_missing_data_file_is_a_storage_error_not_a_reclaimed_version(filled: TableHandle) -> None:
    shutil.rmtree(os.path.join(filled.address.uri, "data"))
    handle = tables.open_table(filled.address, filled.version, control=True)
    with pytest.raises(StorageError) as caught:
        handle.scan()
    assert caught.value.kind == "NotFound"


def test_scans_choose_columns_filters_limits_and_row_ids(filled: TableHandle) -> None:
    assert filled.scan(["id"], "age > 1")["id"].to_pylist() == ["b"]
    assert filled.scan(["id"], limit=2, offset=1)["id"].to_pylist() == ["b", "c"]
    assert filled.count_rows() == 3
    assert filled.count_rows("age is null") == 1
    versions = filled.scan(["id", "_rowid", "_row_created_at_version"])
    assert versions["_row_created_at_version"].to_pylist() == [2, 2, 2]
    row_ids = versions["_rowid"].to_pylist()
    assert filled.take_rows([row_ids[2], row_ids[0]], ["id"])["id"].to_pylist() == ["c", "a"]
    assert filled.take_rows([], ["id"]).num_rows == 0
    without_b = land(row_steps.stage_delete(filled, ["b"]))
    assert without_b.take_rows(row_ids[::-1], ["id"])["id"].to_pylist() == ["c", "a"], "a deleted row is left out"


def test_ids_are_looked_up_in_chunks_with_and_without_an_index(address: Address) -> None:
    count = 3 * tables.ID_CHUNK // 2
    rows = people(**{f"it's {number}": number for number in range(count)})
    handle = land(tables.stage_append(tables.open_table(address), tables.write_fragments(address, rows, NODE_SCHEMA)))
    wanted = pa.array([f"it's {number}" for number in range(0, 2 * count, 2)] * 2)
    indexed = land(tables.stage_index(handle, [tables.IndexSpec("id", "BTREE", "id_idx")]))
    for version in (handle, indexed):
        found = version.take_ids(wanted[: count + 5], ["id", "age"])
        assert set(found["age"].to_pylist()) == set(range(0, count, 2))
    assert "ScalarIndex" in indexed.dataset.scanner(filter="id = 'a'").explain_plan()
    assert handle.take_ids([], ["id"]).num_rows == 0
    assert handle.take_ids(["nobody"]).num_rows == 0


def test_batches_come_in_storage_order(address: Address) -> None:
    rows = people(**{f"p{number:05d}": number for number in range(5000)})
    handle = land(row_steps.stage_upsert(tables.open_table(address), rows))
    batches = list(handle.batches(["age"], batch_size=512))
    assert len(batches) > 1
    assert [age for batch in batches for age in batch["age"].to_pylist()] == list(range(5000))


def test_a_bad_filter_is_our_error(filled: TableHandle) -> None:
    for read in (filled.scan, lambda *_, **__: list(filled.batches(filter="no_such_column = 1"))):
        with pytest.raises(StorageError):
            read(filter="no_such_column = 1")


def test_blobs_are_stored_and_read_by_row_id(tmp_path: Path) -> None:
    address = normalize_root(tmp_path).table("nodes/b")
    schema = pa.schema([key_field(), blob_field("doc", metadata={"omnigraph.stable_property_id": "3"})])
    assert schema.field("doc").metadata[b"omnigraph.stable_property_id"] == b"3"
    base = land(tables.stage_create(address, schema))
    payloads = [b"", None, b"z" * 200_000]
    rows = pa.table({"id": ["e", "n", "f"], "doc": blob_array(payloads)}, schema=schema)
    handle = land(row_steps.stage_upsert(base, rows))
    cells = [None if data is None else {"data": data, "uri": None} for data in payloads]
    assert handle.scan(["doc"], blobs="cells")["doc"].to_pylist() == cells
    found = handle.scan(["_rowid", "doc"]).combine_chunks().to_batches()[0].take(pa.array([2, 1, 0]))
    assert handle.read_blobs("doc", found["_rowid"], found["doc"]).to_pylist() == cells[::-1]
    after = land(row_steps.stage_upsert(handle, rows.slice(2, 1)))
    assert after.scan(["doc"], "id = 'f'", blobs="cells")["doc"].to_pylist() == [cells[2]]


def test_references_are_stored_and_read_without_opening_them(tmp_path: Path) -> None:
    address = normalize_root(tmp_path).table("nodes/b")
    schema = pa.schema([key_field(), blob_field("doc")])
    base = land(tables.stage_create(address, schema))
    values = [b"kept", f"file://{tmp_path}/absent", None, b"", "s3://no-such-bucket/any/thing"]
    rows = pa.table({"id": list("abcde"), "doc": blob_array(values)}, schema=schema)
    handle = tables.compact(land(row_steps.stage_upsert(land(row_steps.stage_upsert(base, rows)), rows.slice(1, 4))))
    assert handle.fragment_count() == 1
    cells = {"id": list("abcde"), "doc": [_cell(value) for value in values]}
    assert handle.scan(["id", "doc"], blobs="cells", order_by=["id"]).to_pydict() == cells
    streamed = [batch.to_pylist() for batch in handle.batches(["doc"], batch_size=2, order_by=["id"], blobs="cells")]
    assert [row["doc"] for batch in streamed for row in batch] == cells["doc"]


def _cell(value: bytes | str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"data": value, "uri": None} if isinstance(value, bytes) else {"data": None, "uri": value}


# --- indexes, compaction, refs -----------------------------------------------------------------------


def test_an_index_build_preserves_content_and_can_be_repeated(filled: TableHandle) -> None:
    specs = [tables.IndexSpec("id", "BTREE", "id_idx"), tables.IndexSpec("age", "BTREE", "age_idx")]
    first = land(tables.stage_index(filled, specs))
    assert sorted(index.name for index in first.indices()) == ["age_idx", "id_idx"]
    grown = land(row_steps.stage_upsert(first, people(d=4)))
    assert grown.unindexed_rows("id_idx") == 1
    second = land(tables.stage_index(grown, specs[:1]))
    assert sorted(index.name for index in second.indices()) == ["age_idx", "id_idx"]
    assert second.unindexed_rows("id_idx") == 0
    assert second.scan(["id"], "id = 'd'")["id"].to_pylist() == ["d"]
    info = second.transaction()
    assert info is not None
    assert tables.preserves_content(second.address, info)


def test_a_text_index_answers_searches(tmp_path: Path) -> None:
    address = normalize_root(tmp_path).table("nodes/t")
    schema = pa.schema([key_field(), pa.field("text", pa.utf8())])
    base = land(
        tables.stage_create(address, schema, pa.table({"id": ["a", "b"], "text": ["red fox", "cat"]}, schema=schema))
    )
    handle = land(tables.stage_index(base, [tables.IndexSpec("text", "INVERTED", "text_fts")]))
    assert handle.scan(["id"], full_text_query="fox")["id"].to_pylist() == ["a"]


@pytest.mark.parametrize("indexed", [False, True])
def test_compaction_is_recognised_as_preserving(filled: TableHandle, indexed: bool) -> None:
    handle = filled
    for name in ("d", "e", "f"):
        handle = land(row_steps.stage_upsert(handle, people(**{name: 1})))
    if indexed:
        handle = land(tables.stage_index(handle, [tables.IndexSpec("id", "BTREE", "id_idx")]))
    compacted = tables.compact(handle)
    assert compacted.fragment_count() < handle.fragment_count()
    columns = ["id", "age", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    assert compacted.scan(columns).sort_by("id").equals(handle.scan(columns).sort_by("id"))
    for version in range(handle.version + 1, compacted.version + 1):
        info = compacted.transaction(version)
        assert info is not None
        assert info.operation_id is None
        assert tables.preserves_content(compacted.address, info)
    changed = handle.transaction(3)
    assert changed is not None
    assert not tables.preserves_content(handle.address, changed)


def test_tiered_compaction_leaves_a_dominant_fragment_alone(address: Address) -> None:
    rows = people(**{f"p{number}": number for number in range(1000)})
    handle = land(row_steps.stage_upsert(tables.open_table(address), rows))
    for name in ("x", "y", "z"):
        handle = land(row_steps.stage_upsert(handle, people(**{name: 1})))
    compacted = tables.compact(handle, tiered=True)
    assert sorted(f.physical_rows for f in compacted.dataset.get_fragments()) == [3, 1000]


def test_of_a_ref_with_inherited_indexes_only_what_they_do_not_cover_is_compacted(filled: TableHandle) -> None:
    indexed = land(tables.stage_index(filled, [tables.IndexSpec("id", "BTREE", "id_idx")]))
    tables.create_ref(indexed, "r", source=None, version=indexed.version)
    ref = tables.open_table(indexed.address.on("r"))
    for number in range(4):
        ref = land(row_steps.stage_upsert(ref, people(**{f"r{number}": number})))
    assert ref.fragment_count() == indexed.fragment_count() + 4
    ref = tables.compact(ref)
    assert ref.fragment_count() == indexed.fragment_count() + 1
    for name in ("a", "r0", "r3"):
        assert ref.scan(["id"], f"id = '{name}'")["id"].to_pylist() == [name]
    rebuilt = land(tables.stage_index(ref, [tables.IndexSpec("id", "BTREE", "id_idx")]))
    assert [index.inherited for index in (*ref.indices(), *rebuilt.indices())] == [True, False]
    compacted = tables.compact(rebuilt)
    assert compacted.fragment_count() == 1
    assert compacted.scan(["id"], "id = 'a'")["id"].to_pylist() == ["a"]


def test_refs_are_values_with_parents_and_identifiers(filled: TableHandle) -> None:
    tables.create_ref(filled, "one", source=None, version=1)
    tables.create_ref(filled, "review/two", source="one", version=1)
    refs = tables.list_refs(filled)
    assert sorted(refs) == ["one", "review/two"]
    assert (refs["one"].parent, refs["one"].parent_version) == (None, 1)
    assert (refs["review/two"].parent, refs["review/two"].parent_version) == ("one", 1)
    assert refs["review/two"].identifier[:1] == refs["one"].identifier
    with pytest.raises(StorageError):
        tables.create_ref(filled, "one", source=None, version=1)
    tables.delete_ref(filled, "review/two")
    assert sorted(tables.list_refs(filled)) == ["one"]


def test_commits_on_a_ref_stay_on_it(filled: TableHandle) -> None:
    tables.create_ref(filled, "one", source=None, version=filled.version)
    forked = tables.open_table(filled.address.on("one"))
    one, two = (row_steps.stage_upsert(forked, people(**{name: 1})) for name in ("d", "e"))
    assert ages(land(one)) == {"a": 1, "b": 2, "c": None, "d": 1}
    assert isinstance(tables.commit(two), Refused)
    assert tables.latest_version(filled.address) == 2
    assert tables.latest_version(filled.address.on("one")) == 3
