"""Steps that satisfy conditions on their edge and on the nodes they lead from and to, and what such a step costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import Along, Link
from omnigraph.compiler.types import union_name
from omnigraph.engine.read.columns.arrays import Rows
from omnigraph.engine.read.columns.rowindex import RowIndex, distinct_rows
from omnigraph.engine.read.frames.frame import Bound, Frame, numpy_of
from omnigraph.engine.read.frames.run import Run
from omnigraph.engine.read.match.negation import mark
from omnigraph.engine.read.match.reach import Neighbours
from omnigraph.engine.read.topology.adjacency import Adjacency, build
from omnigraph.errors import BadRequest

Costs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps from some nodes: where each begins, where it leads, its edge."""

    near: Rows
    far: Rows
    edge: Rows

    def where(self, kept: npt.NDArray[np.bool_]) -> Steps:
        """Those for which the flag is set."""
        return self if kept.all() else Steps(self.near[kept], self.far[kept], self.edge[kept])


class AlongSteps:
    """The steps of a graph that a link may take; `backward` when they are walked from its head."""

    def __init__(self, run: Run, link: Link, graph: Neighbours, *, backward: bool) -> None:
        self._run = run
        self._graph = graph
        self._backward = backward
        self._along = link.along or Along()
        self._coded = bool(link.ways)
        both = f"node:{union_name(link.node_types)}"
        # Row ids of one type are plain, so the type at each end has to be named.
        self._ends = (both, both) if link.ways else (f"node:{link.tail_type}", f"node:{link.head_type}")
        self._edges = f"edge:{link.edge}"

    @property
    def span(self) -> int | None:
        """What is known of the whole graph."""
        return self._graph.span

    @property
    def has_patterns(self) -> bool:
        """Whether a pattern is matched for each step."""
        return bool(self._along.marks)

    def around(self, rows: Rows) -> Adjacency:
        """Lists for these rows, of the steps that may be taken."""
        if not self._along.conditions:
            return self._graph.around(rows)
        steps = self.steps(rows)
        return build(steps.near, steps.far, steps.edge)

    def steps(self, rows: Rows) -> Steps:
        """The same one by one."""
        at, far, edge = self._graph.around(rows).expand(rows)
        self._run.budget.admit(len(at), row_bytes=32)
        steps = Steps(rows[at], far, edge)
        for condition in self._along.conditions:
            steps = steps.where(numpy_of(self._run.evaluator(self._frame(steps)).keep(condition)))
        return steps

    def costs(self, steps: Steps, cost: ir.Expr) -> Costs:
        """What each step costs; NaN where that is null, and such a step cannot be taken."""
        column = self._run.evaluator(self._frame(steps)).column(cost, pa.float64())
        found: Costs = column.to_numpy(zero_copy_only=False).astype(np.float64)
        if len(found) and bool((found < 0).any()):
            least = float(np.nanmin(found))
            raise BadRequest(
                f"a step of the path costs {least:g}, but the cost of a step must not be negative; leave such steps "
                "out with a condition, or take abs(…) or greatest(…, 0)"
            )
        return found

    def _frame(self, steps: Steps) -> Frame:
        along = self._along
        source, target = (steps.far, steps.near) if self._backward else (steps.near, steps.far)
        bound = {}
        for name, nodes, key in ((along.source, source, self._ends[0]), (along.target, target, self._ends[1])):
            if name is not None:
                bound[name] = Bound(key, self._run.numbering.decoded(key, nodes) if self._coded else nodes)
        if along.edge is not None:
            bound[along.edge] = Bound(self._edges, steps.edge)
        frame = Frame(len(steps.near), bound)
        for op in along.marks:
            frame = mark(self._run, frame, op, self._run.match)
        return frame


class CheapestSteps:
    """One step for each pair of neighbours, the cheapest, for a search that goes on from a node several times."""

    def __init__(self, graph: AlongSteps, cost: ir.Expr | None) -> None:
        self._graph = graph
        self._cost = cost
        self._known: Rows = np.empty(0, np.int64)
        self._near = self._far = self._known
        self._costs: Costs = np.empty(0)
        self._lists = build(self._near, self._far, self._known)

    def around(self, rows: Rows) -> tuple[Adjacency, Costs]:
        """Lists for at least these rows, whose edges are places in the costs.

        What patterns make of a step is kept: LDBC's bi19 goes on from most people in several of its twelve rounds.
        Any other cost is cheaper to compute again.
        """
        rows = distinct_rows(rows)
        if not self._graph.has_patterns:
            near, far, costs = self._cheapest(rows)
            return build(near, far, np.arange(len(costs))), costs
        fresh = rows[~RowIndex(self._known).contains(rows)]
        if len(fresh):
            near, far, costs = self._cheapest(fresh)
            self._known = np.sort(np.concatenate([self._known, fresh]))
            self._near, self._far = np.concatenate([self._near, near]), np.concatenate([self._far, far])
            self._costs = np.concatenate([self._costs, costs])
            self._lists = build(self._near, self._far, np.arange(len(self._costs)))
        return self._lists, self._costs

    def _cheapest(self, rows: Rows) -> tuple[Rows, Rows, Costs]:
        steps = self._graph.steps(rows)
        costs = np.ones(len(steps.near)) if self._cost is None else self._graph.costs(steps, self._cost)
        there = ~np.isnan(costs)
        if not there.all():
            steps, costs = steps.where(there), costs[there]
        order = np.lexsort((costs, steps.far, steps.near))
        near, far = steps.near[order], steps.far[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1])
        return near[first], far[first], costs[order[first]]
