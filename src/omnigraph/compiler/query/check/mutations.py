"""Checking of mutations: inserts, updates and deletes against their target types, alone or driven by a match."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.compiler.catalog.model import EdgeType, NodeType, TypeInfo
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.write_ops import (
    Cascade,
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    PlainWrite,
    UpdateEdge,
    UpdateNode,
    Value,
)
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.assignments import Assigned, assigned_value, endpoint_value
from omnigraph.compiler.query.check.clauses import check_clauses
from omnigraph.compiler.query.check.operands import Place, check_condition
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.checked import Driven, EdgeVar, NodeVar
from omnigraph.compiler.query.touched import Touched, reads_of, writes_of
from omnigraph.compiler.source import Span

_ENDPOINTS = ("from", "to")
_TOGETHER = (
    "split it into two queries; to make them arrive together, run both inside transaction(), "
    "or on a branch that is merged afterwards"
)


def check_statements(statements: Sequence[ast.Statement], scope: Scope) -> tuple[PlainWrite | Driven, ...]:
    """The statements in order; a query either builds or deletes."""
    deletes = _deletes(statements[0])
    checked: list[PlainWrite | Driven] = []
    written: set[Touched] = set()
    for statement in statements:
        if _deletes(statement) != deletes:
            message = "a query either inserts and updates, or deletes, not both"
            raise scope.error("T28", message, statement.span, _TOGETHER)
        if isinstance(statement, ast.ForEach):
            driven = _driven(statement, Scope(scope.catalog, scope.source, scope.params))
            _refuse_reading_writes(statement, driven, written, scope)
            checked.append(driven)
            written.update(writes_of(driven.write))
        else:
            write = _statement(statement, scope)
            checked.append(write)
            written.update(writes_of(write))
    return tuple(checked)


def _deletes(statement: ast.Statement) -> bool:
    written = statement.statement if isinstance(statement, ast.ForEach) else statement
    return isinstance(written, ast.Delete | ast.DeleteVar)


def _statement(statement: ast.Insert | ast.Update | ast.Delete, scope: Scope) -> PlainWrite:
    match statement:
        case ast.Insert():
            return _insert(statement, scope, Assigned())
        case ast.Update():
            return _update(statement, scope)
        case ast.Delete():
            return _delete(statement, scope)


# --- driven by a match -----------------------------------------------------------------------


def _driven(statement: ast.ForEach, scope: Scope) -> Driven:
    clauses = check_clauses(statement.clauses, scope)
    match statement.statement:
        case ast.Insert() as insert:
            return Driven(clauses, _insert(insert, scope, Assigned(matched=True)))
        case ast.UpdateVar(var, assigns) as update:
            target = _matched(var, update.var_span, scope)
            _refuse_duplicates(assigns, scope)
            values = tuple(_updated(each, target, scope, Assigned(target, var, matched=True)) for each in assigns)
            if isinstance(target, EdgeType):
                return Driven(clauses, UpdateEdge(target.name, values, ir.ALWAYS), var)
            return Driven(clauses, UpdateNode(target.name, values, ir.ALWAYS), var)
        case ast.DeleteVar(var) as delete:
            return Driven(clauses, _deletion(_matched(var, delete.var_span, scope), ir.ALWAYS, scope), var)


def _matched(name: str, span: Span, scope: Scope) -> NodeType | EdgeType:
    """The one type whose rows a matched variable names."""
    match scope.find(name):
        case NodeVar(type_name) if type_name in scope.catalog.nodes:
            return scope.catalog.nodes[type_name]
        case EdgeVar(type_name) if type_name in scope.catalog.edges:
            return scope.catalog.edges[type_name]
        case NodeVar() | EdgeVar() as union:
            message = f"${name} may be any of {union.type_name}; a statement writes one type"
            raise scope.error("T10", message, span, "match each type in a statement of its own")
        case _:
            help_text = scope.suggest(name, scope.visible()) or "bind it to a node or an edge in the match"
            raise scope.error("T30", f"${name} is neither a node nor an edge of the match", span, help_text)


def _refuse_reading_writes(statement: ast.ForEach, driven: Driven, written: set[Touched], scope: Scope) -> None:
    # A match reads the graph as it was, so it may not depend on what this query has done to it.
    both = sorted(touched.type_name for touched in written.intersection(reads_of(driven.clauses)))
    if both:
        message = f"the match reads {', '.join(both)}, which an earlier statement of this query writes"
        raise scope.error("T37", message, statement.span, "put it first, or into a query of its own")


# --- insert ----------------------------------------------------------------------------------


def _insert(insert: ast.Insert, scope: Scope, values_may: Assigned) -> InsertNode | InsertEdge:
    _refuse_duplicates(insert.assigns, scope)
    target = _target(insert.type_name, insert.type_span, scope)
    if isinstance(target, EdgeType):
        return _insert_edge(insert, target, scope, values_may)
    values = tuple(_assigned(assign, target, scope, values_may) for assign in insert.assigns)
    _require_properties(insert, target, scope)
    return InsertNode(target.name, values)


def _insert_edge(insert: ast.Insert, edge: EdgeType, scope: Scope, values_may: Assigned) -> InsertEdge:
    ends: dict[str, ir.Expr] = {}
    values: list[Value] = []
    for assign in insert.assigns:
        if assign.name in _ENDPOINTS:
            wanted = edge.from_type if assign.name == "from" else edge.to_type
            ends[assign.name] = endpoint_value(assign, wanted, scope, values_may)
        else:
            values.append(_assigned(assign, edge, scope, values_may))
    for end in _ENDPOINTS:
        if end not in ends:
            raise scope.error("T12", f"{edge.name} needs '{end}', the id of a node", insert.span)
    _require_properties(insert, edge, scope)
    return InsertEdge(edge.name, edge.from_type, edge.to_type, ends["from"], ends["to"], tuple(values))


def _require_properties(insert: ast.Insert, target: TypeInfo, scope: Scope) -> None:
    given = {assign.name for assign in insert.assigns}
    embeds = target.embeds if isinstance(target, NodeType) else {}
    for name, kind in target.properties.items():
        # A vector that is embedded from a property of the same row may be left to the engine.
        embedded = name in embeds and embeds[name].source in given
        if not kind.nullable and name not in given and not embedded and name not in target.defaults:
            raise scope.error("T12", f"{target.name} needs '{name}', which is {kind}", insert.span)


# --- update ----------------------------------------------------------------------------------


def _update(update: ast.Update, scope: Scope) -> PlainWrite:
    target = _target(update.type_name, update.type_span, scope)
    _refuse_duplicates(update.assigns, scope)
    values = tuple(_updated(assign, target, scope, Assigned(target)) for assign in update.assigns)
    predicate = _predicate(update.where, target, scope)
    if isinstance(target, EdgeType):
        return UpdateEdge(target.name, values, predicate)
    return UpdateNode(target.name, values, predicate)


def _updated(assign: ast.Assign, target: NodeType | EdgeType, scope: Scope, values_may: Assigned) -> Value:
    if isinstance(target, EdgeType) and assign.name in _ENDPOINTS:
        message = f"'{assign.name}' of {target.name} cannot change"
        raise scope.error("T16", message, assign.span, "delete the edge and insert another")
    if isinstance(target, NodeType) and assign.name in (target.key or ()):
        message = f"'{assign.name}' is part of the key of {target.name} and cannot change"
        raise scope.error("T29", message, assign.span, "delete the node and insert another")
    return _assigned(assign, target, scope, values_may)


# --- delete ----------------------------------------------------------------------------------


def _delete(delete: ast.Delete, scope: Scope) -> PlainWrite:
    target = _target(delete.type_name, delete.type_span, scope)
    return _deletion(target, _predicate(delete.where, target, scope), scope)


def _deletion(target: NodeType | EdgeType, predicate: ir.Condition, scope: Scope) -> DeleteNode | DeleteEdge:
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


def _assigned(assign: ast.Assign, target: TypeInfo, scope: Scope, values_may: Assigned) -> Value:
    kind = target.properties.get(assign.name)
    if kind is None:
        known = [*target.properties, *(_ENDPOINTS if isinstance(target, EdgeType) else ())]
        message = f"{target.name} has no property '{assign.name}'"
        help_text = scope.suggest(assign.name, known)
        if isinstance(target, EdgeType) and assign.name in ("src", "dst"):
            help_text = "the endpoints of an edge are 'from' and 'to'"
        elif assign.name == "id":
            help_text = "an id is made of the @key properties, or by itself; to choose one, load the record"
        raise scope.error("T11", message, assign.span, help_text)
    return Value(assign.name, kind, assigned_value(assign, kind, scope, values_may))


def _refuse_duplicates(assigns: tuple[ast.Assign, ...], scope: Scope) -> None:
    seen: set[str] = set()
    for assign in assigns:
        if assign.name in seen:
            raise scope.error("T13", f"'{assign.name}' is assigned twice", assign.span)
        seen.add(assign.name)


def _predicate(where: ast.Expr, target: TypeInfo, scope: Scope) -> ir.Condition:
    place = Place("a mutation predicate", aggregate_code="T27", blob_param_code="T7", target=target)
    return check_condition(where, scope, place)
