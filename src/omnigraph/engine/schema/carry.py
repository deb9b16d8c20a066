"""What a schema cannot hold of the rows that a branch wrote: values of properties, and rows of types, that it lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from omnigraph.compiler.catalog.accepted import Accepted
from omnigraph.compiler.catalog.combine import SchemaConflict
from omnigraph.display import counted
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.values.equality import differing_values
from omnigraph.engine.views.delta import RowDelta, one_column
from omnigraph.engine.views.pairs import TablePair
from omnigraph.engine.views.partners import partners_of
from omnigraph.engine.views.view import OpenTables
from omnigraph.storage.manifest.manifest import ManifestState
from omnigraph.storage.manifest.snapshot import Snapshot, TableIdentity


def lost_values(
    tables: OpenTables, base: ManifestState, side: ManifestState, schema: Accepted, target: Accepted
) -> Iterator[SchemaConflict]:
    """What a side has written since the base and `target` has no place for; `schema` is the side's own.

    Only what the base had as well counts: what the side added itself is part of every schema that combines the two.
    """
    held = {(info.type_id, info.incarnation_id): info for info in table_types(target.catalog).values()}
    for info in table_types(schema.catalog).values():
        kept = held.get((info.type_id, info.incarnation_id))
        pair = _pair(base.snapshot, side.snapshot, info)
        if pair is None or pair.before is None or pair.before == pair.after:
            continue
        gone = _gone(tables, pair, info, kept)
        if kept is None:
            yield from _lost_rows(pair.delta(tables), info, side)
        elif gone:
            yield from _lost_properties(tables, pair, info, gone, side)


def _pair(base: Snapshot, side: Snapshot, info: TableType) -> TablePair | None:
    identity = TableIdentity(info.type_id, info.incarnation_id)
    found = side.find(identity)
    return None if found is None else TablePair(base.find(identity), found)


def _gone(tables: OpenTables, pair: TablePair, info: TableType, kept: TableType | None) -> dict[str, str]:
    """Properties that the base and the side have and the target lacks: their name now → their name at the base."""
    assert pair.before is not None
    assert pair.after is not None
    wanted = set() if kept is None else set(kept.property_ids.values())
    paired = partners_of(tables.get(pair.before).schema, tables.get(pair.after).schema).paired
    return {
        name: paired[name] for name, identity in info.property_ids.items() if identity not in wanted and name in paired
    }


def _lost_rows(delta: RowDelta, info: TableType, side: ManifestState) -> Iterator[SchemaConflict]:
    count = delta.after.num_rows
    if count:
        written = counted(count, "row", grouped=True)
        what = f"type '{info.name}' is to be dropped, but branch '{_name(side)}' has written {written} of it"
        yield SchemaConflict(info.table_key, f"{what}; merge or delete the branch, or drop the type there first")


def _lost_properties(
    tables: OpenTables, pair: TablePair, info: TableType, gone: dict[str, str], side: ManifestState
) -> Iterator[SchemaConflict]:
    delta = pair.delta(tables)
    updated = delta.updated
    before = delta.before.take(pc.index_in(updated["id"], value_set=one_column(delta.before, "id")))
    for name, former in gone.items():
        count = delta.inserted.num_rows - delta.inserted[name].null_count
        count += int(np.count_nonzero(differing_values(updated[name], before[former])))
        if count:
            place = f"{info.name}.{name}"
            written = counted(count, "row", grouped=True)
            what = f"property '{place}' is to be dropped, but branch '{_name(side)}' has written {written} with it"
            advice = "merge or delete the branch, or drop the property there first"
            yield SchemaConflict(f"{info.table_key}.{name}", f"{what}; {advice}")


def _name(state: ManifestState) -> str:
    return state.branch or "main"
