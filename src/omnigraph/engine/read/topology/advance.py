"""A topology from an older one: only the edges that came, went or changed in between are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Mask, Rows
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID
from omnigraph.engine.read.columns.rowindex import distinct_rows, row_ids
from omnigraph.engine.read.columns.table_mark import CREATED, UPDATED, Mark
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.engine.read.topology.overlay import Overlay
from omnigraph.engine.read.topology.topology import Ends, Topology, Triples, oriented, resolve

# Beyond this share of changed edges a rebuild is as cheap and leaves nothing to doubt.
_MOST_CHANGED = 0.2
# Up to this share an overlay is laid over the older lists; beyond it the lists are written anew.
_FOLD_AT = 0.05
_FEW_IDS = 2_000


@dataclass(frozen=True, slots=True)
class Origin:
    """What an older topology was built from."""

    edges: Mark
    tails: Mark
    heads: Mark

    @classmethod
    def of(cls, ends: Ends) -> Origin:
        """The versions that a topology of these ends is built from."""
        return cls(Mark.of(ends.edges), Mark.of(ends.tails), Mark.of(ends.heads))


def advance(older: Topology, origin: Origin, ends: Ends, *, folds: bool = True) -> Topology | None:
    """The topology of `ends`, or None when it has to be built from scratch; without `folds` only as an overlay."""
    marks = ((origin.edges, ends.edges), (origin.tails, ends.tails), (origin.heads, ends.heads))
    if not all(mark.precedes(table) for mark, table in marks):
        return None
    change = _change(older.out, origin, ends)
    if change is None or (not folds and change.size > _FOLD_AT * len(older.out)):
        return None
    if not _stay(origin.tails, ends.tails, lambda: older.out.owners[change.kept(older.out)]):
        return None
    if not _stay(origin.heads, ends.heads, lambda: older.out.neighbours[change.kept(older.out)]):
        return None
    if change.size > _FOLD_AT * len(older.out):
        return ends.topology(change.folded(older.out, "out"))
    out = change.laid_over(older.out, "out")
    return Topology({"out": out}, derive=lambda direction: change.laid_over(older.lists(direction), direction))


@dataclass(frozen=True, slots=True)
class _Change:
    """Between two versions: which edges are the same (a flag per row id; None: all of them), and which are new."""

    same: Mask | None
    news: Triples
    size: int

    def kept(self, lists: Adjacency) -> Mask:
        """Which entries are still there."""
        return np.ones(len(lists), np.bool_) if self.same is None else self.same[lists.edges]

    def laid_over(self, lists: Adjacency, direction: str) -> Adjacency:
        """The lists of one direction, with new lists for the rows that the change touches."""
        near, far, edges = oriented(self.news, direction)
        gone = np.empty(0, np.int64) if self.same is None else np.flatnonzero(~self.same[lists.edges])
        if not len(edges) and not len(gone):
            return lists
        changed = distinct_rows(np.concatenate([near, lists.owners_of(gone)]))
        at, neighbours, through = lists.expand(changed)
        if len(gone) and self.same is not None:
            still = self.same[through]
            at, neighbours, through = at[still], neighbours[still], through[still]
        parts = ((changed[at], near), (neighbours, far), (through, edges))
        return Overlay(lists, changed, build(*(np.concatenate(part) for part in parts)))

    def folded(self, lists: Adjacency, direction: str) -> Adjacency:
        """The lists of one direction with the change worked in."""
        kept = self.kept(lists)
        near, far, edges = oriented(self.news, direction)
        order = np.argsort(edges, kind="stable")
        older = lists.edges[kept]
        return build(
            np.concatenate([lists.owners[kept], near[order]]),
            np.concatenate([lists.neighbours[kept].astype(np.int64), far[order]]),
            np.concatenate([older.astype(np.int64), edges[order]]),
            # A new edge has a higher row id than every older one; one that moved may stand before its parallels.
            settled=not len(edges) or _width(older) <= int(edges.min()),
        )


def _change(base: Adjacency, origin: Origin, ends: Ends) -> _Change | None:
    """What happened to the edges since; None when it is so much that starting over is as good."""
    handle = ends.edges.handle
    changed = handle.scan([ROW_ID, "src", "dst", CREATED], f"{UPDATED} > {origin.edges.version}")
    if changed.num_rows > _MOST_CHANGED * max(len(base), 1):
        return None
    tails, heads = (_nodes(table, changed, end) for table, end in ((ends.tails, "src"), (ends.heads, "dst")))
    sources, targets, edges = resolve(changed, tails, heads)
    order = np.argsort(edges, kind="stable")
    news = (sources[order], targets[order], edges[order])
    touched = row_ids(changed[ROW_ID])
    inserted = int((row_ids(changed[CREATED]) > origin.edges.version).sum())
    gone = origin.edges.rows + inserted - handle.count_rows()
    if not gone and (not len(touched) or int(touched.min()) > base.last_edge):
        return _Change(None, news, len(touched))  # the usual case, and without looking at every edge
    same = np.ones(base.last_edge + 1, np.bool_)
    same[touched[touched < len(same)]] = False
    same, news = _without_repeats(base, same, news)
    if gone:
        # Which ones, only the row ids that are left can tell.
        same &= _flags(row_ids(handle.scan([ROW_ID])[ROW_ID]), len(same))
    return _Change(same, news, len(news[2]) + abs(gone))


def _without_repeats(base: Adjacency, same: Mask, news: Triples) -> tuple[Mask, Triples]:
    """An edge that was rewritten with the ends it had is still the same."""
    sources, targets, edges = news
    rewritten = np.flatnonzero(~same[base.edges])
    if not len(edges) or not len(rewritten):
        return same, news
    place = np.minimum(np.searchsorted(edges, base.edges[rewritten]), len(edges) - 1)
    equal = (edges[place] == base.edges[rewritten]) & (sources[place] == base.owners_of(rewritten))
    equal &= targets[place] == base.neighbours[rewritten]
    same[base.edges[rewritten[equal]]] = True
    fresh = np.ones(len(edges), np.bool_)
    fresh[place[equal]] = False
    return same, (sources[fresh], targets[fresh], edges[fresh])


def _stay(mark: Mark, table: Entities, rows: Callable[[], npt.NDArray[Any]]) -> bool:
    """Whether each of these nodes still has the row id it had."""
    if table.entry.version == mark.version:
        return True
    if table.handle.count_rows(f"{CREATED} <= {mark.version}") == mark.rows:
        return True  # no node was removed
    wanted = rows()
    stored = table.handle.scan([ROW_ID], f"{CREATED} <= {mark.version}")
    return bool(_flags(row_ids(stored[ROW_ID]), _width(wanted))[wanted].all())


def _width(rows: npt.NDArray[Any]) -> int:
    return int(rows.max()) + 1 if len(rows) else 0


def _flags(rows: Rows, width: int) -> Mask:
    flags = np.zeros(width, np.bool_)
    flags[rows[rows < width]] = True
    return flags


def _nodes(table: Entities, changed: pa.Table, end: str) -> pa.Table:
    """Ids and row ids of at least the nodes at one end of the changed edges."""
    wanted = changed[end].unique()
    if len(wanted) > _FEW_IDS:
        return table.handle.scan(["id", ROW_ID])
    return table.handle.take_ids(wanted, ["id", ROW_ID])
