"""A filter on a conjunction becomes one filter per part, so that each part can go its own way."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Filter, MatchOp
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.pattern import map_match
from omnigraph.compiler.ir.plan import ReadPlan


def split_conjunctions(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan without top-level `and`; equal filters in one list are kept once."""
    return map_match(plan, lambda ops, _: tuple(dict.fromkeys(_split(ops))))


def _split(ops: tuple[MatchOp, ...]) -> Iterator[MatchOp]:
    for op in ops:
        if isinstance(op, Filter) and not op.late:
            yield from (Filter(part) for part in _parts(op.condition))
        else:
            yield op


def _parts(condition: ir.Condition) -> Iterator[ir.Condition]:
    if isinstance(condition, ir.And):
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition
