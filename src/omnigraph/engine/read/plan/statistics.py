"""Statistics of tables for the planner: of each column, and of how many edges nodes have; kept beside the graph.

They describe shares, so that those of an older version of a table serve until it has changed by much. A load, an index
build and `optimize` keep those of large tables, from older ones and the rows that changed since where there are such.
No table is read for a plan: of smaller tables only what is in memory is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

import numpy as np

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.ir.estimates import Skew
from omnigraph.engine.read.columns.artifacts import Artifact, ArtifactKind, Kept
from omnigraph.engine.read.columns.costs import due, search_kind
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.table_mark import UPDATED
from omnigraph.engine.read.columns.value_statistics import ValueStatistics
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.edge_lookup import ends_of
from omnigraph.engine.read.topology.store import ready_topology
from omnigraph.engine.read.topology.topology import Ends, Topology
from omnigraph.engine.values.arrow import TableType, table_types
from omnigraph.engine.views.view import View
from omnigraph.errors import OmnigraphError
from omnigraph.memory.cache import CacheKind

# Fewer rows are looked at when they are asked about; so many are read at a time.
WORTH_KEEPING = 100_000
_BATCH_ROWS = 1 << 18
# A larger share of changed rows is not added to older statistics, and makes those of an older version useless.
_MOST_CHANGED = 0.25
_FEW_ROWS = 64
_BYTES = 16 << 10
_HASHED_BY = "words"
_PARTS = frozenset({"names", "facts", "hashes", "bounds", "counts", "skew"})


@dataclass(slots=True)
class TableStatistics:
    """What is known about one table at about one version; None for a column that has no statistics."""

    rows: int
    columns: dict[str, ValueStatistics | None] = field(default_factory=dict)
    skew: Skew | None = None
    whole: bool = False  # nothing more is to be looked at


_HELD: CacheKind[TableStatistics] = CacheKind("statistics", lambda each: _BYTES * (len(each.columns) + 1), share=1 / 16)
_NEWEST: CacheKind[TableStatistics] = CacheKind("newest statistics", lambda each: _BYTES, entries=1_024)
_SEARCHES = search_kind("searches for statistics")
_KIND = ArtifactKind(_HELD, directory="statistics", format=1, kept=2)


def column_statistics(view: View, info: TableType, name: str) -> ValueStatistics | None:
    """The statistics of one column, as far as they are known or cost little."""
    found = _table(view, info)
    if found is None:
        return None
    known, table = found
    if name not in known.columns and not known.whole and (held := table.held_whole(name)) is not None:
        known.columns[name] = ValueStatistics.of(held.values)
    return known.columns.get(name)


def edge_skew(view: View, info: EdgeType) -> Skew | None:
    """How unevenly the edges of a type are spread over its nodes."""
    found = _table(view, info)
    if found is None:
        return None
    known, _ = found
    if known.skew is None and not known.whole:
        ends = ends_of(view, info)
        held = None if ends is None else ends.artifact.cache.get(ends.key)
        known.skew = None if ends is None or held is None else _skew_of_lists(ends, held)
    return known.skew


def _table(view: View, info: TableType) -> tuple[TableStatistics, Entities] | None:
    """Statistics of about this version; none about what its reader may not see whole."""
    try:
        if view.find(info) is None or view.masks(info):
            return None
        table = Entities(view, info)
        if not table.row_count or not table.as_named:
            return None
        known = _known(table)
    except OmnigraphError:
        return None  # what is wrong with the table is for those to say who read it
    return None if known is None else (known, table)


def _known(table: Entities) -> TableStatistics | None:
    held, newest = table.memory.cache(_HELD), table.memory.cache(_NEWEST)
    found = held.get(table.version_key)
    if found is None:
        lineage: Hashable = table.lineage_key
        found = newest.get(lineage)
        if found is None or not _serves(found, table):
            found = _kept(table) if table.row_count >= WORTH_KEEPING else TableStatistics(table.row_count)
        if found is not None and (found.whole or table.root.is_local):
            held.put(table.version_key, found)
            newest.put(lineage, found)
    return found if found is None or found.whole or table.root.is_local else None


def _serves(older: TableStatistics, table: Entities) -> bool:
    return abs(older.rows - table.row_count) <= _MOST_CHANGED * older.rows + _FEW_ROWS


def _kept(table: Entities) -> TableStatistics | None:
    """Those of this version that lie beside the graph, or of an older one."""
    if not table.root.is_local or not due(table.memory.cache(_SEARCHES), table.version_key):
        return None
    artifact = Artifact(_KIND, (table,))
    kept = artifact.place.load()
    found = None if kept is None else _decoded(kept)
    if found is not None:
        return found
    return next(
        (older for _, older in artifact.older(lambda place, each: _decoded(each)) if _serves(older, table)), None
    )


# --- kept beside the graph ---------------------------------------------------------------------------------


def keep_statistics(
    view: View, only: Collection[str] | None = None, wait_for_lists: Callable[[], None] | None = None
) -> None:
    """Make the statistics of large tables, for every process that comes later.

    `wait_for_lists` returns when neighbour lists that are being built are there; columns are looked at before.
    """
    for key, info in table_types(view.catalog).items():
        if view.find(info) is None or view.masks(info) or (only is not None and key not in only):
            continue
        table = Entities(view, info)
        artifact = Artifact(_KIND, (table,))
        if table.row_count < WORTH_KEEPING or not table.root.is_local or artifact.place.load() is not None:
            continue
        made = _made(info, table)
        if isinstance(info, EdgeType):
            if wait_for_lists is not None:
                wait_for_lists()
            ends = ends_of(view, info)
            lists = None if ends is None else ready_topology(ends)
            made.skew = made.skew if ends is None or lists is None else _skew_of_lists(ends, lists)
        artifact.hold(made)
        table.memory.cache(_NEWEST).put(table.lineage_key, made)
        artifact.save(_encoded(made))


def _made(info: TableType, table: Entities) -> TableStatistics:
    """From an older version and the rows that changed since; else from all rows. How edges spread is not looked at."""
    names = [field.name for field in table.handle.schema if field.name in info.properties]
    names = [name for name in names if name not in info.blobs]
    for (mark,), older in Artifact(_KIND, (table,)).older(lambda place, kept: _decoded(kept)):
        if set(older.columns) != set(names) or not _serves(older, table):
            continue
        changed = f"{UPDATED} > {mark.version}"
        if table.handle.count_rows(changed) <= _MOST_CHANGED * table.row_count:
            columns = _added(table, names, changed, older.columns)
            return TableStatistics(table.row_count, columns, older.skew, whole=True)
    return TableStatistics(table.row_count, _added(table, names, None, {}), whole=True)


def _added(
    table: Entities, names: list[str], filter: str | None, known: dict[str, ValueStatistics | None]
) -> dict[str, ValueStatistics | None]:
    found = dict(known) or dict.fromkeys(names)
    for batch in table.handle.batches(names, filter, batch_size=_BATCH_ROWS) if names else ():
        for name in names:
            more, before = ValueStatistics.of(batch.column(name)), found[name]
            found[name] = more if before is None or more is None else before.plus(more)
    return found


def _encoded(made: TableStatistics) -> dict[str, np.ndarray]:
    kept = [(name, each) for name, each in made.columns.items() if each is not None]
    known = [name for name, _ in kept]
    names = json.dumps({"rows": made.rows, "all": list(made.columns), "known": known, "hashes": _HASHED_BY})
    facts = [(each.rows, each.nulls, len(each.hashes), len(each.bounds), len(each.counts)) for _, each in kept]
    parts: dict[str, list[np.ndarray]] = {
        "hashes": [each.hashes for _, each in kept],
        "bounds": [each.bounds for _, each in kept],
        "counts": [each.counts for _, each in kept],
    }
    empty = {"hashes": np.empty(0, np.uint64), "bounds": np.empty(0), "counts": np.empty(0)}
    skew = () if made.skew is None else (made.skew.out, made.skew.into, made.skew.through)
    return {
        "names": np.frombuffer(names.encode(), np.uint8),
        "facts": np.array(facts, np.int64).reshape(-1, 5),
        **{part: np.concatenate((empty[part], *arrays)) for part, arrays in parts.items()},
        "skew": np.array(skew, np.float64),
    }


def _decoded(kept: Kept) -> TableStatistics | None:
    """What was kept; None when it is not what it should be."""
    arrays = kept.arrays
    if set(arrays) != _PARTS:
        return None
    try:
        described = json.loads(arrays["names"].tobytes())
        if described.get("hashes") != _HASHED_BY:
            return None  # hashes of an earlier release, to which others cannot be added
        facts, known = arrays["facts"], described["known"]
        ends = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(facts[:, 2:], axis=0)])
        if len(facts) != len(known) or ends[-1].tolist() != [
            len(arrays[part]) for part in ("hashes", "bounds", "counts")
        ]:
            return None
        columns: dict[str, ValueStatistics | None] = dict.fromkeys(described["all"])
        for at, name in enumerate(known):
            hashes, bounds, counts = (
                np.array(arrays[part][ends[at, place] : ends[at + 1, place]])
                for place, part in enumerate(("hashes", "bounds", "counts"))
            )
            columns[name] = ValueStatistics(int(facts[at, 0]), int(facts[at, 1]), hashes, bounds, counts)
        numbers = [float(number) for number in arrays["skew"]]
        skew = Skew(*numbers) if numbers else None
        return TableStatistics(int(described["rows"]), columns, skew, whole=True)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


# --- how many edges nodes have ------------------------------------------------------------------------------


def _skew_of_lists(ends: Ends, topology: Topology) -> Skew | None:
    out, into = _degrees(topology.lists("out")), _degrees(topology.lists("in"))
    edges = int(out["counts"].sum())
    if not edges:
        return None
    squares = [float((side["counts"].astype(np.float64) ** 2).sum()) / edges for side in (out, into)]
    through = 0.0
    if ends.tails.version_key == ends.heads.version_key:
        _, mine, theirs = np.intersect1d(out["rows"], into["rows"], assume_unique=True, return_indices=True)
        through = float(np.dot(out["counts"][mine].astype(np.float64), into["counts"][theirs])) / edges
    return Skew(squares[0], squares[1], through)


def _degrees(lists: Adjacency) -> dict[str, np.ndarray]:
    counts = np.diff(lists.offsets)
    rows = np.arange(len(counts)) + lists.keys if isinstance(lists.keys, int) else np.asarray(lists.keys)
    return {"rows": rows[counts > 0], "counts": counts[counts > 0]}
