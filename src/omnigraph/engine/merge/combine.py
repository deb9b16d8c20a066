"""Merging one table: two deltas from a common base become rows to write, ids to remove and contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.merge.conflicts import Clash, row_conflict
from omnigraph.engine.merge.decide import Decision, decide_all
from omnigraph.engine.merge.outcome import MergeOptions, Resolution
from omnigraph.engine.merge.resolve import resolved_row
from omnigraph.engine.values.arrow import TableType, row_schema
from omnigraph.engine.values.equality import differing_rows, differing_values
from omnigraph.engine.values.json_values import json_values
from omnigraph.engine.views.delta import RowDelta, RowIds, by_id, one_column
from omnigraph.engine.write.change_set import TableChange
from omnigraph.errors import BadRequest, MergeConflict
from omnigraph.storage.lance.continuation import Continuation
from omnigraph.storage.manifest.note import RowCounts


@dataclass(frozen=True, slots=True)
class TableMerge:
    """What the merge does to our rows of one table; `as_theirs` says that the result is exactly their version.

    A change that is too large to be looked at row by row is `taken` as it is.
    """

    info: TableType
    rows: pa.Table
    deleted: pa.Array
    counts: RowCounts
    conflicts: tuple[MergeConflict, ...] = ()
    as_theirs: bool = False
    known: pa.Table | None = None  # `id` and `_rowid` of those of these rows that our version has
    taken: Continuation | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.rows.num_rows or len(self.deleted) or self.taken is not None)

    @property
    def change(self) -> TableChange:
        """The same for the validator."""
        return TableChange(self.info, (self.rows,) if self.rows.num_rows else (), self.deleted)


def combine(info: TableType, ours: RowDelta, theirs: RowDelta, options: MergeOptions) -> TableMerge:
    """Apply the merge table to every entity that their side, or a resolution, changes."""
    wanted = _resolutions(info, options)
    merge = _Merging(info, ours, theirs, list(wanted)).run(options, wanted)
    return replace(merge, known=_known(ours.row_ids, theirs.row_ids, merge))


def _known(ours: RowIds | None, theirs: RowIds | None, merge: TableMerge) -> pa.Table | None:
    """What our side wrote, and what it left as the base has it; None when the versions have to be asked."""
    if ours is None or theirs is None:
        return None
    left_alone = theirs.before.filter(pc.invert(pc.is_in(theirs.before["id"], value_set=one_column(ours.before, "id"))))
    present = pa.concat_tables([ours.after, left_alone])
    named = pa.concat_arrays([one_column(merge.rows, "id"), merge.deleted])
    return present.filter(pc.is_in(present["id"], value_set=named))


def _resolutions(info: TableType, options: MergeOptions) -> dict[str, Resolution]:
    prefix = f"{info.name}/"
    return {name.removeprefix(prefix): how for name, how in options.resolve.items() if name.startswith(prefix)}


class _Merging:
    """All rows that play a part, in one pool, and for each entity the position of its three rows (-1: none)."""

    def __init__(self, info: TableType, ours: RowDelta, theirs: RowDelta, chosen: list[str]) -> None:
        self.info = info
        self.columns = row_schema(info).names
        parts = [theirs.before, theirs.after, ours.before, ours.after]
        self.pool = pa.concat_tables([part.select(self.columns) for part in parts], promote_options="permissive")
        known = pa.concat_arrays([ours.ids, theirs.ids])
        for entity in chosen:
            if not pc.is_in(pa.scalar(entity, pa.utf8()), value_set=known).as_py():
                raise BadRequest(f"resolve names '{info.name}/{entity}', which neither branch has changed")
        ids = pc.unique(pa.concat_arrays([theirs.ids, pa.array(chosen, pa.utf8())]))
        self.ids = ids.take(pc.sort_indices(ids))
        self._place(parts, ours)
        self.pristine = ours.is_empty

    def _place(self, parts: list[pa.Table], ours: RowDelta) -> None:
        starts = np.cumsum([0, *(part.num_rows for part in parts)])
        found = [self._positions(part, int(start)) for part, start in zip(parts, starts, strict=False)]
        their_before, their_after, our_before, our_after = found
        theirs_touched = (their_before >= 0) | (their_after >= 0)
        ours_touched = (our_before >= 0) | (our_after >= 0)
        self.base = np.where(theirs_touched, their_before, our_before)
        self.theirs = np.where(theirs_touched, their_after, self.base)
        self.ours = np.where(ours_touched, our_after, self.base)

    def _positions(self, rows: pa.Table, start: int) -> np.ndarray:
        found = pc.index_in(self.ids, value_set=one_column(rows, "id"))
        positions = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        return np.where(positions >= 0, positions + start, -1)

    # --- deciding --------------------------------------------------------------------------------

    def run(self, options: MergeOptions, wanted: Mapping[str, Resolution]) -> TableMerge:
        decisions = self._decisions()
        written: list[pa.Table] = []
        self._apply_resolutions(decisions, wanted, options, written)
        if options.properties == "disjoint":
            self._combine_properties(decisions, written)
        conflicting = decisions >= Decision.DIVERGENT_INSERT
        if options.strategy == "ours":
            decisions[conflicting] = Decision.KEEP
        elif options.strategy == "theirs":
            decisions[conflicting] = self._taking_theirs()[conflicting]
        as_theirs = self.pristine and not wanted and options.strategy != "ours"
        return self._result(decisions, written, as_theirs=as_theirs)

    def _decisions(self) -> np.ndarray:
        base, ours, theirs = self.base, self.ours, self.theirs
        return decide_all(
            base=base >= 0,
            ours=ours >= 0,
            theirs=theirs >= 0,
            ours_is_base=self._equal(ours, base),
            theirs_is_base=self._equal(theirs, base),
            ours_is_theirs=self._equal(ours, theirs),
        )

    def _equal(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        equal: np.ndarray = (left == right) & (left >= 0)
        pairs = np.flatnonzero((left >= 0) & (right >= 0) & ~equal)
        if len(pairs):
            equal[pairs] = ~differing_rows(self._rows(left[pairs]), self._rows(right[pairs]), self.columns)
        return equal

    def _taking_theirs(self) -> np.ndarray:
        """Their row for every entity, as decisions."""
        taking = np.where(self.theirs >= 0, Decision.TAKE, Decision.DELETE)
        settled = self._equal(self.ours, self.theirs) | ((self.ours < 0) & (self.theirs < 0))
        return np.where(settled, Decision.KEEP, taking)

    def _apply_resolutions(
        self,
        decisions: np.ndarray,
        wanted: Mapping[str, Resolution],
        options: MergeOptions,
        written: list[pa.Table],
    ) -> None:
        if not wanted:
            return
        taking = self._taking_theirs()
        place = {entity: at for at, entity in enumerate(self.ids.to_pylist())}
        for entity, how in wanted.items():
            at = place[entity]
            decisions[at] = taking[at] if how == "theirs" else Decision.KEEP
            if not isinstance(how, str):
                start = self.ours[at] if self.ours[at] >= 0 else self.theirs[at]
                row = self._typed(np.array([start]))
                written.append(resolved_row(self.info, entity, row, how, options.external_blobs))

    def _combine_properties(self, decisions: np.ndarray, written: list[pa.Table]) -> None:
        """Join two updates of one row when no property was set to different values by both."""
        rows = np.flatnonzero(decisions == Decision.DIVERGENT_UPDATE)
        if not len(rows):
            return
        base, ours, theirs = (self._rows(side[rows]) for side in (self.base, self.ours, self.theirs))
        clash = np.zeros(len(rows), bool)
        columns = []
        for name in self.columns:
            from_theirs = differing_values(base[name], theirs[name])
            clash |= from_theirs & differing_values(base[name], ours[name]) & differing_values(ours[name], theirs[name])
            choice = np.where(from_theirs, np.arange(len(rows)) + len(rows), np.arange(len(rows)))
            columns.append(pa.chunked_array([*ours[name].chunks, *theirs[name].chunks]).take(pa.array(choice)))
        joined = pa.Table.from_arrays(columns, schema=row_schema(self.info))
        written.append(joined.filter(pa.array(~clash)))
        decisions[rows[~clash]] = Decision.KEEP

    # --- the result ------------------------------------------------------------------------------

    def _result(self, decisions: np.ndarray, written: list[pa.Table], *, as_theirs: bool) -> TableMerge:
        taken = np.flatnonzero(decisions == Decision.TAKE)
        removed = np.flatnonzero(decisions == Decision.DELETE)
        rows = by_id(pa.concat_tables([self._typed(self.theirs[taken]), *written]).combine_chunks())
        existing = self.ids.filter(pa.array(self.ours >= 0))
        updated = int(pc.sum(pc.is_in(one_column(rows, "id"), value_set=existing)).as_py() or 0)
        return TableMerge(
            self.info,
            rows,
            self.ids.take(pa.array(removed)),
            RowCounts(rows.num_rows - updated, updated, len(removed)),
            tuple(self._conflicts(decisions)),
            as_theirs,
        )

    def _conflicts(self, decisions: np.ndarray) -> list[MergeConflict]:
        rows = np.flatnonzero(decisions >= Decision.DIVERGENT_INSERT)
        found = []
        for at, clash in zip(rows.tolist(), self._clashes(rows), strict=True):
            decision = Decision(int(decisions[at]))
            found.append(row_conflict(self.info.table_key, self.ids[at].as_py(), decision, clash))
        return found

    def _clashes(self, rows: np.ndarray) -> list[Clash]:
        """What each of these entities has where the two sides differ; beside a deletion, what was changed."""
        base, ours, theirs = self.base[rows], self.ours[rows], self.theirs[rows]
        differing = self._differing(np.where(ours >= 0, ours, base), np.where(theirs >= 0, theirs, base))
        sides = (self._values(side, differing) for side in (ours, theirs, base))
        return [Clash(*values) for values in zip(*sides, strict=True)]

    def _differing(self, left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
        """Column → in which of these pairs of rows its values differ."""
        one, other = self._rows(left), self._rows(right)
        return {name: differing_values(one[name], other[name]) for name in self.columns}

    def _values(self, positions: np.ndarray, wanted: Mapping[str, np.ndarray]) -> list[dict[str, Any] | None]:
        """The wanted values of each row as JSON; None where there is no row."""
        found: list[dict[str, Any] | None] = [None if position < 0 else {} for position in positions.tolist()]
        for name, flags in wanted.items():
            at = np.flatnonzero(flags & (positions >= 0))
            values = json_values(self.pool[name].take(pa.array(positions[at])))
            for place, value in zip(at.tolist(), values, strict=True):
                row = found[place]
                assert row is not None
                row[name] = value
        return found

    def _rows(self, positions: np.ndarray) -> pa.Table:
        return self.pool.take(pa.array(positions))

    def _typed(self, positions: np.ndarray) -> pa.Table:
        return pa.Table.from_arrays(self._rows(positions).columns, schema=row_schema(self.info))
