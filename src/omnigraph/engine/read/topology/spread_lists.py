"""Neighbour lists of an edge table that is too large to be sorted at once: tasks sort ranges, and disk joins them.

A build in one piece holds every endpoint as text and every edge several times over. Here one round of tasks looks up
the ends of some fragments each, in an index that is mapped from disk, and leaves them cut by ranges of nodes; the next
round sorts one range each. What remains for this process is one range at a time and a counter per node.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.engine.intake.inputs.files import open_input, open_output
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.artifacts import Place
from omnigraph.engine.read.columns.entities import Entities
from omnigraph.engine.read.columns.held import ROW_ID, one_chunk
from omnigraph.engine.read.columns.key_index import KeyPart
from omnigraph.engine.read.columns.key_index_store import keep_exactly, kept_keys, key_artifact
from omnigraph.engine.read.columns.rowindex import row_ids
from omnigraph.engine.read.topology.adjacency import Adjacency, build, gathered, narrow
from omnigraph.engine.read.topology.files import save_lists
from omnigraph.engine.read.topology.sorting import Column, narrow_type
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
    for direction in _DIRECTIONS:
        pieces = [[mine[direction, number] for mine in cuts if (direction, number) in mine] for number in range(ranges)]
        found = run(lambda paths: _sort(job, paths), [paths for paths in pieces if paths])
        with tempfile.TemporaryDirectory(prefix="omnigraph-topology-") as place:
            save_lists(ends.place, direction, _joined(found, Path(place)), ends.artifact.marks)


def _span(part: KeyPart, ranges: int) -> int:
    last = int(part.rows.max()) if len(part) else 0
    return last // ranges + 1


# --- inside a task ---------------------------------------------------------------------------------------


def _cut(job: _Job, fragments: tuple[int, ...]) -> dict[tuple[str, int], str]:
    """Look up the ends of some fragments' edges; direction and range → the file with its entries."""
    # Every end of an edge is a node that exists: a commit that would leave it otherwise is refused.
    tails, heads = (nodes.part().rows_of_known() for nodes in (job.tails, job.heads))
    held: dict[tuple[str, int], list[Triples]] = {}
    table = open_table(job.edges, job.version)
    for batch in table.batches([ROW_ID, "src", "dst"], batch_size=_BATCH_ROWS, fragments=fragments):
        sources, targets = tails(batch.column("src")), heads(batch.column("dst"))
        known = (sources >= 0) & (targets >= 0)
        sources, targets, edges = (narrow(each[known]) for each in (sources, targets, row_ids(batch.column(ROW_ID))))
        for direction, owners, others in (("out", sources, targets), ("in", targets, sources)):
            for number, mine in _by_range(owners, job.spans[direction]):
                held.setdefault((direction, number), []).append((owners[mine], others[mine], edges[mine]))
    place = f"{job.scratch}/{new_ulid()}"
    return {key: _written(f"{place}-{key[0]}-{key[1]}", zip(*held.pop(key), strict=True)) for key in sorted(held)}


def _by_range(owners: Column, span: int) -> Iterator[tuple[int, Rows]]:
    numbers = owners // span
    last = int(numbers.max(initial=0))
    if last < 1 << 16:
        numbers = numbers.astype(np.uint16)  # short numbers are sorted by their digits
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))
    yield from ((number, mine) for number, mine in enumerate(np.split(order, ends[:-1])) if len(mine))


def _sort(job: _Job, paths: Sequence[str]) -> _Sorted:
    """The lists of one range, from every task's share of it."""
    tables = [_read(path) for path in paths]
    owners, neighbours, edges = (np.concatenate([table[name].to_numpy() for table in tables]) for name in _COLUMNS)
    lists = build(owners, neighbours, edges)
    path = _written(f"{job.scratch}/{new_ulid()}", ([lists.owners], [lists.neighbours], [lists.edges]))
    simple, last_neighbour, last_edge = lists.facts
    return _Sorted(path, len(lists), bool(simple), last_neighbour, last_edge)


def _written(path: str, columns: Iterable[Sequence[Column]]) -> str:
    arrays = [pa.array(np.concatenate(parts)) for parts in columns]
    table = pa.Table.from_arrays(arrays, names=list(_COLUMNS))
    with open_output(path) as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=_BATCH_ROWS)
    return path


def _read(path: str) -> pa.Table:
    with open_input(path) as file:
        return pa.ipc.open_file(file).read_all()


# --- back in this process --------------------------------------------------------------------------------


def _joined(found: Sequence[_Sorted], place: Path) -> Adjacency:
    """The lists of all ranges one after the other, in files of this machine that are mapped."""
    count = sum(part.entries for part in found)
    neighbours = _mapped(place / "neighbours", count, max((part.last_neighbour for part in found), default=-1))
    edges = _mapped(place / "edges", count, max((part.last_edge for part in found), default=-1))
    keys: list[Rows] = []
    counts: list[Rows] = []
    start = 0
    for part in found:
        table = _read(part.path)
        stop = start + part.entries
        neighbours[start:stop], edges[start:stop] = table["neighbour"].to_numpy(), table["edge"].to_numpy()
        owners, times = np.unique(table["owner"].to_numpy(), return_counts=True)
        keys.append(owners)
        counts.append(times)
        start = stop
    lists = gathered(keys, counts, neighbours, edges)
    facts = (all(part.simple for part in found), lists.last_neighbour, lists.last_edge)
    return lists.knowing(int(fact) for fact in facts)


def _mapped(path: Path, count: int, largest: int) -> Any:
    kind = narrow_type(largest)
    return np.memmap(path, kind, "w+", shape=(count,)) if count else np.empty(0, kind)
