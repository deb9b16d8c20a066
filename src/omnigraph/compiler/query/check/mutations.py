"""Checking of mutations: inserts, updates and deletes against their target types."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.compiler.catalog.model import EdgeType, NodeType, TypeInfo
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import (
    Cascade,
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    MutationOp,
    UpdateEdge,
    UpdateNode,
    Value,
)
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.conditions import check_condition
from omnigraph.compiler.query.check.operands import Place
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import stored_value
from omnigraph.compiler.source import Span

_ENDPOINTS = ("from", "to")


def check_statements(statements: Sequence[ast.Statement], scope: Scope) -> tuple[MutationOp, ...]:
    """The statements in order; a query either builds or deletes."""
    deletes = isinstance(statements[0], ast.Delete)
    ops: list[MutationOp] = []
    for statement in statements:
        if isinstance(statement, ast.Delete) != deletes:
            message = "a query either inserts and updates, or deletes, not both"
            raise scope.error("T28", message, statement.span, "split it into two queries")
        ops.append(_statement(statement, scope))
    return tuple(ops)


def _statement(statement: ast.Statement, scope: Scope) -> MutationOp:
    match statement:
        case ast.Insert():
            return _insert(statement, scope)
        case ast.Update():
            return _update(statement, scope)
        case ast.Delete():
            return _delete(statement, scope)


# --- insert ----------------------------------------------------------------------------------


def _insert(insert: ast.Insert, scope: Scope) -> MutationOp:
    _refuse_duplicates(insert.assigns, scope)
    target = _target(insert.type_name, insert.type_span, scope)
    if isinstance(target, EdgeType):
        return _insert_edge(insert, target, scope)
    values = tuple(_assigned(assign, target, scope) for assign in insert.assigns)
    _require_properties(insert, target, scope)
    return InsertNode(target.name, values)


def _insert_edge(insert: ast.Insert, edge: EdgeType, scope: Scope) -> InsertEdge:
    ends: dict[str, ir.Expr] = {}
    values: list[Value] = []
    for assign in insert.assigns:
        if assign.name in _ENDPOINTS:
            ends[assign.name] = stored_value(assign.name, ir.STRING, assign.value, scope)
        else:
            values.append(_assigned(assign, edge, scope))
    for end in _ENDPOINTS:
        if end not in ends:
            raise scope.error("T12", f"a {edge.name} needs '{end}', the id of a node", insert.span)
    _require_properties(insert, edge, scope)
    return InsertEdge(edge.name, edge.from_type, edge.to_type, ends["from"], ends["to"], tuple(values))


def _require_properties(insert: ast.Insert, target: TypeInfo, scope: Scope) -> None:
    given = {assign.name for assign in insert.assigns}
    embeds = target.embeds if isinstance(target, NodeType) else {}
    for name, kind in target.properties.items():
        # A vector that is embedded from a property of the same row may be left to the engine.
        embedded = name in embeds and embeds[name].source in given
        if not kind.nullable and name not in given and not embedded and name not in target.defaults:
            raise scope.error("T12", f"a {target.name} needs '{name}', which is {kind}", insert.span)


# --- update ----------------------------------------------------------------------------------


def _update(update: ast.Update, scope: Scope) -> MutationOp:
    target = _target(update.type_name, update.type_span, scope)
    _refuse_duplicates(update.assigns, scope)
    values = tuple(_updated(assign, target, scope) for assign in update.assigns)
    predicate = _predicate(update.where, target, scope)
    if isinstance(target, EdgeType):
        return UpdateEdge(target.name, values, predicate)
    return UpdateNode(target.name, values, predicate)


def _updated(assign: ast.Assign, target: NodeType | EdgeType, scope: Scope) -> Value:
    if isinstance(target, EdgeType) and assign.name in _ENDPOINTS:
        message = f"'{assign.name}' of a {target.name} cannot change"
        raise scope.error("T16", message, assign.span, "delete the edge and insert another")
    if isinstance(target, NodeType) and assign.name in (target.key or ()):
        message = f"'{assign.name}' is part of the key of {target.name} and cannot change"
        raise scope.error("T29", message, assign.span, "delete the node and insert another")
    return _assigned(assign, target, scope)


# --- delete ----------------------------------------------------------------------------------


def _delete(delete: ast.Delete, scope: Scope) -> MutationOp:
    target = _target(delete.type_name, delete.type_span, scope)
    predicate = _predicate(delete.where, target, scope)
    if isinstance(target, EdgeType):
        return DeleteEdge(target.name, predicate)
    cascades = tuple(
        Cascade(edge.name, edge.from_type == target.name, edge.to_type == target.name)
        for edge in scope.catalog.incident_edges[target.name]
    )
    return DeleteNode(target.name, predicate, cascades)


# --- what they share -------------------------------------------------------------------------


def _target(name: str, span: Span, scope: Scope) -> NodeType | EdgeType:
    # A node type hides an edge type of the same name.
    target = scope.catalog.nodes.get(name) or scope.catalog.edges.get(name)
    if target is None:
        help_text = scope.suggest(name, [*scope.catalog.nodes, *scope.catalog.edges])
        raise scope.error("T10", f"there is no node or edge type '{name}'", span, help_text)
    return target


def _assigned(assign: ast.Assign, target: TypeInfo, scope: Scope) -> Value:
    kind = target.properties.get(assign.name)
    if kind is None:
        known = [*target.properties, *(_ENDPOINTS if isinstance(target, EdgeType) else ())]
        message = f"{target.name} has no property '{assign.name}'"
        endpoint = isinstance(target, EdgeType) and assign.name in ("src", "dst")
        help_text = "the endpoints of an edge are 'from' and 'to'" if endpoint else scope.suggest(assign.name, known)
        raise scope.error("T11", message, assign.span, help_text)
    return Value(assign.name, kind, stored_value(assign.name, kind, assign.value, scope))


def _refuse_duplicates(assigns: tuple[ast.Assign, ...], scope: Scope) -> None:
    seen: set[str] = set()
    for assign in assigns:
        if assign.name in seen:
            raise scope.error("T13", f"'{assign.name}' is assigned twice", assign.span)
        seen.add(assign.name)


def _predicate(where: ast.Condition, target: TypeInfo, scope: Scope) -> ir.Condition:
    place = Place("a mutation predicate", aggregate_code="T27", blob_param_code="T7", target=target)
    return check_condition(where, scope, place)
