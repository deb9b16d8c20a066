"""The passes of a read plan, in the one order they run in."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.ir.ops import Project
from omnigraph.compiler.ir.passes.bind_constants import bind_constants
from omnigraph.compiler.ir.passes.choose_start import choose_start
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.passes.defer_failures import defer_failures
from omnigraph.compiler.ir.passes.flatten_negation import flatten_negation
from omnigraph.compiler.ir.passes.fuse_top_k import fuse_top_k
from omnigraph.compiler.ir.passes.join_on_equality import join_on_equality
from omnigraph.compiler.ir.passes.order_expansions import order_expansions
from omnigraph.compiler.ir.passes.prune_columns import prune_columns
from omnigraph.compiler.ir.passes.push_predicates import push_predicates
from omnigraph.compiler.ir.passes.split_conjunctions import split_conjunctions
from omnigraph.compiler.ir.plan import MutationPlan, Plan, ReadPlan
from omnigraph.compiler.ir.write_ops import ForEach, written_outputs

PASSES = (
    bind_constants,
    split_conjunctions,
    flatten_negation,
    defer_failures,
    push_predicates,
    choose_start,
    order_expansions,
    join_on_equality,
    prune_columns,
    fuse_top_k,
)

_NEUTRAL = Context()


def optimize(plan: Plan, context: Context = _NEUTRAL) -> Plan:
    """The plan after every pass; it yields the same rows. A plan may be optimised again once more is known."""
    if isinstance(plan, MutationPlan):
        return MutationPlan(tuple(_driven(op, context) if isinstance(op, ForEach) else op for op in plan.ops))
    return _optimized(plan, context)


def _optimized(plan: ReadPlan, context: Context) -> ReadPlan:
    if plan.parts:
        plan = replace(plan, parts=tuple(_optimized(part, context) for part in plan.parts))
    if plan.source is not None:
        plan = replace(plan, source=replace(plan.source, plan=_optimized(plan.source.plan, context)))
    for run in PASSES:
        checkpoint()
        plan = run(plan, context)
    return plan


def _driven(op: ForEach, context: Context) -> ForEach:
    """The match of a write, planned like that of a read which returns what the write needs."""
    needed = ReadPlan(op.match, (Project(written_outputs(op.write)),), ())
    for run in PASSES:
        needed = run(needed, context)
    return replace(op, match=needed.match)
