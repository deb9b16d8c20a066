"""Checks of edges against nodes: endpoints that must exist, edges left dangling, edges per source."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Card, Catalog, EdgeType, NodeType
from omnigraph.display import counted
from omnigraph.engine.intake.violations import Violation
from omnigraph.engine.values.rowset import one_array, smallest
from omnigraph.engine.values.text_hashes import distinct_texts
from omnigraph.engine.write.change_set import ChangeSet, CommittedView, EdgeColumn, TableChange
from omnigraph.engine.write.findings import NOWHERE, Place, place_of

_NO_IDS = pa.array([], pa.utf8())


def endpoint_violations(edge: EdgeType, changes: ChangeSet, view: CommittedView, limit: int | None) -> list[Violation]:
    """Changed edges that name a missing node, and surviving edges whose node goes away; by edge id, src first."""
    found = [*_missing_endpoints(edge, changes, view, limit), *dangling_edges(edge, changes, view, limit)]
    return sorted(found, key=lambda violation: (violation.ids[0], violation.property_name != "src"))[:limit]


def cardinality_violations(
    edge: EdgeType, changes: ChangeSet, view: CommittedView, limit: int | None
) -> list[Violation]:
    """Sources touched by the change that end up with too many or too few edges; by source id."""
    sources, counts = broken_sources(edge, changes, view)
    rows = smallest(sources, np.arange(len(sources)), limit)
    return [card_violation(edge, sources[row].as_py(), int(counts[row])) for row in rows]


def broken_sources(edge: EdgeType, changes: ChangeSet, view: CommittedView) -> tuple[pa.Array, np.ndarray]:
    """Sources touched by the change that end up with too many or too few edges, and how many each would have."""
    change = changes.get(edge.table_key)
    sources = _NO_IDS
    if change is not None and edge.card != Card():
        sources = _affected_sources(edge, change, changes, view)
    if change is None or not len(sources):
        return _NO_IDS, np.zeros(0, np.int64)
    counts = _edges_per_source(edge, change, view, sources)
    broken = np.flatnonzero((counts > most_edges(edge)) | (counts < edge.card.min))
    return sources.take(pa.array(broken)), counts[broken]


def most_edges(edge: EdgeType) -> int:
    """How many edges of the type a source may have."""
    return int(np.iinfo(np.int64).max) if edge.card.max is None else edge.card.max


def removed_nodes(node: NodeType, changes: ChangeSet, view: CommittedView) -> pa.Array:
    """Committed ids of a node type that the change set makes disappear."""
    change = changes.get(node.table_key)
    if change is None:
        return _NO_IDS
    gone = view.ids(node.table_key) if change.replaced else change.deleted
    return gone.filter(pc.invert(pc.is_in(gone, value_set=change.ids))) if len(gone) else _NO_IDS


def edges_to_check(catalog: Catalog, changes: ChangeSet) -> Iterable[EdgeType]:
    """Edge types that changed, or an end of which may have lost nodes, by table key."""
    shrinking = {
        c.info.name for c in changes.values() if isinstance(c.info, NodeType) and (c.replaced or len(c.deleted))
    }
    for name in sorted(catalog.edges):
        edge = catalog.edges[name]
        if edge.table_key in changes or shrinking & {edge.from_type, edge.to_type}:
            yield edge


# --- endpoints -----------------------------------------------------------------------------------------


def _ends(edge: EdgeType) -> tuple[tuple[EdgeColumn, str], tuple[EdgeColumn, str]]:
    return ("src", edge.from_type), ("dst", edge.to_type)


def _missing_endpoints(edge: EdgeType, changes: ChangeSet, view: CommittedView, limit: int | None) -> list[Violation]:
    return [finding for column, _ in _ends(edge) for finding in missing_ends(edge, column, changes, view, limit)]


def missing_ends(
    edge: EdgeType, column: EdgeColumn, changes: ChangeSet, view: CommittedView, limit: int | None
) -> list[Violation]:
    """Changed edges whose one end names a node that will not exist, by edge id."""
    change = changes.get(edge.table_key)
    if change is None or not change.final.num_rows:
        return []
    node_type = edge.from_type if column == "src" else edge.to_type
    missing = _missing_nodes(f"node:{node_type}", distinct_texts(change.final[column]), changes, view)
    if not len(missing):
        return []
    values = one_array(change.final[column])
    rows = np.flatnonzero(pc.is_in(values, value_set=missing).to_numpy(zero_copy_only=False))
    return [
        _endpoint_violation(
            edge,
            column,
            node_type,
            (change.ids[row].as_py(), values[row].as_py()),
            place_of(change, int(change.final_positions[row])),
        )
        for row in smallest(change.ids, rows, limit)
    ]


def _missing_nodes(node_key: str, ids: pa.Array, changes: ChangeSet, view: CommittedView) -> pa.Array:
    """Those of the ids, each given once, that no node of the type will have after the change."""
    change = changes.get(node_key)
    if change is not None:
        ids = ids.filter(pc.invert(pc.is_in(ids, value_set=change.ids)))
        if change.replaced:
            return ids
    if not len(ids):
        return ids
    present = view.present(node_key, ids)
    if change is not None and len(change.deleted):
        present = present.filter(pc.invert(pc.is_in(present, value_set=change.deleted)))
    if len(present) == len(ids):
        return ids.slice(0, 0)
    return ids.filter(pc.invert(pc.is_in(ids, value_set=present)))


def dangling_edges(edge: EdgeType, changes: ChangeSet, view: CommittedView, limit: int | None) -> list[Violation]:
    """Surviving edges that name a node which the change makes disappear."""
    change = changes.get(edge.table_key, TableChange(edge))
    if change.replaced:
        return []
    found = []
    for column, node_type in _ends(edge):
        node = changes.get(f"node:{node_type}")
        if node is None or not isinstance(node.info, NodeType):
            continue
        removed = removed_nodes(node.info, changes, view)
        if not len(removed):
            continue
        left = change.survivors(view.edges(edge.table_key, column, removed))
        ids = one_array(left["id"])
        for row in smallest(ids, np.arange(len(ids)), limit):
            ends = (ids[row].as_py(), left[column][row].as_py())
            found.append(_endpoint_violation(edge, column, node_type, ends, NOWHERE))
    return found


def _endpoint_violation(
    edge: EdgeType, column: EdgeColumn, node_type: str, ends: tuple[str, str], place: Place
) -> Violation:
    entity, end = ends
    message = f"edge {edge.name} '{entity}': {column} '{end}' not found in {node_type}"
    return Violation("W013", message, edge.table_key, column, ends, *place)


# --- cardinality ---------------------------------------------------------------------------------------


def _affected_sources(edge: EdgeType, change: TableChange, changes: ChangeSet, view: CommittedView) -> pa.Array:
    parts = list(change.final["src"].chunks)
    if edge.card.min:  # losing edges can only break a minimum
        before = view.all_edges(edge.table_key) if change.replaced else _committed(edge, change, view)
        parts += before["src"].chunks
    sources = distinct_texts(pa.chunked_array(parts, pa.utf8()))
    node = changes.get(f"node:{edge.from_type}")
    if node is None or not isinstance(node.info, NodeType):
        return sources
    gone = removed_nodes(node.info, changes, view)
    return sources.filter(pc.invert(pc.is_in(sources, value_set=gone))) if len(gone) else sources


def _committed(edge: EdgeType, change: TableChange, view: CommittedView) -> pa.Table:
    return view.edges(edge.table_key, "id", change.touched)


def _edges_per_source(edge: EdgeType, change: TableChange, view: CommittedView, sources: pa.Array) -> np.ndarray:
    counts = _count(change.final["src"], sources)
    if change.replaced:
        return counts
    counts += _count(change.survivors(view.edges(edge.table_key, "src", sources))["src"], sources)
    return counts


def _count(values: pa.ChunkedArray, sources: pa.Array) -> np.ndarray:
    index = pc.drop_null(pc.index_in(one_array(values), value_set=sources)).to_numpy(zero_copy_only=False)
    counted: np.ndarray = np.bincount(index, minlength=len(sources))
    return counted


def card_violation(edge: EdgeType, source: str, count: int) -> Violation:
    """What is wrong with a source that has so many edges."""
    low, high = edge.card.min, edge.card.max
    bound = f"max {high}" if high is not None and count > high else f"min {low}"
    message = f"@card violation on edge {edge.name}: source '{source}' has {counted(count, 'edge')} ({bound})"
    return Violation("W014", message, edge.table_key, "src", (source,))
