"""Each variable carries only the properties that a later operator reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from omnigraph.compiler.ir.ops import (
    AntiJoin,
    Branch,
    Either,
    Expand,
    ExpandTest,
    Filter,
    LeftJoin,
    Mark,
    MatchOp,
    NodeScan,
    ShortestPath,
    Unwind,
    pipelines,
)
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.plan import ReadPlan
from omnigraph.compiler.ir.walk import properties


def prune_columns(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with `columns` filled in; a pushed predicate reads its column where it stands and needs no entry."""
    return _plan(plan, ())


def _plan(plan: ReadPlan, later: Iterable[tuple[str, str]]) -> ReadPlan:
    reads = [read for op in plan.result for read in properties(op)] + list(later)
    if plan.source is not None:
        # What a stage keeps is read by everything behind it.
        source = plan.source
        behind = [read for read in (*reads, *_match_reads(plan.match)) if read[0] in source.keeps]
        plan = replace(plan, source=replace(source, plan=_plan(source.plan, behind)))
    return replace(plan, match=_pruned(plan.match, reads))


def _pruned(ops: tuple[MatchOp, ...], later: Iterable[tuple[str, str]]) -> tuple[MatchOp, ...]:
    # Names are local to their block: two blocks may give one name to different types.
    needed: dict[str, set[str]] = {}
    for var, name in chain(later, _match_reads(ops)):
        needed.setdefault(var, set()).add(name)
    return tuple(_with_columns(op, needed) for op in ops)


def _match_reads(ops: tuple[MatchOp, ...]) -> Iterator[tuple[str, str]]:
    for op in ops:
        match op:
            case Filter(condition):
                yield from properties(condition)
            case NodeScan(joins=joins):
                for condition in joins:
                    yield from properties(condition)
            case Unwind(expr):
                yield from properties(expr)
            case Mark(inner, call=call):
                yield from properties(call)
                yield from _match_reads(inner)
            case _:
                for inner in pipelines(op):
                    yield from _match_reads(inner)


def _with_columns(op: MatchOp, needed: dict[str, set[str]]) -> MatchOp:
    match op:
        case NodeScan(var):
            return replace(op, columns=_sorted(needed, var))
        case Expand(link):
            return replace(op, columns=_sorted(needed, op.target), edge_columns=_sorted(needed, link.edge_var))
        case ExpandTest(link):
            return replace(op, edge_columns=_sorted(needed, link.edge_var))
        case ShortestPath(var=var):
            return replace(op, columns=_sorted(needed, var))
        case AntiJoin(inner):
            return replace(op, ops=_pruned(inner, ()))
        case Mark(inner, call=call):
            return replace(op, ops=_pruned(inner, properties(call)))
        case Either(branches, _, binds):
            later = [(var, name) for var in binds for name in needed.get(var, ())]
            return replace(op, branches=tuple(Branch(_pruned(each.ops, later)) for each in branches))
        case LeftJoin(inner, _, binds):
            # What a block binds is read around it as well.
            later = [(var, name) for var in binds for name in needed.get(var, ())]
            return replace(op, ops=_pruned(inner, later))
        case _:
            return op


def _sorted(needed: dict[str, set[str]], var: str | None) -> tuple[str, ...]:
    return tuple(sorted(needed.get(var, ()))) if var is not None else ()
