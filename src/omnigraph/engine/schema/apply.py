"""Schema change: plan it, then take a branch from the schema it accepts to the next one in a single commit.

Other branches keep theirs. A change of main is refused when a live branch could not be merged any more afterwards; what
branches say against each other's changes is otherwise found out by the merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.combine import SchemaConflict, combine_schemas
from omnigraph.compiler.catalog.migrate import Plan, plan_migration
from omnigraph.compiler.catalog.steps import DropProperty, DropType
from omnigraph.compiler.source import Source
from omnigraph.display import Displayed
from omnigraph.engine.schema.carry import lost_values
from omnigraph.engine.schema.change import SchemaPair, SchemaWork, commit_schema
from omnigraph.engine.schema.hard_drops import reclaim_dropped
from omnigraph.engine.schema.siblings import Other, next_identity, others, siblings
from omnigraph.engine.schema.transition import schema_write_set
from omnigraph.engine.views.core import Core
from omnigraph.errors import BadRequest, Conflict, ReadSetChanged
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState


@dataclass(frozen=True, slots=True, repr=False)
class SchemaApplied(Displayed):
    """What became of a schema change; `commit` is None when there was nothing to change."""

    plan: Plan
    commit: GraphCommit | None
    version: int

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def to_json(self) -> dict[str, Any]:
        """`{supported, applied, step_count, graph_manifest_version, steps}`."""
        return {
            **self.plan.to_json(),
            "applied": self.applied,
            "step_count": len(self.plan.steps),
            "graph_manifest_version": self.version,
        }


@dataclass(frozen=True, slots=True)
class SchemaCall:
    """What the caller asked for; None is main."""

    desired: Source
    branch: str | None = None
    allow_data_loss: bool = False
    actor: str | None = None
    message: str | None = None


def plan_schema(core: Core, call: SchemaCall) -> Plan:
    """The steps from the schema that a branch accepts to a desired one; an unsupported plan says why."""
    return _plan(core.schemas.of(core.state(call.branch)), call)


def apply_schema(core: Core, call: SchemaCall) -> SchemaApplied:
    """Change the schema of a branch as planned right now, or change nothing.

    Commits that other writers land meanwhile are built upon; a schema that somebody else changes is not.
    """
    state = core.state(call.branch)
    change = _Change(core, call, core.schemas.of(state))
    plan = _plan(change.accepted, call)
    for refused in plan.unsupported:
        raise BadRequest(refused.message, code=refused.code)
    if not plan.steps:
        return SchemaApplied(plan, None, state.version)
    change.plan_on(state)
    done = commit_schema(core, call.branch, SchemaWork(change.prepare, change.schemas, change.recheck))
    assert change.plan is not None
    reclaim_dropped(core, change.plan, done)
    return SchemaApplied(change.plan, done.commit, done.state.version)


class _Change:
    """One call; what it has planned last is what gets published."""

    def __init__(self, core: Core, call: SchemaCall, accepted: Accepted) -> None:
        self.core = core
        self.call = call
        self.accepted = accepted
        self.plan: Plan | None = None

    def schemas(self) -> SchemaPair:
        assert self.plan is not None
        return SchemaPair(self.accepted, self.plan.target)

    def prepare(self, txn: Txn) -> WriteSet:
        """The write set of the change, under graph control: no other schema of the graph changes meanwhile."""
        self._require_accepted(txn.state)
        plan = self.plan_on(txn.state)
        write = schema_write_set(self.core, txn, self.accepted, plan.target, actor=self.call.actor)
        return replace(write, message=self.call.message)

    def recheck(self) -> None:
        self._require_accepted(self.core.state(self.call.branch))

    def plan_on(self, state: ManifestState) -> Plan:
        """The plan with identities that no other branch has given away, once nothing stands against it."""
        plan = self.plan = plan_migration(
            self.accepted,
            self.call.desired,
            allow_data_loss=self.call.allow_data_loss,
            next_id=next_identity(self.core, self.accepted),
            siblings=siblings(self.core, self.call.branch, state),
        )
        _require_reclaimable(self.core, self.call, plan)
        self._require_mergeable(state, plan)
        return plan

    def _require_mergeable(self, state: ManifestState, plan: Plan) -> None:
        """Refuse a change of main after which a live branch could not be merged, with what stands in the way."""
        if self.call.branch is not None:
            return
        # A branch that accepts what main does has no schema changes of its own, and loses something only by a drop.
        drops = any(isinstance(step, DropType | DropProperty) for step in plan.steps)
        skip = None if drops else self.accepted.ir_hash
        for other in others(self.core, None, state, skip=skip):
            for conflict in self._conflicts(other, plan.target):
                raise Conflict(f"S060: {conflict.message}", code="S060")

    def _conflicts(self, other: Other, target: Accepted) -> list[SchemaConflict]:
        own = other.schema.ir_hash == self.accepted.ir_hash
        base = self.accepted if own else other.base_schema
        combined = combine_schemas(base, target, other.schema, our_branch="main", their_branch=other.branch)
        if combined.schema is None:
            return list(combined.conflicts)
        return list(lost_values(self.core.tables, other.base, other.state, other.schema, combined.schema))

    def _require_accepted(self, state: ManifestState) -> None:
        found = None if state.schema is None else state.schema.schema_ir_hash
        if found != self.accepted.ir_hash:
            raise ReadSetChanged("schema_ir_hash", expected=self.accepted.ir_hash, actual=found)


def _plan(accepted: Accepted, call: SchemaCall) -> Plan:
    return plan_migration(accepted, call.desired, allow_data_loss=call.allow_data_loss)


def _require_reclaimable(core: Core, call: SchemaCall, plan: Plan) -> None:
    """What is dropped for good must not be needed by another branch."""
    hard = [step for step in plan.steps if isinstance(step, DropType | DropProperty) and step.mode == "hard"]
    if not hard:
        return
    if call.branch is not None:
        message = f"S060: data is dropped for good on main only; on branch '{call.branch}' drop it softly"
        raise BadRequest(message, code="S060")
    for other in list_branches(core.store)[1:]:
        raise Conflict(
            f"S060: branch '{other}' still shows what is to be dropped for good; merge or delete it, or drop softly",
            code="S060",
        )
