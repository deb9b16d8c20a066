"""`cluster plan`: what an apply would do right now; opens graphs read-only and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omnigraph.assembly import open as open_graph
from omnigraph.cluster import addresses
from omnigraph.cluster.changes import Change, Gate, blast_radius, classify, difference, gates
from omnigraph.cluster.declaration.declared import load_declared
from omnigraph.cluster.diagnostics import Stopped
from omnigraph.cluster.session import Session, no_observations, open_session
from omnigraph.cluster.state.approvals import Approval, read_approvals
from omnigraph.cluster.state.sidecars import Unusable, read_sidecars
from omnigraph.errors import OmnigraphError


def plan(config_dir: str | Path) -> dict[str, Any]:
    """The plan as a result object; a missing ledger counts as an empty one."""
    declared = load_declared(Path(config_dir))
    session: Session | None = None
    changes: list[Change] = []
    needed: list[Gate] = []
    try:
        session = open_session(declared)
        with session.locked("plan"):
            session.read()
            warn_pending(session)
            changes = difference(declared, session.ledger)
            needed = _classified(session, changes)
            for change in changes:
                _preview(session, change)
    except Stopped:
        pass
    except OmnigraphError as error:
        declared.found.error("plan_failed", str(config_dir), error.message)
    digest = declared.digest
    return {
        "ok": declared.found.ok,
        "config_dir": str(declared.directory),
        "desired_revision": {} if digest is None else {"config_digest": digest},
        "resource_digests": declared.digests,
        "dependencies": [{"from": source, "to": target} for source, target in declared.dependencies],
        "state_observations": session.observed.to_json() if session else no_observations(declared),
        "changes": [change.to_json() for change in changes],
        "blast_radius": blast_radius(changes, declared.dependencies),
        "approvals_required": [gate.to_json() for gate in needed],
        "diagnostics": declared.found.to_json(),
    }


def warn_pending(session: Session) -> None:
    """Tell about unfinished operations without resolving them."""
    for name, sidecar in read_sidecars(session.place):
        if isinstance(sidecar, Unusable):
            session.found.warn(sidecar.code, session.place.shown(name), sidecar.message)
        else:
            message = f"{sidecar.kind} of '{sidecar.graph_id}' is unfinished; the next apply or refresh resolves it"
            session.found.warn("cluster_recovery_pending", session.place.shown(name), message)


def warn_stale(session: Session, approvals: Iterable[Approval], needed: Iterable[Gate]) -> None:
    """Tell about consent that was given to something else than what stands now."""
    used = {gate.approval.approval_id for gate in needed if gate.approval is not None}
    for approval in approvals:
        if approval.approval_id not in used:
            message = f"the approval of {approval.resource} does not fit the present state; approve again if needed"
            session.found.warn("approval_stale", session.place.shown(approval.name), message)


def all_bindings(session: Session) -> dict[str, tuple[str, ...]]:
    """The bindings of every policy, as declared or else as recorded."""
    recorded = {a: entry.applies_to for a, entry in session.ledger.resources.items() if entry.applies_to is not None}
    declared = {each.address: each.applies_to or () for each in session.declared.of_kind("policy")}
    return {**recorded, **declared}


def _classified(session: Session, changes: list[Change]) -> list[Gate]:
    approvals = read_approvals(session.place, session.ledger.approval_records, session.found)
    needed = gates(changes, approvals, session.declared.digest)
    warn_stale(session, approvals, needed)
    approved = {addresses.name_of(gate.change.resource) for gate in needed if gate.approval is not None}
    classify(changes, set(), approved, all_bindings(session))
    return needed


def _preview(session: Session, change: Change) -> None:
    if change.kind != "schema" or change.operation != "update":
        return
    path = session.declared.resources[change.resource].path
    try:
        with open_graph(session.place.graph_uri(addresses.name_of(change.resource)), read_only=True) as graph:
            change.migration = graph.schema.plan(path or "").to_json()
    except OmnigraphError as error:
        session.found.warn("schema_preview_unavailable", change.resource, error.message)
