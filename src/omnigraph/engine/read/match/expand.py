"""Following edges: extend rows by neighbours, or test whether two bound nodes are linked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import Expand, ExpandTest, NodeScan
from omnigraph.engine.read.columns.arrays import Mask, Rows, spread
from omnigraph.engine.read.columns.costs import add_cost, cost_kind, cost_of
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Bound, Frame, concatenate
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.match.along import AlongSteps
from omnigraph.engine.read.match.meeting import meet
from omnigraph.engine.read.match.mixed import MixedSteps, mixed_lists
from omnigraph.engine.read.match.reach import Neighbours, reach, returning
from omnigraph.engine.read.match.scan import matching_nodes, names_one
from omnigraph.engine.read.topology.adjacency import Adjacency
from omnigraph.engine.read.topology.edge_lookup import edges_around
from omnigraph.engine.read.topology.membership import are_neighbours
from omnigraph.engine.read.topology.store import ready_topology, topology
from omnigraph.engine.read.topology.topology import Ends
from omnigraph.errors import BadRequest

TRAVERSAL_MODE = "OMNIGRAPH_TRAVERSAL_MODE"
# Below this many edges building a topology takes milliseconds; above it, so few starts are faster to look up.
SMALL_EDGE_TABLE = 200_000
FEW_STARTS = 64
_BUILD_SECONDS_PER_EDGE = 7e-7
# A step that yields more rows than this is taken in pieces.
_PIECE = 1 << 22
# Sorting so many rows takes longer than looking up the neighbours of more nodes.
_SORTED_ROWS = 1 << 16
_LOOKUPS = cost_kind("edges looked up")


def traversal_mode() -> str:
    """`indexed`, `csr` or, when the environment does not force one, `auto`."""
    mode = os.environ.get(TRAVERSAL_MODE, "").strip().lower() or "auto"
    if mode not in ("auto", "indexed", "csr"):
        raise BadRequest(f"{TRAVERSAL_MODE} must be 'indexed' or 'csr', not '{mode}'")
    return mode


def expand(run: Run, frame: Frame, op: Expand, live: frozenset[str], *, exists: bool = False) -> Frame:
    """One row per distinct neighbour, or per edge when the edge is bound; only variables in `live` are carried on.

    With `exists`, rows that agree on what is `live` may collapse.
    """
    if (known := named_target(run, frame, op)) is not None:
        return known
    sources = frame.rows(op.source)
    starts, inverse = distinct(sources)
    lists = linked_lists(run, op.link, starts, backward=op.source == op.link.head)
    growth = lists.degrees(starts)
    growth = growth if starts is sources else growth[inverse]
    total, row_bytes = int(growth.sum()), 8 * (len(frame.bound) + 2)
    if not op.predicates and not op.edge_predicates:
        run.budget.admit(total, row_bytes=row_bytes)  # nothing will thin it out, so refuse it before any work is done
    if total <= _PIECE:
        return _extended(run, frame, op, lists, live, exists=exists, told=(starts, inverse))
    # In pieces, so that a large step can be stopped in the middle and other threads get their turn.
    pieces: list[Frame] = []
    length = 0
    for low, high in ranges(growth):
        pieces.append(_extended(run, frame.take(np.arange(low, high)), op, lists, live, exists=exists))
        length += pieces[-1].length
        run.budget.admit(length, row_bytes=row_bytes)
    return concatenate(pieces)


def named_target(run: Run, frame: Frame, op: Expand) -> Frame | None:
    """The same for several hops to one node that is named by its key: a search from there, or from both ends."""
    scan = NodeScan(op.target, op.target_type, op.predicates)
    if op.link.is_single or is_union(scan.table_key) or not names_one(run, scan):
        return None
    nodes = matching_nodes(run, scan)
    if not len(nodes):
        return frame.take(nodes).bind(op.target, scan.table_key, nodes)
    wider = frame.bind(op.target, scan.table_key, np.full(frame.length, nodes[0]))
    return expand_test(run, wider, ExpandTest(op.link))


def ranges(growth: Rows, piece: int | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of rows that grow to about as many rows each."""
    piece = piece or _PIECE
    grown = np.cumsum(growth)
    cuts = np.searchsorted(grown, np.arange(piece, int(grown[-1]), piece))
    bounds = np.unique(np.concatenate([[0], cuts, [len(growth)]])).tolist()
    return pairwise(bounds)


def _extended(
    run: Run,
    frame: Frame,
    op: Expand,
    lists: Adjacency,
    live: frozenset[str],
    *,
    exists: bool,
    told: tuple[Rows, Rows] | None = None,
) -> Frame:
    """`told` are the distinct sources and the place of each row among them, where they are known."""
    link = op.link
    sources = frame.rows(op.source)
    starts, inverse = distinct(sources) if told is None else told
    if starts is sources and frame.times is None and _is_plain(frame, op, live):
        nodes = lists.reached_once(starts) if exists else lists.reached(starts)
        return Frame(len(nodes), {op.target: Bound(f"node:{op.target_type}", nodes)})
    # Predicates see each distinct start once, however many rows of the frame share it.
    found = neighbours(run, op, lists, starts, live)
    if starts is sources:
        owner = found.at
    else:
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(found.at, minlength=len(starts)))])
        owner, entry = spread(offsets.take(inverse), offsets.take(inverse + 1))
        found = found.take(entry)
    wider = frame.only(live).take(owner)
    if op.target in live:
        wider = wider.bind(op.target, f"node:{op.target_type}", found.nodes)
    if found.edges is not None and link.edge_var in live:
        wider = wider.bind(link.edge_var, f"edge:{link.edge}", found.edges)
    return wider


def _is_plain(frame: Frame, op: Expand, live: frozenset[str]) -> bool:
    """Whether nothing but the neighbours is asked for; then whose neighbours they are does not matter."""
    if op.predicates or op.edge_predicates or op.target not in live or frame.score is not None or frame.outputs:
        return False
    return op.link.edge_var not in live and live.isdisjoint(frame.bound)


@dataclass(frozen=True, slots=True)
class Found:
    """Neighbours of some starts: which start each one belongs to, the node, and the edge if it is needed."""

    at: Rows
    nodes: Rows
    edges: Rows | None

    def take(self, picked: Rows | Mask) -> Found:
        at = np.flatnonzero(picked) if picked.dtype == np.bool_ else picked
        return Found(self.at.take(at), self.nodes.take(at), None if self.edges is None else self.edges.take(at))


def neighbours(run: Run, op: Expand, lists: Adjacency, starts: Rows, live: frozenset[str]) -> Found:
    """The neighbours that satisfy the predicates of the hop."""
    link = op.link
    if link.edge_var is not None and (link.edge_var in live or op.edge_predicates):
        found = Found(*lists.expand(starts))
    else:
        found = Found(*lists.step(starts), None)
    if op.predicates:
        found = found.take(run.matching(op.target, f"node:{op.target_type}", found.nodes, op.predicates))
    if found.edges is not None and op.edge_predicates and link.edge_var is not None:
        found = found.take(run.matching(link.edge_var, f"edge:{link.edge}", found.edges, op.edge_predicates))
    return found


def expand_test(run: Run, frame: Frame, op: ExpandTest) -> Frame:
    """Keep linked rows; with an edge binding, one row per connecting edge."""
    link = op.link
    if link.is_cycle and link.min_hops == 0:
        return frame
    if link.is_cycle and not link.is_single:
        return frame.where(_on_cycle(run, link, frame.rows(link.tail)))
    tails, heads = frame.rows(link.tail), frame.rows(link.head)
    near, far, backward = tails, heads, False
    starts, others = distinct_rows(tails), distinct_rows(heads)
    one_pair = len(starts) == len(others) == 1
    if len(others) < len(starts):
        near, far, backward, starts = heads, tails, True, others
    if one_pair and not link.is_single:
        tail, head = (_node(run, link, end, frame) for end in (link.tail, link.head))
        if tail != head:
            return frame if _linked(run, link, tail, head) else frame.take(np.empty(0, np.int64))
    if link.edge_var is None and link.is_single:
        return frame.where(are_linked(run, frame, link))
    lists = linked_lists(run, link, starts, backward=backward)
    if link.edge_var is None:
        return frame.where(are_neighbours(lists, near, far))
    owner, edges = lists.edges_between(near, far)
    wider = frame.take(owner).bind(link.edge_var, f"edge:{link.edge}", edges)
    if op.edge_predicates:
        wider = wider.where(run.matching(link.edge_var, f"edge:{link.edge}", edges, op.edge_predicates))
    return wider


def are_linked(run: Run, frame: Frame, link: Link) -> Mask:
    """Which rows have an edge between the two ends of a link of one hop."""
    near, far, backward = frame.rows(link.tail), frame.rows(link.head), False
    starts, others = distinct_rows(near), distinct_rows(far)
    ascends = bool((near[1:] >= near[:-1]).all())
    # From the end with fewer nodes, or the one that rows are sorted by already.
    if len(others) < len(starts) and not (ascends and len(near) > _SORTED_ROWS):
        near, far, backward, starts = far, near, True, others
    return are_neighbours(linked_lists(run, link, starts, backward=backward), near, far)


def _node(run: Run, link: Link, end: str, frame: Frame) -> int:
    """The one node at an end, as the steps of the link know it."""
    rows = frame.rows(end)[:1]
    return int((run.numbering.coded(f"node:{link.type_of(end)}", rows) if link.ways else rows)[0])


def _linked(run: Run, link: Link, tail: int, head: int) -> bool:
    """Whether a link of several hops holds between two different nodes."""
    graphs = (graph_of(run, link, backward=False), graph_of(run, link, backward=True))
    found = meet(run, link, graphs, tail, head)
    if found is None or found.distance >= link.min_hops:
        return found is not None
    # One hop more around the loop of the head.
    ends = np.array([head])
    return found.distance + 1 == link.min_hops and bool(are_neighbours(graphs[0].around(ends), ends, ends)[0])


def _on_cycle(run: Run, link: Link, rows: Rows) -> Mask:
    """Which rows lead back to themselves within the bounds of the link."""
    graph = graph_of(run, link, backward=False)
    low, high, budget = link.min_hops, link.max_hops, run.budget
    if link.ways:
        codes = run.numbering.coded(f"node:{link.tail_type}", rows)
        return RowIndex(returning(graph, codes, low, high, budget=budget, stride=run.numbering.stride)).contains(codes)
    return RowIndex(returning(graph, rows, low, high, budget=budget)).contains(rows)


def graph_of(run: Run, link: Link, *, backward: bool) -> Neighbours:
    """The steps of a link from its tail, or backward from its head; nodes are coded where it has several ways."""
    graph: Neighbours
    if link.ways:
        graph = MixedSteps(run, link, Steps, backward=backward)
    else:
        graph = Steps(run, link, "both" if link.undirected else "in" if backward else "out")
    return graph if link.along is None else AlongSteps(run, link, graph, backward=backward)


def linked_lists(run: Run, link: Link, starts: Rows, *, backward: bool) -> Adjacency:
    """Neighbour lists, complete for the ascending distinct starts, of everything the link reaches."""
    steps = graph_of(run, link, backward=backward)
    if link.ways:
        return mixed_lists(run, link, starts, steps, backward=backward)
    if not link.is_single:
        return reach(steps, starts, link.min_hops, link.max_hops, backward=backward, budget=run.budget)
    lists = steps.around(starts)
    return lists if link.edge_var is not None else lists.simple_from(starts)


class Steps:
    """One hop over an edge type: through its topology, or by look-up while that is cheaper."""

    def __init__(self, run: Run, link: Link, direction: str) -> None:
        self._mode = run.traversal
        self._direction = direction
        self._costs = run.view.tables.memory.cache(_LOOKUPS)
        self._ends = Ends(
            run.entities(f"edge:{link.edge}"),
            run.entities(f"node:{link.tail_type}"),
            run.entities(f"node:{link.head_type}"),
            run.keep_derived,
        )

    @property
    def span(self) -> int | None:
        """Known when the topology is in use already."""
        if self._mode == "indexed" or (self._mode == "auto" and not self._prefers_topology(0)):
            return None
        return topology(self._ends).span

    def around(self, rows: Rows) -> Adjacency:
        """Lists that are complete for at least these rows."""
        if self._prefers_topology(len(rows)):
            return topology(self._ends).lists(self._direction)
        begin = time.perf_counter()
        found = edges_around(self._ends, rows, self._direction)
        add_cost(self._costs, self._ends.key, time.perf_counter() - begin)
        return found

    def _prefers_topology(self, starts: int) -> bool:
        if self._mode != "auto":
            return self._mode == "csr"
        edges = self._ends.edges.row_count
        if edges <= SMALL_EDGE_TABLE or starts > FEW_STARTS or ready_topology(self._ends) is not None:
            return True
        # Once look-ups have cost as much as building would have, more of them are to be expected: build.
        return cost_of(self._costs, self._ends.key).seconds > edges * _BUILD_SECONDS_PER_EDGE
