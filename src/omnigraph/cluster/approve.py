"""`cluster approve`: record a human's consent to one gated change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph.cluster.changes import difference, gates
from omnigraph.cluster.declaration.declared import Declared, load_declared
from omnigraph.cluster.diagnostics import Stopped
from omnigraph.cluster.session import Session, open_session
from omnigraph.cluster.state.approvals import Approval, write_approval
from omnigraph.cluster.state.stored import now
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.ids import new_ulid


def approve(config_dir: str | Path, resource: str, actor: str) -> dict[str, Any]:
    """Approve a change of the present difference, bound to exactly its digests."""
    declared = load_declared(Path(config_dir))
    approval: Approval | None = None
    try:
        session = open_session(declared)
        with session.locked("approve"):
            session.require_state()
            approval = _approved(declared, session, resource, actor)
    except Stopped:
        pass
    except OmnigraphError as error:
        declared.found.error("approve_failed", resource, error.message)
    result: dict[str, Any] = {"ok": declared.found.ok, "config_dir": str(declared.directory)}
    if approval is not None:
        result |= {"approval_id": approval.approval_id, "resource": resource, "operation": approval.operation}
        result["approved_by"] = actor
    return {**result, "diagnostics": declared.found.to_json()}


def _approved(declared: Declared, session: Session, resource: str, actor: str) -> Approval:
    needed = gates(difference(declared, session.ledger), (), declared.digest)
    gate = next((gate for gate in needed if gate.change.resource == resource), None)
    if gate is None:
        open_gates = ", ".join(gate.change.resource for gate in needed) or "none"
        message = f"no change of '{resource}' waits for an approval (waiting: {open_gates})"
        raise declared.found.stop("approval_not_required", resource, message)
    change = gate.change
    approval = Approval(
        approval_id=new_ulid(),
        resource=resource,
        operation=change.operation,
        reason=gate.reason,
        bound_config_digest=declared.digest,
        bound_before_digest=change.before,
        bound_after_digest=change.after,
        approved_by=actor,
        created_at=now(),
    )
    try:
        write_approval(session.place, approval)
    except StorageError as error:
        raise declared.found.stop("approval_write_error", session.place.shown(approval.name), error.message) from error
    return approval
