"""Revert and cherry-pick: the changes of one commit, backwards or forwards, as an ordinary commit on another head.

Both are merges with an unusual base. A cherry-pick merges the commit into a head as if they had parted at the commit's
parent; a revert merges the parent as if they had parted at the commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from omnigraph.display import Displayed
from omnigraph.engine.merge.combine import TableMerge
from omnigraph.engine.merge.outcome import MergeOptions
from omnigraph.engine.merge.sides import Sides, broken_constraints, merge_tables, row_conflicts
from omnigraph.engine.merge.steps import table_steps
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.pairs import TablePair, changed_pairs, require_comparable
from omnigraph.engine.views.time_travel import find_commit, state_at_commit
from omnigraph.errors import ChangeSchemaBoundary, CommitHasNoParent, MergeConflict, MergeConflicts
from omnigraph.storage.intent.capture import Txn, capture
from omnigraph.storage.intent.writeset import TableWrite, WriteSet
from omnigraph.storage.manifest.commits import GraphCommit
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.protocol.budget import Budget
from omnigraph.storage.protocol.commit import commit as run_commit

ReplayKind = Literal["revert", "cherry_pick"]


@dataclass(frozen=True, slots=True)
class ReplayCall:
    """Which commit, in which direction, on top of which branch."""

    kind: ReplayKind
    commit: GraphCommit
    branch: str | None
    options: MergeOptions = field(default_factory=MergeOptions)
    actor: str | None = None
    budget: Budget | None = None
    message: str | None = None

    @property
    def proposed(self) -> str:
        """The message of the new commit: the given one, or one that names the commit it comes from."""
        if self.message is not None:
            return self.message
        origin, said = self.commit.graph_commit_id, self.commit.message
        if self.kind == "cherry_pick":
            return said or f"cherry-pick {origin}"
        return f"revert {origin}" if said is None else f'revert "{said.partition(chr(10))[0]}"'


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ReplayResult(Displayed):
    """What was done; `commit` is None when the branch had nothing left to change, and for previews."""

    kind: ReplayKind
    replayed_commit_id: str
    branch: str
    commit: GraphCommit | None = None
    changes: Mapping[str, RowCounts] = field(default_factory=dict)
    conflicts: tuple[MergeConflict, ...] = ()
    preview: bool = False

    @property
    def commit_id(self) -> str | None:
        """The id of the new commit."""
        return None if self.commit is None else self.commit.graph_commit_id


def replay(core: Core, call: ReplayCall) -> ReplayResult:
    """Apply the changes of a commit, or undo them; MergeConflicts when the branch has moved on in the same places."""
    work = _Work(core, call)
    done = run_commit(core.store, call.branch, work.prepare, budget=call.budget)
    return work.result(done.commit, preview=False)


def preview_replay(core: Core, call: ReplayCall) -> ReplayResult:
    """What the replay would do, conflicts included; writes nothing."""
    work = _Work(core, call)
    work.plan(capture(core.store, call.branch).state)
    return work.result(None, preview=True)


class _Work:
    """One call; what it has worked out last is what gets committed."""

    def __init__(self, core: Core, call: ReplayCall) -> None:
        self.core = core
        self.call = call
        self.merges: Mapping[str, TableMerge] = {}
        self.conflicts: list[MergeConflict] = []

    def prepare(self, txn: Txn) -> WriteSet:
        self.plan(txn.state)
        if self.conflicts:
            raise MergeConflicts(self.conflicts)
        tables = (TableWrite(key, tuple(table_steps(merge))) for key, merge in self.merges.items())
        return WriteSet(
            writer_kind="Mutation",
            tables=tuple(tables),
            actor_id=self.call.actor,
            kind="revert" if self.call.kind == "revert" else "cherry-pick",
            message=self.call.proposed,
        )

    def plan(self, head: ManifestState) -> None:
        """Work the rows out on a head; reads only."""
        commit = self.call.commit
        if commit.parent_commit_id is None:
            raise CommitHasNoParent(commit.graph_commit_id)
        parent = find_commit(self.core, commit.parent_commit_id, commit.manifest_branch)
        states = state_at_commit(self.core, parent), state_at_commit(self.core, commit)
        _require_one_schema(self.core, *states, head, commit.graph_commit_id)
        accepted = self.core.schemas.of(head)
        before, after = (self.core.view_of(state, accepted) for state in states)
        base, theirs = (after, before) if self.call.kind == "revert" else (before, after)
        ours = self.core.view_of(head)
        options = replace(self.call.options, external_blobs=self.core.external_blobs)
        self.merges = merge_tables(Sides(base, ours, theirs), options)
        self.conflicts = row_conflicts(self.merges.values()) or broken_constraints(self.merges, ours)

    def result(self, published: GraphCommit | None, *, preview: bool) -> ReplayResult:
        return ReplayResult(
            kind=self.call.kind,
            replayed_commit_id=self.call.commit.graph_commit_id,
            branch=self.call.branch or "main",
            commit=published,
            changes={merge.info.name: merge.counts for merge in self.merges.values() if not merge.is_empty},
            conflicts=tuple(self.conflicts),
            preview=preview,
        )


def _require_one_schema(
    core: Core, before: ManifestState, after: ManifestState, head: ManifestState, commit_id: str
) -> None:
    """Rows can only be carried between tables whose columns mean the same."""
    if _schema(before) != _schema(after):
        changed = next(changed_pairs(before.snapshot, after.snapshot), None)
        name = changed.type_name if changed is not None else "schema"
        raise ChangeSchemaBoundary(
            commit_id,
            name,
            f"commit {commit_id} is a schema change and cannot be replayed; apply the schema you want",
        )
    if _schema(after) == _schema(head):
        return
    for pair in changed_pairs(after.snapshot, head.snapshot):
        if pair.before is None or pair.after is None:
            raise _changed_since(commit_id, pair)
        try:
            require_comparable(core.tables, pair, commit_id)
        except ChangeSchemaBoundary:
            raise _changed_since(commit_id, pair) from None


def _changed_since(commit_id: str, pair: TablePair) -> ChangeSchemaBoundary:
    name = pair.type_name
    return ChangeSchemaBoundary(
        commit_id,
        name,
        f"the schema of '{name}' changed after commit {commit_id}, so its rows cannot be carried over; "
        "make the change by a mutation or a load",
    )


def _schema(state: ManifestState) -> str | None:
    return None if state.schema is None else state.schema.schema_ir_hash
