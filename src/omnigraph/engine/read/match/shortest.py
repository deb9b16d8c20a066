"""Binding paths: which search finds them, in which order those between the same ends come, and their edges.

Of several paths that are as good the one whose ids come first is first, node by node, so that the choice never depends
on luck.
"""

from __future__ import annotations

import numpy as np

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.compiler.types import union_name
from omnigraph.engine.read.columns.arrays import Rows, spread
from omnigraph.engine.read.columns.rowindex import distinct, distinct_rows
from omnigraph.engine.read.frames.frame import Frame, first_places
from omnigraph.engine.read.frames.paths import Found, PathColumns
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import PATH, Columns, UnionColumns
from omnigraph.engine.read.match.along import AlongSteps
from omnigraph.engine.read.match.expand import graph_of
from omnigraph.engine.read.match.layers import layered_paths
from omnigraph.engine.read.match.simple_paths import first_paths, simple_paths
from omnigraph.engine.read.shape.order import id_ranks
from omnigraph.errors import ParameterError


def shortest_paths(run: Run, frame: Frame, op: ShortestPath) -> Frame:
    """Bind the paths of each row, whose ends are bound; for a plain shortest one the link holds between them."""
    link = op.link
    code, count = frame.codes((link.tail, link.head))
    first = first_places(code, count) if frame.length else np.empty(0, np.int64)
    tails, heads = (_searched(run, link, end, frame.rows(end)[first]) for end in (link.tail, link.head))
    columns = node_columns(run, link)
    found = _found(run, op, tails, heads, columns)
    if op.adds_rows:
        found = _ordered(run, op, found, columns)
    if any(name.startswith("edges") for name in op.columns):
        found = _with_edges(run, op, found)
    numbers = run.paths.setdefault(op.var, PathColumns()).add(found, columns, run.columns(f"edge:{link.edge}"))
    key = f"{PATH}{op.var}"
    if not op.adds_rows:
        return frame.bind(op.var, key, numbers[code])
    bounds = np.searchsorted(found.pairs, np.arange(count + 1))
    owner, entry = spread(bounds[code], bounds[code + 1])
    run.budget.admit(len(owner), row_bytes=8 * (len(frame.bound) + 1))
    return frame.take(owner).bind(op.var, key, numbers[entry])


def _found(run: Run, op: ShortestPath, tails: Rows, heads: Rows, columns: Columns) -> Found:
    """The paths of each pair, in ascending order of pairs."""
    if op.kind == "simple":
        return simple_paths(run, op.link, tails, heads)
    many = None if op.count is None else _count(run, op.count)
    if many is None or (many == 1 and op.kind == "cheapest"):
        return layered_paths(run, op, tails, heads, columns)
    return first_paths(run, op, (tails, heads), many, columns)


def _count(run: Run, expr: ir.Const | ir.Param) -> int:
    value = run.constant(expr)
    if not isinstance(value, int) or value < 1:
        name = expr.name if isinstance(expr, ir.Param) else None
        raise ParameterError("P004", f"a number of paths is 1 or more, got {value}", parameter=name)
    return value


def _searched(run: Run, link: Link, end: str, rows: Rows) -> Rows:
    return run.numbering.coded(f"node:{link.type_of(end)}", rows) if link.ways else rows


def node_columns(run: Run, link: Link) -> Columns:
    """Where the nodes of a path have their values."""
    if not link.ways:
        return run.columns(f"node:{link.tail_type}")
    return UnionColumns(run, f"node:{union_name(link.node_types)}")


def _ordered(run: Run, op: ShortestPath, found: Found, columns: Columns) -> Found:
    """By pair, then by cost, length and ids."""
    if len(found.pairs) < 2:
        return found
    nodes, place = distinct(found.nodes)
    ids = id_ranks(columns, nodes)
    rank = np.empty(len(nodes), np.int64)
    rank[np.lexsort((nodes, ids))] = np.arange(len(nodes))
    longest = int(found.lengths.max()) + 1
    run.budget.admit(len(found.pairs), row_bytes=8 * longest)
    matrix = np.full((len(found.pairs), longest), -1, np.int64)
    filled = np.arange(longest) < (found.lengths + 1)[:, None]
    matrix[filled] = rank[place]
    costs = found.costs if op.cost is not None else np.zeros(len(found.pairs))
    order = np.lexsort((*matrix.T[::-1], found.lengths, costs, found.pairs))
    begin = found.offsets[:-1]
    _, entry = spread(begin[order], begin[order] + found.lengths[order] + 1)
    return Found(found.pairs[order], found.lengths[order], found.costs[order], found.nodes[entry])


def _with_edges(run: Run, op: ShortestPath, found: Found) -> Found:
    """The edge of every step: the cheapest of parallel ones, then the one whose id comes first."""
    inner = np.ones(len(found.nodes), np.bool_)
    inner[found.offsets[1:] - 1] = False
    near = found.nodes[inner]
    if not len(near):
        return Found(found.pairs, found.lengths, found.costs, found.nodes, near)
    inner = np.ones(len(found.nodes), np.bool_)
    inner[found.offsets[:-1]] = False
    far = found.nodes[inner]
    graph = graph_of(run, op.link, backward=False)
    along = graph if isinstance(graph, AlongSteps) else AlongSteps(run, op.link, graph, backward=False)
    steps = along.steps(distinct(near)[0])
    costs = np.zeros(len(steps.near)) if op.cost is None else along.costs(steps, op.cost)
    wanted, place = _distinct_pairs(near, far)
    kept = np.isin(steps.near, distinct(near)[0]) & np.isin(steps.far, distinct(far)[0])
    steps, costs = steps.where(kept), costs[kept]
    ids = id_ranks(run.columns(f"edge:{op.link.edge}"), steps.edge)
    order = np.lexsort((ids, costs, steps.far, steps.near))
    steps = type(steps)(steps.near[order], steps.far[order], steps.edge[order])
    first = np.ones(len(order), np.bool_)
    first[1:] = (steps.near[1:] != steps.near[:-1]) | (steps.far[1:] != steps.far[:-1])
    steps = steps.where(first)
    # Both are in the order of (near, far), and every wanted pair is among the steps.
    at = _positions((steps.near, steps.far), wanted)
    return Found(found.pairs, found.lengths, found.costs, found.nodes, steps.edge[at][place])


def _distinct_pairs(near: Rows, far: Rows) -> tuple[tuple[Rows, Rows], Rows]:
    """The different pairs in order, and which of them each pair is."""
    ends, far_place = distinct(far)
    starts, near_place = distinct(near)
    keys, place = distinct(near_place * len(ends) + far_place)
    return (starts[keys // len(ends)], ends[keys % len(ends)]), place


def _positions(among: tuple[Rows, Rows], wanted: tuple[Rows, Rows]) -> Rows:
    """Where each wanted pair stands among sorted different pairs that hold it."""
    ends = distinct_rows(np.concatenate([among[1], wanted[1]]))
    starts = distinct_rows(np.concatenate([among[0], wanted[0]]))
    keys = np.searchsorted(starts, among[0]) * len(ends) + np.searchsorted(ends, among[1])
    return np.searchsorted(keys, np.searchsorted(starts, wanted[0]) * len(ends) + np.searchsorted(ends, wanted[1]))
