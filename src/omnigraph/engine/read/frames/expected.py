"""How many rows each operator of a plan is expected to yield: what `explain` shows and what the order follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.estimates import Estimates, reached
from omnigraph.compiler.ir.link import Link
from omnigraph.compiler.ir.ops import (
    Aggregate,
    AntiJoin,
    Distinct,
    Either,
    Expand,
    ExpandTest,
    Fetch,
    Filter,
    LeftJoin,
    Limit,
    Mark,
    MatchOp,
    NodeScan,
    Rank,
    ResultOp,
    Sort,
    Unwind,
)
from omnigraph.compiler.ir.plan import ReadPlan

# What is known about none of them: the share of rows that a condition on several variables, a `not` or grouping leaves.
_KEPT = 0.5
_JOINED = 0.05
_ITEMS = 4

Expected = Mapping[int, float]
"""Rows by the identity of the operator, which lives as long as its plan."""


def expected_rows(plan: ReadPlan, estimates: Estimates) -> Expected:
    """The estimate of every operator, those inside `not` and `optional` included."""
    found: dict[int, float] = {}
    _read(plan, estimates, found)
    return found


def _read(plan: ReadPlan, estimates: Estimates, found: dict[int, float]) -> float:
    rows = sum(_read(part, estimates, found) for part in plan.parts)
    if not plan.parts:
        rows = 1.0 if plan.source is None else _read(plan.source.plan, estimates, found)
        rows = _match(plan.match, rows, estimates, found)
    for op in plan.result:
        rows = _result(op, rows)
        found[id(op)] = rows
    return rows


def _match(ops: Iterable[MatchOp], rows: float, estimates: Estimates, found: dict[int, float]) -> float:
    for op in ops:
        match op:
            case NodeScan(_, type_name, predicates, joins):
                rows *= estimates.rows(type_name) * _kept(estimates, type_name, predicates) * _JOINED ** len(joins)
            case Expand(link, _, predicates, edge_predicates):
                rows *= reached(estimates, op.link, forward=op.source == op.link.tail) * _kept(
                    estimates, op.target_type, predicates
                )
                rows *= _kept(estimates, link.edge, edge_predicates)
            case ExpandTest(link, edge_predicates):
                rows *= _linked(link, estimates) * _kept(estimates, link.edge, edge_predicates)
            case Filter():
                rows *= _KEPT
            case AntiJoin(inner):
                _match(inner, rows, estimates, found)
                rows *= _KEPT
            case Unwind():
                rows *= _ITEMS
            case Mark(inner):
                _match(inner, rows, estimates, found)
            case Either(branches):
                rows = sum(_match(branch.ops, rows, estimates, found) for branch in branches)
            case LeftJoin(inner):
                rows = max(rows, _match(inner, rows, estimates, found))
            case _:
                pass
        found[id(op)] = rows
    return rows


def _kept(estimates: Estimates, type_name: str, conditions: Iterable[ir.Condition]) -> float:
    return prod(estimates.selectivity(type_name, condition) for condition in conditions)


def _linked(link: Link, estimates: Estimates) -> float:
    direction = "both" if link.undirected else "out"
    return min(1.0, estimates.degree(link.edge, direction) / estimates.rows(link.head_type))


def _result(op: ResultOp, rows: float) -> float:
    match op:
        case Rank(fetch=fetch) | Sort(fetch=fetch):
            return _at_most(rows, fetch)
        case Aggregate():
            return max(1.0, rows * _KEPT) if op.is_keyed else 1.0
        case Distinct():
            return rows * _KEPT
        case Limit(per=per) if per:
            return rows * _KEPT
        case Limit(limit):
            return _at_most(rows, Fetch(limit, None)) if limit is not None else rows
        case _:
            return rows


def _at_most(rows: float, fetch: Fetch | None) -> float:
    if fetch is None or not isinstance(fetch.limit, ir.Const) or not isinstance(fetch.limit.value, int):
        return rows
    return min(rows, float(fetch.limit.value))
