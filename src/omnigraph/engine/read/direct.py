"""Reads from one named node along plain hops, and of the size of a table, answered in one go (decision 0058).

The executor beside this (`execute.py`) answers the same reads operator by operator, and every other one. It runs first
and leaves in memory what is needed here: ids by their hashes, neighbour lists, whole columns. A read that needs
anything else goes back to it. `tests/unit/engine/read/test_direct.py` holds the two together.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.few import numbers, take, widest
from omnigraph.engine.read.columns.key_index import KeyIndex
from omnigraph.engine.read.columns.rowindex import RowIndex
from omnigraph.engine.read.columns.single_values import single_values
from omnigraph.engine.read.direct_groups import GroupCounts, group_counts
from omnigraph.engine.read.direct_parts import (
    BUCKET_BITS,
    IN_EARNEST,
    MOST_BYTES,
    MOST_ROWS,
    DirectForm,
    Touch,
    column_of,
    keys_of,
    lists_of,
    start_and_hops,
)
from omnigraph.engine.read.direct_search import WordSearch, word_search
from omnigraph.engine.read.direct_values import ValuesAround, direct_values
from omnigraph.engine.read.frames.budget import Limits
from omnigraph.engine.read.frames.explain import Explanation, KnownProfile
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.plan.plans import Planned
from omnigraph.engine.read.plan.route import AnyRoute, Groups, Route, Total
from omnigraph.engine.read.plan.search_route import Search
from omnigraph.engine.read.plan.values_route import Values, values_of
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.values.arrow import arrow_type, shown_type
from omnigraph.memory.budget import MemoryBudget
from omnigraph.memory.cache import CacheKind
from omnigraph.storage.lance.id_columns import ascend

_FEW_IDS = 64  # so few are sorted in less time than it takes Arrow to begin
# After a call for so many nodes, or after so many calls, it is found out whether ids ascend as rows do. That takes ten
# milliseconds for a million nodes, and saves ten microseconds a call.
_LOOK_PER_NODES, _LOOK_AT = 1 << 12, 256
_INT64 = pa.int64()
_COUNTS = pa.array(np.arange(MOST_ROWS + 1))


# The values of a single row, in Python and JSON alike, beside its batch: taking them out of the batch takes longer than
# finding the row.
Row: TypeAlias = tuple[str | int, ...] | None
Found: TypeAlias = tuple[pa.RecordBatch, tuple[int, ...], Row]
DirectAnswer: TypeAlias = tuple[pa.RecordBatch, Explanation, Row]


@dataclass(slots=True)
class _Kept:
    """The direct form of a plan, or how often it could not be made."""

    planned: Planned  # keeps the id that it is kept under
    direct: Form | None = None
    tries: int = 0


_DIRECT: CacheKind[_Kept] = CacheKind(
    "direct reads",
    lambda kept: (4 << 10) + (kept.direct.nbytes if kept.direct is not None else 0),
    entries=256,
    refers=True,
)


def direct_answer(
    memory: MemoryBudget, planned: Planned, values: Mapping[str, Any], limits: Limits
) -> DirectAnswer | None:
    """The rows of a read with a route and how they came about; None when the executor has to find them."""
    route = planned.route
    kept = None if route is None else memory.cache(_DIRECT).get(id(planned))
    if route is None or kept is None or kept.direct is None or limits.seconds == 0 or limits.bytes not in _ANY_SIZE:
        return None
    key = _key(route, values)
    if key is None:
        return None
    begin = time.perf_counter()
    found = kept.direct.answer(key)
    if found is None:
        return None
    batch, counts, row = found
    if limits.rows is not None or limits.result_rows is not None:
        most = [each for each in (limits.rows, limits.result_rows) if each is not None]
        if max(batch.num_rows, *kept.direct.made(counts)) > min(most):
            return None  # the executor says what is exceeded
    profile = KnownProfile(kept.direct.ops, counts, batch.num_rows, time.perf_counter() - begin)
    return batch, Explanation(planned.plan, profile, kept.direct.reads, planned.expected), row


_ANY_SIZE = ("auto", None)


def _key(route: AnyRoute, values: Mapping[str, Any]) -> Any:
    """The key of the node to start from; None for a value that cannot be one, and what counts a table needs none."""
    if isinstance(route, Total):
        return ""
    if isinstance(route, Search | Groups):
        return route.asked(values)
    return route.start.id(values)


def prepare_direct(run: Run, planned: Planned) -> None:
    """After the executor has answered: keep the direct form of the plan if what it needs is in memory by now."""
    route = planned.route
    if route is None or run.traversal == "indexed" or run.view.masked:
        return
    cache = run.view.tables.memory.cache(_DIRECT)
    kept = cache.get(id(planned))
    if kept is None:
        cache.put(id(planned), _Kept(planned))
        return  # a read that is asked once need not be prepared
    kept.tries += 1
    if (kept.direct is None or kept.direct.is_partial) and kept.tries & (kept.tries - 1) == 0:
        kept.direct = _form(run, planned, route, kept.tries)
        if kept.direct is not None and kept.direct.nbytes:
            cache.put(id(planned), kept)


def _form(run: Run, planned: Planned, route: AnyRoute, tries: int) -> Form | None:
    match route:
        case Total():
            return _counted(run, planned, route)
        case Search():
            return word_search(run, planned, route, tries)
        case Groups():
            return group_counts(run, planned, route)
        case Values():
            return direct_values(run, planned, route, tries)
        case Route():
            return _made(run, planned, route) or _as_values(run, planned, route, tries)


class Counted(DirectForm):
    """How many rows a table has at one view, as its version says."""

    __slots__ = ("_found",)

    def __init__(self, batch: pa.RecordBatch, rows: int, planned: Planned, run: Run) -> None:
        super().__init__(run, planned, ())
        self._found = (batch, (rows,), (rows,) * batch.num_columns)

    def answer(self, key: str) -> Found:
        return self._found

    def made(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Rows that a limit is about: they are counted, not made."""
        return (0,)


class Direct(DirectForm):
    """What one route needs at one view."""

    __slots__ = (
        "_batch", "_columns", "_hops", "_ids", "_index", "_look_at", "_most", "_rows_with", "_schema", "_sorted",
        "_values",
    )  # fmt: skip

    def __init__(self, keys: KeyIndex, hops: tuple[Adjacency, ...], end: _End, planned: Planned, run: Run) -> None:
        super().__init__(run, planned, _sources(run, planned.route))
        self._rows_with, self._hops = keys.finder(BUCKET_BITS), hops
        self._ids, self._index, self._batch = end.ids, end.index, end.batch
        self._columns, self._schema = end.batch.columns, end.batch.schema
        self._values = None if hops else single_values(self._columns)
        self._most = MOST_ROWS
        if hops and end.index is not None:
            self._most = min(MOST_ROWS, MOST_BYTES // max(sum(map(widest, self._columns)), 1))
        self._sorted, self._look_at = False, min(_LOOK_AT, len(end.batch) // _LOOK_PER_NODES + 1)

    def answer(self, key: str) -> Found | None:
        """The rows, and how many there were after the start and after each hop; None when memory does not tell."""
        if self._called() == self._look_at:
            self._sorted = self._ids is not None and ascend(self._ids)
        found = self._rows_with(key.encode())
        if len(found) > 1:
            return None
        if not found:
            empty = self._batch.slice(0, 1 if self._index is None else 0)
            return empty, (0,) * (len(self._hops) + 1), None
        if not self._hops:
            return self._one(found[0])
        nodes, counts = self._hops[0].around(found[0]), [1]
        for hop in self._hops[1:]:
            counts.append(len(nodes))
            if not len(nodes) or int(hop.degrees(nodes).sum()) > MOST_ROWS:
                return None
            nodes = hop.reached_once(nodes)
        counts.append(len(nodes))
        if len(nodes) > self._most:
            return None
        if self._index is None:
            return self._batch.slice(len(nodes), 1), tuple(counts), (len(nodes),)
        if not len(nodes):
            return None
        return self._taken(self._in_order(nodes, self._index)), tuple(counts), None

    def _one(self, row: int) -> Found | None:
        place = 1 if self._index is None else self._index.place(row)
        if place is None:
            return None
        values = None if self._values is None else tuple([value(place) for value in self._values])
        return self._batch.slice(place, 1), (1,), values

    def _in_order(self, nodes: Rows, index: RowIndex) -> pa.Array:
        """The places of these nodes in the order of their ids."""
        places = index.positions(nodes)
        if self._sorted:
            return numbers(places)  # neighbours ascend
        ids = take(self._ids, numbers(places))
        if len(ids) > _FEW_IDS:
            return numbers(places[pc.array_sort_indices(ids).to_numpy()])
        texts = ids.to_pylist()
        return numbers(places[sorted(range(len(texts)), key=texts.__getitem__)])

    def _taken(self, places: pa.Array) -> pa.RecordBatch:
        columns = [take(column, places) for column in self._columns]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


Form: TypeAlias = Direct | Counted | GroupCounts | ValuesAround | WordSearch


# --- making one --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _End:
    """The columns of the answer for every node where a route can end; for a number, every number there can be."""

    batch: pa.RecordBatch
    index: RowIndex | None = None
    ids: pa.Array | None = None


def _counted(run: Run, planned: Planned, route: Total) -> Counted:
    rows = run.entities(route.table_key).row_count
    batch = pa.RecordBatch.from_arrays([pa.array([rows], _INT64)] * len(route.columns), list(route.columns))
    return Counted(batch, rows, planned, run)


def _made(run: Run, planned: Planned, route: Route) -> Direct | None:
    start = run.entities(f"node:{route.start.type_name}")
    keys = keys_of(start)
    hops = tuple(lists_of(run, hop) for hop in route.hops)
    known = tuple(hop for hop in hops if hop is not None)
    if keys is None or len(known) < len(hops):
        return None
    end = _end(run, route)
    return None if end is None else Direct(keys, known, end, planned, run)


def _as_values(run: Run, planned: Planned, route: Route, tries: int) -> Direct | ValuesAround | None:
    """The form that takes columns one by one: some of a table may have rows that were deleted, and others not."""
    values = values_of(planned.plan, route.start) if tries >= IN_EARNEST else None
    found = None if values is None else direct_values(run, planned, values, tries)
    return None if found is None else _made(run, planned, route) or found  # it has read columns


def _end(run: Run, route: Route) -> _End | None:
    if route.counted is not None:
        return _End(pa.RecordBatch.from_arrays([_COUNTS], [route.counted]))
    table = run.entities(f"node:{route.end_type}")
    names = [expr.name for _, expr in route.outputs]
    columns = [column_of(table, name) for name in ([*names, "id"] if route.hops else names)]
    kinds = [arrow_type(expr.type) for _, expr in route.outputs]
    first = columns[0]
    if not table.as_named or first is None:
        return None
    held = [each for each in columns if each is not None and each.index.is_like(first.index)]
    values = [each.values for each in held]
    if len(held) < len(columns) or any(
        shown_type(kind) != kind or kind != column.type for kind, column in zip(kinds, values, strict=False)
    ):
        return None
    batch = pa.RecordBatch.from_arrays(values[: len(names)], [name for name, _ in route.outputs])
    return _End(batch, first.index, values[-1] if route.hops else None)


def _sources(run: Run, route: AnyRoute | None) -> tuple[Touch, ...]:
    """What has to be asked for now and then, so that it does not count as unused."""
    assert isinstance(route, Route)
    end = run.entities(f"node:{route.end_type}")
    names = [] if route.counted is not None else [*(expr.name for _, expr in route.outputs), "id"]
    return (*start_and_hops(run, route.start, route.hops), *(partial(end.held_whole, name) for name in names))
