"""Plans: where each table of a write set is written, on which base, and under which transaction ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.errors import NotFound, ReadSetChanged
from omnigraph.ids import new_ulids
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.branches.forks import fork_ref
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.sidecar import Fork, PlannedCommit, TablePlan
from omnigraph.storage.intent.writeset import Create, Delete, Overwrite, Step, TableWrite, WriteSet
from omnigraph.storage.lance import row_changes, tables
from omnigraph.storage.lance.replace_large import spread
from omnigraph.storage.lance.tables import BRANCH, OPERATION_ID, Staged, TableHandle
from omnigraph.storage.manifest.snapshot import TableEntry
from omnigraph.storage.protocol import fence
from omnigraph.storage.protocol import table_steps as steps
from omnigraph.storage.protocol.classify import open_if_exists
from omnigraph.storage.protocol.drafts import Drafts, Drawn, is_own
from omnigraph.storage.protocol.fence import Recover


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """One table ready to be committed; `first` is None when its ref, or its dataset, has to exist before staging."""

    plan: TablePlan
    address: Address
    steps: tuple[Step, ...]
    first: Staged | None


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans the tables of one operation on one captured state.

    `left` are versions that the operations before it have left, which are to be published together with it.
    """

    store: Store
    txn: Txn
    operation_id: str
    recover: Recover
    drafts: Drafts = field(default_factory=dict)
    left: Mapping[Address, TableHandle] = field(default_factory=dict)

    def plan(self, write: WriteSet) -> list[PlannedTable]:
        """Compute bases and stage what can be staged before arming; tables without effect are left out."""
        planned = (self._table(table) for table in write.tables)
        return [table for table in planned if table is not None]

    def _table(self, write: TableWrite) -> PlannedTable | None:
        entry = self.txn.snapshot.entries.get(write.table_key)
        if entry is None:
            return self._unpublished(write)
        entry.refuse_damaged(self.store.root)  # what is written on top would have a checksum of its own
        branch = self.txn.branch
        if branch is not None and not is_own(branch, entry):
            return self._forked(write, entry)
        address, drawn = entry.address(self.store.root), self.drafts.get(write.table_key)
        base = self._known(self.left.get(address), drawn, entry.version) or self._base(address, entry.version)
        return self._on_base(write, base, pin=entry.version, drawn=drawn)

    def _known(self, left: TableHandle | None, drawn: Drawn | None, pin: int) -> TableHandle | None:
        """An open version with the content of the pinned one, if it is still the newest one."""
        if left is not None and left.version == pin:
            known = left
        elif drawn is not None and drawn.pin == pin and drawn.newest:
            known = drawn.base
        else:
            return None
        # On an object store the question costs as much as the commit that would be refused.
        return known if not self.store.root.is_local or known.latest_version() == known.version else None

    def _forked(self, write: TableWrite, entry: TableEntry) -> PlannedTable | None:
        trunk = self.store.root.table(entry.location)
        assert self.txn.ref is not None
        name, exists = fork_ref(self.store, trunk, self.txn.ref, source=entry.ref, version=entry.version)
        fork = Fork(entry.ref, entry.version)
        if exists:
            base = self._base(trunk.on(name), entry.version)
            return self._on_base(write, base, pin=entry.version, fork=fork)
        source = tables.open_table(entry.address(self.store.root), entry.version)
        acting = _acting(source, write.steps, first=True)
        if not acting:
            return None
        plan = self._plan(write, trunk.on(name), entry.version, entry.version, len(acting), fork=fork)
        return PlannedTable(plan, trunk.on(name), acting, None)

    def _unpublished(self, write: TableWrite) -> PlannedTable | None:
        """A table the snapshot does not show: created, or overwritten where an earlier one left its dataset."""
        if write.location is None:
            raise NotFound(f"type '{write.table_key}' does not exist on this branch")
        address, expected = self.store.root.table(write.location), write.expected or 0
        first = write.steps[0]
        if isinstance(first, Create) and first.seed is not None:
            plan = self._plan(write, address, expected, first.seed.version, len(write.steps), create=True)
            return PlannedTable(plan, address, write.steps, None)
        if isinstance(first, Create) and open_if_exists(address) is None:
            plan = self._plan(write, address, expected, 0, len(write.steps), create=True)
            staged = self._owned(steps.stage_first(address, first), plan, 0)
            return PlannedTable(plan, address, write.steps, staged)
        if isinstance(first, Create):
            anew = (Overwrite(first.schema.empty_table()), *write.steps[1:])
            write = TableWrite(write.table_key, anew, write.location, write.expected)
        base = fence.abandoned(self.store, self.txn.state, address, expected, recover=self.recover)
        return self._on_base(write, base, pin=expected)

    def _on_base(
        self, write: TableWrite, base: TableHandle, *, pin: int, fork: Fork | None = None, drawn: Drawn | None = None
    ) -> PlannedTable | None:
        acting = _acting(base, write.steps)
        if not acting:
            return None
        if drawn is None:
            first = steps.stage_step(base, write.table_key, acting[0], pin=pin)
        else:
            first = None if drawn.draft.is_empty else row_changes.stage_draft(base, drawn.draft)
        if first is None:
            # Only a delete stages nothing; the ids were there when the change was prepared on this very content.
            return self._on_base_without(write, acting, base, pin=pin, fork=fork)
        acting = (acting[0], *spread(first), *acting[1:])
        plan = self._plan(write, base.address, pin, base.version, len(acting), fork=fork)
        return PlannedTable(plan, base.address, acting, self._owned(first, plan, 0))

    def _on_base_without(
        self, write: TableWrite, acting: tuple[Step, ...], base: TableHandle, *, pin: int, fork: Fork | None
    ) -> PlannedTable | None:
        rest = TableWrite(write.table_key, acting[1:], write.location, write.expected)
        return self._on_base(rest, base, pin=pin, fork=fork)

    def _base(self, address: Address, pin: int) -> TableHandle:
        return fence.base(
            self.store, self.txn.state, address, pin, operation_id=self.operation_id, recover=self.recover
        )

    def _plan(
        self,
        write: TableWrite,
        address: Address,
        expected: int,
        base_version: int,
        count: int,
        *,
        fork: Fork | None = None,
        create: bool = False,
    ) -> TablePlan:
        uuids = [f"omnigraph-{ulid}" for ulid in new_ulids(count)]
        commits = tuple(PlannedCommit(base_version + step, uuid) for step, uuid in enumerate(uuids))
        return TablePlan(
            write.table_key, address.location, address.ref, expected, base_version, commits, fork=fork, create=create
        )

    def _owned(self, staged: Staged, plan: TablePlan, position: int) -> Staged:
        return owned(staged, plan, position, operation_id=self.operation_id, branch=self.txn.branch)


def owned(staged: Staged, plan: TablePlan, position: int, *, operation_id: str, branch: str | None) -> Staged:
    """Give a staged transaction its pre-minted id and its owner."""
    if staged.base_version != plan.planned[position].read_version:
        raise ReadSetChanged(
            f"table:{plan.table_key}", expected=plan.planned[position].read_version, actual=staged.base_version
        )
    staged.uuid = plan.planned[position].uuid
    staged.properties = {OPERATION_ID: operation_id, BRANCH: branch or "main"}
    return staged


def _acting(base: TableHandle, planned: tuple[Step, ...], *, first: bool = False) -> tuple[Step, ...]:
    """The steps that will commit something; a delete whose ids are all absent would leave its slot empty.

    The first step is looked at only on request: staging it tells the same for free.
    """
    return tuple(step for at, step in enumerate(planned) if (at == 0 and not first) or _acts_on(base, planned, at))


def _acts_on(base: TableHandle, planned: tuple[Step, ...], at: int) -> bool:
    step = planned[at]
    if not isinstance(step, Delete) or any(not isinstance(earlier, Delete) for earlier in planned[:at]):
        return True
    return bool(base.take_ids(step.ids, ["id"]).num_rows)
