"""How many nodes there are for each value where hops end, answered in one go (decision 0058): `direct.py` for groups.

Which nodes satisfy the conditions of the hops, and which group each end belongs to, is the same in every call: it is
found out once. What is not in memory, and more rows than a few thousand, are left to the executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.walk import properties
from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.few import numbers, take
from omnigraph.engine.read.columns.held import CODES
from omnigraph.engine.read.columns.key_index import KeyIndex
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct_rows
from omnigraph.engine.read.direct_parts import (
    BUCKET_BITS,
    MOST_ROWS,
    DirectForm,
    Touch,
    column_of,
    keys_of,
    lists_of,
    start_and_hops,
)
from omnigraph.engine.read.frames.frame import first_places
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.plan.plans import Planned
from omnigraph.engine.read.plan.route import AskedGroups, Groups
from omnigraph.engine.read.plan.route_start import Hop
from omnigraph.engine.read.shape.order import dense_ranks
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.values.arrow import arrow_type, shown_type

_NONE: Rows = np.empty(0, np.int64)


class GroupCounts(DirectForm):
    """What one such read needs at one view."""

    __slots__ = ("_counts_ends", "_groups", "_order", "_rows_with", "_schema", "_steps", "_value_first", "nbytes")

    def __init__(self, keys: KeyIndex, steps: list[_Step], groups: _Numbered, planned: Planned, run: Run) -> None:
        route = planned.route
        assert isinstance(route, Groups)
        super().__init__(run, planned, _sources(run, route))
        self._rows_with, self._steps, self._groups = keys.finder(BUCKET_BITS), steps, groups
        self._counts_ends, self._value_first, self._order = route.counts_ends, route.value_first, route.order
        kinds = [groups.values.type, pa.int64()]
        self._schema = pa.schema(list(zip(route.columns, kinds if route.value_first else kinds[::-1], strict=True)))
        self.nbytes = sum(0 if step.kept is None else step.kept.nbytes for step in steps) + groups.nbytes

    def answer(self, asked: AskedGroups) -> tuple[pa.RecordBatch, tuple[int, ...], None] | None:
        """The groups, and how many rows there were after each operator; None when memory does not tell."""
        self._called()
        start = self._rows_with(asked.key.encode())
        found = self._ends(start[0]) if len(start) == 1 else None
        if found is None:
            return None
        counts, ends, owners = found
        sizes, groups = self._counted(ends, owners)
        best = self._in_order(groups, sizes)
        best = best if asked.end is None else best[: asked.end]
        shown = best[asked.begin :]
        if not len(shown):
            return None
        counts += (len(groups), len(best), len(shown))
        return self._batch(groups[shown], sizes[shown]), counts[: len(self.ops)], None

    def _ends(self, start: int) -> tuple[tuple[int, ...], Rows, Rows | None] | None:
        """Rows after the start and each hop, where these end, and the nodes before the ends, if those are counted."""
        first, *others = self._steps
        nodes = first.satisfying(first.lists.around(start))
        counts, owners = [1, len(nodes)], None
        for step in others:
            if not len(nodes) or int(step.lists.degrees(nodes).sum()) > MOST_ROWS:
                return None
            if step is others[-1] and not self._counts_ends:
                owners, nodes = step.lists.step(nodes)
                if step.kept is not None:
                    there = step.kept[step.index.positions(nodes)]
                    owners, nodes = owners[there], nodes[there]
            else:
                nodes = step.satisfying(step.lists.reached_once(nodes))
            counts.append(len(nodes))
        return (tuple(counts), nodes, owners) if len(nodes) else None

    def _counted(self, ends: Rows, owners: Rows | None) -> tuple[Rows, Rows]:
        """By number of a group, how many different nodes it has; and the groups that have some."""
        group = self._groups.codes[self._groups.index.positions(ends)]
        if owners is not None and len(owners) > 1 and not bool((owners[1:] > owners[:-1]).all()):
            width = int(owners[-1]) + 1  # owners ascend; two ends of one may have the same value
            group = distinct_rows(group * width + owners) // width
        sizes = np.bincount(group)
        groups = np.flatnonzero(sizes)
        return sizes[groups], groups

    def _in_order(self, groups: Rows, sizes: Rows) -> Rows:
        """The positions of the groups in the order that is asked for."""
        levels = []
        for by_value, descending in self._order:
            level = self._groups.ranks[groups] if by_value else sizes
            levels.append(-level if descending else level)
        order: Rows = np.lexsort(levels[::-1])
        return order

    def _batch(self, groups: Rows, sizes: Rows) -> pa.RecordBatch:
        columns = [take(self._groups.values, numbers(groups)), numbers(sizes)]
        return pa.RecordBatch.from_arrays(columns if self._value_first else columns[::-1], schema=self._schema)


# --- making one --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Step:
    """The lists of a hop, and which of all nodes that it can lead to satisfy its conditions, if it has some."""

    lists: Adjacency
    index: RowIndex
    kept: Mask | None

    def satisfying(self, nodes: Rows) -> Rows:
        return nodes if self.kept is None else nodes[self.kept[self.index.positions(nodes)]]


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The group of every node where the route can end; and of every group its value, and its rank among them."""

    codes: Rows
    index: RowIndex
    values: pa.Array
    ranks: Rows

    @property
    def nbytes(self) -> int:
        """Without the numbers of the nodes, which are those of a cache."""
        return int(self.values.nbytes + self.ranks.nbytes)


def group_counts(run: Run, planned: Planned, route: Groups) -> GroupCounts | None:
    """The direct form of such a read, if what it needs is in memory."""
    keys = keys_of(run.entities(f"node:{route.start.type_name}"))
    steps = [step for hop in route.hops if (step := _step(run, hop)) is not None]
    groups = _numbered(run.entities(f"node:{route.hops[-1].target_type}"), route)
    if keys is None or groups is None or len(steps) < len(route.hops):
        return None
    return GroupCounts(keys, steps, groups, planned, run)


def _step(run: Run, hop: Hop) -> _Step | None:
    lists, table = lists_of(run, hop), run.entities(f"node:{hop.target_type}")
    if lists is None or not table.as_named:
        return None
    if not hop.predicates:
        return _Step(lists, RowIndex(_NONE), None)
    columns = [column_of(table, name) for name in _asked_about(hop)]
    first = columns[0]
    if first is None or any(each is None or not each.index.is_like(first.index) for each in columns):
        return None
    kept = run.matching(hop.target, f"node:{hop.target_type}", first.index.rows, hop.predicates)
    return _Step(lists, first.index, kept)


def _numbered(table: Entities, route: Groups) -> _Numbered | None:
    column = column_of(table, route.by.name) if table.as_named else None
    kind = arrow_type(route.by.type)
    if column is None or kind != column.values.type or shown_type(kind) != kind or not len(column.values):
        return None
    codes, different = table.codes(route.by.name, column.index.rows) or (_NONE, None)
    if different is None:
        return None
    values = take(column.values, numbers(first_places(codes, different)))
    return _Numbered(codes, column.index, values, dense_ranks(values)[0])


def _asked_about(hop: Hop) -> list[str]:
    return sorted({name for each in hop.predicates for _, name in properties(each)})


def _sources(run: Run, route: Groups) -> tuple[Touch, ...]:
    table = run.entities(f"node:{route.hops[-1].target_type}")
    codes = partial(run.view.tables.memory.cache(CODES).get, (table.version_key, route.by.name))
    return (*start_and_hops(run, route.start, route.hops), partial(table.held_whole, route.by.name), codes)
