"""What the storage layer believes about lance, checked against the installed one; re-read this at every upgrade."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import write_fragments

from omnigraph.storage.lance.bases import relocated

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([pa.field("id", pa.utf8(), False, metadata=KEY), pa.field("x", pa.int64())], metadata={"stamp": "4"})
VERSIONS = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def rows(**values: int | None) -> pa.Table:
    return pa.table({"id": list(values), "x": pa.array(values.values(), pa.int64())}, schema=SCHEMA)


def create(path: Path, table: pa.Table | None = None, schema: pa.Schema = SCHEMA) -> LanceDataset:
    data = schema.empty_table() if table is None else table
    return lance.write_dataset(data, str(path), schema=schema, data_storage_version="2.2", enable_stable_row_ids=True)


def upsert(dataset: LanceDataset, table: pa.Table) -> Transaction:
    builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    return builder.conflict_retries(0).use_index(False).execute_uncommitted(table)[0]


def merge(dataset: LanceDataset, table: pa.Table, *, use_index: bool = False) -> None:
    builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    builder.conflict_retries(0).use_index(use_index).execute(table)


def commit(target: str | LanceDataset, transaction: Transaction) -> LanceDataset:
    return LanceDataset.commit(target, transaction, max_retries=0)


def with_sentinel(dataset: LanceDataset, transaction: Transaction) -> Transaction:
    operation: Any = transaction.operation
    operation.updated_fragments = [*operation.updated_fragments, dataset.get_fragments()[0].metadata]
    return transaction


def by_id(dataset: LanceDataset) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in dataset.to_table(columns=VERSIONS).to_pylist()}


def ids(dataset: LanceDataset) -> list[str]:
    return sorted(dataset.to_table(columns=["id"])["id"].to_pylist())


# --- conflict control --------------------------------------------------------------------------------


def test_two_staged_inserts_of_one_key_both_land_without_a_sentinel(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    one, two = upsert(base, rows(c=1)), upsert(base, rows(c=2))
    assert commit(base, one).version == 2
    assert commit(base, two).version == 3  # rebased although max_retries is 0
    assert ids(lance.dataset(str(tmp_path))) == ["a", "c", "c"]


def test_a_sentinel_fragment_makes_staged_commits_strict(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    one, two = (with_sentinel(base, upsert(base, rows(**{name: 1}))) for name in ("b", "c"))
    before = by_id(base)
    landed = commit(base, one)
    with pytest.raises(CommitConflictError) as caught:
        commit(base, two)
    assert caught.value.retryable
    assert by_id(landed)["a"] == before["a"]  # row ids and row versions of the sentinel are untouched


def test_on_an_empty_table_a_merge_operation_is_strict(tmp_path: Path) -> None:
    base = create(tmp_path)
    staged = []
    for name in ("a", "b"):
        fragments = write_fragments(rows(**{name: 1}), base, mode="append")
        staged.append(Transaction(base.version, LanceOperation.Merge(fragments, base.lance_schema)))
    assert by_id(commit(base, staged[0]))["a"]["_row_created_at_version"] == 2
    with pytest.raises(CommitConflictError):
        commit(base, staged[1])


def test_fragments_added_by_an_update_get_row_ids_and_versions(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    operation = LanceOperation.Update(
        [], [base.get_fragments()[0].metadata], write_fragments(rows(b=1), base), [], [0, 1]
    )
    found = by_id(commit(base, Transaction(1, operation)))
    assert found["b"]["_row_created_at_version"] == 2
    assert found["b"]["_rowid"] != found["a"]["_rowid"]
    assert found["a"]["_row_last_updated_at_version"] == 1


def test_replaying_a_transaction_applies_it_again(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    transaction = upsert(base, rows(b=1))
    commit(base, transaction)
    commit(base, transaction)
    assert ids(lance.dataset(str(tmp_path))) == ["a", "b", "b"]


def test_overwrite_is_strict_by_itself(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    overwrite = Transaction(1, LanceOperation.Overwrite(SCHEMA, []))
    commit(base, upsert(base, rows(b=1)))
    with pytest.raises(CommitConflictError):
        commit(base, overwrite)


def test_overwrite_keeps_stable_row_ids_and_schema_metadata(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    fragments = write_fragments(rows(b=1), base, mode="overwrite")
    landed = commit(base, Transaction(1, LanceOperation.Overwrite(SCHEMA, fragments)))
    assert landed.has_stable_row_ids
    assert landed.schema.metadata == {b"stamp": b"4"}
    assert landed.schema.field("id").metadata == {k.encode(): v.encode() for k, v in KEY.items()}


def test_a_second_creator_fails_by_looking_for_version_zero(tmp_path: Path) -> None:
    def creation() -> LanceDataset:
        transaction = Transaction(0, LanceOperation.Overwrite(SCHEMA, []))
        return LanceDataset.commit(str(tmp_path / "d"), transaction, max_retries=0, enable_stable_row_ids=True)

    created = creation()
    assert (created.version, created.has_stable_row_ids, created.data_storage_version) == (1, True, "2.2")
    with pytest.raises(OSError, match=r"_versions/0\.manifest was not found"):
        creation()


def test_restore_lands_stale_and_rejects_what_was_staged_before_it(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    second = commit(base, upsert(base, rows(b=1)))
    staged = upsert(second, rows(c=1))
    restored = commit(base, Transaction(1, LanceOperation.Restore(version=1)))  # read version 1, newest is 2
    assert (restored.version, ids(restored)) == (3, ["a"])
    assert by_id(restored)["a"]["_row_last_updated_at_version"] == 1
    with pytest.raises(CommitConflictError):
        commit(second, staged)
    again = commit(restored, upsert(restored, rows(d=1)))
    assert by_id(again)["d"]["_rowid"] not in {0, 1}  # the row id of the buried row is not reused


# --- the keyed one-phase merge -----------------------------------------------------------------------


def test_of_two_one_phase_inserts_of_a_key_one_is_refused(tmp_path: Path) -> None:
    create(tmp_path, rows(a=1))
    one, two = lance.dataset(str(tmp_path)), lance.dataset(str(tmp_path))
    merge(one, rows(k=1))
    with pytest.raises(OSError, match="Too many concurrent writers"):
        merge(two, rows(k=2))
    assert ids(lance.dataset(str(tmp_path))) == ["a", "k"]


def test_disjoint_one_phase_inserts_rebase_and_keep_true_row_versions(tmp_path: Path) -> None:
    create(tmp_path, rows(a=1))
    one, two = lance.dataset(str(tmp_path)), lance.dataset(str(tmp_path))
    merge(one, rows(k=1))
    merge(two, rows(l=2))
    assert (one.version, two.version) == (2, 3)  # the dataset object moves to the version it committed
    found = by_id(lance.dataset(str(tmp_path)))
    assert {name: row["_row_created_at_version"] for name, row in found.items()} == {"a": 1, "k": 2, "l": 3}


def test_mixed_update_and_insert_batches_conflict_on_the_inserted_key(tmp_path: Path) -> None:
    create(tmp_path, rows(head=1))
    one, two = lance.dataset(str(tmp_path)), lance.dataset(str(tmp_path))
    merge(one, rows(head=2, op=1))
    with pytest.raises(OSError, match="Too many concurrent writers"):
        merge(two, rows(op=2))


def test_the_key_conflict_survives_an_intervening_compaction(tmp_path: Path) -> None:
    create(tmp_path, rows(head=1))
    for number in range(4):
        merge(lance.dataset(str(tmp_path)), rows(head=number, **{f"c{number}": 1}))
    stale = lance.dataset(str(tmp_path))
    merge(lance.dataset(str(tmp_path)), rows(op=1))
    lance.dataset(str(tmp_path)).optimize.compact_files()
    with pytest.raises(OSError, match="Too many concurrent writers"):
        merge(stale, rows(op=2))


def test_without_the_annotation_both_one_phase_inserts_land(tmp_path: Path) -> None:
    plain = pa.schema([pa.field("id", pa.utf8(), False), pa.field("x", pa.int64())])
    create(tmp_path, rows(a=1).cast(plain), plain)
    one, two = lance.dataset(str(tmp_path)), lance.dataset(str(tmp_path))
    merge(one, rows(k=1).cast(plain))
    merge(two, rows(k=2).cast(plain))
    assert ids(lance.dataset(str(tmp_path))) == ["a", "k", "k"]


def test_an_indexed_merge_loses_the_key_filter(tmp_path: Path) -> None:
    create(tmp_path, rows(a=1)).create_scalar_index("id", "BTREE")
    one, two = lance.dataset(str(tmp_path)), lance.dataset(str(tmp_path))
    merge(one, rows(k=1), use_index=True)
    merge(two, rows(k=2), use_index=True)
    assert ids(lance.dataset(str(tmp_path))) == ["a", "k", "k"]


RACER = """
import sys, lance, pyarrow as pa
uri = sys.argv[1]
sys.stdin.readline()
won = 0
for number in range(20):
    dataset = lance.dataset(uri)
    try:
        builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        table = pa.table({"id": ["head", f"k{number}"], "x": pa.array([1, 1], pa.int64())}, schema=dataset.schema)
        if f"k{number}" in dataset.to_table()["id"].to_pylist():
            continue
        builder.conflict_retries(0).use_index(False).execute(table)
        won += 1
    except OSError as error:
        assert "concurrent" in str(error), error
print(won)
"""


def test_two_processes_never_insert_one_key_twice(tmp_path: Path) -> None:
    create(tmp_path, rows(head=1))
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [int(racer.communicate(timeout=300)[0]) for racer in racers]
    counts = Counter(ids(lance.dataset(str(tmp_path))))
    assert set(counts.values()) == {1}
    assert len(counts) == 1 + sum(won)


# --- staging recipes ---------------------------------------------------------------------------------


def test_transaction_identity_is_persisted_and_readable(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    transaction = upsert(base, rows(b=1))
    transaction.uuid, transaction.transaction_properties = "omnigraph-X", {"omnigraph.operation_id": "op"}
    found = commit(base, transaction).read_transaction(2)
    assert found is not None
    assert (found.uuid, found.read_version, found.transaction_properties) == (
        "omnigraph-X",
        1,
        {"omnigraph.operation_id": "op"},
    )


def test_matched_rows_fail_a_strict_insert_at_staging(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    builder = base.merge_insert("id").when_matched_fail().when_not_matched_insert_all()
    with pytest.raises(OSError, match="a"):
        builder.conflict_retries(0).use_index(False).execute_uncommitted(rows(a=2))


def test_duplicate_source_keys_are_all_inserted(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    twice = pa.concat_tables([rows(z=1), rows(z=2)])
    assert ids(commit(base, upsert(base, twice))) == ["a", "z", "z"]


def test_a_key_only_source_deletes(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1, b=2))
    builder = base.merge_insert("id").when_matched_delete().conflict_retries(0).use_index(False)
    transaction, stats = builder.execute_uncommitted(pa.table({"id": ["a", "nope"]}))
    assert stats["num_deleted_rows"] == 1
    assert ids(commit(base, transaction)) == ["b"]


def test_an_inverted_segment_must_pass_through_a_merge(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.utf8(), False, metadata=KEY), pa.field("t", pa.utf8())])
    base = create(tmp_path, pa.table({"id": ["a", "b"], "t": ["red fox", "blue bird"]}, schema=schema), schema)
    segment = base.create_index_uncommitted("t", "INVERTED", "t_fts", fragment_ids=[0])
    merged = base.merge_existing_index_segments([segment])
    landed = commit(base, Transaction(1, LanceOperation.CreateIndex([merged], [])))
    assert landed.to_table(full_text_query="fox")["id"].to_pylist() == ["a"]


def test_blobs_keep_null_empty_and_content(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.utf8(), False, metadata=KEY), lance.blob_field("doc")])
    blobs = lance.blob_array([b"", None, b"x" * 100_000])
    base = create(tmp_path, pa.table({"id": ["e", "n", "f"], "doc": blobs}, schema=schema), schema)
    row_ids = base.to_table(columns=["_rowid"])["_rowid"].to_pylist()
    assert [data for _, data in base.read_blobs("doc", ids=row_ids, preserve_order=True)] == [b"", None, b"x" * 100_000]


# --- versions, refs, compaction ----------------------------------------------------------------------


def test_missing_versions_and_datasets_say_was_not_found(tmp_path: Path) -> None:
    create(tmp_path / "d")
    with pytest.raises(ValueError, match="was not found"):
        lance.dataset(str(tmp_path / "d"), version=9)
    with pytest.raises(ValueError, match="was not found"):
        lance.dataset(str(tmp_path / "none"))


def test_version_files_are_named_downwards_with_a_hint_beside_them(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    commit(base, upsert(base, rows(b=1)))
    assert sorted(os.listdir(tmp_path / "_versions")) == [
        "18446744073709551613.manifest",
        "18446744073709551614.manifest",
        "latest_version_hint.json",
    ]
    assert json.loads((tmp_path / "_versions/latest_version_hint.json").read_text()) == {"version": 2}


def test_compaction_preserves_row_ids_and_row_versions(tmp_path: Path) -> None:
    create(tmp_path, rows(head=0))
    for number in range(6):
        merge(lance.dataset(str(tmp_path)), rows(head=number, **{f"c{number}": 1}))
    before = by_id(lance.dataset(str(tmp_path)))
    lance.dataset(str(tmp_path)).optimize.compact_files()
    after = lance.dataset(str(tmp_path))
    assert by_id(after) == before
    assert len(after.get_fragments()) == 1
    operations = [type(after.read_transaction(v).operation).__name__ for v in (8, 9)]  # type: ignore[union-attr]
    assert operations == ["BaseOperation", "Rewrite"]  # reserving fragment ids has no class in pylance


def test_compaction_leaves_excluded_fragments_alone(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    for name in ("b", "c", "d"):
        base = commit(base, upsert(base, rows(**{name: 1})))
    base.optimize.compact_files(excluded_fragment_ids=[0])
    assert [f.physical_rows for f in lance.dataset(str(tmp_path)).get_fragments()] == [1, 3]


def test_reading_back_a_compaction_that_remapped_an_index_is_broken_in_pylance(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    base = commit(base, upsert(base, rows(b=1)))
    base.create_scalar_index("id", "BTREE")
    lance.dataset(str(tmp_path)).optimize.compact_files()
    newest = lance.dataset(str(tmp_path))
    with pytest.raises(TypeError, match="RewrittenIndex"):
        newest.read_transaction(newest.version)


def test_a_ref_opens_by_its_tree_path_and_continues_the_version_numbers(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    second = commit(base, upsert(base, rows(b=1)))
    second.create_branch("review/x", (None, 1))
    ref = lance.dataset(str(tmp_path / "tree/review/x"))
    assert (ref.version, ids(ref), ref.schema.metadata) == (1, ["a"], {b"stamp": b"4"})
    landed = commit(ref, upsert(ref, rows(c=1)))
    assert (landed.version, ids(landed)) == (2, ["a", "c"])
    assert ids(lance.dataset(str(tmp_path))) == ["a", "b"]
    assert os.listdir(tmp_path / "_refs/branches") == ["review%2Fx.json"]
    described = second.branches.list()["review/x"]
    assert (described["parent_branch"], described["parent_version"]) == (None, 1)
    assert [version for version, _ in described["branch_identifier"]] == [1]
    with pytest.raises(OSError, match="was not found"):
        lance.dataset(str(tmp_path)).create_branch("none", (None, 99))


def test_a_recreated_ref_has_another_identifier(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    base.create_branch("b", (None, 1))
    first = base.branches.list()["b"]["branch_identifier"]
    with pytest.raises(OSError):
        base.create_branch("b", (None, 1))
    base.branches.delete("b")
    base.create_branch("b", (None, 1))
    assert base.branches.list()["b"]["branch_identifier"] != first


def test_compacting_a_ref_breaks_the_index_it_inherits(tmp_path: Path) -> None:
    base = create(tmp_path, rows(a=1))
    base = commit(base, upsert(base, rows(b=1)))
    base.create_scalar_index("id", "BTREE")
    trunk = lance.dataset(str(tmp_path))
    trunk.create_branch("r", (None, trunk.version))
    ref = lance.dataset(str(tmp_path / "tree/r"))
    ref = commit(ref, upsert(ref, rows(c=1)))
    ref.optimize.compact_files()
    with pytest.raises((OSError, ValueError), match=r"(?i)not found"):
        lance.dataset(str(tmp_path / "tree/r")).to_table(filter="id = 'a'")


def test_the_version_timestamp_tells_a_recreated_dataset_apart(tmp_path: Path) -> None:
    first = create(tmp_path / "d", rows(a=1)).get_version()["timestamp"]
    (tmp_path / "d").rename(tmp_path / "old")
    assert create(tmp_path / "d", rows(a=1)).get_version()["timestamp"] != first


def test_removing_listed_versions_spares_fork_points_and_keeps_the_hint_true(tmp_path: Path) -> None:
    dataset = create(tmp_path / "d", rows(a=1))
    for number in range(4):
        dataset = lance.write_dataset(rows(**{f"r{number}": number}), dataset.uri, mode="append")
    dataset.create_branch("side", (None, 2))
    dataset = lance.dataset(dataset.uri)
    write_fragments(rows(stray=1), dataset.uri, mode="append")  # what a live writer has staged
    files = {path.name for path in (tmp_path / "d" / "data").iterdir()}
    stats = dataset.cleanup_old_versions(versions=[1, 2, 3, 4], error_if_tagged_old_versions=False)
    assert stats.old_versions == 3
    assert [ref["version"] for ref in lance.dataset(dataset.uri).version_refs()] == [2, 5]
    assert lance.dataset(f"{dataset.uri}/tree/side").count_rows() == 2
    assert {path.name for path in (tmp_path / "d" / "data").iterdir()} == files
    assert json.loads((tmp_path / "d" / "_versions" / "latest_version_hint.json").read_text()) == {"version": 5}


def test_a_shallow_clone_keeps_the_version_number_and_can_be_overwritten(tmp_path: Path) -> None:
    dataset = create(tmp_path / "d", rows(a=1))
    for number in range(3):
        dataset = lance.write_dataset(rows(**{f"r{number}": number}), dataset.uri, mode="append")
    clone = dataset.shallow_clone(str(tmp_path / "c"), (None, dataset.version))
    assert clone.version == dataset.version == 4
    empty = Transaction(read_version=4, operation=LanceOperation.Overwrite(pa.schema([SCHEMA.field("id")]), []))
    replaced = LanceDataset.commit(clone, empty, max_retries=0)
    assert (replaced.version, replaced.count_rows(), replaced.schema.names) == (5, 0, ["id"])
    assert replaced.has_stable_row_ids
    assert dataset.count_rows() == 4


def test_an_index_transaction_may_be_empty_and_carries_properties(tmp_path: Path) -> None:
    dataset = create(tmp_path / "d", rows(a=1))
    marker = Transaction(read_version=1, operation=LanceOperation.CreateIndex([], []))
    marker.transaction_properties = {"omnigraph.effect": "maintain"}
    marked = LanceDataset.commit(dataset, marker, max_retries=0)
    found = marked.read_transaction(2)
    assert (marked.version, marked.count_rows()) == (2, 1)
    assert isinstance(found.operation, LanceOperation.CreateIndex)
    assert found.transaction_properties == {"omnigraph.effect": "maintain"}


def test_a_fork_stores_absolute_bases_that_a_serialized_manifest_replaces(tmp_path: Path) -> None:
    """What `storage/lance/bases.py` rests on: the name of a base is the ref it was forked from, and lance follows paths
    of the manifest that a dataset was opened with, also when it commits on top of it.
    """
    trunk = create(tmp_path / "one", rows(a=1, b=2))
    trunk.delete("id = 'b'")
    trunk.create_branch("side", (None, 2))
    lance.write_dataset(rows(c=3), str(tmp_path / "one/tree/side"), mode="append")
    trunk.create_branch("deep", ("side", 3))
    found = lance.dataset(str(tmp_path / "one/tree/deep"))._ds.base_paths()
    assert {number: (base.name, str(base.path), base.is_dataset_root) for number, base in found.items()} == {
        0: (None, str(tmp_path / "one"), True),
        1: ("side", str(tmp_path / "one/tree/side"), True),
    }
    (tmp_path / "one").rename(tmp_path / "two")
    stale = lance.dataset(str(tmp_path / "two/tree/deep"))
    with pytest.raises(ValueError, match="Not found"):
        ids(stale)
    moved = {number: str(base.path).replace("/one", "/two") for number, base in found.items()}
    opened = LanceDataset(stale.uri, serialized_manifest=relocated(stale._ds.serialized_manifest(), moved))
    assert ids(opened) == ["a", "c"]
    after = commit(opened, write_fragments(rows(d=4), opened, mode="append", return_transaction=True))
    assert ids(lance.dataset(after.uri)) == ["a", "c", "d"]


@pytest.mark.parametrize("kind", ["BTREE", "INVERTED", "IVF_FLAT"])
def test_an_index_may_have_a_segment_per_set_of_fragments(tmp_path: Path, kind: str) -> None:
    schema = pa.schema([SCHEMA.field("id"), pa.field("t", pa.utf8()), pa.field("v", pa.list_(pa.float32(), 2))])

    def batch(*names: str) -> pa.Table:
        return pa.table(
            [names, [f"word {name}" for name in names], [[ord(name), 1.0] for name in names]], schema=schema
        )

    column = {"BTREE": "t", "INVERTED": "t", "IVF_FLAT": "v"}[kind]
    options: dict[str, Any] = {"num_partitions": 1} if kind == "IVF_FLAT" else {}
    dataset = create(tmp_path / "d", batch("p", "q"), schema)
    for number, names in enumerate((None, ("r", "s"))):
        if names is not None:
            dataset = lance.write_dataset(batch(*names), dataset.uri, mode="append")
        segment = dataset.create_index_uncommitted(column, kind, "i", replace=True, fragment_ids=[number], **options)
        if kind == "INVERTED":
            segment = dataset.merge_existing_index_segments([segment])
        added = Transaction(read_version=dataset.version, operation=LanceOperation.CreateIndex([segment], []))
        dataset = LanceDataset.commit(dataset, added, max_retries=0)
    (index,) = dataset.describe_indices()
    assert (len(index.segments), index.num_rows_indexed) == (2, 4)
    search: dict[str, Any] = {
        "BTREE": {"filter": "t IN ('word p', 'word s')"},
        "INVERTED": {"full_text_query": "p s"},
        "IVF_FLAT": {"nearest": {"column": "v", "q": [ord("p"), 1.0], "k": 1}},
    }[kind]
    expected = {"p"} if kind == "IVF_FLAT" else {"p", "s"}
    assert set(dataset.to_table(**search)["id"].to_pylist()) == expected
    assert not lance.optimize.Compaction.plan(dataset, {}).num_tasks(), "segments that differ keep fragments apart"
