"""Sidecars: the durable intent `__recovery/{operation}.json` that a writer leaves before its first effect.

Everything except the lease is immutable once armed, so any process that finds the file can finish or undo the operation
exactly as its writer would have.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast, get_args

from omnigraph.errors import Corrupt, FormatRefused, StorageError
from omnigraph.storage.base import failpoints
from omnigraph.storage.base.layout import RECOVERY_DIR
from omnigraph.storage.base.lease import Lease, held, is_own
from omnigraph.storage.base.objects import Objects
from omnigraph.storage.base.syncing import machine_started_at
from omnigraph.storage.intent import tally
from omnigraph.storage.intent.tally import Tally
from omnigraph.storage.intent.writeset import ManifestDelta, Rename, WriterKind
from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.rows import SchemaRow, TableRow, TombstoneRow, VersionRow
from omnigraph.storage.manifest.snapshot import TableIdentity

SCHEMA_VERSION = 10

_log = logging.getLogger("omnigraph.storage")


@dataclass(frozen=True, slots=True)
class Token:
    """The authority a write was prepared under; it must still hold, exactly, when the write is published."""

    branch: str | None
    branch_identifier: Identifier
    graph_head: str | None
    schema_ir_hash: str | None
    schema_identity_version: int | None
    schema_identity_domain: str | None


@dataclass(frozen=True, slots=True)
class PlannedCommit:
    """One dataset commit to come: the version it is built on and the transaction that must land on top of it."""

    read_version: int
    uuid: str


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a branch's first write to a table forks its ref from."""

    source_branch: str | None
    source_version: int


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One table of the operation: its published version, the base built on, and the commits planned from there."""

    table_key: str
    table_path: str
    table_branch: str | None
    expected_version: int
    base_version: int
    planned: tuple[PlannedCommit, ...]
    fork: Fork | None = None
    create: bool = False

    @property
    def post_commit_pin(self) -> int:
        return self.base_version + len(self.planned)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The whole intent of one operation; `tallies` has, by table key, what its commit will count."""

    operation_id: str
    branch: str | None
    actor_id: str | None
    writer_kind: WriterKind
    lease: Lease
    authority: Token
    rollback_commit_id: str
    merged_parent_commit_id: str | None
    created_at: int
    tables: tuple[TablePlan, ...]
    delta: ManifestDelta = field(default_factory=ManifestDelta)
    note: Note = field(default_factory=Note)
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    replayed_commit_id: str | None = None

    @property
    def commit_id(self) -> str:
        """The commit that the operation will be; its own id unless it replays a commit of a clone."""
        return self.replayed_commit_id or self.operation_id

    @property
    def changes_schema(self) -> bool:
        """Whether the operation gives its branch another schema: a schema change, or a merge that brings one."""
        return self.writer_kind == "SchemaApply" or self.delta.target_schema is not None


def arm(objects: Objects, sidecar: Sidecar) -> None:
    """Leave the intent where every process sees it; on any error no effect may follow.

    It does not wait for the disk: after a power cut a version of a table may be there without its sidecar, or with an
    empty one (`load`), and the next writer builds over what nothing published. Only a change of schema, whose files
    are promoted from it, is made to last.
    """
    failpoints.hit("recovery.sidecar_write")
    text = encode(sidecar)
    durable = sidecar.changes_schema
    if objects.write_if_absent(path(sidecar.operation_id), text, durable=durable):
        return
    # A client that repeats a put whose answer was lost finds its own file in the way.
    if objects.read_if_exists(path(sidecar.operation_id)) != text:
        raise StorageError(f"a sidecar for operation {sidecar.operation_id} exists already", kind="Precondition")


def renew(objects: Objects, sidecar: Sidecar) -> None:
    """Replace the file with another lease, unless it is gone."""
    if objects.read_if_exists(path(sidecar.operation_id)) is not None:
        objects.write(path(sidecar.operation_id), encode(sidecar), durable=sidecar.changes_schema)


def remove(objects: Objects, operation_id: str) -> None:
    """Retire the intent; absent is success."""
    failpoints.hit("recovery.sidecar_delete")
    objects.delete(path(operation_id))


def pending(objects: Objects) -> list[str]:
    """The ids of all operations with a sidecar, oldest first."""
    failpoints.hit("recovery.sidecar_list")
    names = objects.list_dir(RECOVERY_DIR)
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def load(objects: Objects, operation_id: str) -> Sidecar | None:
    """The sidecar, or None when it has vanished since it was listed, or was lost in a power cut (`remove_lost`)."""
    text = objects.read_if_exists(path(operation_id))
    if text is None or (not text and _is_lost(objects, operation_id)):
        return None
    return decode(operation_id, text)


def _is_lost(objects: Objects, operation_id: str) -> bool:
    """Whether a sidecar is a name whose bytes a power cut has taken: empty, and from before the machine was started."""
    found = objects.stat(path(operation_id))
    return found is not None and found.size == 0 and found.modified_at < machine_started_at()


def remove_lost(objects: Objects, operation_id: str) -> None:
    """Remove what a power cut has left of a sidecar; no process of before is left that could need it."""
    if _is_lost(objects, operation_id):
        _log.warning("the intent of operation %s was lost in a power cut; what it left is undone", operation_id)
        objects.delete(path(operation_id))


def is_live(sidecar: Sidecar, *, skew_ms: int) -> bool:
    """Whether the operation's owner may still be at work, so that others have to wait."""
    return held(sidecar.lease, sidecar.operation_id, skew_ms=skew_ms)


def is_ours(sidecar: Sidecar) -> bool:
    """Whether another thread of this process is at work on the operation; the gates order those."""
    return is_own(sidecar.lease)


def path(operation_id: str) -> str:
    """The root-relative name of an operation's sidecar."""
    return f"{RECOVERY_DIR}/{operation_id}.json"


def with_lease(sidecar: Sidecar, lease: Lease) -> Sidecar:
    """The same intent under another lease."""
    return replace(sidecar, lease=lease)


def encode(sidecar: Sidecar) -> str:
    """The sidecar as JSON text."""
    started = datetime.fromtimestamp(sidecar.created_at / 1_000_000, UTC)
    return json.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "operation_id": sidecar.operation_id,
            "started_at": started.isoformat(),
            "branch": sidecar.branch,
            "actor_id": sidecar.actor_id,
            "writer_kind": sidecar.writer_kind,
            "lease": sidecar.lease,
            "authority": sidecar.authority,
            "rollback_commit_id": sidecar.rollback_commit_id,
            "lineage": {
                "graph_commit_id": sidecar.commit_id,
                "branch": sidecar.branch,
                "actor_id": sidecar.actor_id,
                "merged_parent_commit_id": sidecar.merged_parent_commit_id,
                "created_at": sidecar.created_at,
                **sidecar.note.stored(),
            },
            "tallies": dict(sidecar.tallies),
            "tables": [_encode_table(table) for table in sidecar.tables],
            "manifest_delta": _encode_delta(sidecar.delta),
        },
        default=_members,
    )


def decode(operation_id: str, text: str) -> Sidecar:
    """The sidecar in this text; refuses what another release wrote and what is damaged."""
    try:
        body = json.loads(text)
        version = int(body["schema_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"recovery sidecar {path(operation_id)} is unreadable: {error}") from error
    if version != SCHEMA_VERSION:
        writer = "a newer release; upgrade this software" if version > SCHEMA_VERSION else "another implementation"
        raise FormatRefused(
            f"recovery sidecar {path(operation_id)} has schema version {version}, written by {writer}",
            found=str(version),
        )
    try:
        sidecar = _decode_body(body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"recovery sidecar {path(operation_id)} is damaged: {error!r}") from error
    if sidecar.operation_id != operation_id or sidecar.writer_kind not in get_args(WriterKind):
        raise Corrupt(f"recovery sidecar {path(operation_id)} names operation {sidecar.operation_id}")
    return sidecar


def _encode_table(table: TablePlan) -> dict[str, Any]:
    return _members(table) | {"post_commit_pin": table.post_commit_pin}


def _members(value: Any) -> dict[str, Any]:
    """A dataclass as JSON has it; `asdict` copies every value, which took a third of the time that arming takes."""
    return {name: getattr(value, name) for name in value.__slots__}


def _encode_delta(delta: ManifestDelta) -> dict[str, Any]:
    return {
        "pointers": [
            {
                "table_key": pointer.table_key,
                "table_version": pointer.version,
                "table_branch": pointer.ref,
                "row_count": pointer.row_count,
                "metadata": pointer.evidence,
            }
            for pointer in delta.pointers
        ],
        "registrations": [
            {
                "table_key": registration.table_key,
                "location": registration.location,
                "metadata": _members(registration.identity) | {"renamed_from": registration.renamed_from},
            }
            for registration in delta.registrations
        ],
        "renames": [{"from": rename.source, "to": rename.target} for rename in delta.renames],
        "tombstones": [{"table_key": t.table_key, "tombstone_version": t.version} for t in delta.tombstones],
        "target_schema": delta.target_schema,
    }


def _decode_body(body: dict[str, Any]) -> Sidecar:
    lineage, authority = body["lineage"], body["authority"]
    identifier = tuple((int(version), str(uuid)) for version, uuid in authority["branch_identifier"])
    commit_id = str(lineage["graph_commit_id"])
    return Sidecar(
        operation_id=str(body["operation_id"]),
        branch=body["branch"],
        actor_id=body["actor_id"],
        writer_kind=cast("WriterKind", body["writer_kind"]),
        lease=Lease(**body["lease"]),
        authority=Token(**(authority | {"branch_identifier": identifier})),
        rollback_commit_id=str(body["rollback_commit_id"]),
        merged_parent_commit_id=lineage["merged_parent_commit_id"],
        created_at=int(lineage["created_at"]),
        tables=tuple(_decode_table(table) for table in body["tables"]),
        delta=_decode_delta(body["manifest_delta"]),
        note=Note.read(lineage),
        tallies=tally.decode(body.get("tallies", {})),  # a sidecar of an older release has none
        replayed_commit_id=commit_id if commit_id != body["operation_id"] else None,
    )


def _decode_table(body: dict[str, Any]) -> TablePlan:
    return TablePlan(
        table_key=str(body["table_key"]),
        table_path=str(body["table_path"]),
        table_branch=body["table_branch"],
        expected_version=int(body["expected_version"]),
        base_version=int(body["base_version"]),
        planned=tuple(PlannedCommit(int(plan["read_version"]), str(plan["uuid"])) for plan in body["planned"]),
        fork=None if body["fork"] is None else Fork(**body["fork"]),
        create=bool(body["create"]),
    )


def _decode_delta(body: dict[str, Any]) -> ManifestDelta:
    return ManifestDelta(
        pointers=tuple(
            VersionRow(
                p["table_key"], p["table_version"], p["table_branch"], p["row_count"], VersionEvidence(**p["metadata"])
            )
            for p in body["pointers"]
        ),
        registrations=tuple(_decode_registration(registration) for registration in body["registrations"]),
        renames=tuple(Rename(rename["from"], rename["to"]) for rename in body["renames"]),
        tombstones=tuple(TombstoneRow(t["table_key"], t["tombstone_version"]) for t in body["tombstones"]),
        target_schema=None if body["target_schema"] is None else SchemaRow(**body["target_schema"]),
    )


def _decode_registration(body: dict[str, Any]) -> TableRow:
    metadata = body["metadata"]
    identity = TableIdentity(metadata["stable_table_id"], metadata["table_incarnation_id"])
    return TableRow(body["table_key"], body["location"], identity, metadata["renamed_from"])
