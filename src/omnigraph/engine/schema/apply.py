"""Schema change: plan it, then take the graph from the accepted schema to the next one in a single commit.

A schema change is a write set like any other, published through the one commit protocol. What it adds is graph control
(nothing else changes the schema or the set of branches meanwhile), a lock that other writers see, and the three schema
files, which are staged before the publish and made live after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.migrate import Plan, plan_migration
from omnigraph.compiler.source import Source
from omnigraph.engine.schema.hard_drops import reclaim_dropped
from omnigraph.engine.schema.transition import schema_row, schema_write_set
from omnigraph.engine.views.core import Core
from omnigraph.errors import BadRequest, Conflict, OmnigraphError, ReadSetChanged, RecoveryRequired, Retry
from omnigraph.ids import new_ulid
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches import private_branches
from omnigraph.storage.branches.branches import list_branches
from omnigraph.storage.intent import sidecar
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.control import hold_control
from omnigraph.storage.intent.writeset import WriteSet
from omnigraph.storage.manifest import manifest, schema_files
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.schema_archive import keep_schema
from omnigraph.storage.manifest.schema_files import SchemaContract
from omnigraph.storage.protocol import schema_recovery
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.commit import Committed, commit

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class SchemaApplied:
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


def plan_schema(core: Core, desired: Source, *, allow_data_loss: bool = False) -> Plan:
    """The steps from the accepted schema to a desired one; an unsupported plan says why."""
    accepted = core.schemas.of(core.state(None))
    return plan_migration(accepted, desired, allow_data_loss=allow_data_loss)


def apply_schema(
    core: Core,
    desired: Source,
    *,
    allow_data_loss: bool = False,
    actor: str | None = None,
    message: str | None = None,
) -> SchemaApplied:
    """Change the schema as planned right now, or change nothing.

    Commits that other writers land meanwhile are built upon; a schema that somebody else changes is not.
    """
    state = core.state(None)
    accepted = core.schemas.of(state)
    plan = plan_migration(accepted, desired, allow_data_loss=allow_data_loss)
    for refused in plan.unsupported:
        raise BadRequest(refused.message, code=refused.code)
    if not plan.steps:
        return SchemaApplied(plan, None, state.version)
    _require_only_main(core.store)
    for remaining in reversed(range(_ROUNDS)):
        change = _Change(core, accepted, plan.target, actor, new_ulid(), message)
        try:
            done = change.run()
            reclaim_dropped(core, plan, done)
            return SchemaApplied(plan, done.commit, done.state.version)
        except (Retry, RecoveryRequired) as error:
            undecided = isinstance(error, RecoveryRequired) and error.operation_id == change.operation_id
            if undecided or not remaining:
                raise
            _require_accepted(core, accepted)
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _Change:
    """One attempt, under one operation id."""

    core: Core
    accepted: Accepted
    target: Accepted
    actor: str | None
    operation_id: str
    message: str | None = None

    def run(self) -> Committed:
        store = self.core.store
        # Gates come before control, as everywhere: a writer that waits for control holds its gates already.
        with store.gates.branches([None]), hold_control(store, "schema_apply", operation_id=self.operation_id):
            schema_recovery.lock(store)
            hit("schema_apply.post_lock")
            try:
                return commit(store, None, self._prepare, hooks=self._hooks())
            except BaseException:
                self._discard_staging()
                raise
            finally:
                schema_recovery.drop_lock(store)

    def _prepare(self, txn: Txn) -> WriteSet:
        if txn.token.schema_ir_hash != self.accepted.ir_hash:
            raise _schema_moved(self.accepted, txn.token.schema_ir_hash)
        _require_only_main(self.core.store)
        write = schema_write_set(self.core, txn, self.accepted, self.target, actor=self.actor)
        return replace(write, message=self.message)

    def _hooks(self) -> Hooks:
        return Hooks(
            operation_id=self.operation_id,
            gated=True,
            after_arm=lambda: hit("schema_apply.post_sidecar_pre_effect"),
            after_table=lambda: hit("schema_apply.post_table_commit"),
            before_publish=self._stage_files,
            after_publish=self._promote_files,
        )

    def _stage_files(self) -> None:
        hit("schema_apply.before_staging_write")
        objects = self.core.store.objects
        # Before the staged files, so that whoever finishes this change finds both schemas kept.
        for accepted in (self.accepted, self.target):
            keep_schema(objects, _contract(accepted))
        schema_files.write_staging(objects, _contract(self.target))
        hit("schema_apply.after_staging_write")

    def _promote_files(self) -> None:
        hit("schema_apply.after_publish")
        schema_files.promote_staging(self.core.store.objects)
        self.core.schemas.adopt(_contract(self.target))
        self.core.tables.clear()

    def _discard_staging(self) -> None:
        """Delete the staged files of an attempt that is over; while a sidecar exists they are its recovery's."""
        store = self.core.store
        try:
            if sidecar.load(store.objects, self.operation_id) is not None:
                return
            published = manifest.load(store.root).state.schema
            if published is None or published.schema_ir_hash != self.target.ir_hash:
                schema_files.drop_staging(store.objects)
        except OmnigraphError:
            return  # leftovers are harmless, and the next open for writing deletes them


def _contract(accepted: Accepted) -> SchemaContract:
    return SchemaContract(accepted.source, accepted.ir_json, schema_row(accepted))


def _require_only_main(store: Store) -> None:
    running = private_branches.live_transactions(store)
    if running:
        owners = ", ".join(sorted(set(running.values())))
        message = f"S060: a transaction is running ({owners}); a schema change waits until it has ended"
        raise Conflict(message, code="S060")
    others = list_branches(store)[1:]
    if others:
        named = ", ".join(f"'{name}'" for name in others)
        message = f"S060: schema apply requires a graph with only main; merge or delete {named} first"
        raise Conflict(message, code="S060")


def _require_accepted(core: Core, accepted: Accepted) -> None:
    found = core.schemas.of(core.state(None)).ir_hash
    if found != accepted.ir_hash:
        raise _schema_moved(accepted, found)


def _schema_moved(accepted: Accepted, found: str | None) -> ReadSetChanged:
    return ReadSetChanged("schema_ir_hash", expected=accepted.ir_hash, actual=found)
