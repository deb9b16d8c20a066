"""Sorting and ranking learn how many rows are asked for in the end."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir.ops import Aggregate, Distinct, Fetch, Having, Limit, Rank, ResultOp, Sort, WindowColumns
from omnigraph.compiler.ir.passes.context import Context
from omnigraph.compiler.ir.plan import ReadPlan


def fuse_top_k(plan: ReadPlan, context: Context) -> ReadPlan:
    """The plan with `fetch` on each Sort and Rank whose rows reach the limit one to one; Limit stays for the offset."""
    fetch: Fetch | None = None
    fused: list[ResultOp] = []
    for op in reversed(plan.result):
        match op:
            case Limit(limit, offset, ()) if limit is not None:
                fetch = Fetch(limit, offset)
            case Aggregate() | Having() | Distinct() | Limit() | WindowColumns():
                fetch = None
            case Rank() | Sort() if fetch is not None:
                op = replace(op, fetch=fetch)
            case _:
                pass
        fused.append(op)
    return replace(plan, result=tuple(reversed(fused)))
