"""What separates the declaration from the ledger, and what an apply would do about each difference; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.cluster import addresses
from omnigraph.cluster.declaration.declared import Declared, Resource
from omnigraph.cluster.state.approvals import Approval
from omnigraph.cluster.state.ledger import Entry, Ledger

Operation = Literal["create", "update", "delete"]
Disposition = Literal["applied", "derived", "deferred", "blocked"]

RECOVERY = "cluster_recovery_pending"
DEPENDENCY = "dependency_not_applied"
APPROVAL = "approval_required"
UNSUPPORTED = "apply_unsupported_kind"


@dataclass(slots=True)
class Change:
    """One difference; an apply may demote its disposition when something it needs fails."""

    resource: str
    operation: Operation
    before: str | None = None
    after: str | None = None
    disposition: Disposition | None = None
    reason: str | None = None
    metadata: Literal["policy_bindings", "embedding_profile"] | None = None
    migration: dict[str, Any] | None = None

    @property
    def kind(self) -> str:
        return addresses.kind_of(self.resource)

    @property
    def graph(self) -> str | None:
        return addresses.graph_of(self.resource)

    @property
    def is_applied(self) -> bool:
        return self.disposition == "applied"

    def demote(self, reason: str) -> None:
        """It was going to be applied and cannot be any more."""
        if self.is_applied:
            self.disposition, self.reason = "blocked", reason

    def to_json(self) -> dict[str, Any]:
        members: dict[str, Any] = {
            "resource": self.resource,
            "operation": self.operation,
            "before_digest": self.before,
            "after_digest": self.after,
            "disposition": self.disposition,
            "reason": self.reason,
            "binding_change": True if self.metadata == "policy_bindings" else None,
            "metadata_change": self.metadata,
            "migration": self.migration,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Gate:
    """A change that a human has to approve; `approval` is the one that does."""

    change: Change
    reason: str
    approval: Approval | None

    def to_json(self) -> dict[str, Any]:
        return {
            "resource": self.change.resource,
            "reason": self.reason,
            "satisfied": self.approval is not None,
        }


def difference(declared: Declared, ledger: Ledger) -> list[Change]:
    """Every difference in the order of addresses, metadata that digests do not cover included."""
    changes = []
    for address in sorted({*declared.resources, *ledger.resources}):
        wanted, recorded = declared.resources.get(address), ledger.resources.get(address)
        if wanted is None and recorded is not None:
            changes.append(Change(address, "delete", recorded.digest, None))
        elif wanted is not None and recorded is None:
            changes.append(Change(address, "create", None, wanted.digest))
        elif wanted is not None and recorded is not None:
            changes += _updates(wanted, recorded)
    return changes


def _updates(wanted: Resource, recorded: Entry) -> Iterable[Change]:
    metadata: Literal["policy_bindings", "embedding_profile"] | None = None
    if wanted.applies_to is not None and _as_set(recorded.applies_to) != set(wanted.applies_to):
        metadata = "policy_bindings"
    if wanted.profile is not None and recorded.embedding_profile != dict(wanted.profile):
        metadata = "embedding_profile"
    if wanted.digest != recorded.digest or metadata is not None:
        yield Change(wanted.address, "update", recorded.digest, wanted.digest, metadata=metadata)


def _as_set(bindings: tuple[str, ...] | None) -> set[str] | None:
    return None if bindings is None else set(bindings)


def blast_radius(changes: Iterable[Change], dependencies: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Who depends directly on what changes."""
    dependents: dict[str, list[str]] = {}
    for source, target in dependencies:
        dependents.setdefault(target, []).append(source)
    return [{"resource": each.resource, "affected": sorted(dependents.get(each.resource, ()))} for each in changes]


def gates(changes: list[Change], approvals: Iterable[Approval], config_digest: str | None) -> list[Gate]:
    """The changes that need consent: losing a graph, or a schema whose graph stays."""
    deleted = {each.graph for each in changes if each.kind == "graph" and each.operation == "delete"}
    found = []
    for change in changes:
        if change.operation != "delete" or change.kind not in ("graph", "schema"):
            continue
        if change.kind == "schema" and change.graph in deleted:
            continue
        what = "the graph and everything stored in it" if change.kind == "graph" else "the schema of a graph that stays"
        fitting = [approval for approval in approvals if fits(approval, change, config_digest)]
        found.append(Gate(change, f"deletes {what}", fitting[0] if fitting else None))
    return found


def fits(approval: Approval, change: Change, config_digest: str | None) -> bool:
    """Whether consent was given to exactly this."""
    bound = (approval.bound_config_digest, approval.bound_before_digest, approval.bound_after_digest)
    return approval.resource == change.resource and bound == (config_digest, change.before, change.after)


def classify(
    changes: list[Change], pending: set[str], approved: set[str], bindings: Mapping[str, tuple[str, ...]]
) -> None:
    """Decide about every change; `pending` and `approved` are graph ids, `bindings` those of every known policy."""
    by_address = {each.resource: each for each in changes}
    scene = _Scene(by_address, pending, approved, _unsettled(by_address), bindings)
    for change in changes:
        change.disposition, change.reason = scene.decide(change)


def _unsettled(changes: Mapping[str, Change]) -> set[str]:
    """Graphs whose schema is recorded without them, or the other way round."""
    found = set()
    for change in changes.values():
        if change.kind != "schema" or change.graph is None:
            continue
        graph = changes.get(addresses.graph(change.graph))
        together = graph is not None and graph.operation == change.operation
        if change.operation in ("create", "delete") and not together:
            found.add(change.graph)
    return found


@dataclass(frozen=True, slots=True)
class _Scene:
    changes: Mapping[str, Change]
    pending: set[str]
    approved: set[str]
    unsettled: set[str]
    bindings: Mapping[str, tuple[str, ...]]

    def decide(self, change: Change) -> tuple[Disposition, str | None]:
        match change.kind:
            case "graph":
                return self._graph(change)
            case "schema":
                return self._schema(change)
            case "query":
                return self._query(change)
            case "policy":
                return self._policy(change)
            case "embedding_provider" | "pipeline":
                return "applied", None
        return "deferred", UNSUPPORTED

    def _graph(self, change: Change) -> tuple[Disposition, str | None]:
        if change.operation == "update":
            return ("deferred", UNSUPPORTED) if change.graph in self.unsettled else ("derived", None)
        if change.graph in self.pending:
            return "blocked", RECOVERY
        if change.operation == "create":
            return "applied", None
        return self._deletion(change.graph)

    def _schema(self, change: Change) -> tuple[Disposition, str | None]:
        graph = self.changes.get(addresses.graph(change.graph or ""))
        if change.operation == "update":
            return ("blocked", RECOVERY) if change.graph in self.pending else ("applied", None)
        if change.operation == "create":
            if change.graph in self.pending:
                return "blocked", RECOVERY
            created = graph is not None and graph.operation == "create"
            return ("applied", None) if created else ("blocked", DEPENDENCY)
        return self._graph(graph) if graph is not None and graph.operation == "delete" else ("deferred", UNSUPPORTED)

    def _query(self, change: Change) -> tuple[Disposition, str | None]:
        if change.operation == "delete":
            graph = self.changes.get(addresses.graph(change.graph or ""))
            if graph is None or graph.operation != "delete":
                return "applied", None
            return self._deletion(change.graph)
        if change.graph in self.pending:
            return "blocked", RECOVERY
        return ("blocked", DEPENDENCY) if change.graph in self.unsettled else ("applied", None)

    def _policy(self, change: Change) -> tuple[Disposition, str | None]:
        bound = {scope.removeprefix("graph.") for scope in self.bindings.get(change.resource, ())}
        if change.operation != "delete" and bound & self.pending:
            return "blocked", RECOVERY
        return "applied", None

    def _deletion(self, graph_id: str | None) -> tuple[Disposition, str | None]:
        if graph_id in self.pending:
            return "blocked", RECOVERY
        return ("applied", None) if graph_id in self.approved else ("blocked", APPROVAL)
