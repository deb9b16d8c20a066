"""Typing of patterns inside expressions: `exists { … }`, and aggregates over a pattern of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import FOUND
from omnigraph.compiler.ir.walk import rebuild, variables
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.aggregates import check_aggregate
from omnigraph.compiler.query.check.clauses import check_clauses, outer_variables
from omnigraph.compiler.query.check.operands import Place, operand
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import ExistsMatch, PathVar, RowVar
from omnigraph.compiler.types import PropType


def check_exists(exists: ast.Exists, scope: Scope) -> ir.Property:
    """The answer of `exists { … }`: a truth value that the match finds out."""
    inner = scope.inner()
    clauses = check_clauses(exists.clauses, inner)
    outer = tuple(sorted(outer_variables(clauses, inner)))
    return ir.Property(scope.mark(ExistsMatch(clauses, outer, "")), FOUND, ir.BOOL)


def check_fold(agg: ast.Agg, scope: Scope, place: Place) -> ir.Expr:
    """What an aggregate makes of the solutions of its pattern: a value of each row."""
    inner = scope.inner()
    clauses = check_clauses(agg.clauses, inner)
    known = len(inner.marks)
    inside = Place("an aggregate", aggregate_code="T8", aliases=place.aliases)
    found = check_aggregate(replace(agg, clauses=()), inner, lambda part: operand(part, inner, inside))
    clauses = (*clauses, *inner.marks[known:])  # what the aggregate asks about
    ties = _row_order(inner)

    def answered(node: Any) -> Any:
        if not isinstance(node, ir.AggregateCall):
            return rebuild(node, answered)
        outer = outer_variables(clauses, inner) | {name for name in variables(node) if inner.is_outer(name)}
        match = ExistsMatch(clauses, tuple(sorted(outer)), "", node, ties if node.function == "collect" else ())
        kind = node.type
        assert isinstance(kind, PropType)
        always = node.function in ("count", "collect")
        return ir.Property(scope.mark(match), FOUND, kind.with_nullable(not always))

    return cast("ir.Expr", answered(found))


def _row_order(inner: Scope) -> tuple[str, ...]:
    """The order of solutions: by the ids of what they bind, in the order of names, then by places in lists."""
    entities = [name for name, kind in inner.local.items() if not isinstance(kind, PathVar | RowVar)]
    made = [name for name, kind in inner.local.items() if isinstance(kind, RowVar)]
    several = [name for name, kind in inner.local.items() if isinstance(kind, PathVar) and kind.several]
    return (*sorted(name for name in entities if not ir.is_hidden(name)), *sorted(several), *made)
