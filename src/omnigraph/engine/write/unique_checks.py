"""Checks of keys and unique tuples: inside one batch, across the final image, against committed rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.engine.intake.columns.identity import canonical_text
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.rowset import one_array, repeats, smallest, tuple_codes
from omnigraph.engine.write.change_set import CommittedView, TableChange
from omnigraph.engine.write.findings import NOWHERE, Place, place_of
from omnigraph.storage.lance.id_columns import all_distinct


def unique_violations(change: TableChange, view: CommittedView, limit: int | None) -> list[Violation]:
    """Repeated ids, keys and unique tuples of one table, by id."""
    found: list[Violation] = []
    for check in _checks(change, view, limit):
        found += check
    return sorted(found, key=lambda violation: (violation.ids[0], violation.property_name or ""))[:limit]


def _checks(change: TableChange, view: CommittedView, limit: int | None) -> Iterator[list[Violation]]:
    key = change.info.key if isinstance(change.info, NodeType) else None
    if change.new:
        yield _existing(change, view, limit)
    if change.distinct and key is None and change.repeats:
        yield _repeated(change, ("id",), limit)
    if key is not None:
        yield _repeated(change, key, limit)
    for group in change.info.unique:
        if key is not None and set(group) == set(key):
            continue  # a committed holder of the key is the same node
        yield _repeated(change, group, limit)
        yield _held(change, group, view, limit)


def _existing(change: TableChange, view: CommittedView, limit: int | None) -> list[Violation]:
    clashes = view.present(change.info.table_key, change.final["id"])
    if not len(clashes):
        return []
    rows = np.flatnonzero(pc.is_in(change.ids, value_set=clashes).to_numpy(zero_copy_only=False))
    key = change.info.table_key
    return [
        Violation(
            "W015",
            f"{key} already has this id '{change.ids[row]}'",
            key,
            None,
            (change.ids[row].as_py(),),
            *_at(change, row),
        )
        for row in smallest(change.ids, rows, limit)
    ]


def _repeated(change: TableChange, group: Sequence[str], limit: int | None) -> list[Violation]:
    """Two rows of one batch with one tuple, or two ids with one tuple in the final image."""
    for batch in change.batches:
        found = _repeated_in(change, batch, group, limit, single=len(change.batches) == 1)
        if found:
            return found
    if len(change.batches) < 2 or group == ("id",):
        return []
    return _repeated_in(change, change.final, group, limit, single=False)


def _repeated_in(
    change: TableChange, rows: pa.Table, group: Sequence[str], limit: int | None, *, single: bool
) -> list[Violation]:
    if rows.num_rows < 2 or (len(group) == 1 and _is_distinct(rows[group[0]])):
        return []
    later, earlier = repeats(tuple_codes([rows[name] for name in group]))
    if not len(later):
        return []
    ids = one_array(rows["id"])
    first_of = dict(zip(later.tolist(), earlier.tolist(), strict=True))
    return [_clash(change, group, rows, (row, first_of[row]), single=single) for row in smallest(ids, later, limit)]


def _is_distinct(values: pa.ChunkedArray) -> bool:
    """Whether it is plain that no value occurs twice; of two zeros of numbers with a fraction it is not."""
    return not (values.null_count or pa.types.is_floating(values.type)) and all_distinct(values)


def _clash(
    change: TableChange, group: Sequence[str], rows: pa.Table, clash: tuple[int, int], *, single: bool
) -> Violation:
    """Two rows of one batch; where it is the only one, both places are known."""
    row, first = clash
    found = _violation(
        change, group, rows, (row, rows["id"][first].as_py()), place_of(change, row) if single else NOWHERE
    )
    return replace(found, earlier=place_of(change, first)) if single else found


def _held(change: TableChange, group: Sequence[str], view: CommittedView, limit: int | None) -> list[Violation]:
    """Tuples of the final image that a committed row outside the change holds."""
    if change.replaced or not change.final.num_rows:
        return []
    codes = tuple_codes([change.final[name] for name in group])
    _, firsts = np.unique(codes, return_index=True)
    wanted = change.final.select(list(group)).take(pa.array(firsts[codes[firsts] >= 0]))
    if not wanted.num_rows:
        return []
    holders = change.survivors(view.holders(change.info.table_key, wanted))
    if not holders.num_rows:
        return []
    pooled = pa.concat_tables(
        [change.final.select(["id", *group]), holders.select(["id", *group])], promote_options="permissive"
    )
    codes = tuple_codes([pooled[name] for name in group])
    mine, theirs = codes[: change.final.num_rows], codes[change.final.num_rows :]
    holder_of = dict(zip(theirs.tolist(), one_array(holders["id"]).to_pylist(), strict=True))
    clashing = np.flatnonzero(np.isin(mine, theirs) & (mine >= 0))
    return [
        _violation(change, group, change.final, (row, holder_of[int(mine[row])]), _at(change, row))
        for row in smallest(change.ids, clashing, limit)
    ]


def _violation(
    change: TableChange, group: Sequence[str], rows: pa.Table, clash: tuple[int, str], place: Place
) -> Violation:
    row, holder = clash
    values = [canonical_text(one_array(rows[name].slice(row, 1)))[0].as_py() for name in group]
    entity = rows["id"][row].as_py()
    single = len(group) == 1
    names = group[0] if single else f"({', '.join(group)})"
    shown = values[0] if single else f"({', '.join(values)})"
    message = f"@unique violation on {change.info.name}.{names}: value '{shown}' held by '{holder}' and '{entity}'"
    return Violation("W012", message, change.info.table_key, ",".join(group), (entity, holder), *place)


def _at(change: TableChange, row: int) -> Place:
    return place_of(change, int(change.final_positions[row]))
