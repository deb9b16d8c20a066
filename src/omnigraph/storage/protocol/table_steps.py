"""Steps to transactions: stage one step of a write set on an exact version of its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import BadRequest, KeyConflict
from omnigraph.storage.base.layout import Address, Root
from omnigraph.storage.intent.writeset import (
    AppendFragments,
    AppendParts,
    BuildIndexes,
    Create,
    Delete,
    KnownUpdate,
    Overwrite,
    OverwriteParts,
    Patch,
    ReplaceParts,
    RestorePin,
    Rewrite,
    Seed,
    Step,
    StrictInsert,
    TakeOver,
    Upsert,
)
from omnigraph.storage.lance import parts, row_changes, tables
from omnigraph.storage.lance.continuation import stage_continuation
from omnigraph.storage.lance.id_columns import all_distinct
from omnigraph.storage.lance.patch import ROW_IDS, Places, created_of, numbered
from omnigraph.storage.lance.row_versions import RowVersions
from omnigraph.storage.lance.staged import Carry, Date, Draft
from omnigraph.storage.lance.tables import Staged, TableHandle
from omnigraph.storage.lance.withdrawal import RowSets


def stage_step(base: TableHandle, table_key: str, step: Step, *, pin: int) -> Staged | None:
    """The step as an uncommitted transaction on `base`; None when it would change nothing."""
    draft = draft_step(base, table_key, step)
    if draft is not None:
        return None if draft.is_empty else row_changes.stage_draft(base, draft)
    match step:
        case Overwrite(rows):
            return tables.stage_overwrite(base, rows.schema, rows)
        case AppendFragments(fragments):
            return tables.stage_append(base, fragments)
        case Rewrite(schema, batches):
            return tables.stage_overwrite(base, schema, pa.RecordBatchReader.from_batches(schema, batches()))
        case AppendParts(locations):
            return tables.stage_append(base, parts.adopt(base, locations))
        case ReplaceParts():
            return _stage_replacement(base, step)
        case OverwriteParts(schema, locations):
            return tables.stage_overwrite(base, schema, fragments=parts.adopt(base, locations, renumber=False))
        case TakeOver(change):
            return stage_continuation(base, change)
        case RestorePin():
            return tables.stage_restore(base, pin)
        case BuildIndexes(specs):
            return tables.stage_index(base, specs)
        case Carry(carried):
            return tables.stage_carried(base, carried)
        case Date():
            return tables.stage_dates(base, step)
        case Create(schema, seed) if seed is not None:
            return tables.stage_overwrite(base, schema)
        case Create():
            raise BadRequest(f"'{table_key}' exists already; only the first step of a new table creates it")
        case StrictInsert() | Upsert() | Patch() | KnownUpdate() | Delete():
            raise AssertionError("these are drafted")


def draft_step(base: TableHandle, table_key: str, step: Step) -> Draft | None:
    """The data files of a step, written ahead of its turn; None for steps that have to be staged as a whole."""
    match step:
        case StrictInsert(rows):
            return _draft_insert(base, table_key, rows)
        case Upsert(rows):
            rows = last_per_id(rows)
            return row_changes.draft_change(Places(base, rows), rows)
        case Patch(rows, deleted, known):
            return row_changes.draft_change(Places(base, rows, deleted, known), rows)
        case KnownUpdate(rows):
            rows = last_per_id(rows)
            return row_changes.draft_change(Places(base, rows).complete(rows), rows)
        case Delete(ids):
            return row_changes.draft_change(Places(base, None, ids), None)
        case _:
            return None


def stage_first(address: Address, step: Create) -> Staged:
    """The creation of a table's dataset."""
    return tables.stage_create(address, step.schema)


def plant(address: Address, seed: Seed) -> TableHandle:
    """A new dataset that stands at its seed's version number; the creating step replaces everything in it."""
    source = tables.open_table(address.root.table(seed.location, seed.ref), seed.version)
    return tables.clone(source, address)


def last_per_id(rows: pa.Table) -> pa.Table:
    """The last row of each id, in input order; lance would insert every duplicate of a new id."""
    ids = rows["id"].combine_chunks() if isinstance(rows["id"], pa.ChunkedArray) else rows["id"]
    if all_distinct(ids):
        return rows
    codes = pc.dictionary_encode(ids).indices.to_numpy(zero_copy_only=False)
    last = np.empty(int(codes.max()) + 1, dtype=np.int64)
    last[codes] = np.arange(len(codes))  # the last assignment of a code wins
    return rows.take(pa.array(np.sort(last)))


def _draft_insert(base: TableHandle, table_key: str, rows: pa.Table) -> Draft:
    ids = rows["id"]
    if not all_distinct(ids):
        counts = pc.value_counts(ids)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        raise KeyConflict(table_key, repeated[0].as_py())
    try:
        return row_changes.draft_insert(base, rows)
    except KeyConflict as error:
        raise KeyConflict(table_key, error.entity_id) from error


def _stage_replacement(base: TableHandle, step: ReplaceParts) -> Staged:
    """Neither rows nor their ids come here unless the table has another version by now: row ids as Lance keeps them,
    and which rows give way, a fragment at a time."""
    root = base.address.root
    if base.version != step.version:
        ids = parts.joined(root, step.replacing, ["id"])
        places = Places(base, ids).complete(ids)
        row_ids = places.replaced_first(ids)[1]
        successors = numbered(parts.adopt(base, step.replacing), row_ids)
        staged = tables.stage_append(base, [*successors, *parts.adopt(base, step.fresh)], places)
        staged.created = places.created(row_ids)
        return staged
    gone = RowSets(base, (parts.open_part(root, location).scan() for location in step.withdrawn), step.replaced)
    created: list[RowVersions] = []
    row_ids_taken = _taken_over(root, step.numbers, created)
    staged = tables.stage_append(base, parts.adopt(base, (*step.replacing, *step.fresh)), gone, row_ids_taken)
    staged.created = RowVersions.joined(created)
    return staged


def _taken_over(root: Root, locations: Sequence[str], created: list[RowVersions]) -> Iterator[bytes]:
    """Sequences of row ids, one part in memory at a time; when those rows were created goes to `created` meanwhile."""
    for location in locations:
        table = parts.open_part(root, location).scan()
        created.append(created_of(table))
        yield from (sequence.as_py() for sequence in table[ROW_IDS])
