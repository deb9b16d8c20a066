"""The row kinds of `__manifest`: its Arrow schema and one value class per kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from omnigraph.storage.lance.evidence import VersionEvidence
from omnigraph.storage.lance.refs import Identifier
from omnigraph.storage.manifest.note import Note
from omnigraph.storage.manifest.snapshot import TableIdentity
from omnigraph.storage.manifest.stamp import CURRENT_STAMP, STAMP_KEY

# Two thirds of a history is JSON that hardly differs from row to row: compressed in blocks it takes half the space.
_REPETITIVE = {"lance-encoding:structural-encoding": "miniblock", "lance-encoding:compression": "zstd"}
# Every publish compares its ids with all there are, and ids hardly compress.
_SCANNED = {"lance-encoding:compression": "none"}
_KEY = {"lance-schema:unenforced-primary-key": "true"}

MANIFEST_SCHEMA = pa.schema(
    [
        pa.field("object_id", pa.utf8(), nullable=False, metadata=_KEY | _SCANNED),
        pa.field("object_type", pa.utf8(), nullable=False),
        pa.field("location", pa.utf8()),
        pa.field("metadata", pa.utf8(), metadata=_REPETITIVE),
        pa.field("base_objects", pa.list_(pa.field("item", pa.utf8()))),
        pa.field("table_key", pa.utf8(), nullable=False),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.utf8()),
        pa.field("row_count", pa.uint64()),
    ],
    metadata={STAMP_KEY: str(CURRENT_STAMP)},
)

HEAD_PREFIX = "graph_head:"
BRANCH_PREFIX = "graph_branch:"
VERSION_DIGITS = 20
SCHEMA_ID = "graph_schema"
CONTROL_ID = "graph_control"

ControlKind = Literal["branch_create", "branch_rename", "branch_delete", "schema_apply", "cleanup", "tag"]


@dataclass(frozen=True, slots=True)
class TableRow:
    """Registers a type: where its dataset is and which identity it has."""

    table_key: str
    location: str
    identity: TableIdentity
    renamed_from: str | None = None

    @property
    def object_id(self) -> str:
        return self.table_key


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Publishes one version of a table."""

    table_key: str
    version: int
    ref: str | None
    row_count: int
    evidence: VersionEvidence

    @property
    def object_id(self) -> str:
        return f"{self.table_key}${self.version:0{VERSION_DIGITS}d}"


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """Hides every version of a table up to this one."""

    table_key: str
    version: int

    @property
    def object_id(self) -> str:
        return f"{self.table_key}$tombstone${self.version:0{VERSION_DIGITS}d}"


@dataclass(frozen=True, slots=True)
class Within:
    """The place of a commit in a manifest version that publishes later ones too.

    `later` says how many; `shown` has, by key, the version of every table that they change as it was at this commit.
    """

    later: int
    shown: Mapping[str, VersionRow] = field(hash=False)


@dataclass(frozen=True, slots=True)
class CommitRow:
    """One graph commit; doubles as the decision row of its operation.

    `within` is None for the last, and normally only, commit of its manifest version.
    """

    commit_id: str
    manifest_version: int
    branch: str | None
    created_at: int
    parent_commit_id: str | None = None
    merged_parent_commit_id: str | None = None
    actor_id: str | None = None
    note: Note = field(default_factory=Note)
    within: Within | None = None

    @property
    def object_id(self) -> str:
        return self.commit_id


@dataclass(frozen=True, slots=True)
class HeadRow:
    """The newest commit of a branch; updated in place."""

    branch: str | None
    head_commit_id: str
    parent_commit_id: str | None = None

    @property
    def object_id(self) -> str:
        return f"{HEAD_PREFIX}{self.branch or 'main'}"


@dataclass(frozen=True, slots=True)
class AbortRow:
    """The other possible decision: this operation can never be published."""

    operation_id: str
    branch: str | None
    writer_kind: str
    aborted_by: Literal["writer", "recovery"]
    reason: str
    aborted_at: int
    rollback_commit_id: str | None = None

    @property
    def object_id(self) -> str:
        return self.operation_id


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """The decision row of an operation that published a commit made elsewhere, under that commit's own id."""

    operation_id: str
    branch: str | None
    commit_id: str

    @property
    def object_id(self) -> str:
        return self.operation_id


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """Which schema this manifest accepts; the files are its projection."""

    schema_shape_hash: str
    schema_ir_hash: str
    schema_identity_domain: str
    schema_identity_version: int = 2
    format_version: int = 2

    @property
    def object_id(self) -> str:
        return SCHEMA_ID


@dataclass(frozen=True, slots=True)
class ControlHolder:
    """Who holds graph control and until when."""

    operation_id: str
    kind: ControlKind
    owner: str
    heartbeat_seq: int
    heartbeat_at: int
    ttl_ms: int
    target: str | None = None


@dataclass(frozen=True, slots=True)
class ControlRow:
    """Mutual exclusion for operations lance cannot make conditional; on main only."""

    epoch: int = 0
    holder: ControlHolder | None = None
    retired: Mapping[str, int] = field(default_factory=dict)

    @property
    def object_id(self) -> str:
        return CONTROL_ID


@dataclass(frozen=True, slots=True)
class Seal:
    """A branch being deleted: nothing is published on it any more."""

    operation_id: str
    sealed_at: int


@dataclass(frozen=True, slots=True)
class BranchRow:
    """Ties a branch's manifest to the exact incarnation of its ref."""

    branch: str
    identifier: Identifier
    parent_branch: str | None
    parent_version: int
    created_at: int
    sealed: Seal | None = None

    @property
    def object_id(self) -> str:
        return f"{BRANCH_PREFIX}{self.branch}"


ManifestRow = (
    TableRow
    | VersionRow
    | TombstoneRow
    | CommitRow
    | HeadRow
    | AbortRow
    | ReplayRow
    | SchemaRow
    | ControlRow
    | BranchRow
)
