"""`cluster apply`: make storage match the declaration, as far as that is possible and allowed, and record it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omnigraph.cluster import addresses
from omnigraph.cluster.changes import RECOVERY, Change, Gate, classify, difference, gates
from omnigraph.cluster.declaration.declared import Declared, load_declared
from omnigraph.cluster.diagnostics import Stopped
from omnigraph.cluster.moves import Moves
from omnigraph.cluster.plan import all_bindings, warn_stale
from omnigraph.cluster.session import Session, no_observations, open_session, step
from omnigraph.cluster.state.approvals import Approval, read_approvals, write_approval
from omnigraph.cluster.state.ledger import APPLIED, Entry, Status
from omnigraph.cluster.state.payloads import write_payloads
from omnigraph.cluster.sweep import Swept, consume, forget_graph, sweep
from omnigraph.errors import OmnigraphError, StorageError


def apply(config_dir: str | Path, actor: str | None = None) -> dict[str, Any]:
    """Apply a declaration; the result object says what was done, what waits, and whether nothing is left to do."""
    declared = load_declared(Path(config_dir))
    work = _Apply(declared, actor)
    try:
        work.session = open_session(declared)
        with work.session.locked("apply"):
            work.run(work.session)
    except Stopped:
        pass
    except OmnigraphError as error:
        declared.found.error("apply_failed", str(config_dir), error.message)
    return work.to_json()


@dataclass(slots=True)
class _Apply:
    """One apply, and how far it got."""

    declared: Declared
    actor: str | None
    session: Session | None = None
    changes: list[Change] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    converged: bool = False
    written: bool = False

    def run(self, session: Session) -> None:
        session.require_state()
        session.require_unforged()
        swept = sweep(session)
        self._decide(session, swept)
        moves = Moves(session, self.changes, self.actor, all_bindings(session))
        moves.create_graphs()
        moves.apply_schemas()
        write_payloads(session, self.changes)
        step("cluster.after_payloads", session.found)
        moves.delete_graphs({g.change.resource: g.approval for g in self.gates if g.approval is not None})
        consumed = [*swept.consumed, *self._record(session, moves)]
        self._write(session, [*swept.retired, *moves.retired], consumed)
        self._explain(session)

    def _decide(self, session: Session, swept: Swept) -> None:
        self.changes = difference(self.declared, session.ledger)
        approvals = read_approvals(session.place, session.ledger.approval_records, session.found)
        self.gates = gates(self.changes, approvals, self.declared.digest)
        warn_stale(session, approvals, self.gates)
        approved = {addresses.name_of(g.change.resource) for g in self.gates if g.approval is not None}
        classify(self.changes, swept.pending, approved, all_bindings(session))
        for gate in self.gates:
            if gate.change.is_applied and gate.approval is None:
                message = "this change needs an approval and was about to be applied without one"
                raise session.found.stop("apply_approval_invariant_violation", gate.change.resource, message)

    def _record(self, session: Session, moves: Moves) -> list[Approval]:
        """Write what happened into the ledger's copy."""
        ledger = session.ledger
        for change in self.changes:
            if change.is_applied and change.operation != "delete":
                self._record_applied(session, change)
            elif change.is_applied:
                ledger.resources.pop(change.resource, None)
                ledger.statuses.pop(change.resource, None)
            elif change.disposition == "blocked" and change.reason is not None and change.reason != RECOVERY:
                ledger.statuses[change.resource] = Status("blocked", (change.reason,))
        consumed = []
        for graph_id, operation_id, approval in moves.deleted:
            forget_graph(ledger, graph_id, approval.approval_id, self.actor)
            consumed.append(consume(session, approval, operation_id))
        self._recompute(session)
        self.converged = not difference(self.declared, ledger)
        if self.converged:
            ledger.config_digest = self.declared.digest or ""
        return consumed

    def _record_applied(self, session: Session, change: Change) -> None:
        wanted = self.declared.resources[change.resource]
        session.ledger.resources[change.resource] = Entry(
            wanted.digest, wanted.provider, wanted.blobs, wanted.applies_to, wanted.profile
        )
        session.ledger.statuses[change.resource] = APPLIED

    def _recompute(self, session: Session) -> None:
        """Give every graph the digest that follows from what is recorded now."""
        ledger = session.ledger
        held = {
            each.graph for each in self.changes if each.kind in ("graph", "schema") and each.disposition == "blocked"
        }
        for graph_id in ledger.graphs():
            address = addresses.graph(graph_id)
            entry, wanted = ledger.resources[address], self.declared.resources.get(address)
            if wanted is not None:
                blobs = entry.external_blob_policy if graph_id in held else wanted.blobs
                entry = replace(entry, embedding_provider=wanted.provider, external_blob_policy=blobs)
                ledger.resources[address] = entry
            ledger.resources[address] = replace(entry, digest=ledger.composite(graph_id))
            if wanted is not None and ledger.resources[address].digest == wanted.digest and graph_id not in held:
                ledger.statuses[address] = APPLIED

    def _write(self, session: Session, retired: list[str], consumed: list[Approval]) -> None:
        if session.is_dirty():
            try:
                self.written = session.write()
            except Stopped:
                session.ledger = session.before or session.ledger
                raise
            if not self.written:
                session.ledger = session.before or session.ledger
                self.converged = False
                return
        try:
            for name in retired:
                session.place.objects.delete(name)
            for approval in consumed:
                write_approval(session.place, approval)
        except StorageError as error:
            session.found.warn("recovery_sidecar_cleanup_failed", session.observed.state_path, error.message)

    def _explain(self, session: Session) -> None:
        for change in self.changes:
            if change.disposition == "deferred":
                message = f"{change.operation} is not supported for this resource"
                session.found.warn("apply_unsupported_change", change.resource, message)
            elif change.disposition == "blocked":
                session.found.warn("apply_dependency_blocked", change.resource, _blocked(change))

    def to_json(self) -> dict[str, Any]:
        session = self.session
        result: dict[str, Any] = {"ok": self.declared.found.ok, "config_dir": str(self.declared.directory)}
        if self.actor is not None:
            result["actor"] = self.actor
        digest = self.declared.digest
        return {
            **result,
            "desired_revision": {} if digest is None else {"config_digest": digest},
            "state_observations": session.observed.to_json() if session else no_observations(self.declared),
            "changes": [change.to_json() for change in self.changes],
            "applied_count": sum(change.is_applied for change in self.changes),
            "deferred_count": sum(change.disposition in ("deferred", "blocked") for change in self.changes),
            "converged": self.converged and self.declared.found.ok,
            "state_written": self.written,
            "resource_statuses": session.ledger.statuses_json() if session else {},
            "diagnostics": self.declared.found.to_json(),
        }


def _blocked(change: Change) -> str:
    hints = {
        "approval_required": f"run `cluster approve {change.resource}` first",
        "cluster_recovery_pending": "an interrupted operation on this graph has to be resolved first",
        "dependency_not_applied": "something it depends on was not applied; `cluster refresh` looks at what is there",
    }
    return f"{change.operation} is blocked ({change.reason}): {hints.get(change.reason or '', 'see the errors above')}"
