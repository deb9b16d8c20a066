"""The shape of one edge table at one version: neighbour lists over node row ids."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.read.columns.arrays import Mask
from omnigraph.engine.read.columns.artifacts import Artifact, ArtifactKind, Marks, Place
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index_store import remember_keys
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.topology.adjacency import Adjacency, build, narrow
from omnigraph.engine.read.topology.files import KEPT_PER_TABLE, load_lists, save_lists
from omnigraph.engine.read.topology.sorting import Column
from omnigraph.engine.values.text_hashes import short_texts
from omnigraph.memory.cache import CacheKind

DIRECTIONS = ("out", "in", "both")
# From so many ends on it is worth looking at how long they are; so many edges are then read at a time.
_MANY_ENDS = 1 << 16
_READ_ROWS = 1 << 17
Triples: TypeAlias = tuple[Column, Column, Column]


@dataclass(frozen=True, slots=True)
class Ends:
    """The three tables behind a traversal: the edges, and the nodes at their source and target ends."""

    edges: Entities
    tails: Entities
    heads: Entities
    keep: bool = False  # whether what is built may be written beside the graph

    @property
    def key(self) -> Hashable:
        """Names the exact versions; a node table counts too, because it says which row id an endpoint has."""
        return (self.edges.version_key, self.tails.version_key, self.heads.version_key)

    @property
    def artifact(self) -> Artifact[Topology]:
        """The topology of these exact versions."""
        return Artifact(_KIND, (self.edges, self.tails, self.heads))

    @property
    def place(self) -> Place:
        """Where it is kept beside the graph."""
        return self.artifact.place

    def topology(self, out: Adjacency) -> Topology:
        """The topology with these lists along the edges, which keeps what it derives from them if it may."""
        return Topology({"out": out}, self.place, self.artifact.marks) if self.keep else Topology({"out": out})


class Topology:
    """Neighbour lists by source (`out`), by target (`in`) and by either end (`both`), each on demand."""

    def __init__(
        self,
        lists: Mapping[str, Adjacency],
        place: Place | None = None,
        marks: Marks = (),
        *,
        saves: bool = True,
        derive: Callable[[str], Adjacency] | None = None,
    ) -> None:
        self._lists = dict(lists)
        self._place = place
        self._marks = marks
        self._saves = saves
        self._derive = derive or self._derived
        self.stands_alone = derive is None  # not an overlay over an older one
        self._lock = threading.Lock()

    @property
    def out(self) -> Adjacency:
        """Along the edges."""
        return self._lists["out"]

    @property
    def nbytes(self) -> int:
        # What may be derived later is counted from the start: the cache asks only once.
        return self.out.nbytes * 3

    @cached_property
    def span(self) -> int:
        """One more than the largest row id of a linked node."""
        return max(self.out.last_owner, self.out.last_neighbour) + 1 if len(self.out) else 0

    def lists(self, direction: str) -> Adjacency:
        """Neighbour lists along the edges (`out`), against them (`in`) or regardless of direction (`both`)."""
        with self._lock:
            if direction not in self._lists:
                self._lists[direction] = self._kept(direction) or self._derive(direction)
            return self._lists[direction]

    def known(self) -> dict[str, Adjacency]:
        """The lists that exist already, in memory or on disk."""
        with self._lock:
            for direction in DIRECTIONS:
                if direction not in self._lists and (kept := self._kept(direction)) is not None:
                    self._lists[direction] = kept
            return dict(self._lists)

    def _kept(self, direction: str) -> Adjacency | None:
        return None if self._place is None else load_lists(self._place, direction, self._lists["out"])

    def _derived(self, direction: str) -> Adjacency:
        triples = (self.out.owners, self.out.neighbours, self.out.edges)
        lists = build(*oriented(triples, direction))
        if self._place is not None and self._saves:
            save_lists(self._place, direction, lists, self._marks)
        return lists


# One topology may fill all of the memory: without it every traversal would build it again.
TOPOLOGIES: CacheKind[Topology] = CacheKind("topologies", lambda topology: topology.nbytes, largest=1.0)
_KIND = ArtifactKind(TOPOLOGIES, directory="topology", format=2, kept=KEPT_PER_TABLE)


def oriented(triples: Triples, direction: str) -> Triples:
    """(node, neighbour, edge) entries of a direction from (source, target, edge) of each edge."""
    sources, targets, edges = triples
    if direction == "out":
        return triples
    if direction == "in":
        return targets, sources, edges
    # A self-loop is one edge at one node, not two.
    again = sources != targets
    both = ([sources, targets[again]], [targets, sources[again]], [edges, edges[again]])
    near, far, through = (np.concatenate(parts) for parts in both)
    return near, far, through


def build_topology(ends: Ends) -> Topology:
    """One scan of the edges, and one look-up per endpoint from stored id to row id."""
    return ends.topology(build(*_looked_up(ends)))


def build_both(ends: Ends) -> Topology:
    """The same along the edges and against them, beside each other, kept beside the graph."""

    def kept(direction: str) -> Adjacency:
        lists = build(*oriented(triples, direction))
        save_lists(ends.place, direction, lists, ends.artifact.marks)
        return lists

    triples = _looked_up(ends)
    with ThreadPoolExecutor(2, "omnigraph-lists") as pool:  # sorting and writing leave Python free
        along, against = pool.map(kept, ("out", "in"))
    return Topology({"out": along, "in": against}, ends.place, ends.artifact.marks)


def _looked_up(ends: Ends) -> Triples:
    tails = ends.tails.handle.scan(["id", ROW_ID])
    same = ends.tails.version_key == ends.heads.version_key
    heads = tails if same else ends.heads.handle.scan(["id", ROW_ID])
    # The ids are in memory now, so an index of them costs little more; a traversal also starts somewhere.
    remember_keys(ends.tails, tails, keep=ends.keep)
    remember_keys(ends.heads, heads, keep=ends.keep)
    if ends.edges.row_count >= _MANY_ENDS:
        short_tails = _with_short_ids(tails)
        short_heads = short_tails if same or short_tails is None else _with_short_ids(heads)
        if short_tails is not None and short_heads is not None:
            edges = _with_short_ends(ends.edges)
            if edges is not None:
                return resolve(edges, short_tails, short_heads)
    return resolve(ends.edges.handle.scan([ROW_ID, "src", "dst"]), tails, heads)


def _with_short_ids(nodes: pa.Table) -> pa.Table | None:
    """Nodes with numbers for their ids; None unless all ids are short texts."""
    short = short_texts(nodes["id"])
    return None if short is None else pa.table({"id": short, ROW_ID: nodes[ROW_ID]})


def _with_short_ends(edges: Entities) -> pa.Table | None:
    """Edges with numbers for their ends; None unless all ends are short texts.

    They are read a piece at a time: the texts of ten million edges are 240 MB, which are not needed at once.
    """
    rows = np.empty(edges.row_count, np.int64)
    source, target = (np.empty(edges.row_count, np.uint64) for _ in range(2))
    done = 0
    for batch in edges.handle.batches([ROW_ID, "src", "dst"], batch_size=_READ_ROWS):
        upto = done + len(batch)
        for name, into in (("src", source), ("dst", target)):
            short = short_texts(batch.column(name))
            if short is None:
                return None
            into[done:upto] = short
        rows[done:upto] = batch.column(ROW_ID).to_numpy()
        done = upto
    return pa.table({ROW_ID: rows[:done], "src": source[:done], "dst": target[:done]})


def resolve(edges: pa.Table, tails: pa.Table, heads: pa.Table) -> Triples:
    """(source row, target row, edge row) of each edge; edges come as `src` and `dst`, nodes as `id`.

    Ids are texts, or numbers that stand for them in all of the tables.
    """
    with ThreadPoolExecutor(2, "omnigraph-ends") as pool:  # Arrow looks up without holding Python up
        ends = pool.map(_rows_of, (edges["src"], edges["dst"]), (tails, heads))
        (source, source_known), (target, target_known) = ends
    edge = narrow(row_ids(edges[ROW_ID]))
    if source_known is None and target_known is None:
        return source, target, edge
    known = np.ones(len(edge), np.bool_)
    for each in (source_known, target_known):
        known &= True if each is None else each
    return source[known], target[known], edge[known]


def _rows_of(ids: pa.ChunkedArray, nodes: pa.Table) -> tuple[Column, Mask | None]:
    """The row id of each node, and which ids are known unless all are."""
    # In one piece: Arrow builds its hash table anew for every chunk.
    among, wanted = one_chunk(nodes["id"]), None
    if len(ids) >= _MANY_ENDS and pa.types.is_string(ids.type) and (short := short_texts(among)) is not None:
        numbers = short_texts(ids)
        if numbers is not None:  # two thirds of the time for ten million ends
            wanted, among = pa.array(numbers), pa.array(short)
    found = pc.index_in(one_chunk(ids) if wanted is None else wanted, value_set=among)
    known: Mask | None = found.is_valid().to_numpy(zero_copy_only=False) if found.null_count else None
    place: Column = pc.fill_null(found, 0).to_numpy(zero_copy_only=False) if found.null_count else found.to_numpy()
    rows = row_ids(nodes[ROW_ID])
    if not len(rows):
        return np.zeros(len(place), np.int64), known
    # Of a table that only grew each row id is its place.
    in_place = int(rows[0]) == 0 and int(rows[-1]) == len(rows) - 1 and bool((np.diff(rows) == 1).all())
    return place if in_place else rows[place], known
