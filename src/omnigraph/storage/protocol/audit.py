"""The recovery audit: one row per operation that a recovery resolved, in its own dataset beside the tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from omnigraph.errors import RowLevelCasContention, StorageError
from omnigraph.ids import now_micros
from omnigraph.storage.base.layout import RECOVERY_AUDIT, Root
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.columns import key_field
from omnigraph.storage.lance.tables import CommitOutcome, Landed, TableHandle, Unknown

RecoveryKind = Literal["RolledForward", "RolledBack", "OrphanedBranchDiscarded"]

AUDIT_SCHEMA = pa.schema(
    [
        pa.field("graph_commit_id", pa.utf8(), nullable=False),
        pa.field("recovery_kind", pa.utf8(), nullable=False),
        pa.field("recovery_for_actor", pa.utf8()),
        key_field("operation_id"),
        pa.field("sidecar_writer_kind", pa.utf8(), nullable=False),
        pa.field("per_table_outcomes_json", pa.utf8(), nullable=False),
        pa.field("created_at", pa.timestamp("us"), nullable=False),
    ]
)
_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class TableRecovery:
    """How one table moved during a recovery."""

    table_key: str
    from_version: int
    to_version: int


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One resolved operation; `graph_commit_id` joins to the commit graph."""

    graph_commit_id: str
    kind: RecoveryKind
    actor: str | None
    operation_id: str
    writer_kind: str
    outcomes: tuple[TableRecovery, ...]
    created_at: datetime


def record(
    root: Root,
    *,
    graph_commit_id: str,
    kind: RecoveryKind,
    actor: str | None,
    operation_id: str,
    writer_kind: str,
    outcomes: Sequence[TableRecovery],
) -> None:
    """Write the row of an operation exactly once, however many recoverers try."""
    moves = [{"table_key": o.table_key, "from_version": o.from_version, "to_version": o.to_version} for o in outcomes]
    row = {
        "graph_commit_id": graph_commit_id,
        "recovery_kind": kind,
        "recovery_for_actor": actor,
        "operation_id": operation_id,
        "sidecar_writer_kind": writer_kind,
        "per_table_outcomes_json": json.dumps(moves, separators=(",", ":")),
        "created_at": now_micros(),
    }
    rows = pa.Table.from_pylist([row], schema=AUDIT_SCHEMA)
    outcome: CommitOutcome | None = None
    for _ in range(_ATTEMPTS):
        # Ours may be among the rows of the next attempt, which then adds nothing.
        outcome = tables.merge_rows(_open_or_create(root), rows, key="operation_id", update=False)
        if isinstance(outcome, Landed):
            return
    if isinstance(outcome, Unknown):
        raise outcome.cause
    raise RowLevelCasContention(_ATTEMPTS)


def records(root: Root) -> list[AuditRecord]:
    """Every audited recovery, oldest first."""
    address = root.table(RECOVERY_AUDIT)
    if not tables.dataset_exists(address):
        return []
    rows = tables.open_table(address, control=True).scan().sort_by("created_at").to_pylist()
    return [_record(row) for row in rows]


def _open_or_create(root: Root) -> TableHandle:
    address = root.table(RECOVERY_AUDIT)
    try:
        return tables.open_table(address, control=True)
    except StorageError as error:
        if error.kind != "NotFound":
            raise
    # The creator that loses the race opens what the winner made.
    tables.commit(tables.stage_create(address, AUDIT_SCHEMA))
    return tables.open_table(address, control=True)


def _record(row: dict[str, Any]) -> AuditRecord:
    return AuditRecord(
        graph_commit_id=row["graph_commit_id"],
        kind=row["recovery_kind"],
        actor=row["recovery_for_actor"],
        operation_id=row["operation_id"],
        writer_kind=row["sidecar_writer_kind"],
        outcomes=tuple(TableRecovery(**move) for move in json.loads(row["per_table_outcomes_json"])),
        created_at=row["created_at"].replace(tzinfo=UTC),
    )
