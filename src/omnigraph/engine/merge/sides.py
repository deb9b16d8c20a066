"""The three sides of a merge, what becomes of each table, and which contradictions remain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from omnigraph.engine.merge.combine import TableMerge, combine
from omnigraph.engine.merge.conflicts import constraint_conflicts, in_order
from omnigraph.engine.merge.outcome import MergeOptions
from omnigraph.engine.merge.schemas import table_delta
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.delta import RowDelta, row_delta
from omnigraph.engine.views.view import View
from omnigraph.engine.write.committed import PinnedRows
from omnigraph.engine.write.validate import find_violations
from omnigraph.errors import BadRequest, MergeConflict, ReadSetChanged
from omnigraph.storage.manifest.snapshot import TableEntry, TableIdentity


@dataclass(frozen=True, slots=True)
class Sides:
    """The three views of a merge, under one schema; ours is the target, theirs the source.

    Where they were written under different ones (`mixed`), a type need not exist on every side.
    """

    base: View
    ours: View
    theirs: View
    mixed: bool = False


def merge_tables(sides: Sides, options: MergeOptions) -> dict[str, TableMerge]:
    """Every table that theirs changed since the base, or that a resolution names, by table key."""
    types = table_types(sides.ours.catalog)
    _refuse_unknown_types(types.values(), options)
    merges = {}
    for key, info in types.items():
        base, ours, theirs = (entry_of(view, info, sides) for view in (sides.base, sides.ours, sides.theirs))
        resolved = any(name.startswith(f"{info.name}/") for name in options.resolve)
        if theirs is None or (not resolved and theirs in (ours, base)):
            continue
        mine, other = (_delta(sides, info, base, side) for side in (ours, theirs))
        merges[key] = combine(info, mine, other, options)
    return merges


def _delta(sides: Sides, info: TableType, base: TableEntry | None, side: TableEntry | None) -> RowDelta:
    opened = sides.ours.tables
    if sides.mixed or base is None or side is None:
        return table_delta(opened, base, side, info)
    return row_delta(opened, base, side)


def _refuse_unknown_types(types: Iterable[TableType], options: MergeOptions) -> None:
    known = {info.name for info in types}
    for name in options.resolve:
        type_name, separator, _ = name.partition("/")
        if not separator or type_name not in known:
            raise BadRequest(f"resolve: '{name}' does not name an entity; write Type/id with a type of the schema")


def entry_of(view: View, info: TableType, sides: Sides) -> TableEntry | None:
    """The table of a type on one side; ReadSetChanged when it is another one there than the schemas say."""
    found = view.find(info)
    if found is None and not sides.mixed:
        actual = view.snapshot.entries.get(info.table_key)
        raise ReadSetChanged(
            f"branch_merge_dataset_identity:{info.table_key}",
            expected=TableIdentity(info.type_id, info.incarnation_id),
            actual=None if actual is None else actual.identity,
        )
    return found


def row_conflicts(merges: Iterable[TableMerge]) -> list[MergeConflict]:
    """Rows on which the sides disagree, in every table."""
    return in_order(conflict for merge in merges for conflict in merge.conflicts)


def broken_constraints(merges: Mapping[str, TableMerge], ours: View) -> list[MergeConflict]:
    """Constraints that our rows would break after the merge; only asked once no two rows disagree."""
    changes = {key: merge.change for key, merge in merges.items() if not merge.is_empty}
    return constraint_conflicts(find_violations(changes, ours.catalog, PinnedRows(ours)))
