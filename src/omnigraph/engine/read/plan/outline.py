"""What running a plan asks about it each time and parameters never change: which variables are needed after which step.

An outline belongs to the plan object it was made from and is kept with it, so that a plan that is run again is not
walked again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    AntiJoin,
    Either,
    Expand,
    ExpandTest,
    Filter,
    LeftJoin,
    Mark,
    MatchOp,
    NodeScan,
    Project,
    ShortestPath,
    Sort,
    Unwind,
    WindowColumns,
)
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import variables
from omnigraph.engine.read.frames.unions import MARKED, PATH, made_key
from omnigraph.engine.read.match.either import shared_key
from omnigraph.engine.read.match.optional import optional_key
from omnigraph.engine.read.plan.multiplicity import counts_rows, ignores_repeats


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator of a match: what it binds, and what has to be bound after it."""

    op: MatchOp
    binds: frozenset[str]
    live: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outline:
    """The stages of a plan's match, and whether equal rows may collapse on the way, or be counted instead of made.

    `any_order` says that the query does not ask for an order of rows: it only makes answers repeatable.
    """

    stages: tuple[Stage, ...]
    exists: bool
    counts: bool = False
    any_order: bool = False
    parts: tuple[Outline, ...] = ()
    source: Outline | None = None


def outline(plan: ReadPlan, keep: frozenset[str] = frozenset()) -> Outline:
    """The outline of a plan; at least the variables in `keep` are bound in the end."""
    source = None if plan.source is None else outline(plan.source.plan, frozenset(plan.source.keeps))
    parts = tuple(map(outline, plan.parts))
    exists = ignores_repeats(plan)
    counts = not exists and not keep and counts_rows(plan)
    in_order = stages(plan.match, _shown(plan) | keep)
    return Outline(in_order, exists, counts, not keep and any_order(plan), parts, source)


def collapsing(known: Outline) -> dict[int, frozenset[str]]:
    """The operators after which equal rows are one, by their identity, and the variables that are bound then."""
    found = {id(stage.op): stage.live for stage in known.stages} if known.exists else {}
    for inner in (*known.parts, *(() if known.source is None else (known.source,))):
        found |= collapsing(inner)
    return found


def any_order(plan: ReadPlan) -> bool:
    """Whether rows are put into an order that the query does not ask for, and that nothing after it depends on."""
    match plan.result:
        case (Sort((), _, None), Project()):
            return plan.source is None
        case _:
            return False


def stages(ops: tuple[MatchOp, ...], keep: frozenset[str]) -> tuple[Stage, ...]:
    """Operators in order; in the end at least the variables in `keep` are bound, each one until its last use."""
    found: list[Stage] = []
    live = keep
    for op in reversed(ops):
        found.append(Stage(op, frozenset(binds(op)), live))
        live = live | _reads(op)
    return tuple(reversed(found))


def binds(op: MatchOp) -> dict[str, str]:
    """The variables an operator adds to the frame, with the table of each."""
    match op:
        case NodeScan(var):
            return {var: op.table_key}
        case Expand(link):
            return {op.target: f"node:{op.target_type}", **_bound_edge(link)}
        case ExpandTest(link):
            return _bound_edge(link)
        case LeftJoin(ops, _, bound):
            inner = {var: key for each in ops for var, key in binds(each).items()}
            return {var: optional_key(inner[var]) for var in bound}
        case Either(branches, _, bound):
            keys = [{var: key for each in branch.ops for var, key in binds(each).items()} for branch in branches]
            return {var: shared_key([key[var] for key in keys]) for var in bound}
        case Mark(var=var, call=call):
            return {var: MARKED if call is None else made_key(var)}
        case Unwind(var=var):
            return {var: made_key(var)}
        case ShortestPath(var=var):
            return {var: f"{PATH}{var}"}
        case _:
            return {}


def _bound_edge(link: Link) -> dict[str, str]:
    return {} if link.edge_var is None else {link.edge_var: f"edge:{link.edge}"}


def _shown(plan: ReadPlan) -> frozenset[str]:
    """The variables that shaping the result needs."""
    ties = (op.ties for op in plan.result if isinstance(op, Sort | WindowColumns))
    return frozenset(chain(*(variables(op) for op in plan.result), *ties))


def _reads(op: MatchOp) -> frozenset[str]:
    """The variables an operator needs to find in the frame."""
    match op:
        case NodeScan(joins=joins):
            return frozenset().union(*(variables(condition) for condition in joins)) - {op.var}
        case Expand(source=source):
            return frozenset({source})
        case ExpandTest(link):
            return frozenset({link.tail, link.head})
        case Filter(condition):
            return variables(condition)
        case AntiJoin(outer=outer) | LeftJoin(outer=outer) | Mark(outer=outer) | Either(outer=outer):
            return frozenset(outer)
        case Unwind(expr):
            return variables(expr)
        case ShortestPath(link):
            return frozenset({link.tail, link.head})
