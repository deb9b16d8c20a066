"""Recovery of the control plane: what an interrupted apply did to graphs is found out and written into the ledger.

Only forwards: the engine makes every graph operation atomic, so an operation happened or it did not. Ledger changes
made here ride the command's own write; a sidecar goes away only after that write has landed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from omnigraph.cluster import addresses
from omnigraph.cluster.live import Live, look_at
from omnigraph.cluster.session import Session
from omnigraph.cluster.state.approvals import Approval, find_approval
from omnigraph.cluster.state.ledger import APPLIED, Entry, Ledger, Status
from omnigraph.cluster.state.sidecars import Sidecar, Unusable, read_sidecars
from omnigraph.cluster.state.stored import now
from omnigraph.errors import OmnigraphError

ROLLED_FORWARD = "cluster_recovery_rolled_forward"
PENDING = "cluster_recovery_pending"


@dataclass(slots=True)
class Swept:
    """Graphs that stay blocked, sidecars to remove and approvals to close once the ledger is written."""

    pending: set[str] = field(default_factory=set)
    retired: list[str] = field(default_factory=list)
    consumed: list[Approval] = field(default_factory=list)


def sweep(session: Session) -> Swept:
    """Look at every sidecar and bring the ledger up to what really happened."""
    swept = Swept()
    for name, sidecar in read_sidecars(session.place):
        if isinstance(sidecar, Unusable):
            session.found.warn(sidecar.code, session.place.shown(name), sidecar.message)
        else:
            _Resolution(session, swept, sidecar, name).run()
    return swept


def forget_graph(ledger: Ledger, graph_id: str, approval_id: str | None, actor: str | None) -> None:
    """Take a deleted graph and what belongs to it out of the ledger; a tombstone stays."""
    for address in [a for a in (*ledger.resources, *ledger.statuses) if addresses.graph_of(a) == graph_id]:
        ledger.resources.pop(address, None)
        ledger.statuses.pop(address, None)
    ledger.observations[addresses.graph(graph_id)] = {
        "kind": "tombstone",
        "deleted_at": now(),
        "approval_id": approval_id,
        "actor": actor,
    }


def consume(session: Session, approval: Approval, operation_id: str) -> Approval:
    """Record in the ledger that an approval is used up; its file is rewritten after the ledger."""
    at = now()
    session.ledger.approval_records[approval.approval_id] = {"consumed_at": at, "consumed_by_operation": operation_id}
    return approval.consumed(at, operation_id)


@dataclass(frozen=True, slots=True)
class _Resolution:
    """What becomes of one sidecar."""

    session: Session
    swept: Swept
    sidecar: Sidecar
    name: str

    @property
    def graph(self) -> str:
        return addresses.graph(self.sidecar.graph_id)

    @property
    def schema(self) -> str:
        return addresses.schema(self.sidecar.graph_id)

    def run(self) -> None:
        exists = self.session.place.graph_exists(self.sidecar.graph_id)
        if self.sidecar.kind == "graph_delete":
            self._deletion(exists)
        elif self.sidecar.kind == "graph_create" and not exists:
            self._retire()
        else:
            self._movement()

    def _movement(self) -> None:
        """A create or a schema change: the live schema says whether it happened."""
        try:
            live = look_at(self.sidecar.graph_uri, self.session.declared.resources.get(self.schema))
        except OmnigraphError as error:
            self._unopenable(error)
            return
        recorded = self.session.ledger.resources.get(self.schema)
        if recorded is not None and recorded.digest == live.schema_digest:
            self._retire()
        elif live.schema_digest == self.sidecar.desired_schema_digest:
            self._roll_forward(live)
        else:
            message = f"operation {self.sidecar.operation_id} left a schema that is neither recorded nor intended"
            self._keep("drifted", "actual_applied_state_pending", message)

    def _unopenable(self, error: OmnigraphError) -> None:
        if self.sidecar.kind == "schema_apply":
            self.swept.pending.add(self.sidecar.graph_id)
            self.session.found.warn(PENDING, self.graph, f"the graph does not open: {error.message}")
            return
        message = f"its creation was interrupted and it does not open ({error.message}); remove it and apply again"
        self.swept.pending.add(self.sidecar.graph_id)
        self.session.ledger.statuses[self.graph] = Status("error", ("graph_create_incomplete",), message)
        self.session.found.error("graph_create_incomplete", self.sidecar.graph_uri, message)

    def _keep(self, status: str, condition: str, message: str) -> None:
        self.swept.pending.add(self.sidecar.graph_id)
        self.session.ledger.statuses[self.graph] = Status(status, (condition,), message)
        self.session.found.warn(PENDING, self.graph, message)

    def _roll_forward(self, live: Live) -> None:
        ledger, graph_id = self.session.ledger, self.sidecar.graph_id
        wanted = self.session.declared.resources.get(self.graph)
        ledger.resources[self.schema] = Entry(live.schema_digest)
        if self.graph not in ledger.resources:
            provider, blobs = (wanted.provider, wanted.blobs) if wanted else (None, None)
            ledger.resources[self.graph] = Entry("", provider, blobs)
        entry = replace(ledger.resources[self.graph], digest=ledger.composite(graph_id))
        ledger.resources[self.graph] = entry
        ledger.statuses[self.graph] = ledger.statuses[self.schema] = APPLIED
        self._record()

    def _deletion(self, exists: bool) -> None:
        if exists:
            message = "its deletion was interrupted; the next apply deletes it if the approval still fits"
            self.session.found.warn("graph_delete_incomplete", self.graph, message)
        elif self.graph in self.session.ledger.resources:
            self._tombstone()
            return
        self._retire()

    def _tombstone(self) -> None:
        approval_id = self.sidecar.approval_id
        forget_graph(self.session.ledger, self.sidecar.graph_id, approval_id, self.sidecar.actor)
        approval = None if approval_id is None else find_approval(self.session.place, approval_id)
        if approval is not None:
            self.swept.consumed.append(consume(self.session, approval, self.sidecar.operation_id))
        self._record()

    def _record(self) -> None:
        self.session.ledger.recovery_records[self.sidecar.operation_id] = {
            "kind": self.sidecar.kind,
            "graph_id": self.sidecar.graph_id,
            "outcome": "rolled_forward",
            "recovered_at": now(),
            "actor": self.sidecar.actor,
        }
        message = f"operation {self.sidecar.operation_id} ({self.sidecar.kind}) had happened and is recorded now"
        self.session.found.warn(ROLLED_FORWARD, self.graph, message)
        self._retire()

    def _retire(self) -> None:
        self.swept.retired.append(self.name)
