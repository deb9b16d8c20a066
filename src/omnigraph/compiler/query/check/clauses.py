"""Checking of match clauses: bindings, filters and blocks; traversals have a module of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from omnigraph.compiler.catalog.model import EdgeType, TypeInfo
from omnigraph.compiler.diagnostics import TypeCheckError
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.ir.ops import ITEM
from omnigraph.compiler.ir.walk import children, expressions, variables
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check.objects import EDGE_COLUMNS, NODE_COLUMNS, TYPE_COLUMN, whole
from omnigraph.compiler.query.check.operands import IN_FILTER, check_condition, operand
from omnigraph.compiler.query.check.scope import ANONYMOUS, Scope
from omnigraph.compiler.query.check.traversals import check_traversal
from omnigraph.compiler.query.check.values import (
    check_member,
    constant,
    describe,
    needed_parameter,
    now_for,
    temporal_help,
)
from omnigraph.compiler.query.checked import (
    Bind,
    CheckedAlternative,
    CheckedClause,
    EdgeVar,
    EitherMatch,
    ExistsMatch,
    NodeVar,
    NotMatch,
    OptionalMatch,
    PathVar,
    RowVar,
    Step,
    UnwindMatch,
    Variable,
    Where,
)
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import UNION, PropType, compatible, union_members, union_name


def check_clauses(clauses: tuple[ast.Clause, ...], scope: Scope) -> tuple[CheckedClause, ...]:
    """A clause list, top to bottom; blocks come last, so they may use everything their siblings bind.

    `optional` blocks come before `not` blocks, and between them the filters that read what an `optional` block above
    them may have left null, and those with a pattern of their own. An `either` block binds like any other clause.
    """
    scope.narrowed = narrowed_types(clauses, scope)
    checked: list[CheckedClause] = []
    optionals: list[ast.OptionalBlock] = []
    promised: set[str] = set()
    late: list[ast.Expr | ast.Unwind] = []
    negations: list[ast.NotBlock] = []
    for clause in clauses:
        match clause:
            case ast.Binding():
                checked.append(_binding(clause, scope))
            case ast.Traversal():
                checked.append(check_traversal(clause, scope))
            case ast.Filter(condition):
                if has_pattern(condition) or _reads_a_promise(condition, promised, scope):
                    late.append(condition)
                else:
                    checked.append(Where(check_condition(condition, scope, IN_FILTER)))
            case ast.Unwind(expr, name):
                if has_pattern(expr) or _reads_a_promise(expr, promised, scope):
                    late.append(clause)
                    promised.add(name)
                else:
                    checked.append(_unwind(clause, scope))
            case ast.OptionalBlock(inner):
                optionals.append(clause)
                promised.update(_named_by(inner))
            case ast.NotBlock():
                negations.append(clause)
            case ast.EitherBlock():
                checked.append(_either(clause, scope))
    checked.extend(_optional(block, scope) for block in optionals)
    for each in late:
        if isinstance(each, ast.Unwind):
            checked.append(_unwind(each, scope))
        else:
            checked.append(Where(check_condition(each, scope, IN_FILTER)))
    checked.extend(_negation(block, scope) for block in negations)
    for name, span in scope.partial.items():
        if scope.find(name) is not None:
            message = f"${name} is bound in some of the alternatives, and outside of them as well"
            raise scope.error("T30", message, span, "bind it before 'either', in every alternative, or rename it")
    return (*checked, *scope.marks)


def has_pattern(expr: ast.Expr) -> bool:
    """Whether an expression has a pattern of its own: `exists { … }`, or an aggregate over one."""
    pending: list[object] = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Exists) or (isinstance(part, ast.Agg) and part.clauses):
            return True
        if isinstance(part, ast.ListLiteral):  # a long one would be walked for nothing
            if not isinstance(part.items, ast.Literals):
                pending.extend(item for item in part.items if not isinstance(item, ast.Literal))
        else:
            pending.extend(children(part))
    return False


def used_variables(clause: CheckedClause) -> frozenset[str]:
    """The variables a clause mentions itself, or through the blocks inside it."""
    match clause:
        case Bind(var):
            return frozenset({var})
        case Step(link):
            return frozenset({link.tail, link.head})
        case Where(condition):
            return variables(condition)
        case NotMatch(_, outer):
            return frozenset(outer)
        case OptionalMatch(_, outer, binds) | EitherMatch(_, outer, binds):
            return frozenset({*outer, *binds})
        case ExistsMatch(_, outer):
            return frozenset(outer)
        case UnwindMatch(expr, var):
            return variables(expr) | {var}


# --- bindings --------------------------------------------------------------------------------


def _binding(binding: ast.Binding, scope: Scope) -> Bind:
    declared = declared_type(binding, scope)
    scope.refuse_parameter(binding.var, binding.span)
    var = scope.resolve(binding.var)
    bound = scope.find(var)
    conditions: list[ir.Condition] = []
    if bound is None:
        bound = scope.narrowed.get(var, declared)
        scope.bind(var, bound)
    else:
        wanted = _rebound(binding, bound, declared, scope)
        if bound.optional and isinstance(bound, NodeVar | EdgeVar):
            conditions.append(ir.IsNull(whole(var, bound, scope), negated=True))
        if wanted != union_members(bound.type_name):
            conditions.append(_of_type(var, bound, wanted))
    info = scope.info(declared)
    conditions += [_inline_match(match, var, info, scope) for match in binding.matches]
    kind = "edge" if isinstance(declared, EdgeVar) else "node"
    return Bind(var, bound.type_name, tuple(conditions), kind)


def _rebound(binding: ast.Binding, bound: Variable, declared: NodeVar | EdgeVar, scope: Scope) -> tuple[str, ...]:
    """The types that are left for a variable that is bound already; an error when there are none."""
    if type(bound) is not type(declared):
        what = {NodeVar: "a node", EdgeVar: "an edge", PathVar: "a path"}.get(type(bound), "a row")
        raise scope.error("T23", f"${binding.var} is bound to {what} already", binding.span)
    have, want = union_members(bound.type_name), union_members(declared.type_name)
    both = tuple(name for name in have if name in want)
    if not (both or have == want) or (isinstance(bound, EdgeVar) and have != want):
        names = scope.info(bound).name, scope.info(declared).name
        message = f"${binding.var} is bound to {names[0]} already, not to {names[1]}"
        raise scope.error("T30", message, binding.span)
    return both


def _of_type(var: str, bound: Variable, wanted: tuple[str, ...]) -> ir.Condition:
    """Whether an entity of a union is of one of some of its types."""
    kind = ir.Property(var, TYPE_COLUMN, ir.STRING.with_nullable(bound.optional))
    return ir.In(kind, ir.Const(wanted, PropType("String", list=True)))


def narrowed_types(clauses: tuple[ast.Clause, ...], scope: Scope) -> dict[str, NodeVar]:
    """What variables of this list range over that are bound here to several types: what all of them have in common.

    The match is a set, so the narrowest binding holds for every clause of the list, wherever it stands.
    """
    found: dict[str, list[ast.Binding]] = {}
    for clause in clauses:
        if isinstance(clause, ast.Binding) and clause.var != ANONYMOUS and scope.find(clause.var) is None:
            found.setdefault(clause.var, []).append(clause)
    types: dict[str, NodeVar] = {}
    for var, bindings in found.items():
        kinds = [declared_type(each, scope) for each in bindings]
        nodes = [kind for kind in kinds if isinstance(kind, NodeVar)]
        members = [{*union_members(kind.type_name)} for kind in nodes]
        if len(nodes) < len(kinds) or not (common := set.intersection(*members)):
            continue  # reported where the second binding stands
        interface = nodes[0].interface if len({kind.interface for kind in nodes}) == 1 else None
        types[var] = NodeVar(union_name(common), interface)
    return types


def declared_type(binding: ast.Binding, scope: Scope) -> NodeVar | EdgeVar:
    """What a binding ranges over: one type, the types that implement an interface, or those of an alternation."""
    catalog = scope.catalog
    name = binding.type_name
    if name in catalog.interfaces and name not in catalog.nodes:
        return NodeVar(_implementing(name, scope), interface=name)
    names = name.split(UNION)
    if all(each in catalog.edges and each not in catalog.nodes and each not in catalog.interfaces for each in names):
        return EdgeVar(union_name(names), scanned=True)
    found: list[str] = []
    for each in names:
        if each in catalog.nodes:
            found.append(each)
        elif each in catalog.interfaces:
            found.extend(filter(None, _implementing(each, scope).split(UNION)))
        else:
            raise _unknown_node_type(each, binding.type_span, scope)
    return NodeVar(union_name(found))


def _implementing(interface: str, scope: Scope) -> str:
    return union_name(name for name, info in scope.catalog.nodes.items() if interface in info.implements)


def _unknown_node_type(name: str, span: Span, scope: Scope) -> TypeCheckError:
    help_text = scope.suggest_or_list(
        name, [*scope.catalog.nodes, *scope.catalog.interfaces, *scope.catalog.edges], "types"
    )
    if name in scope.catalog.edges:
        help_text = f"{name} is an edge type; a variable ranges over nodes or over edges, not over both"
    return scope.error("T1", f"there is no node type '{name}'", span, help_text)


def _inline_match(written: ast.PropMatch, var: str, info: TypeInfo, scope: Scope) -> ir.Condition:
    kind = info.properties.get(written.name)
    if kind is None:
        physical = EDGE_COLUMNS if isinstance(info, EdgeType) else NODE_COLUMNS
        if written.name in physical:
            return ir.Compare(
                "=", ir.Property(var, physical[written.name], ir.STRING), _matched_value(written, ir.STRING, scope)
            )
        message = f"{info.name} has no property '{written.name}'"
        help_text = scope.suggest_or_list(written.name, [*info.properties], "properties")
        raise scope.error("T2", message, written.span, help_text)
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


# --- blocks ----------------------------------------------------------------------------------


def _negation(block: ast.NotBlock, scope: Scope) -> NotMatch:
    inner = scope.inner()
    clauses = check_clauses(block.clauses, inner)
    outer = outer_variables(clauses, inner)
    if not outer:
        raise scope.error("T9", "a not block must mention a variable from outside it", block.span)
    return NotMatch(clauses, tuple(sorted(outer)))


def _optional(block: ast.OptionalBlock, scope: Scope) -> OptionalMatch:
    inner = scope.inner()
    clauses = check_clauses(block.clauses, inner)
    if not inner.local:
        message = "an optional block that binds no variable changes nothing"
        raise scope.error("T35", message, block.span, "bind something inside, or leave 'optional' out")
    for name, variable in inner.local.items():
        scope.bind(name, replace(variable, optional=True))
    for name, value in inner.columns.items():
        if name not in scope.columns:
            scope.columns[name] = replace(value, type=value.type.with_nullable(True))
    return OptionalMatch(clauses, tuple(sorted(outer_variables(clauses, inner))), tuple(sorted(inner.local)))


def _either(block: ast.EitherBlock, scope: Scope) -> EitherMatch:
    scopes = [scope.inner() for _ in block.alternatives]
    alternatives = tuple(
        CheckedAlternative(check_clauses(each.clauses, inner))
        for each, inner in zip(block.alternatives, scopes, strict=True)
    )
    named = dict.fromkeys(name for inner in scopes for name in inner.local if not ir.is_hidden(name))
    shared = [name for name in named if all(name in inner.local for inner in scopes)]
    shared = [name for name in shared if not isinstance(scopes[0].local[name], PathVar)]
    for name in shared:
        kinds = [replace(inner.local[name], optional=False) for inner in scopes]
        if any(kind != kinds[0] for kind in kinds):
            names = " and ".join(dict.fromkeys(kind.type_name for kind in kinds))
            message = f"${name} is {names} in different alternatives"
            raise scope.error("T30", message, block.span, "bind it to the same types everywhere, or rename it")
        scope.bind(name, replace(kinds[0], optional=any(inner.local[name].optional for inner in scopes)))
    scope.partial |= {name: block.span for name in named if name not in shared}
    outer: set[str] = set()
    for each, inner in zip(alternatives, scopes, strict=True):
        outer |= outer_variables(each.clauses, inner)
    return EitherMatch(alternatives, tuple(sorted(outer)), tuple(sorted(shared)))


def _unwind(clause: ast.Unwind, scope: Scope) -> UnwindMatch:
    found = operand(clause.expr, scope, IN_FILTER)
    kind = found.type
    if not (isinstance(kind, PropType) and kind.list):
        raise scope.error("T7", f"'unwind' takes a list, not {describe(found)}", clause.expr.span)
    if kind.members is not None:
        message = "'unwind' takes a list of values, not of objects"
        raise scope.error("T7", message, clause.expr.span, "match from the nodes instead of collecting them")
    if clause.name in scope.columns:
        raise scope.error(
            "T26", f"two values are called '{clause.name}'", clause.span, "choose another name after 'as'"
        )
    var = scope.fresh("unwind")
    scope.bind(var, RowVar())
    scope.columns[clause.name] = ir.Property(var, ITEM, PropType(kind.scalar, enum=kind.enum))
    return UnwindMatch(found, var)


def _reads_a_promise(condition: ast.Expr, promised: set[str], scope: Scope) -> bool:
    """Whether a filter needs a variable that only an optional block above it will bind."""
    if not promised:
        return False
    read = {part.var if isinstance(part, ast.Prop) else part.name for part in _variables_in(condition)}
    read |= {part.name for part in expressions(condition) if isinstance(part, ast.Alias)}
    return any(scope.find(name) is None and name not in scope.columns for name in read & promised)


def _named_by(clauses: tuple[ast.Clause, ...]) -> Iterator[str]:
    """The names that clauses would bind if nothing else had."""
    for clause in clauses:
        match clause:
            case ast.Binding(var):
                yield var
            case ast.Traversal():
                yield from (clause.left, clause.right)
                yield from filter(None, (clause.edge_var, clause.path_var))
            case ast.OptionalBlock(inner):
                yield from _named_by(inner)
            case ast.Unwind(name=name):
                yield name
            case ast.EitherBlock(alternatives):
                yield from set.intersection(*(set(_named_by(each.clauses)) for each in alternatives))
            case _:
                pass


def _variables_in(condition: ast.Expr) -> Iterator[ast.Prop | ast.Var]:
    return (part for part in expressions(condition) if isinstance(part, ast.Prop | ast.Var))


def outer_variables(clauses: Iterable[CheckedClause], inner: Scope) -> set[str]:
    """The variables of enclosing lists that clauses read."""
    return {name for clause in clauses for name in used_variables(clause) if inner.is_outer(name)}
