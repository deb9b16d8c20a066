"""Checking of traversals: edges and their alternatives, bounds, direction, edge and path bindings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnigraph.compiler.catalog.model import EdgeType
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.link import OPEN_HOPS, Along, Link, Way
from omnigraph.compiler.ir.ops import ShortestPath
from omnigraph.compiler.ir.walk import variables
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.operands import IN_FILTER, check_condition, operand
from omnigraph.compiler.query.check.scope import ANONYMOUS, Scope
from omnigraph.compiler.query.check.values import describe, needed_parameter
from omnigraph.compiler.query.checked import EdgeVar, ExistsMatch, NodeVar, PathVar, Step, Variable
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import INTEGER, UNION, PropType, union_members, union_name


@dataclass(frozen=True, slots=True)
class _Ends:
    """Left and right of a traversal, and how far they may be apart."""

    names: tuple[str, str]
    types: tuple[str, str]
    hops: tuple[int, int]


def check_traversal(step: ast.Traversal, scope: Scope) -> Step:
    """A traversal with its direction; what it introduces is bound from here on."""
    edges = _edges(step, scope)
    low, high = _bounds(step, scope)
    edge_var = _check_edge_binding(step, edges, (low, high), scope)
    path_var = _check_path(step, scope)
    for name, span in ((step.left, step.left_span), (step.right, step.right_span)):
        _check_endpoint(name, span, scope)
    turns = step.undirected and any(edge.from_type != edge.to_type for edge in edges)
    ways = _orient(step, edges, scope, chained=high > 1 and (len(edges) > 1 or turns))
    reached = _reached(step, ways, (low, high), scope)
    left, right = (_bind_end(name, types, scope) for name, types in zip((step.left, step.right), reached, strict=True))
    if edge_var is not None:
        scope.bind(edge_var, EdgeVar(union_name(edge.name for edge in edges)))
    if path_var is not None:
        scope.bind(path_var, _path_type(step, ways))
    ends = _Ends((left[0], right[0]), (left[1], right[1]), (low, high))
    link, never = _link(step, ways, ends, edge_var)
    along, cost, marks = check_along(step, ways, scope)
    if along is not None and not link.ways and ways[0].against:
        along = replace(along, source=along.target, target=along.source)  # from the tail on
    link = replace(link, along=along)
    if path_var is None:
        return Step(link, never, marks=marks)
    path = ShortestPath(link, path_var, kind=step.path_kind, count=_path_count(step, scope), cost=cost)
    # A path that meets no node twice may be longer than the distance of its ends.
    linked = replace(link, min_hops=min(link.min_hops, 1)) if path.adds_rows and path.kind != "all shortest" else link
    return Step(linked, never, path, marks)


def _path_type(step: ast.Traversal, ways: tuple[Way, ...]) -> PathVar:
    several = step.path_kind != "shortest" or step.path_count is not None
    nodes = union_name(name for way in ways for name in (way.from_type, way.to_type))
    edges = union_name(way.edge for way in ways)
    return PathVar(nodes=nodes, edges=edges, has_cost=step.path_kind == "cheapest", several=several)


def _path_count(step: ast.Traversal, scope: Scope) -> ir.Const | ir.Param | None:
    """How many paths are asked for: one cheapest unless more are, all simple ones."""
    match step.path_count:
        case None:
            return ir.Const(1, ir.INT64) if step.path_kind == "cheapest" else None
        case ast.Literal(int() as number) if number > 0:
            return ir.Const(number, ir.INT64)
        case ast.Var() as var:
            param = needed_parameter(var, scope)
            if param.type.scalar in INTEGER and not param.type.list:
                return param
            raise scope.error("T36", f"a number of paths is an integer, not {param.type}", var.span)
        case other:
            raise scope.error("T36", "a number of paths is 1 or more", other.span)


def check_along(
    step: ast.Traversal, ways: tuple[Way, ...], scope: Scope
) -> tuple[Along | None, ir.Expr | None, tuple[ExistsMatch, ...]]:
    """The conditions on the steps of a traversal, and what a step costs; both know the step and parameters only."""
    along = step.along
    if step.path_kind == "cheapest" and (along is None or along.cost is None):
        raise scope.error("T36", "a cheapest path needs a cost", step.span, "add one, as in: along $e by $e.minutes")
    if along is None:
        return None, None, ()
    if step.edge_var is not None and step.edge_var != ANONYMOUS:
        help_text = f"a traversal that binds its edge has one step: say it about ${step.edge_var}"
        raise scope.error("T36", "conditions along a traversal name its edges themselves", along.span, help_text)
    if along.cost is not None and step.path_kind != "cheapest":
        raise scope.error("T36", "only a cheapest path has a cost", along.cost.span, "write 'cheapest $p: …'")
    inner = scope.beside()
    nodes = [union_name(way.from_type for way in ways), union_name(way.to_type for way in ways)]
    if step.undirected:
        nodes = [union_name([*nodes[0].split(UNION), *nodes[1].split(UNION)])] * 2
    kinds: tuple[Variable, ...] = (EdgeVar(union_name(way.edge for way in ways)), NodeVar(nodes[0]), NodeVar(nodes[1]))
    for name, kind in zip((along.edge, along.source, along.target), kinds, strict=True):
        if name is None or name == ANONYMOUS:
            continue
        scope.refuse_parameter(name, along.span)
        if scope.find(name) is not None or inner.find(name) is not None:
            message = f"${name} is bound already; the names after 'along' are those of a step"
            raise scope.error("T36", message, along.span)
        inner.bind(name, kind)
    conditions = tuple(check_condition(condition, inner, IN_FILTER) for condition in along.conditions)
    cost = None if along.cost is None else operand(along.cost, inner, IN_FILTER)
    if cost is not None and not (isinstance(cost.type, PropType) and cost.type.is_numeric and not cost.type.list):
        raise scope.error("T36", f"a cost is a number, not {describe(cost)}", along.span)
    read = frozenset().union(*map(variables, conditions), variables(cost), *(mark.outer for mark in inner.marks))
    edge, source, target = (name if name in read else None for name in (along.edge, along.source, along.target))
    return Along(conditions, edge, source, target), cost, tuple(inner.marks)


def _edges(step: ast.Traversal, scope: Scope) -> tuple[EdgeType, ...]:
    found: dict[str, EdgeType] = {}
    for name in step.edge.split(UNION):
        edge = scope.catalog.edge(name)
        if edge is None:
            raise _unknown_edge(name, step, scope)
        if edge.name in found:
            raise scope.error("T4", f"the edge '{name}' is named twice", step.edge_span)
        found[edge.name] = edge
    return tuple(found.values())


def _unknown_edge(name: str, step: ast.Traversal, scope: Scope) -> TypeCheckError:
    types = [each for end in (step.left, step.right) for each in _node_types(end, scope) or ()]
    touching = [edge for edge in scope.catalog.edges.values() if {edge.from_type, edge.to_type} & set(types)]
    written = [edge.name[0].lower() + edge.name[1:] for edge in touching or scope.catalog.edges.values()]
    what = f"edges of {union_name(types)}" if touching else "edges"
    help_text = scope.suggest_or_list(name, written, what)
    if name in ("contains", "starts_with", "in", "is"):
        help_text = f"for the operator '{name}', put a property or a literal on the left"
    return scope.error("T4", f"there is no edge '{name}'", step.edge_span, help_text)


def _bounds(step: ast.Traversal, scope: Scope) -> tuple[int, int]:
    if step.hops is None:
        # A path of one hop is not a search, so a shortest path without bounds may be of any length.
        return (1, 1) if step.path_var is None else (1, OPEN_HOPS)
    low, high = step.hops
    if step.path_kind == "cheapest" and low > 1:
        raise scope.error("T15", "a cheapest path has no lower bound above 1", step.hops_span)
    if high is None:
        return low, OPEN_HOPS
    if high == 0:
        help_text = f"to say that both are one node, write ${step.left} = ${step.right}"
        raise scope.error("T15", "a traversal of no hops leads nowhere", step.hops_span, help_text)
    if high < low:
        raise scope.error("T15", f"the upper bound {high} is below the lower bound {low}", step.hops_span)
    return low, min(high, OPEN_HOPS - 1)


def _check_edge_binding(
    step: ast.Traversal, edges: tuple[EdgeType, ...], hops: tuple[int, int], scope: Scope
) -> str | None:
    name = step.edge_var
    if name is None or name == ANONYMOUS:
        return None
    scope.refuse_parameter(name, step.span)
    if hops != (1, 1):
        raise scope.error("T23", f"${name} can be bound to an edge of a single hop only", step.hops_span)
    if name in (step.left, step.right):
        raise scope.error("T23", f"${name} is an endpoint of the same traversal", step.span)
    bound = scope.find(name)
    if isinstance(bound, EdgeVar) and bound.scanned and name in scope.local:
        wanted = union_name(edge.name for edge in edges)
        if bound.type_name == wanted:
            return name
        raise scope.error("T30", f"${name} is bound to {bound.type_name} already, not to {wanted}", step.span)
    if bound is not None:
        raise scope.error("T23", f"${name} is bound already", step.span)
    return name


def _check_path(step: ast.Traversal, scope: Scope) -> str | None:
    name = step.path_var
    if name is None:
        return None
    scope.refuse_parameter(name, step.span)
    if step.path_kind == "simple" and (step.hops is None or step.hops[1] is None):
        message = "simple paths need an upper bound; without one there may be more of them than can be counted"
        raise scope.error("T15", message, step.span, f"write a bound, as in: {step.edge}{{1,5}}")
    if name == ANONYMOUS:
        raise scope.error("T36", "a shortest path needs a name", step.span, "without one, leave 'shortest' out")
    if step.edge_var is not None and step.edge_var != ANONYMOUS:
        raise scope.error("T36", "a shortest path binds no edge", step.span, f"leave ${step.edge_var}: out")
    if ANONYMOUS in (step.left, step.right):
        raise scope.error("T36", "both ends of a shortest path need a name", step.span)
    if name in (step.left, step.right) or scope.find(name) is not None:
        raise scope.error("T36", f"${name} is bound already", step.span)
    return name


def _check_endpoint(name: str, span: Span, scope: Scope) -> None:
    match scope.find(name):
        case EdgeVar():
            raise scope.error("T23", f"${name} is an edge and cannot be an endpoint", span)
        case PathVar():
            raise scope.error("T36", f"${name} is a path and cannot be an endpoint", span)
    scope.refuse_parameter(name, span)


def _orient(step: ast.Traversal, edges: tuple[EdgeType, ...], scope: Scope, *, chained: bool) -> tuple[Way, ...]:
    """Each edge as a step from left to right: the first direction that fits the ends bound so far.

    Where several edge types chain, one may lie between the ends and touch neither; it keeps its own direction then.
    """
    left, right = _node_types(step.left, scope), _node_types(step.right, scope)
    if step.left == step.right != ANONYMOUS and left is None:
        left = right = tuple(edge.from_type for edge in edges)
    if not chained:
        return tuple(way for edge in edges for way in _alone(step, edge, left, right, scope))
    if step.undirected:
        ways = tuple(way for edge in edges for way in _directions(edge))
    else:
        ways = tuple(_chained_way(edge, left, right) for edge in edges)
    starts = left is None or any(way.from_type in left for way in ways)
    if starts and (right is None or any(way.to_type in right for way in ways)):
        return ways
    name, span, types = (step.right, step.right_span, right) if starts else (step.left, step.left_span, left)
    message = f"${name} is {union_name(types or ())}, which none of {step.edge} {'ends' if starts else 'starts'} at"
    raise scope.error("T5", message, span)


def _chained_way(edge: EdgeType, left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> Way:
    forward, against = Way(edge.name, edge.from_type, edge.to_type), Way(edge.name, edge.to_type, edge.from_type, True)
    # Alone, an edge between two bound ends takes the direction that fits both of them.
    if left is not None and right is not None:
        for way in (forward, against):
            if way.from_type in left and way.to_type in right:
                return way
    for types, fits, fits_turned in ((left, edge.from_type, edge.to_type), (right, edge.to_type, edge.from_type)):
        if types is not None and fits in types:
            return forward
        if types is not None and fits_turned in types:
            return against
    return forward


def _directions(edge: EdgeType) -> list[Way]:
    """Along the edge, and against it where that leads elsewhere."""
    forward = Way(edge.name, edge.from_type, edge.to_type)
    turned = Way(edge.name, edge.to_type, edge.from_type, against=True)
    return [forward] if edge.from_type == edge.to_type else [forward, turned]


def _alone(
    step: ast.Traversal, edge: EdgeType, left: tuple[str, ...] | None, right: tuple[str, ...] | None, scope: Scope
) -> list[Way]:
    """The first direction of one hop that fits its ends, or every one that does if direction does not matter."""
    ways = _directions(edge)
    fitting = [
        way for way in ways if (left is None or way.from_type in left) and (right is None or way.to_type in right)
    ]
    if fitting:
        return fitting if step.undirected else fitting[:1]
    # Name the end that fits neither direction, else the right one, which has to follow the left.
    possible = [way for way in ways if left is None or way.from_type in left]
    if left is not None and not possible:
        raise scope.error("T5", _misfit(edge, step.left, left, edge.from_type), step.left_span)
    assert right is not None
    raise scope.error("T5", _misfit(edge, step.right, right, possible[0].to_type), step.right_span)


def _misfit(edge: EdgeType, name: str, found: tuple[str, ...], wanted: str) -> str:
    kind = union_name(found) or "a type without nodes"
    return f"${name} is {kind}, but {edge.name} goes from {edge.from_type} to {edge.to_type} and needs {wanted} here"


def _node_types(name: str, scope: Scope) -> tuple[str, ...] | None:
    bound = scope.find(name)
    return union_members(bound.type_name) if bound is not None else None


def _reached(
    step: ast.Traversal, ways: tuple[Way, ...], hops: tuple[int, int], scope: Scope
) -> tuple[set[str], set[str]]:
    """The types that a new left end and a new right end range over."""
    low, high = hops
    starts, ends = {way.from_type for way in ways}, {way.to_type for way in ways}
    left, right = _node_types(step.left, scope), _node_types(step.right, scope)
    if high > 1 and step.undirected and starts == ends:
        # Which types alternate with which says more than all of them together.
        if left is not None or right is None:
            ends = _walked({*(left or starts)}, ways, low, high)
        else:
            starts = _walked({*right}, ways, low, high)
    elif low == 0:
        ends |= {*(left or starts)}
        starts |= {*(right or ())}
    return starts, ends


def _walked(types: set[str], ways: tuple[Way, ...], low: int, high: int) -> set[str]:
    """The types that as many undirected hops can lead to."""
    # There and back is always possible, so after as many hops as there are types only even and odd differ.
    settled = 2 * len(ways)
    first = low if low <= settled else settled + (low - settled) % 2
    last = min(high - low + first, first + settled)
    found: set[str] = set()
    for hop in range(last + 1):
        if hop >= first:
            found |= types
        types = {way.to_type for way in ways if way.from_type in types}
    return found


def _bind_end(name: str, types: set[str], scope: Scope) -> tuple[str, str]:
    """An end's variable and what it ranges over."""
    var = scope.resolve(name)
    bound = scope.find(var)
    if bound is None:
        bound = NodeVar(union_name(types))
        declared = scope.narrowed.get(var)
        if declared is not None and (both := {*union_members(declared.type_name)} & types) and both != types:
            bound = declared if both == {*union_members(declared.type_name)} else NodeVar(union_name(both))
        scope.bind(var, bound)
    return var, bound.type_name


def _link(step: ast.Traversal, ways: tuple[Way, ...], end: _Ends, edge_var: str | None) -> tuple[Link, bool]:
    """The link, and whether it can never hold."""
    low, high = end.hops
    several = len(ways) > 1 or end.types != (ways[0].from_type, ways[0].to_type)
    # A path needs nodes of all types in one numbering.
    if several or (step.path_var is not None and ways[0].from_type != ways[0].to_type):
        name = union_name(way.edge for way in ways)
        turnable = step.undirected and any(way.from_type == way.to_type for way in ways)
        return Link(name, *end.names, *end.types, low, high, turnable, edge_var, ways), False
    (way,) = ways
    tail, head = reversed(end.names) if way.against else end.names
    types = (way.to_type, way.from_type) if way.against else (way.from_type, way.to_type)
    # Between different types hops cannot chain, so one hop is all there is.
    chains = types[0] == types[1]
    hops = (low, high) if chains else (1, 1)
    return Link(way.edge, tail, head, *types, *hops, step.undirected and chains, edge_var), not chains and low > 1
