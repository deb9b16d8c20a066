"""Where the first rows of a plan begin that orders all edges by one of their numbers, and wants a few.

A row for each edge, with both of its ends, takes longer than looking through the numbers. The edges with the leading
ones are found first; rows are made from the nodes at their near ends only, and ordered as always.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.estimates import Estimates
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import Expand, Fetch, NodeScan, Sort, SortKey
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.display import counted
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.key_index_store import rows_with_ids
from omnigraph.engine.read.columns.rowindex import distinct_rows
from omnigraph.engine.read.frames.expected import EdgeEnds
from omnigraph.engine.read.frames.frame import Bound, Frame
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.frames.unions import is_union
from omnigraph.engine.read.shape.numbering import value_column
from omnigraph.engine.read.shape.order import leading

# Fewer edges are made rows of in less time; more that are tied are left to the order of rows.
_MANY_EDGES = 1 << 15
_FEW_EDGES = 1 << 10
_MOST_TIED = 1 << 20


@dataclass(frozen=True, slots=True)
class LeadingEdges:
    """A scan and a hop over all of its edges, which are then ordered by a number of theirs."""

    scan: NodeScan
    hop: Expand
    key: SortKey
    number: ir.Property
    fetch: Fetch


def leading_edges(plan: ReadPlan) -> LeadingEdges | None:
    """What a plan of this shape looks for; None where it is of another one."""
    match plan.match, plan.result:
        case (
            (NodeScan(var, _, (), ()) as scan, Expand(link, source, (), ()) as hop),
            (Sort((SortKey(ir.Property() as number) as key, *_), _, Fetch() as fetch), *_),
        ):
            pass
        case _:
            return None
    if source != var or scan.kind != "node" or is_union(scan.table_key) or not _is_plain(link):
        return None
    if number.var != link.edge_var or not number.type.is_numeric or plan.source is not None or plan.parts:
        return None
    return LeadingEdges(scan, hop, key, number, fetch)


def expected_starts(plan: ReadPlan, estimates: Estimates) -> dict[int, EdgeEnds]:
    """The nodes that the scan of such a plan is expected to begin with, where its limit is known."""
    found = leading_edges(plan)
    if found is None or not isinstance(found.fetch.limit, ir.Const) or not isinstance(found.fetch.limit.value, int):
        return {}
    link, wanted, offset = found.hop.link, found.fetch.limit.value, found.fetch.offset
    wanted += offset.value if isinstance(offset, ir.Const) and isinstance(offset.value, int) else 0
    edges = estimates.degree(link.edge, "out") * estimates.rows(link.tail_type)
    if not 0 < wanted <= _FEW_EDGES or edges < _MANY_EDGES:
        return {}
    return {id(found.scan): EdgeEnds(float(wanted), link.edge, found.hop.source == link.tail)}


def leading_starts(run: Run, found: LeadingEdges) -> Frame | None:
    """The nodes that the scan has to begin with; None where edges are few, or too many of them are tied."""
    scan, hop, edges = found.scan, found.hop, f"edge:{found.hop.link.edge}"
    wanted = run.fetch_count(found.fetch)
    if not wanted or wanted > _FEW_EDGES or not run.exists(edges) or run.entities(edges).row_count < _MANY_EDGES:
        return None
    first = _first_edges(run, found, edges, wanted)
    if first is None or len(first) > _FEW_EDGES:
        return None
    near, far = ("src", "dst") if hop.source == hop.link.tail else ("dst", "src")
    nodes = _nodes(run, edges, near, first, scan.table_key)
    # An edge without both of its ends is not a row, and would take the place of one.
    if nodes is None or _nodes(run, edges, far, first, f"node:{hop.target_type}") is None:
        return None
    run.profile.note(f"only those with one of the first {counted(len(first), 'edge')}")
    return Frame(len(nodes), {scan.var: Bound(scan.table_key, nodes)})


def _first_edges(run: Run, found: LeadingEdges, edges: str, wanted: int) -> Rows | None:
    """The edges with the first numbers; of a table that memory may not keep those of each block first."""
    table = run.entities(edges)

    def ahead(rows: Rows) -> tuple[Rows, pa.Array]:
        values = value_column(run, Frame(len(rows), {found.number.var: Bound(edges, rows)}), found.number)
        kept = np.flatnonzero(leading(values, wanted, descending=found.key.descending))
        return rows[kept], values.take(pa.array(kept))

    ranges = table.blocks()
    if not ranges:
        return ahead(table.all_rows())[0]
    parts: list[tuple[Rows, pa.Array]] = []
    for low, high in ranges:
        run.budget.check()
        rows = table.hold_block([found.number.name], low, high)
        if rows is None:
            return None
        parts.append(ahead(rows))
        if sum(len(part) for part, _ in parts) > _MOST_TIED:
            return None
    table.let_go()
    rows, values = np.concatenate([part for part, _ in parts]), pa.concat_arrays([values for _, values in parts])
    return rows[np.flatnonzero(leading(values, wanted, descending=found.key.descending))]


def _is_plain(link: Link) -> bool:
    return link.is_single and not (link.is_cycle or link.undirected or link.ways) and link.along is None


def _nodes(run: Run, edges: str, end: str, rows: Rows, table_key: str) -> Rows | None:
    """The nodes at one end of these edges; None where one is missing."""
    ids = run.entities(edges).values(end, rows).unique()
    found = rows_with_ids(run.entities(table_key), ids.to_pylist(), keep=run.keep_derived)
    return distinct_rows(found) if len(found) == len(ids) else None
