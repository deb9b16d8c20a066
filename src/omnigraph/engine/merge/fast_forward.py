"""Push and pull: the commits that a branch of one clone has and the other lacks, replayed there one by one.

Each commit is written through the commit protocol of the receiving graph and gets the id, time, author and note it has
where it was made, so both clones have the same history. The branch only ever moves from one commit of that history to
the next: whatever interrupts a transfer, the receiver stands at one of them, and the transfer can be repeated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.display import Displayed
from omnigraph.engine.merge.combine import TableMerge
from omnigraph.engine.merge.replayed_schema import require_free_identities, schema_merges
from omnigraph.engine.merge.schemas import with_rows
from omnigraph.engine.merge.steps import table_steps
from omnigraph.engine.schema.change import SchemaPair, SchemaWork, commit_schema
from omnigraph.engine.schema.transition import schema_write_set
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.export_lock import export_lock_of
from omnigraph.engine.views.pairs import changed_pairs
from omnigraph.engine.views.time_travel import find_commit, state_at_commit
from omnigraph.errors import BranchNotFound, Conflict, HistoricalVersionReclaimed, NotFound, StorageError
from omnigraph.storage.base.failpoints import hit
from omnigraph.storage.base.layout import split_key
from omnigraph.storage.branches.branches import create_branch, list_branches
from omnigraph.storage.branches.names import branch_name
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import Replayed, TableWrite, WriteSet
from omnigraph.storage.lance.handle import ID_CHUNK, in_list
from omnigraph.storage.manifest.commits import GraphCommit, Lineage
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.note import Note, RowCounts
from omnigraph.storage.protocol.commit import commit as run_commit

Report = Callable[[int, int], None]
"""Called with the commits that are done, and all of them."""


class Endpoints(NamedTuple):
    """The graph that has the commits and the one that gets them, with the names of the branch there."""

    sender: Core
    branch: str | None
    receiver: Core
    into: str | None


@dataclass(frozen=True, slots=True, repr=False)
class TransferReport(Displayed):
    """What a push or pull did: the commits that were replayed, oldest first, and where the branch stands now."""

    target: str
    branch: str
    head: str | None
    commits: tuple[str, ...]
    created: bool
    seconds: float

    @property
    def up_to_date(self) -> bool:
        """Whether there was nothing to do."""
        return not self.commits and not self.created


def fast_forward(ends: Endpoints, *, verify: bool = True, report: Report | None = None) -> TransferReport:
    """Bring a branch of the receiver to where the sender's stands; Conflict unless that is a fast-forward."""
    started = time.perf_counter()
    _require_clones(ends.sender, ends.receiver)
    sent = ends.sender.state(ends.branch)
    plan = _plan(ends, sent)
    if plan.fork is not None:
        export_lock_of(ends.receiver.store).require_free()
        _create(ends, plan.fork)
    touched: dict[str, list[pa.Array]] = {}
    for done, step in enumerate(plan.steps):
        _Replay(ends, step, touched).run()
        hit("transfer.post_commit")
        if report is not None:
            report(done + 1, len(plan.steps))
    if verify and plan.steps:
        _verify(ends, plan.steps[-1].commit, touched)
    ids = tuple(step.commit.graph_commit_id for step in plan.steps)
    seconds, place = time.perf_counter() - started, ends.receiver.store.root.uri
    return TransferReport(place, ends.into or "main", sent.effective_head, ids, plan.fork is not None, seconds)


# --- what is to be done ------------------------------------------------------------------------------


class _Step(NamedTuple):
    """One commit to replay, and the one of its parents that the receiver stands at before."""

    commit: GraphCommit
    base: GraphCommit


@dataclass(frozen=True, slots=True)
class _Plan:
    """The steps, oldest first, and the commit that a branch which the receiver lacks begins at."""

    steps: list[_Step]
    fork: GraphCommit | None = None


def _require_clones(sender: Core, receiver: Core) -> None:
    """A clone begins with the same commit; ids of commits are never given twice."""
    first, other = (core.state(None).lineage.oldest() for core in (sender, receiver))
    if first is None or other is None or first.graph_commit_id != other.graph_commit_id:
        raise Conflict(
            f"'{receiver.store.root.uri}' is not a clone of '{sender.store.root.uri}': their histories begin with "
            f"different commits; copy rows between graphs with export and load"
        )


def _plan(ends: Endpoints, sent: ManifestState) -> _Plan:
    head = sent.effective_head
    if head is None:
        return _Plan([])
    ancestors = _ancestors(ends, head)
    try:
        received = ends.receiver.state(ends.into)
    except BranchNotFound:
        fork = _fork(ends, ancestors)
        return _Plan(_steps(ancestors, fork.graph_commit_id), fork)
    there = received.effective_head
    if there is None or there not in ancestors:
        raise _refusal(ends, head, received)
    return _Plan(_steps(ancestors, there))


def _ancestors(ends: Endpoints, head: str) -> dict[str, tuple[GraphCommit, str | None]]:
    """Every commit that leads to a head, as far as live branches know it, with the one that it leads to: nearest first,
    and of two that are as near the one on the line of first parents."""
    lineages = [ends.sender.state(ends.branch).lineage, *_lineages(ends.sender)]
    found: dict[str, tuple[GraphCommit, str | None]] = {}
    queue: deque[tuple[str, str | None]] = deque([(head, None)])
    while queue:
        name, child = queue.popleft()
        commit = None if name in found else next((c for each in lineages if (c := each.get(name)) is not None), None)
        if commit is None:
            continue
        found[name] = commit, child
        parents = (commit.parent_commit_id, commit.merged_parent_commit_id)
        queue.extend((parent, name) for parent in parents if parent is not None)
    return found


def _steps(ancestors: Mapping[str, tuple[GraphCommit, str | None]], base: str) -> list[_Step]:
    """The way from a commit to the head."""
    steps: list[_Step] = []
    at, child = ancestors[base]
    while child is not None:
        commit, above = ancestors[child]
        steps.append(_Step(commit, at))
        at, child = commit, above
    return steps


def _fork(ends: Endpoints, ancestors: Mapping[str, object]) -> GraphCommit:
    """Where a new branch begins: the newest commit of the sender's that the receiver's branches have."""
    lineages = list(_lineages(ends.receiver))
    for name in ancestors:
        known = next((found for each in lineages if (found := each.get(name)) is not None), None)
        # A commit that was published together with later ones has no version of the manifest that ends with it.
        if known is not None and known.within is None and _has_state(ends.receiver, known):
            return known
    raise Conflict(f"'{ends.receiver.store.root.uri}' has no commit of branch '{ends.branch or 'main'}' to begin from")


def _has_state(core: Core, commit: GraphCommit) -> bool:
    try:
        state_at_commit(core, commit)
    except NotFound:
        return False
    return True


def _lineages(core: Core) -> Iterator[Lineage]:
    for name in list_branches(core.store):
        with suppress(BranchNotFound):  # deleted since it was listed
            yield core.state(branch_name(name)).lineage


def _refusal(ends: Endpoints, head: str, received: ManifestState) -> Conflict:
    sender, receiver = ends.sender.store.root.uri, ends.receiver.store.root.uri
    name, into, there = ends.branch or "main", ends.into or "main", received.effective_head
    if head in received.lineage:
        return Conflict(
            f"branch '{into}' of '{receiver}' is ahead: it is at {there} and has {head} already, where '{name}' of "
            f"'{sender}' is; transfer it in the other direction"
        )
    return Conflict(
        f"branch '{into}' of '{receiver}' is at {there} and '{name}' of '{sender}' at {head}: both have commits that "
        f"the other lacks. Pull one of them under another branch name, merge it there, and push the merge"
    )


def _create(ends: Endpoints, commit: GraphCommit) -> None:
    """Create the branch at a commit; a branch that stands there is its parent, else an older version of one."""
    store = ends.receiver.store
    state = ends.receiver.state(commit.manifest_branch)
    version = None if state.effective_head == commit.graph_commit_id else commit.manifest_version
    assert ends.into is not None, "main exists"
    try:
        create_branch(store, ends.into, source=commit.manifest_branch, version=version)
    except HistoricalVersionReclaimed:
        raise Conflict(
            f"'{store.root.uri}' does not keep the manifest of {commit.graph_commit_id} any more, so no branch can "
            f"begin there; clone '{ends.sender.store.root.uri}' instead"
        ) from None
    ends.receiver.tables.clear()
    hit("transfer.post_branch")


# --- one commit --------------------------------------------------------------------------------------


class _Replay:
    """One commit of the sender on top of its parent at the receiver."""

    def __init__(self, ends: Endpoints, step: _Step, touched: dict[str, list[pa.Array]]) -> None:
        self._ends = ends
        self._step = step
        self._commit = step.commit
        self._touched = touched

    def run(self) -> None:
        before, after = (state_at_commit(self._ends.sender, each) for each in (self._step.base, self._commit))
        schemas = SchemaPair(*(self._ends.sender.schemas.of(state) for state in (before, after)))
        if not schemas.changes:
            run_commit(self._ends.receiver.store, self._ends.into, lambda txn: self._prepare(txn, before, after))
            return
        work = SchemaWork(lambda txn: self._prepare_schema(txn, before, after, schemas), lambda: schemas)
        commit_schema(self._ends.receiver, self._ends.into, work)
        self._rename_touched(schemas)

    def _prepare(self, txn: Txn, before: ManifestState, after: ManifestState) -> WriteSet | None:
        if self._is_there(txn):
            return None
        return replace(self._described(txn), tables=tuple(self._tables(txn, before, after)))

    def _prepare_schema(
        self, txn: Txn, before: ManifestState, after: ManifestState, schemas: SchemaPair
    ) -> WriteSet | None:
        if self._is_there(txn):
            return None
        require_free_identities(self._ends.sender, self._ends.receiver, schemas)
        described, actor = self._described(txn), self._commit.actor_id
        change = schema_write_set(self._ends.receiver, txn, schemas.before, schemas.after, actor=actor)
        merges = schema_merges(self._ends.sender, before, after, schemas.after)
        return replace(
            described,
            writer_kind="SchemaApply",
            tables=tuple(with_rows(change.tables, merges, schemas.before)),
            delta=change.delta,
        )

    def _is_there(self, txn: Txn) -> bool:
        """Whether another process has transferred it; a refusal when the branch is not at the commit before it."""
        if txn.effective_head == self._commit.graph_commit_id:
            return True
        if txn.effective_head != self._step.base.graph_commit_id:
            raise _refusal(self._ends, self._commit.graph_commit_id, txn.state)
        return False

    def _described(self, txn: Txn) -> WriteSet:
        """The commit without what it changes."""
        commit = self._commit
        # A merge has the commit that its branch stood at for its parent. Where it was made, that may be the other one.
        parents = {commit.parent_commit_id, commit.merged_parent_commit_id} - {txn.effective_head}
        note = Note(commit.kind, commit.message, commit.query, commit.counts, commit.recovered_by, commit.epoch)
        return WriteSet(
            writer_kind="Mutation",
            actor_id=commit.actor_id,
            merged_parent=next(iter(parents), None),
            lineage_only=True,
            replayed=Replayed(commit.graph_commit_id, commit.created_at, note),
        )

    def _tables(self, txn: Txn, before: ManifestState, after: ManifestState) -> Iterable[TableWrite]:
        view = self._ends.receiver.view_in(txn)
        for pair in changed_pairs(before.snapshot, after.snapshot):
            key = pair.entry.table_key
            delta = pair.delta(self._ends.sender.tables)
            if delta.is_empty:
                continue  # compacted or indexed
            rows, deleted = delta.after.select(delta.columns), pc.unique(_one(delta.deleted["id"]))
            self._touched.setdefault(key, []).append(delta.ids)
            yield TableWrite(key, tuple(table_steps(TableMerge(_info(view.catalog, key), rows, deleted, RowCounts()))))

    def _rename_touched(self, schemas: SchemaPair) -> None:
        """Rows are looked for under the names that their types have at the end; those of every type that stays."""
        former = {(i.type_id, i.incarnation_id): key for key, i in table_types(schemas.before.catalog).items()}
        view = self._ends.sender.view_of(state_at_commit(self._ends.sender, self._commit), schemas.after)
        known = dict(self._touched)
        self._touched.clear()
        for key, info in table_types(schemas.after.catalog).items():
            parts = known.get(former.get((info.type_id, info.incarnation_id), key), [])
            self._touched[key] = [*parts, _one(view.table(info).scan(["id"])["id"])]


def _info(catalog: object, table_key: str) -> TableType:
    kind, name = split_key(table_key)
    types: dict[str, TableType] = getattr(catalog, f"{kind}s")
    return types[name]


# --- proving it --------------------------------------------------------------------------------------


def _verify(ends: Endpoints, last: GraphCommit, touched: dict[str, list[pa.Array]]) -> None:
    """Read every row that was sent back and compare it with the sender's."""
    ours = ends.sender.view_of(state_at_commit(ends.sender, last))
    known = find_commit(ends.receiver, last.graph_commit_id, ends.into)
    theirs = ends.receiver.view_of(state_at_commit(ends.receiver, known))
    counts = [{entry.table_key: entry.row_count for entry in view.snapshot} for view in (ours, theirs)]
    differing = sorted(key for key in counts[0] | counts[1] if counts[0].get(key) != counts[1].get(key))
    for key, parts in touched.items():
        ids = pc.unique(pa.concat_arrays([_one(part) for part in parts]))
        tables = [view.table(_info(view.catalog, key)) for view in (ours, theirs)]
        for start in range(0, len(ids), ID_CHUNK):
            wanted = in_list("id", ids.slice(start, ID_CHUNK).to_pylist())
            columns = tables[0].schema.names
            rows = [table.scan(columns, wanted, blobs="cells").sort_by("id").combine_chunks() for table in tables]
            if not rows[0].equals(rows[1]):
                differing.append(key)
                break
    if differing:
        raise StorageError(
            f"branch '{ends.into or 'main'}' of '{ends.receiver.store.root.uri}' does not read back as it was sent "
            f"({', '.join(differing)})"
        )


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
