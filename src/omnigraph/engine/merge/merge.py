"""Three-way merge of one branch into another, as one commit with two parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from omnigraph.engine.merge.by_files import merge_by_files
from omnigraph.engine.merge.combine import TableMerge
from omnigraph.engine.merge.outcome import MergeOptions, MergeOutcome, MergeResult
from omnigraph.engine.merge.schemas import MergedSchema, merge_schemas, with_rows
from omnigraph.engine.merge.sides import Sides, broken_constraints, entry_of, merge_tables, row_conflicts
from omnigraph.engine.merge.steps import table_steps
from omnigraph.engine.schema.change import SchemaPair, SchemaWork, commit_schema
from omnigraph.engine.schema.transition import schema_write_set
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.merge_base import CommitGraph, merge_base
from omnigraph.engine.views.time_travel import state_at_commit
from omnigraph.errors import BadRequest, BranchNotFound, MergeConflict, MergeConflicts, OmnigraphError, ReadSetChanged
from omnigraph.policy.actions import Action
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.branches.branches import delete_branch
from omnigraph.storage.intent.capture import Txn, capture
from omnigraph.storage.intent.control import await_cleanup, refuse_beside_cleanup
from omnigraph.storage.intent.sidecar import Token
from omnigraph.storage.intent.writeset import ManifestDelta, TableWrite, WriteSet
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.epochs import require_next
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import Epoch
from omnigraph.storage.manifest.rows import VersionRow
from omnigraph.storage.protocol import recovery
from omnigraph.storage.protocol.attempt import Hooks
from omnigraph.storage.protocol.budget import Budget
from omnigraph.storage.protocol.commit import commit


@dataclass(frozen=True, slots=True)
class MergeCall:
    """What the caller asked for; None is main."""

    source: str | None
    target: str | None
    options: MergeOptions = field(default_factory=MergeOptions)
    actor: str | None = None
    delete: bool = False
    budget: Budget | None = None
    message: str | None = None
    epoch: Epoch | None = None

    @property
    def proposed(self) -> str:
        """The message of the merge: the given one, or one that names both branches."""
        return self.message or f"merge {self.source or 'main'} into {self.target or 'main'}"

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise BadRequest(f"a merge needs distinct source and target branches, not '{self.source or 'main'}' twice")


def merge_branches(core: Core, call: MergeCall) -> MergeResult:
    """Bring everything the source has since the merge base into the target, or raise MergeConflicts and do nothing."""
    recovery.sweep(core.store, eager_restore=False)  # a commit whose writer died belongs to the source's history
    work = _Work(core, call)
    hooks = Hooks(after_arm=work.after_arm, before_publish=work.before_publish)
    try:
        done = commit(core.store, call.target, work.prepare, hooks=hooks, budget=call.budget)
    except _BringsSchema:
        work.controlled = True
        change = SchemaWork(work.prepare, work.schemas, after_arm=work.after_arm, before_publish=work.before_publish)
        done = commit_schema(core, call.target, change)
    return _with_source_deleted(core, call, work.result(done.commit))


def preview_merge(core: Core, call: MergeCall) -> MergeResult:
    """What the merge would do right now, conflicts included; writes nothing."""
    work = _Work(core, call)
    plan = work.plan(capture(core.store, call.target))
    return replace(plan.result(call), conflicts=plan.conflicts, preview=True)


def _with_source_deleted(core: Core, call: MergeCall, result: MergeResult) -> MergeResult:
    if not call.delete:
        return result
    try:
        core.require_allowed(call.actor, Action.BRANCH_DELETE, target=call.source or "main")
        export_lock_of(core.store).require_free()
        delete_branch(core.store, call.source or "main", bound=call.target)
    except OmnigraphError as error:
        return replace(result, branch_deleted=False, branch_delete_error=str(error))
    core.tables.clear()
    return replace(result, branch_deleted=True)


# --- planning ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """A merge worked out on one captured state of the target."""

    outcome: MergeOutcome
    base: str
    source_head: str
    schema: MergedSchema | None = None
    merges: Mapping[str, TableMerge] = field(default_factory=dict)
    pointers: tuple[VersionRow, ...] = ()
    conflicts: tuple[MergeConflict, ...] = ()

    def result(self, call: MergeCall) -> MergeResult:
        return MergeResult(
            source=call.source or "main",
            target=call.target or "main",
            outcome=self.outcome,
            base_commit_id=self.base,
            source_commit_id=self.source_head,
            actor_id=call.actor,
            changes={merge.info.name: merge.counts for merge in self.merges.values() if not merge.is_empty},
        )


class _BringsSchema(Exception):
    """The merge changes the schema of its target, so it has to run under graph control."""


class _Work:
    """One call of merge; what it has planned last is what gets published."""

    def __init__(self, core: Core, call: MergeCall) -> None:
        self.core = core
        self.call = call
        self.controlled = False
        self._plan: _Plan | None = None
        self._source: Token | None = None

    def result(self, published: GraphCommit | None) -> MergeResult:
        assert self._plan is not None
        return replace(self._plan.result(self.call), commit=published)

    def prepare(self, txn: Txn) -> WriteSet | None:
        """The write set of the merge, None when the target has everything already; raises MergeConflicts."""
        # The head of the source becomes what both have in common, so a cleanup has to know of it, or to be over.
        await_cleanup(self.core.store)
        if self.call.epoch is not None:
            require_next(txn.state.lineage, self.call.epoch)
        plan = self._plan = self.plan(txn)
        if plan.conflicts:
            raise MergeConflicts(plan.conflicts)
        hit("branch_merge.post_validation")
        if plan.outcome is MergeOutcome.ALREADY_UP_TO_DATE:
            return self._nothing_new()
        if plan.schema is not None and plan.schema.changes:
            self._require_right(plan.schema)
            if not self.controlled:
                raise _BringsSchema
            return self._with_schema(txn, plan, plan.schema)
        pointed = {pointer.table_key for pointer in plan.pointers}
        written = (merge for key, merge in plan.merges.items() if key not in pointed)
        return WriteSet(
            writer_kind="BranchMerge",
            tables=tuple(TableWrite(merge.info.table_key, tuple(table_steps(merge))) for merge in written),
            delta=ManifestDelta(pointers=plan.pointers),
            actor_id=self.call.actor,
            merged_parent=plan.source_head,
            lineage_only=True,  # a merge without net changes is still part of the history
            message=self.call.proposed,
            counts={plan.merges[key].info.name: plan.merges[key].counts for key in pointed},
            epoch=self.call.epoch,
        )

    def _nothing_new(self) -> WriteSet | None:
        """No commit, except that a batch of a stream which changes nothing is on record as applied."""
        call = self.call
        if call.epoch is None:
            return None
        return WriteSet(
            writer_kind="BranchMerge",
            actor_id=call.actor,
            lineage_only=True,
            message=call.proposed,
            epoch=call.epoch,
        )

    def _with_schema(self, txn: Txn, plan: _Plan, schema: MergedSchema) -> WriteSet:
        change = schema_write_set(self.core, txn, schema.ours, schema.target, actor=self.call.actor)
        return WriteSet(
            writer_kind="BranchMerge",
            tables=tuple(with_rows(change.tables, plan.merges, schema.ours)),
            delta=change.delta,
            actor_id=self.call.actor,
            merged_parent=plan.source_head,
            message=self.call.proposed,
            counts={merge.info.name: merge.counts for merge in plan.merges.values() if not merge.is_empty},
        )

    def _require_right(self, schema: MergedSchema) -> None:
        """A merge that changes a schema is a schema change, except that every branch may follow main."""
        if self.call.source is not None:
            self.core.require_allowed(self.call.actor, Action.SCHEMA_APPLY, target=self.call.target or "main")
        if self.call.target is None and self.core.schema_check is not None:
            self.core.schema_check(schema.target.catalog)

    def schemas(self) -> SchemaPair:
        """The schema of the target, and the one that the merge planned last gives it."""
        assert self._plan is not None
        assert self._plan.schema is not None
        schema = self._plan.schema
        return SchemaPair(schema.ours, schema.target if schema.changes else schema.ours)

    def plan(self, txn: Txn) -> _Plan:
        """Work the merge out; reads only."""
        source = self._capture_source()
        hit("branch_merge.post_capture")
        heads = _head(source.state), _head(txn.state)
        base = merge_base(CommitGraph([source.state.lineage, txn.state.lineage]), *heads)
        if base.graph_commit_id == heads[0]:
            return _Plan(MergeOutcome.ALREADY_UP_TO_DATE, heads[0], heads[0])
        forward = base.graph_commit_id == heads[1]
        outcome = MergeOutcome.FAST_FORWARD if forward else MergeOutcome.MERGED
        before = txn.state if forward else state_at_commit(self.core, base)
        schema = merge_schemas(self.core, before, txn.state, source.state)
        if schema.conflicts:
            return _Plan(outcome, base.graph_commit_id, heads[0], schema, conflicts=schema.conflicts)
        old, ours, theirs = (self.core.view_of(state, schema.target) for state in (before, txn.state, source.state))
        sides = Sides(old, ours, theirs, schema.mixed)
        options = replace(self.call.options, external_blobs=self.core.external_blobs)
        found = merge_by_files(sides, options, forward=forward)
        if found is None:
            merges = merge_tables(sides, options)
            conflicts = row_conflicts(merges.values()) or broken_constraints(merges, sides.ours)
        else:
            merges, conflicts = found
        plan = _Plan(outcome, base.graph_commit_id, heads[0], schema, merges)
        return replace(plan, conflicts=tuple(conflicts), pointers=tuple(_pointers(merges, sides, self.call.target)))

    def _capture_source(self, *, patient: bool = True) -> Txn:
        try:
            found = capture(self.core.store, self.call.source, patient=patient)
        except BranchNotFound:
            if self._source is None:
                raise
            raise self._source_moved(None) from None
        if self._source is not None and found.token.branch_identifier != self._source.branch_identifier:
            raise self._source_moved(found.token)
        self._source = found.token
        return found

    def after_arm(self) -> None:
        """A cleanup has to know of the source's head, or to be over."""
        refuse_beside_cleanup(self.core.store)

    def before_publish(self) -> None:
        """The source may have gone on, but it must still be the branch that was read."""
        hit("branch_merge.post_effects_pre_publish")
        captured = self._source
        assert captured is not None
        # A schema change that begins now waits for this merge, so the merge must not wait for it.
        _require_one_schema(self._capture_source(patient=False).token, captured)

    def _source_moved(self, found: Token | None) -> ReadSetChanged:
        assert self._source is not None
        return ReadSetChanged(
            f"branch_identifier:{self.call.source or 'main'}",
            expected=self._source.branch_identifier,
            actual=None if found is None else found.branch_identifier,
        )


def _require_one_schema(source: Token, target: Token) -> None:
    if source.schema_ir_hash != target.schema_ir_hash:
        raise ReadSetChanged("branch_merge_source_schema", expected=target.schema_ir_hash, actual=source.schema_ir_hash)


def _head(state: ManifestState) -> str:
    assert state.effective_head is not None, "every branch has at least the first commit"
    return state.effective_head


def _pointers(merges: Mapping[str, TableMerge], sides: Sides, target: str | None) -> Iterable[VersionRow]:
    """Tables that the target takes over from main as they are: no row has to be written.

    Only versions of main can be shared, because the files of a branch go away with it, and only towards greater
    versions, because a snapshot shows the greatest version of a table.
    """
    if target is None or sides.mixed:
        return
    for key, merge in merges.items():
        base, ours, theirs = (entry_of(view, merge.info, sides) for view in (sides.base, sides.ours, sides.theirs))
        assert ours is not None
        assert theirs is not None
        one_table = theirs.location == ours.location  # branches that added a type may each have a table of their own
        shareable = one_table and theirs.ref is None and theirs.version > ours.version and ours.owner != target
        if merge.as_theirs and base == ours and shareable and not merge.is_empty:
            yield VersionRow(key, theirs.version, theirs.ref, theirs.row_count, theirs.evidence)
