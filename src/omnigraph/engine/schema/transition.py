"""From one accepted schema to the next as a write set: which tables are made, rewritten, renamed or hidden."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.engine.schema.rewrite import needs_rewrite, rewrite_table
from omnigraph.engine.values.arrow import TableType, stored_schema, table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.view import View
from omnigraph.errors import BranchNotFound
from omnigraph.storage.base.layout import normalize_branch, table_location
from omnigraph.storage.branches.branches import readable_branches
from omnigraph.storage.intent.capture import Txn
from omnigraph.storage.intent.writeset import (
    Create,
    ManifestDelta,
    Rename,
    RestorePin,
    Seed,
    Step,
    TableWrite,
    WriteSet,
)
from omnigraph.storage.manifest.rows import SchemaRow, TableRow, TombstoneRow
from omnigraph.storage.manifest.snapshot import TableEntry, TableIdentity


def schema_write_set(core: Core, txn: Txn, old: Accepted, new: Accepted, *, actor: str | None) -> WriteSet:
    """Everything that takes a branch from `old`, which it accepts, to `new`, as one commit.

    Types are matched by identity: a renamed one keeps its dataset, a new one gets its own, a dropped one is hidden.
    """
    transition = _Transition(core, txn, core.view_of(txn.state, old))
    before = {_identity(info): info for info in table_types(old.catalog).values()}
    after = table_types(new.catalog)
    surviving = {_identity(info) for info in after.values()}
    for info in after.values():
        known = before.get(_identity(info))
        if known is None:
            transition.add(info, surviving)
        else:
            transition.change(known, info)
    for identity, info in before.items():
        if identity not in surviving:
            transition.drop(info)
    return transition.write_set(schema_row(new), actor)


def schema_row(accepted: Accepted) -> SchemaRow:
    """What the manifest says about an accepted schema."""
    return SchemaRow(accepted.shape_hash, accepted.ir_hash, accepted.domain)


@dataclass(slots=True)
class _Transition:
    core: Core
    txn: Txn
    view: View
    tables: list[TableWrite] = field(default_factory=list)
    registrations: list[TableRow] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)
    tombstones: list[TombstoneRow] = field(default_factory=list)

    def add(self, info: TableType, surviving: set[TableIdentity]) -> None:
        """A new type: its own dataset, or the abandoned one of a dropped type of the same name."""
        taken = {entry.location: entry for entry in self.txn.snapshot if entry.identity in surviving}
        location, step = self._dataset_for(info, taken)
        expected = self.txn.state.current_version(info.table_key)
        self.tables.append(TableWrite(info.table_key, (step,), location, expected))
        self.registrations.append(TableRow(info.table_key, location, _identity(info)))

    def change(self, old: TableType, new: TableType) -> None:
        """A type that stays, possibly under another name or with other columns."""
        entry = self.view.entry(old)
        steps: tuple[Step, ...] = (rewrite_table(self.view, old, new),) if needs_rewrite(old, new) else ()
        if old.table_key != new.table_key:
            self.renames.append(Rename(old.table_key, new.table_key))
            hidden = self.txn.state.tombstones.get(new.table_key, 0)
            if not steps and hidden >= entry.version:
                steps = (RestorePin(),)  # renamed back: the version must exceed what hides the name
        if steps:
            self.tables.append(TableWrite(old.table_key, steps))

    def drop(self, info: TableType) -> None:
        """A type that is gone: hidden from now on, its past stays readable."""
        self.tombstones.append(TombstoneRow(info.table_key, self.view.entry(info).version))

    def write_set(self, schema: SchemaRow, actor: str | None) -> WriteSet:
        delta = ManifestDelta(
            registrations=tuple(self.registrations),
            renames=tuple(self.renames),
            tombstones=tuple(self.tombstones),
            target_schema=schema,
        )
        return WriteSet(writer_kind="SchemaApply", tables=tuple(self.tables), delta=delta, actor_id=actor)

    def _dataset_for(self, info: TableType, taken: dict[str, TableEntry]) -> tuple[str, Step]:
        schema = stored_schema(info)
        known = self.txn.state.registrations.get(info.table_key)
        if self.txn.branch is not None:
            return self._beside_main(info, schema, known)
        wanted = table_location(info.table_key) if known is None else known.location
        if known is None and self._is_elsewhere(wanted):
            return self._free(info), Create(schema)
        if wanted not in taken:
            return wanted, Create(schema)
        occupant = taken[wanted]
        # A known name's dataset went to the occupant by renaming, so the occupant's version is not below the one that
        # hides the name.
        seed = None if known is None else Seed(occupant.location, occupant.ref, occupant.version)
        return self._free(info), Create(schema, seed)

    def _beside_main(self, info: TableType, schema: pa.Schema, known: TableRow | None) -> tuple[str, Step]:
        """A dataset that no other branch writes to; a name that was hidden here goes on above that version."""
        plain = table_location(info.table_key)
        if known is None:
            free = not self.core.store.objects.exists(plain)
            return (plain if free else self._free(info)), Create(schema)
        last = self.txn.state.published[info.table_key]
        return self._free(info), Create(schema, Seed(known.location, last.ref, last.version))

    def _is_elsewhere(self, location: str) -> bool:
        """Whether another branch has made a type of its own there."""
        store = self.core.store
        if not store.objects.exists(location):
            return False
        for name in readable_branches(store):
            try:
                rows = self.core.state(normalize_branch(name)).registrations.values()
            except BranchNotFound:
                continue
            if any(row.location == location for row in rows):
                return True
        return False

    def _free(self, info: TableType) -> str:
        """A directory for a type whose own is taken; one that an aborted attempt has used is left alone."""
        plain = table_location(info.table_key)
        wanted = table_location(info.table_key, taken={plain: ""}, incarnation=info.incarnation_id)
        location, number = wanted, 1
        while self.core.store.objects.exists(location):
            number += 1
            location = f"{wanted}-{number}"
        return location


def _identity(info: TableType) -> TableIdentity:
    return TableIdentity(info.type_id, info.incarnation_id)
