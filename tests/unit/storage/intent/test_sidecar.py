"""Sidecars: complete round trips, and loud refusal of what is damaged or foreign."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.errors import Corrupt, FormatRefused, StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import RECOVERY_DIR, normalize_root
from omnigraph.storage.base.lease import fresh_lease
from omnigraph.storage.base.objects import Objects, open_objects
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.sidecar import Fork, PlannedCommit, Sidecar, TablePlan, Token
from omnigraph.storage.intent.writeset import ManifestDelta, Rename
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.manifest.rows import SchemaRow, TableRow, TombstoneRow, VersionRow
from omnigraph.storage.manifest.snapshot import TableIdentity


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return open_objects(normalize_root(tmp_path))


def example() -> Sidecar:
    operation = new_ulid()
    return Sidecar(
        operation_id=operation,
        branch="review/x",
        actor_id="act-ana",
        writer_kind="BranchMerge",
        lease=fresh_lease(30_000),
        authority=Token("review/x", ((3, "uuid-a"), (7, "uuid-b")), new_ulid(), "sha256:a", 2, new_ulid()),
        rollback_commit_id=new_ulid(),
        merged_parent_commit_id=new_ulid(),
        created_at=1_700_000_000_123_456,
        tables=(
            TablePlan(
                "node:A",
                "nodes/a",
                "review/x",
                4,
                5,
                (PlannedCommit(5, "u1"), PlannedCommit(6, "u2")),
                fork=Fork(None, 5),
            ),
            TablePlan("node:B", "nodes/b", None, 0, 0, (PlannedCommit(0, "u3"),), create=True),
        ),
        delta=ManifestDelta(
            pointers=(VersionRow("node:P", 9, None, 3, VersionEvidence("/p", 10, "tag", "V2")),),
            registrations=(TableRow("node:B", "nodes/b", TableIdentity(7, 8), "node:Old"),),
            renames=(Rename("node:X", "node:Y"),),
            tombstones=(TombstoneRow("node:Z", 4),),
            target_schema=SchemaRow("sha256:s", "sha256:i", new_ulid()),
        ),
    )


def test_a_sidecar_survives_its_round_trip_through_the_store(objects: Objects) -> None:
    written = example()
    sidecar.arm(objects, written)
    assert sidecar.pending(objects) == [written.operation_id]
    assert sidecar.load(objects, written.operation_id) == written


def test_the_file_carries_the_documented_fields(objects: Objects) -> None:
    written = example()
    body = json.loads(sidecar.encode(written))
    assert body["schema_version"] == 10
    assert body["started_at"] == "2023-11-14T22:13:20.123456+00:00"
    assert body["lineage"]["graph_commit_id"] == written.operation_id
    assert body["tables"][0]["post_commit_pin"] == 7
    assert body["tables"][0]["fork"] == {"source_branch": None, "source_version": 5}


def test_the_oldest_operation_is_listed_first_and_strange_files_are_ignored(objects: Objects) -> None:
    first, second = example(), example()
    sidecar.arm(objects, second)
    sidecar.arm(objects, first)
    objects.write(f"{RECOVERY_DIR}/notes.txt", "hello")
    assert sidecar.pending(objects) == sorted([first.operation_id, second.operation_id])


def test_an_operation_cannot_be_armed_with_two_intents(objects: Objects) -> None:
    written = example()
    sidecar.arm(objects, written)
    with pytest.raises(StorageError):
        sidecar.arm(objects, replace(written, actor_id="act-bob"))
    assert sidecar.load(objects, written.operation_id) == written


def test_a_put_repeated_after_a_lost_answer_is_recognized(objects: Objects) -> None:
    written = example()
    sidecar.arm(objects, written)
    sidecar.arm(objects, written)
    assert sidecar.pending(objects) == [written.operation_id]


def test_a_vanished_sidecar_reads_as_none_and_is_not_renewed_back(objects: Objects) -> None:
    written = example()
    sidecar.arm(objects, written)
    sidecar.remove(objects, written.operation_id)
    sidecar.remove(objects, written.operation_id)
    sidecar.renew(objects, written)
    assert sidecar.load(objects, written.operation_id) is None


def test_renewal_replaces_only_the_lease(objects: Objects) -> None:
    written = example()
    sidecar.arm(objects, written)
    sidecar.renew(objects, sidecar.with_lease(written, written.lease.renewed()))
    stored = sidecar.load(objects, written.operation_id)
    assert stored is not None
    assert stored.lease.heartbeat_seq == 1
    assert sidecar.with_lease(stored, written.lease) == written


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"schema_version": 11}, FormatRefused, "newer release"),
        ({"schema_version": 9}, FormatRefused, "another implementation"),
        ({"tables": "none"}, Corrupt, "damaged"),
        ({"lease": {}}, Corrupt, "damaged"),
        ({"operation_id": "OTHER"}, Corrupt, "names operation"),
        ({"writer_kind": "Unheard"}, Corrupt, "names operation"),
    ],
)
def test_a_foreign_or_damaged_sidecar_is_refused(change: dict[str, object], error: type[Exception], text: str) -> None:
    written = example()
    body = json.loads(sidecar.encode(written)) | change
    with pytest.raises(error, match=text):
        sidecar.decode(written.operation_id, json.dumps(body))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema_version": "x"}'])
def test_text_that_is_no_sidecar_is_corrupt(text: str) -> None:
    with pytest.raises(Corrupt):
        sidecar.decode("OP", text)


def test_the_write_and_list_hooks_are_loud(objects: Objects) -> None:
    with failpoints.armed("recovery.sidecar_write=raise"), pytest.raises(StorageError):
        sidecar.arm(objects, example())
    with failpoints.armed("recovery.sidecar_list=raise"), pytest.raises(StorageError):
        sidecar.pending(objects)
    assert sidecar.pending(objects) == []
