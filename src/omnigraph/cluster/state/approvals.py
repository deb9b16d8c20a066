"""Approvals: a human consents to one destructive change, bound to exactly the digests it was shown with."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from omnigraph.cluster.diagnostics import Diagnostics
from omnigraph.cluster.state.records import (
    MAYBE_TEXT,
    NUMBER,
    TEXT,
    Malformed,
    check_members,
    check_version,
    parse_object,
)
from omnigraph.cluster.state.stored import APPROVALS, Stored, to_text
from omnigraph.errors import StorageError

_MEMBERS = {
    "schema_version": NUMBER,
    "approval_id": TEXT,
    "resource": TEXT,
    "operation": TEXT,
    "reason": MAYBE_TEXT,
    "bound_config_digest": MAYBE_TEXT,
    "bound_before_digest": MAYBE_TEXT,
    "bound_after_digest": MAYBE_TEXT,
    "approved_by": MAYBE_TEXT,
    "created_at": TEXT,
    "consumed_at": MAYBE_TEXT,
    "consumed_by_operation": MAYBE_TEXT,
}


@dataclass(frozen=True, slots=True)
class Approval:
    """One artifact; it is consumed once and never deleted."""

    approval_id: str
    resource: str
    operation: str
    reason: str | None
    bound_config_digest: str | None
    bound_before_digest: str | None
    bound_after_digest: str | None
    approved_by: str | None
    created_at: str
    consumed_at: str | None = None
    consumed_by_operation: str | None = None

    @property
    def name(self) -> str:
        return f"{APPROVALS}/{self.approval_id}.json"

    def consumed(self, at: str, operation: str) -> Approval:
        return replace(self, consumed_at=at, consumed_by_operation=operation)


def write_approval(stored: Stored, approval: Approval) -> None:
    stored.objects.write(approval.name, to_text({"schema_version": 1, **asdict(approval)}))


def read_approvals(stored: Stored, records: dict[str, Any], found: Diagnostics) -> list[Approval]:
    """Every approval that nothing has consumed, neither in its file nor in the ledger; unreadable ones are noted."""
    approvals: list[Approval] = []
    for name in stored.documents(APPROVALS):
        path = stored.shown(name)
        try:
            approval = _parsed(stored.objects.read(name))
        except StorageError as error:
            found.warn("approval_read_error", path, error.message)
            continue
        except Malformed as error:
            code = "unsupported_approval_version" if error.unsupported else "invalid_approval_artifact"
            found.warn(code, path, str(error))
            continue
        # The ledger is written first, so an artifact may still look fresh after a crash.
        if approval.consumed_at is None and approval.approval_id not in records:
            approvals.append(approval)
    return approvals


def find_approval(stored: Stored, approval_id: str) -> Approval | None:
    """One approval, consumed or not; None when it cannot be read."""
    try:
        return _parsed(stored.objects.read(f"{APPROVALS}/{approval_id}.json"))
    except (StorageError, Malformed):
        return None


def _parsed(text: str) -> Approval:
    document = parse_object(text)
    check_version(document, "schema_version")
    check_members(document, _MEMBERS, where="the approval")
    del document["schema_version"]
    return Approval(**document)
