"""Checking of match clauses: bindings, traversals with their direction, filters and `not` blocks."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.compiler.catalog.model import EdgeType, NodeType
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import Link
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.conditions import check_condition
from omnigraph.compiler.query.check.operands import IN_FILTER
from omnigraph.compiler.query.check.scope import ANONYMOUS, Scope
from omnigraph.compiler.query.check.values import check_member, constant, needed_parameter, now_for, temporal_help
from omnigraph.compiler.query.checked import Bind, CheckedClause, EdgeVar, NodeVar, Step, Where, Without
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import PropType, compatible


def check_clauses(clauses: tuple[ast.Clause, ...], scope: Scope) -> tuple[CheckedClause, ...]:
    """A clause list, top to bottom; `not` blocks come last, so they may use everything their siblings bind."""
    checked: list[CheckedClause] = []
    negations: list[ast.NotBlock] = []
    for clause in clauses:
        match clause:
            case ast.Binding():
                checked.append(_binding(clause, scope))
            case ast.Traversal():
                checked.append(_traversal(clause, scope))
            case ast.Filter(condition):
                checked.append(Where(check_condition(condition, scope, IN_FILTER)))
            case ast.NotBlock():
                negations.append(clause)
    checked.extend(_negation(block, scope) for block in negations)
    return tuple(checked)


def used_variables(clause: CheckedClause) -> frozenset[str]:
    """The variables a clause mentions itself, or through the `not` blocks inside it."""
    match clause:
        case Bind(var):
            return frozenset({var})
        case Step(link):
            return frozenset({link.tail, link.head})
        case Where(condition):
            return variables(condition)
        case Without(_, outer):
            return frozenset(outer)


# --- bindings --------------------------------------------------------------------------------


def _binding(binding: ast.Binding, scope: Scope) -> Bind:
    info = scope.catalog.nodes.get(binding.type_name)
    if info is None:
        raise _unknown_node_type(binding, scope)
    var = _bind_node(binding.var, info, binding.span, scope)
    conditions = tuple(_inline_match(match, var, info, scope) for match in binding.matches)
    return Bind(var, info.name, conditions)


def _unknown_node_type(binding: ast.Binding, scope: Scope) -> TypeCheckError:
    name = binding.type_name
    help_text = scope.suggest(name, scope.catalog.nodes)
    if name in scope.catalog.interfaces:
        help_text = f"{name} is an interface; bind a node type that implements it"
    elif name in scope.catalog.edges:
        help_text = f"{name} is an edge type; traverse it: $a {name[0].lower()}{name[1:]} $b"
    return scope.error("T1", f"there is no node type '{name}'", binding.type_span, help_text)


def _bind_node(name: str, info: NodeType, span: Span, scope: Scope) -> str:
    scope.refuse_parameter(name, span)
    var = scope.resolve(name)
    bound = scope.find(var)
    if isinstance(bound, EdgeVar):
        raise scope.error("T23", f"${name} is bound to an edge already", span)
    if bound is not None and bound.type_name != info.name:
        raise scope.error("T30", f"${name} is bound to {bound.type_name} already, not to {info.name}", span)
    if bound is None:
        scope.bind(var, NodeVar(info.name))
    return var


def _inline_match(written: ast.PropMatch, var: str, info: NodeType, scope: Scope) -> ir.Condition:
    kind = info.properties.get(written.name)
    if kind is None:
        if written.name == "id":
            kind = ir.STRING
        else:
            message = f"{info.name} has no property '{written.name}'"
            raise scope.error("T2", message, written.span, scope.suggest(written.name, info.properties))
    if kind.scalar == "Blob":
        raise scope.error("T3", f"'{written.name}' is a Blob and cannot be matched", written.span)
    if kind.is_vector:
        raise scope.error(
            "T7", f"'{written.name}' is {kind}; a vector cannot be matched", written.span, "rank by nearest(…) instead"
        )
    item = PropType(kind.scalar, enum=kind.enum)
    value = _matched_value(written, item, scope)
    prop = ir.Property(var, written.name, kind)
    return ir.In(value, prop) if kind.list else ir.Compare("=", prop, value)


def _matched_value(written: ast.PropMatch, item: PropType, scope: Scope) -> ir.Expr:
    found = constant(written.value, scope)
    if found is not None:
        if found.type == ir.NULL:
            raise scope.error("T7", "a comparison with null is never true", written.value.span, "use 'is null'")
        if not compatible(item, found.type):
            message = f"a literal of type {found.type} does not match '{written.name}', which takes {item}"
            raise scope.error("T3", message, written.value.span, temporal_help(item, found.type))
        check_member(written.name, item, found, written.value, scope)
        return found
    match written.value:
        case ast.Now() as now:
            return now_for(written.name, item, now, scope)
        case ast.Var() as var:
            param = needed_parameter(var, scope)
            if not compatible(item, param.type):
                raise scope.error(
                    "T7", f"parameter ${param.name} is {param.type}, but '{written.name}' takes {item}", var.span
                )
            return param
        case other:
            raise scope.error("T27", "only a literal, a parameter or now() can be matched inline", other.span)


# --- traversals ------------------------------------------------------------------------------


def _traversal(step: ast.Traversal, scope: Scope) -> Step:
    edge = scope.catalog.edge(step.edge)
    if edge is None:
        raise _unknown_edge(step, scope)
    low, high = _bounds(step, scope)
    if step.undirected and edge.from_type != edge.to_type:
        message = (
            f"{edge.name} goes from {edge.from_type} to {edge.to_type}; only an edge within one type has no direction"
        )
        raise scope.error("T22", message, step.edge_span, f"write {step.edge} without < >")
    edge_var = _check_edge_binding(step, low, high, scope)
    for name, span in ((step.left, step.left_span), (step.right, step.right_span)):
        if isinstance(scope.find(name), EdgeVar):
            raise scope.error("T23", f"${name} is an edge and cannot be an endpoint", span)
        scope.refuse_parameter(name, span)
    tail, head = _orient(step, edge, scope)
    if edge_var is not None:
        scope.bind(edge_var, EdgeVar(edge.name))
    # Between different types hops cannot chain, so one hop is all there is.
    chains = edge.from_type == edge.to_type
    never = not chains and low > 1
    hops = (low, high) if chains else (1, 1)
    return Step(Link(edge.name, tail, head, edge.from_type, edge.to_type, *hops, step.undirected, edge_var), never)


def _unknown_edge(step: ast.Traversal, scope: Scope) -> TypeCheckError:
    written = [name[0].lower() + name[1:] for name in scope.catalog.edges]
    help_text = scope.suggest(step.edge, written)
    if step.edge in ("contains", "starts_with", "in", "is"):
        help_text = f"for the operator '{step.edge}', put a property or a literal on the left"
    return scope.error("T4", f"there is no edge '{step.edge}'", step.edge_span, help_text)


def _bounds(step: ast.Traversal, scope: Scope) -> tuple[int, int]:
    if step.hops is None:
        return 1, 1
    low, high = step.hops
    if high is None:
        raise scope.error(
            "T15", "the number of hops needs an upper bound", step.hops_span, f"write {{{low},9}}, for example"
        )
    if low < 1:
        raise scope.error("T15", "a traversal takes at least one hop", step.hops_span)
    if high < low:
        raise scope.error("T15", f"the upper bound {high} is below the lower bound {low}", step.hops_span)
    return low, high


def _check_edge_binding(step: ast.Traversal, low: int, high: int, scope: Scope) -> str | None:
    name = step.edge_var
    if name is None or name == ANONYMOUS:
        return None
    scope.refuse_parameter(name, step.span)
    if (low, high) != (1, 1):
        raise scope.error("T23", f"${name} can be bound to an edge of a single hop only", step.hops_span)
    if name in (step.left, step.right):
        raise scope.error("T23", f"${name} is an endpoint of the same traversal", step.span)
    if scope.find(name) is not None:
        raise scope.error("T23", f"${name} is bound already", step.span)
    return name


def _orient(step: ast.Traversal, edge: EdgeType, scope: Scope) -> tuple[str, str]:
    left = _node_type(step.left, scope)
    right = _node_type(step.right, scope)
    forward = _is_forward(step, edge, left, right, scope)
    expected = (edge.from_type, edge.to_type) if forward else (edge.to_type, edge.from_type)
    ends: list[str] = []
    for name, span, wanted in ((step.left, step.left_span, expected[0]), (step.right, step.right_span, expected[1])):
        var = scope.resolve(name)
        bound = scope.find(var)
        if bound is None:
            scope.bind(var, NodeVar(wanted))
        elif bound.type_name != wanted:
            raise scope.error("T5", _misfit(edge, name, bound.type_name, wanted), span)
        ends.append(var)
    return (ends[0], ends[1]) if forward else (ends[1], ends[0])


def _is_forward(step: ast.Traversal, edge: EdgeType, left: str | None, right: str | None, scope: Scope) -> bool:
    source, target = edge.from_type, edge.to_type
    if source == target:
        return True
    if left is not None:
        if left not in (source, target):
            raise scope.error("T5", _misfit(edge, step.left, left, source), step.left_span)
        return left == source
    if right is not None:
        if right not in (source, target):
            raise scope.error("T5", _misfit(edge, step.right, right, target), step.right_span)
        return right == target
    return True


def _misfit(edge: EdgeType, name: str, found: str, wanted: str) -> str:
    return f"${name} is {found}, but {edge.name} goes from {edge.from_type} to {edge.to_type} and needs {wanted} here"


def _node_type(name: str, scope: Scope) -> str | None:
    bound = scope.find(name)
    return bound.type_name if bound is not None else None


# --- negation --------------------------------------------------------------------------------


def _negation(block: ast.NotBlock, scope: Scope) -> Without:
    inner = scope.inner()
    clauses = check_clauses(block.clauses, inner)
    direct = (clause for clause in clauses if not isinstance(clause, Without))
    if not _outer_variables(direct, inner):
        message = "a not block must mention a variable from outside it, in a clause of its own"
        raise scope.error("T9", message, block.span)
    return Without(clauses, tuple(sorted(_outer_variables(clauses, inner))))


def _outer_variables(clauses: Iterable[CheckedClause], inner: Scope) -> set[str]:
    return {name for clause in clauses for name in used_variables(clause) if inner.is_outer(name)}
