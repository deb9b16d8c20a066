"""The entities nearest to a vector: exactly over few candidates, through the vector index over many."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.engine.read.adjacency import Rows
from omnigraph.engine.read.cache import Fetches
from omnigraph.engine.read.corpus import Hits
from omnigraph.engine.read.entities import ROW_ID, Entities, one_chunk
from omnigraph.engine.read.rowindex import RowIndex, row_ids
from omnigraph.engine.read.run import Run
from omnigraph.engine.read.vectors import closest, distances
from omnigraph.engine.vector_index import INDEX_TYPE, PROBES, REFINE
from omnigraph.storage.tables import IndexInfo, NearestRows

# So many candidates are measured one by one; more if the column is, or has come to be worth, in memory.
EXACT_COLD = 1_000
EXACT_HOT = 20_000
_SCAN_SECONDS_PER_BYTE = 2e-9
# More than this is asked for beyond the limit, so that ties with the last one show.
_SLACK = 6
# Asking the index for more than this share of the candidates is no cheaper than looking at all of them.
_LARGEST_SHARE = 8
_WIDEN = 4

_SEARCHES = Fetches()
_INDEXES: dict[Hashable, IndexInfo | None] = {}
_REMEMBERED_INDEXES = 1_024


def neighbours(
    run: Run, entities: Entities, rows: Rows, call: ir.Nearest, query: Sequence[float], most: int | None
) -> Hits:
    """Distances of the candidates that have a vector; with `most`, of those that may be among the nearest so many."""
    if most is not None and len(rows) > _exact_limit(run, entities, rows, call):
        index = vector_index(entities, call.name)
        found = None if index is None else _through_index(run, entities, rows, call, query, most)
        if found is not None and index is not None:
            run.profile.note(f"{call.name}: index {index.name}, {len(found.rows)} of {len(rows)} rows")
            return found
    run.profile.note(f"{call.name}: exact, {len(rows)} rows")
    vectors = entities.values(call.name, rows)
    if most is not None:
        places, near = closest(vectors, query, call.metric, most)
        return Hits(rows[places], near)
    scores = distances(vectors, query, call.metric)
    known = ~np.isnan(scores)
    return Hits(rows[known], scores[known])


def vector_index(entities: Entities, name: str) -> IndexInfo | None:
    """The vector index on a column at this version, if there is one."""
    if not entities.as_named:
        return None
    key = (entities.version_key, name)
    if key not in _INDEXES:
        if len(_INDEXES) >= _REMEMBERED_INDEXES:
            _INDEXES.clear()
        indexes = entities.handle.indices()
        _INDEXES[key] = next((i for i in indexes if i.columns == (name,) and i.index_type.upper() == INDEX_TYPE), None)
    return _INDEXES[key]


def _exact_limit(run: Run, entities: Entities, rows: Rows, call: ir.Nearest) -> int:
    """Up to how many candidates an exact pass is the better way."""
    if entities.in_memory(call.name):
        return EXACT_HOT
    if run.filter_of(rows) is not None or len(rows) > EXACT_HOT:
        return EXACT_COLD
    # Once widening searches have cost as much as reading the column would have, more of them are to be expected.
    size = call.dim * 4
    spent = _SEARCHES.of((entities.version_key, call.name)).seconds
    worth = spent > entities.row_count * size * _SCAN_SECONDS_PER_BYTE and entities.would_stay(call.name, size)
    return EXACT_HOT if worth else EXACT_COLD


def _through_index(
    run: Run, entities: Entities, rows: Rows, call: ir.Nearest, query: Sequence[float], most: int
) -> Hits | None:
    """The nearest candidates as the index finds them, measured exactly; None when an exact pass is the better way.

    Rows that the index does not cover are searched as well. Candidates that a filter gave are searched under that
    filter. For any others the index is asked for so many rows that enough should be candidates, then for more.
    """
    begin = time.perf_counter()
    filter = run.filter_of(rows)
    whole = filter is not None or len(rows) == entities.row_count
    candidates = RowIndex(rows)
    asked = most + _SLACK if whole else int((most + _SLACK) * entities.row_count / len(rows) * 1.25)
    target = np.asarray(query, np.float32)
    while asked * _LARGEST_SHARE <= len(rows):
        found = entities.nearest(call.name, NearestRows(target, asked, call.metric, PROBES, REFINE), filter)
        hits = _measured(found, call, query)
        if not whole:
            inside = candidates.contains(hits.rows)
            hits = Hits(hits.rows[inside], hits.scores[inside])
        if _is_enough(hits, most, call.metric):
            if not whole:
                spent = time.perf_counter() - begin
                _SEARCHES.add((entities.version_key, call.name), len(hits.rows), found.nbytes, spent)
            return hits
        if found.num_rows < asked:
            return None
        asked *= _WIDEN
    return None


def _measured(found: pa.Table, call: ir.Nearest, query: Sequence[float]) -> Hits:
    rows = row_ids(found[ROW_ID])
    order = np.argsort(rows)
    vectors = one_chunk(found[call.name]).take(pa.array(order))
    return Hits(rows[order], distances(vectors, query, call.metric))


def _is_enough(hits: Hits, most: int, metric: str) -> bool:
    """Whether the nearest are complete: one that is further away than the last of them was seen as well."""
    if len(hits.rows) <= most:
        return False
    ordered = np.sort(hits.scores)
    last = ordered[max(most, 1) - 1]
    # The index leaves vectors without a direction out; they count as orthogonal.
    return bool(ordered[-1] > last) and (metric != "cosine" or last < 1.0)
