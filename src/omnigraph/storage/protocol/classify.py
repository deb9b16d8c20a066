"""What an interrupted operation did to each of its tables, told apart by transaction identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from omnigraph.errors import Corrupt, StorageError
from omnigraph.storage.base.layout import Address
from omnigraph.storage.base.store import Store
from omnigraph.storage.intent.sidecar import Sidecar, TablePlan
from omnigraph.storage.lance import tables
from omnigraph.storage.lance.tables import TableHandle
from omnigraph.storage.protocol import fence

Movement = Literal[
    "NoMovement", "RolledPastExpected", "IncompletePhaseB", "UnexpectedAtP1", "UnexpectedMultistep"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """One table of an interrupted operation: how far it got, and the newest version seen."""

    plan: TablePlan
    address: Address
    movement: Movement
    newest: TableHandle | None  # None: the dataset or its ref was never created

    @property
    def complete(self) -> bool:
        """Whether every planned commit sits in its exact slot."""
        return self.movement == "RolledPastExpected"

    @property
    def touched(self) -> bool:
        """Whether any planned commit landed anywhere."""
        return self.movement in ("RolledPastExpected", "IncompletePhaseB") or self._displaced()

    def _displaced(self) -> bool:
        if self.newest is None or self.movement == "NoMovement":
            return False
        planned = {commit.uuid for commit in self.plan.planned}
        versions = range(self.plan.base_version + 1, self.newest.version + 1)
        return any(info is not None and info.uuid in planned for info in map(self.newest.transaction, versions))


def classify(store: Store, intent: Sidecar) -> list[TableOutcome]:
    """The outcome of every table of an operation; a table below its published version fails closed."""
    return [_classify_table(store, plan) for plan in intent.tables]


def _classify_table(store: Store, plan: TablePlan) -> TableOutcome:
    address = store.root.table(plan.table_path, plan.table_branch)
    newest = open_if_exists(address, at_least=plan.expected_version)
    if newest is None:
        if plan.fork is None and not plan.create:
            raise Corrupt(f"{address.uri} is gone, but version {plan.expected_version} of it is published")
        return TableOutcome(plan, address, "NoMovement", None)
    if plan.fork is None and not plan.create and newest.version < plan.expected_version:
        raise Corrupt(
            f"{address.uri} is at version {newest.version}, below {plan.expected_version}, which is published"
        )
    return TableOutcome(plan, address, _movement(plan, newest), newest)


def open_if_exists(address: Address, *, at_least: int = 0) -> TableHandle | None:
    """The newest version of a dataset lineage, or None when there is none."""
    try:
        return tables.open_table(address, at_least=at_least)
    except StorageError as error:
        if error.kind == "NotFound":
            return None
        raise


def _movement(plan: TablePlan, newest: TableHandle) -> Movement:
    landed = 0
    for commit in plan.planned:
        version = commit.read_version + 1
        info = newest.transaction(version) if version <= newest.version else None
        if info is None or info.uuid != commit.uuid or info.read_version != commit.read_version:
            break
        landed += 1
    if landed == len(plan.planned):
        return "RolledPastExpected"
    if landed:
        return "IncompletePhaseB"
    if newest.version <= plan.base_version or fence.content_equal(newest, plan.base_version):
        return "NoMovement"
    return "UnexpectedAtP1" if newest.version == plan.base_version + 1 else "UnexpectedMultistep"
