"""The schema side of a merge: the schema that both branches fit, what it could not hold, and rows in its form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.combine import SchemaConflict, combine_schemas
from omnigraph.engine.merge.combine import TableMerge
from omnigraph.engine.merge.steps import table_steps
from omnigraph.engine.schema.carry import lost_values
from omnigraph.engine.schema.rewrite import column_of
from omnigraph.engine.values.arrow import TableType, row_schema, table_types
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.delta import RowDelta
from omnigraph.engine.views.pairs import TablePair
from omnigraph.engine.views.view import OpenTables, stored_names
from omnigraph.errors import MergeConflict
from omnigraph.storage.intent.writeset import TableWrite
from omnigraph.storage.lance.version_tree import UPDATED
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import TableEntry


@dataclass(frozen=True, slots=True)
class MergedSchema:
    """The schema of the target, and the one it has after the merge; `mixed` when rows come in different forms."""

    ours: Accepted
    target: Accepted
    mixed: bool = False
    conflicts: tuple[MergeConflict, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the target gets another schema."""
        return self.target.shape != self.ours.shape


def merge_schemas(core: Core, base: ManifestState, ours: ManifestState, theirs: ManifestState) -> MergedSchema:
    """What the target's schema becomes: its own changes and the source's since the base, by identity."""
    old, own, other = (core.schemas.of(state) for state in (base, ours, theirs))
    if old.ir_hash == own.ir_hash == other.ir_hash:
        return MergedSchema(own, own)
    names = ours.branch or "main", theirs.branch or "main"
    combined = combine_schemas(old, own, other, our_branch=names[0], their_branch=names[1])
    if combined.schema is None:
        return MergedSchema(own, own, mixed=True, conflicts=_conflicts(combined.conflicts))
    target = combined.schema
    found = [
        *_taken_names(own, target, *names),
        *lost_values(core.tables, base, theirs, other, target),
        *lost_values(core.tables, base, ours, own, target),
    ]
    return MergedSchema(own, target, mixed=True, conflicts=_conflicts(found))


def table_delta(tables: OpenTables, old: TableEntry | None, new: TableEntry | None, info: TableType) -> RowDelta:
    """The rows in which two versions differ, in the form that a type has after the merge; either may not exist."""
    if old is None and new is None:
        none = _in_form(pa.table({UPDATED: pa.array([], pa.uint64())}), None, info)
        return RowDelta(none, none)
    delta = TablePair(old, new).delta(tables)
    sides = [None if entry is None else tables.get(entry).schema for entry in (old, new)]
    stored = next(schema for schema in sides if schema is not None)
    before, after = (
        _in_form(rows, schema or stored, info) for rows, schema in zip((delta.before, delta.after), sides, strict=True)
    )
    return RowDelta(before, after, delta.row_ids)


def with_rows(written: Iterable[TableWrite], merges: Mapping[str, TableMerge], ours: Accepted) -> Iterator[TableWrite]:
    """The tables that a schema change makes or rewrites, followed by the rows of the merge."""
    former = {(info.type_id, info.incarnation_id): info.table_key for info in table_types(ours.catalog).values()}
    tables = {table.table_key: table for table in written}
    for merge in merges.values():
        if merge.is_empty:
            continue
        key = former.get((merge.info.type_id, merge.info.incarnation_id), merge.info.table_key)
        known = tables.get(key)
        if known is None:
            tables[key] = TableWrite(key, tuple(table_steps(merge)))
        else:  # the rows are found again in the new version, whose row addresses are not known yet
            tables[key] = replace(known, steps=(*known.steps, *table_steps(replace(merge, known=None))))
    yield from tables.values()


def _in_form(rows: pa.Table, stored: pa.Schema | None, info: TableType) -> pa.Table:
    """Rows of a stored version as rows of the row schema, each with the version it was written in."""
    target = row_schema(info)
    names = dict.fromkeys(target.names) if stored is None else stored_names(stored, info)
    columns = [column_of(rows, info, field, names[field.name]) for field in target]
    return pa.table([*columns, rows[UPDATED]], names=[*target.names, UPDATED])


def _taken_names(ours: Accepted, target: Accepted, our_branch: str, their_branch: str) -> Iterator[SchemaConflict]:
    """Names that go from one type to another: one commit cannot take a name away and give it again."""
    held = {info.table_key: info.type_id for info in table_types(ours.catalog).values()}
    known = set(held.values())
    for key, info in table_types(target.catalog).items():
        if info.type_id not in known and key in held:
            kind = key.partition(":")[0]
            what = f"{kind} '{info.name}' is another type on '{their_branch}' than on '{our_branch}'"
            yield SchemaConflict(key, f"{what}; drop or rename the one on '{our_branch}' first, then merge")


def _conflicts(found: Iterable[SchemaConflict]) -> tuple[MergeConflict, ...]:
    return tuple(MergeConflict(each.entity.partition(".")[0], None, "SchemaConflict", each.message) for each in found)
