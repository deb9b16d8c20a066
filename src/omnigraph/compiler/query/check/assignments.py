"""Typing of assigned values: constants, computations on the row as it was, and what a match found."""

from __future__ import annotations

from dataclasses import dataclass

from omnigraph.compiler.catalog.model import TypeInfo
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.operands import Place, operand
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import constant, describe, stored_value
from omnigraph.compiler.query.checked import NodeVar
from omnigraph.compiler.types import FLOATING, INTEGER, PropType, compatible, union_members


@dataclass(frozen=True, slots=True)
class Assigned:
    """What values may read: properties of `target`, whose row is `var` if it was matched, and matched variables."""

    target: TypeInfo | None = None
    var: str | None = None
    matched: bool = False


def assigned_value(assign: ast.Assign, kind: PropType, scope: Scope, may: Assigned) -> ir.Expr:
    """The value of one property."""
    expr = assign.value
    read_by_match = may.matched and isinstance(expr, ast.Var) and scope.find(expr.name) is not None
    plain = isinstance(expr, ast.Var | ast.Now) or constant(expr, scope) is not None
    if plain and not read_by_match:
        return stored_value(assign.name, kind, expr, scope)
    place = Place(
        "an assignment",
        aggregate_code="T27",
        blob_param_code="T7",
        target=may.target,
        target_var=may.var,
        columns_only=False,
    )
    found = operand(expr, scope, place)
    if isinstance(found, ir.TextMatch):
        raise scope.error("T27", f"{found.function}(…) cannot stand in a mutation", expr.span)
    _check_fit(assign, kind, found, scope)
    return found


def endpoint_value(assign: ast.Assign, node_type: str, scope: Scope, may: Assigned) -> ir.Expr:
    """One end of an edge: the id of a node, or a matched node itself."""
    expr = assign.value
    bound = scope.find(expr.name) if may.matched and isinstance(expr, ast.Var) else None
    if bound is None:
        return assigned_value(assign, ir.STRING, scope, may)
    assert isinstance(expr, ast.Var)
    if not isinstance(bound, NodeVar) or union_members(bound.type_name) != (node_type,):
        raise scope.error(
            "T5", f"${expr.name} is {bound.type_name}, but '{assign.name}' is of type {node_type}", expr.span
        )
    return ir.Property(expr.name, "id", ir.STRING.with_nullable(bound.optional))


def _check_fit(assign: ast.Assign, kind: PropType, found: ir.Expr, scope: Scope) -> None:
    given = found.type
    if not isinstance(given, PropType) or not compatible(kind, given):
        help_text = "name one of its properties" if isinstance(found, ir.Node) else None
        message = f"'{assign.name}' is {kind} and cannot take {describe(found)}"
        raise scope.error("T7", message, assign.value.span, help_text)
    if kind.scalar in INTEGER and given.scalar in FLOATING:
        message = f"'{assign.name}' is {kind} and takes no fraction, but this is {given}"
        raise scope.error("T7", message, assign.value.span)
