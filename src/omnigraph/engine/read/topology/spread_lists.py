"""Neighbour lists of an edge table that is too large to be sorted at once: tasks sort ranges, and disk joins them.

A build in one piece holds every endpoint as text and every edge several times over. Here one round of tasks looks up
the ends of some fragments each, in an index that is mapped from disk, and leaves them cut by ranges of nodes; the next
round sorts one range each. What remains for this process is one range at a time and a counter per node.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.inputs.partitioned import PartitionedFile, write_partitioned
from omnigraph.engine.read.columns.array_files import file_array, map_arrays, write_arrays
from omnigraph.engine.read.columns.arrays import Rows, narrow_type
from omnigraph.engine.read.columns.artifacts import Place
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index import KeyPart
from omnigraph.engine.read.columns.key_index_store import keep_exactly, kept_keys, key_artifact
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.topology.adjacency import Adjacency, build, gathered, narrow
from omnigraph.engine.read.topology.files import save_lists
from omnigraph.engine.read.topology.topology import Ends, Triples
from omnigraph.engine.views.table_tasks import RunTasks, grouped
from omnigraph.ids import new_ulid
from omnigraph.storage.base.layout import Address
from omnigraph.storage.lance.tables import open_table

_DIRECTIONS = ("out", "in")
# Ends are looked up in the order of the index, so that long batches find more of them side by side.
_BATCH_ROWS = 1 << 20
_COLUMNS = ("owner", "neighbour", "edge")


@dataclass(frozen=True, slots=True)
class _Nodes:
    """One node table, and where its ids are indexed."""

    address: Address
    version: int
    keys: Place

    @classmethod
    def of(cls, table: Entities) -> _Nodes:
        keep_exactly(table)
        return cls(table.handle.address, table.entry.version, key_artifact(table).place)

    def part(self) -> KeyPart:
        """The index, mapped; a small table has none, and is read."""
        kept = kept_keys(self.keys)
        if kept is not None:
            return kept
        rows = open_table(self.address, self.version).scan(["id", ROW_ID])
        return KeyPart.of(one_chunk(rows["id"]), row_ids(rows[ROW_ID]))


@dataclass(frozen=True, slots=True)
class _Job:
    """What every task knows; `spans` says for each direction how many row ids one range has."""

    edges: Address
    version: int
    tails: _Nodes
    heads: _Nodes
    spans: Mapping[str, int]
    ranges: int
    scratch: str


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The lists of one range as files say it: where they are, and what only a look at all of them can tell."""

    path: str
    entries: int
    simple: bool
    last_neighbour: int
    last_edge: int


def build_spread(ends: Ends, run: RunTasks, scratch: str, *, range_edges: int = 4 << 20) -> None:
    """Keep the lists along the edges and against them beside the graph, as a build in one piece would.

    Tasks exchange files in the directory `scratch`, which the caller removes.
    """
    fragments = ends.edges.handle.fragment_rows()
    ranges = max(1, -(-sum(fragments.values()) // range_edges))
    tails, heads = _Nodes.of(ends.tails), _Nodes.of(ends.heads)
    spans = {name: _span(nodes.part(), ranges) for name, nodes in zip(_DIRECTIONS, (tails, heads), strict=True)}
    job = _Job(ends.edges.handle.address, ends.edges.entry.version, tails, heads, spans, ranges, scratch)
    groups = list(grouped(fragments.items(), range_edges))
    cuts = run(lambda group: _cut(job, group), groups)
    for at, direction in enumerate(_DIRECTIONS):
        found = run(partial(_sort, job, [paths[at] for paths in cuts]), range(ranges))
        with tempfile.TemporaryDirectory(prefix="omnigraph-topology-") as place:
            save_lists(ends.place, direction, _joined(found, Path(place)), ends.artifact.marks)


def _span(part: KeyPart, ranges: int) -> int:
    last = int(part.rows.max()) if len(part) else 0
    return last // ranges + 1


# --- inside a task ---------------------------------------------------------------------------------------


def _cut(job: _Job, fragments: tuple[int, ...]) -> tuple[str, ...]:
    """Look up the ends of some fragments' edges; for each direction the file that has their entries by range."""
    # Every end of an edge is a node that exists: a commit that would leave it otherwise is refused.
    tails, heads = (nodes.part().rows_of_known() for nodes in (job.tails, job.heads))
    nothing = np.empty(0, np.int32)
    held: list[Triples] = [(nothing, nothing, nothing)]  # the fragments may be without rows
    table = open_table(job.edges, job.version)
    for batch in table.batches([ROW_ID, "src", "dst"], batch_size=_BATCH_ROWS, fragments=fragments):
        sources, targets = tails(batch.column("src")), heads(batch.column("dst"))
        known = (sources >= 0) & (targets >= 0)
        edges = row_ids(batch.column(ROW_ID))
        held.append((narrow(sources[known]), narrow(targets[known]), narrow(edges[known])))
    sources, targets, edges = (np.concatenate(column) for column in zip(*held, strict=True))
    del held
    place = f"{job.scratch}/{new_ulid()}"
    for direction, owners, others in (("out", sources, targets), ("in", targets, sources)):
        entries = pa.table(dict(zip(_COLUMNS, (owners, others, edges), strict=True)))
        write_partitioned(f"{place}-{direction}", entries, owners // job.spans[direction], job.ranges)
    return tuple(f"{place}-{direction}" for direction in _DIRECTIONS)


def _sort(job: _Job, paths: Sequence[str], number: int) -> _Sorted:
    """The lists of one range, from every task's share of it."""
    shares = [share for path in paths for share in PartitionedFile.open(path).read(number, number + 1).values()]
    nothing = np.empty(0, np.int32)
    columns = ([nothing, *(share[name].to_numpy() for share in shares)] for name in _COLUMNS)
    lists = build(*map(np.concatenate, columns))
    owners, counts = lists.linked()
    arrays = {"owners": owners, "counts": counts, "neighbours": lists.neighbours, "edges": lists.edges}
    simple, last_neighbour, last_edge = lists.facts
    path = write_arrays(f"{job.scratch}/{new_ulid()}", arrays)
    return _Sorted(path, len(lists), bool(simple), last_neighbour, last_edge)


# --- back in this process --------------------------------------------------------------------------------


def _joined(found: Sequence[_Sorted], place: Path) -> Adjacency:
    """The lists of all ranges one after the other, in files of this machine that are mapped."""
    found = [part for part in found if part.entries]
    count = sum(part.entries for part in found)
    last_neighbour, last_edge = (
        max((getattr(part, name) for part in found), default=-1) for name in ("last_neighbour", "last_edge")
    )
    neighbours = file_array(place / "neighbours", narrow_type(last_neighbour), count)
    edges = file_array(place / "edges", narrow_type(last_edge), count)
    keys: list[Rows] = []
    counts: list[Rows] = []
    start = 0
    for number, part in enumerate(found):
        mine = map_arrays(part.path, place / f"range-{number}")
        stop = start + part.entries
        neighbours[start:stop], edges[start:stop] = mine["neighbours"], mine["edges"]
        keys.append(mine["owners"])
        counts.append(mine["counts"])
        start = stop
    lists = gathered(keys, counts, neighbours, edges)
    return lists.knowing((all(part.simple for part in found), last_neighbour, last_edge))
