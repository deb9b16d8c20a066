"""Merging changes that are too large to be looked at row by row: what a bulk load has left on a branch.

The target takes over data files of the source, and no row of them is read. That is exact where no row has been changed
on both sides. The source has kept every constraint by itself, so a target without changes of its own needs no further
check; otherwise it is what the target has changed that is checked against the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.merge.combine import TableMerge, combine
from omnigraph.engine.merge.conflicts import constraint_conflicts
from omnigraph.engine.merge.outcome import MergeOptions
from omnigraph.engine.merge.sides import Sides, entry_of
from omnigraph.engine.values.arrow import TableType, empty_rows, row_schema, table_types
from omnigraph.engine.views.delta import RowDelta, row_delta
from omnigraph.engine.views.view import OpenTables
from omnigraph.engine.write.change_set import TableChange
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.validate import find_violations
from omnigraph.errors import MergeConflict
from omnigraph.storage.lance.continuation import Continuation, continuation
from omnigraph.storage.lance.refs import LazyRefs
from omnigraph.storage.lance.version_tree import UPDATED, common_ancestor, fresh_row_count
from omnigraph.storage.manifest.note import RowCounts
from omnigraph.storage.manifest.snapshot import TableEntry

# From so many new and changed rows of one table on. Fewer are compared by value in less than a second, which finds that
# rows which were written again with equal values have not changed.
LARGE_CHANGE = 262_144
# Rows that a large change removes for good are compared with those that it adds by id, unless there are more.
_MOST_REMOVED = 262_144

Found = tuple[dict[str, TableMerge], list[MergeConflict]]


def merge_by_files(sides: Sides, options: MergeOptions, *, forward: bool) -> Found | None:
    """What becomes of each table that theirs changed, and the constraints that the result would break.

    None where no change is large, or where rows have to be compared after all. `forward` says that ours is the base.
    """
    if sides.mixed or options.resolve:
        return None
    large = dict(_large(sides))
    if not large:
        return None
    mine = {} if forward else dict(_own_changes(sides))
    merges = {}
    for key, info in table_types(sides.ours.catalog).items():
        base, ours, theirs = _entries(sides, info)
        if theirs in (ours, base):
            continue
        own = mine.get(key)
        if key in large:
            if own is not None and _touches(large[key], own):
                return None
            merges[key] = _taken(info, large[key], pristine=own is None)
        else:
            opened = sides.ours.tables
            other = row_delta(opened, base, theirs)
            if own is not None and pc.any(pc.is_in(own.ids, value_set=other.ids)).as_py():
                return None
            merges[key] = combine(info, row_delta(opened, base, ours), other, options)
    return merges, _conflicts(mine, sides)


def _large(sides: Sides) -> Iterator[tuple[str, Continuation]]:
    """The large changes of theirs that files tell."""
    tables = sides.ours.tables
    for key, info in table_types(sides.ours.catalog).items():
        base, ours, theirs = _entries(sides, info)
        if theirs in (ours, base) or theirs.row_count < LARGE_CHANGE:
            continue
        old, new = tables.get(base), tables.get(theirs)
        if old.address.location != new.address.location or fresh_row_count(old, new) < LARGE_CHANGE:
            continue
        # Row ids mean the same on both lines only if both have gone on from the base; a branch that was merged by files
        # before has other ones than the target.
        if not all(_continues(tables, side, base) for side in (ours, theirs)):
            continue
        change = continuation(old, new)
        if change is not None and change.applies_to(tables.get(ours)) and _is_net(change):
            yield key, change


def _entries(sides: Sides, info: TableType) -> tuple[TableEntry, TableEntry, TableEntry]:
    base, ours, theirs = (entry_of(view, info, sides) for view in (sides.base, sides.ours, sides.theirs))
    assert base is not None, "the sides have one schema"
    assert ours is not None, "the sides have one schema"
    assert theirs is not None, "the sides have one schema"
    return base, ours, theirs


def _continues(tables: OpenTables, entry: TableEntry, base: TableEntry) -> bool:
    """Whether a version follows on another one of the same table."""
    if entry.location != base.location:
        return False
    point = base.ref, base.version
    return common_ancestor(LazyRefs(tables.root.table(base.location)), point, (entry.ref, entry.version)) == point


def _is_net(change: Continuation) -> bool:
    """Whether no id was removed and added again, which is a row that was changed."""
    if not change.removed or not change.inserted:
        return True
    if change.removed > _MOST_REMOVED:
        return False
    return not change.new.take_ids(change.removed_ids(), ["id"]).num_rows


def _own_changes(sides: Sides) -> Iterator[tuple[str, RowDelta]]:
    """What ours has changed since the base, by table."""
    for key, info in table_types(sides.ours.catalog).items():
        base, ours, _ = _entries(sides, info)
        if ours != base:
            delta = row_delta(sides.ours.tables, base, ours)
            if not delta.is_empty:
                yield key, delta


def _touches(change: Continuation, own: RowDelta) -> bool:
    """Whether their side has changed a row that ours has changed as well."""
    theirs = change.new.take_ids(own.ids, ["id", UPDATED])
    if pc.any(pc.greater(theirs[UPDATED], change.old.version)).as_py():
        return True
    gone = own.before["id"].filter(pc.invert(pc.is_in(own.before["id"], value_set=_ids(theirs))))
    return len(gone) > 0


def _ids(rows: pa.Table) -> pa.Array:
    return pa.concat_arrays(rows["id"].chunks) if rows.num_rows else pa.array([], pa.utf8())


def _taken(info: TableType, change: Continuation, *, pristine: bool) -> TableMerge:
    counts = RowCounts(change.inserted, change.updated, change.removed)
    nothing = pa.array([], pa.utf8())
    return TableMerge(info, empty_rows(info), nothing, counts, as_theirs=pristine, taken=change)


def _conflicts(mine: Mapping[str, RowDelta], sides: Sides) -> list[MergeConflict]:
    types = table_types(sides.theirs.catalog)
    changes = {key: _change(types[key], delta) for key, delta in mine.items()}
    return constraint_conflicts(find_violations(changes, sides.theirs.catalog, PinnedRows(sides.theirs)))


def _change(info: TableType, delta: RowDelta) -> TableChange:
    schema = row_schema(info)
    rows = pa.Table.from_arrays(delta.after.select(schema.names).columns, schema=schema)
    removed = delta.deleted["id"]
    return TableChange(info, (rows,) if rows.num_rows else (), removed.combine_chunks())
