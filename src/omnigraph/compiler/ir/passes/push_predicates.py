"""Conditions on one variable move to the operator that introduces the variable."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir.expr import Condition
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import Expand, ExpandTest, Filter, MatchOp, NodeScan
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import map_match
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import variables


def push_predicates(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with single-variable filters inside scans and expansions; filters on outer variables stay."""
    return map_match(plan, _pushed)


def _pushed(ops: tuple[MatchOp, ...], bound: frozenset[str]) -> tuple[MatchOp, ...]:
    by_variable: dict[str, list[Condition]] = {}
    rest: list[MatchOp] = []
    here = _introduced(ops) - bound
    for op in ops:
        reads = variables(op.condition) if isinstance(op, Filter) and not op.late else frozenset()
        if isinstance(op, Filter) and len(reads) == 1 and reads <= here:
            by_variable.setdefault(next(iter(reads)), []).append(op.condition)
        else:
            rest.append(op)
    return tuple(_with_predicates(op, by_variable) for op in rest) if by_variable else ops


def _introduced(ops: tuple[MatchOp, ...]) -> set[str]:
    """Variables of scans and expansions; what a block or a path binds has no place to push to."""
    found: set[str | None] = set()
    for op in ops:
        match op:
            case NodeScan(var):
                found.add(var)
            case Expand(link):
                found |= {op.target, link.edge_var}
            case ExpandTest(link):
                found.add(link.edge_var)
            case _:
                pass
    return {var for var in found if var is not None}


def _with_predicates(op: MatchOp, pushed: dict[str, list[Condition]]) -> MatchOp:
    match op:
        case NodeScan(var):
            return replace(op, predicates=(*op.predicates, *pushed.get(var, ())))
        case Expand(link):
            return replace(
                op,
                predicates=(*op.predicates, *pushed.get(op.target, ())),
                edge_predicates=(*op.edge_predicates, *_on_edge(link, pushed)),
            )
        case ExpandTest(link):
            return replace(op, edge_predicates=(*op.edge_predicates, *_on_edge(link, pushed)))
        case _:
            return op


def _on_edge(link: Link, pushed: dict[str, list[Condition]]) -> list[Condition]:
    return pushed.get(link.edge_var, []) if link.edge_var is not None else []
