"""Typing of expressions: what each operand is, and where it may not stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from omnigraph.checkpoints import checkpoint
from omnigraph.compiler.catalog.model import EdgeType, TypeInfo
from omnigraph.compiler.diagnostics import nearest_name
from omnigraph.compiler.functions import AGGREGATES, FUNCTIONS
from omnigraph.compiler.ir import expr as ir
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.check import search
from omnigraph.compiler.query.check.aggregates import check_aggregate
from omnigraph.compiler.query.check.calls import check_arithmetic, check_call, check_case, check_list
from omnigraph.compiler.query.check.conditions import check_test, truth
from omnigraph.compiler.query.check.objects import EDGE_COLUMNS, NODE_COLUMNS, TYPE_COLUMN, node_record, whole
from omnigraph.compiler.query.check.scope import Scope
from omnigraph.compiler.query.check.values import constant, describe, needed_parameter, parameter
from omnigraph.compiler.query.check.windows import check_window
from omnigraph.compiler.query.checked import EdgeVar, NodeVar, PathVar
from omnigraph.compiler.types import PropType, union_members


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands: which columns it can name, and the codes of what it cannot hold."""

    what: str
    aggregate_code: str
    rank_allowed: bool = False
    relevance: bool = False  # bm25(…) can stand here: a value of its text alone, unlike other ranks
    blob_param_code: str = "T24"
    aliases: Mapping[str, ir.Expr] = field(default_factory=dict)
    target: TypeInfo | None = None  # a bare name is a property of this type
    target_var: str | None = None  # and belongs to this matched variable; without one only parameters can stand beside
    columns_only: bool = False  # rows have become results, so variables are gone
    windows: bool = False  # values of rows in their groups can stand here
    aggregates: Place | None = None  # aggregates can stand here, and inside them this place holds


# Words that look like columns but never name one by themselves.
_COLUMN_HELP = {
    "as": "a name after 'as' is a bare lower-case word",
    **{name: f"name the column in return: … as {name}" for name in AGGREGATES},
}

_NAME_IT = "name what you need in return, with 'as', and use that name"

IN_FILTER = Place("a filter", aggregate_code="T7", blob_param_code="T7", relevance=True)


def operand(expr: ast.Expr, scope: Scope, place: Place) -> ir.Expr:
    """The typed form of an expression; a bare node variable becomes a whole node."""
    checkpoint()
    match expr:
        case ast.Literal() | ast.ListLiteral():
            found = constant(expr, scope)
            if isinstance(expr, ast.ListLiteral) and found is None:
                return check_list(expr, scope, lambda part: operand(part, scope, replace(place, rank_allowed=False)))
            assert found is not None
            return found
        case ast.Record():
            return _record(expr, scope, place)
        case ast.Prop():
            if place.columns_only:
                raise scope.error("T27", f"{place.what} speaks about columns", expr.span, _NAME_IT)
            return _readable(property_of(expr, scope), expr, scope)
        case ast.Var():
            return _variable(expr, scope, place)
        case ast.Now():
            return ir.Now()
        case ast.Unary() | ast.Binary():
            return check_arithmetic(expr, scope, lambda part: operand(part, scope, place))
        case ast.Case():
            return check_case(expr, scope, lambda part: operand(part, scope, place))
        case ast.Alias():
            return _name(expr, scope, place)
        case ast.Call():
            return _call(expr, scope, place)
        case ast.Window():
            if not place.windows:
                help_text = "put it into 'with', under a name, and use that" if place.what != "an aggregate" else None
                raise scope.error("T8", f"{expr.name}(…) of rows cannot stand in {place.what}", expr.span, help_text)
            inner = replace(place, windows=False, aggregates=None, rank_allowed=False, what="a window")
            return check_window(expr, scope, lambda part: operand(part, scope, inner))
        case ast.Exists():
            return _pattern(expr, "exists { … }", scope, place)
        case ast.Agg() if expr.clauses:
            return _pattern(expr, f"{expr.name}(… match {{ … }})", scope, place)
        case ast.Agg() if place.aggregates is not None:
            inside = place.aggregates
            return check_aggregate(expr, scope, lambda part: operand(part, scope, inside))
        case ast.Agg():
            help_text = "give it a name in return, and use the name" if place.what in ("order", "having") else None
            if place.what == "a filter":
                help_text = f"group in 'with' and use 'having', or count a pattern: {expr.name}(… match {{ … }})"
            elif place.what == "an aggregate":
                help_text = "put the inner one into 'with', under a name, and use that"
            raise scope.error(
                place.aggregate_code, f"{expr.name}(…) cannot stand in {place.what}", expr.span, help_text
            )
        case test:
            return check_test(test, scope, lambda part: operand(part, scope, place), stored=place.target is not None)


def check_condition(expr: ast.Expr, scope: Scope, place: Place) -> ir.Condition:
    """The typed form of an expression that must be a truth value."""
    return truth(expr, scope, lambda part: operand(part, scope, place))


def property_of(prop: ast.Prop, scope: Scope) -> ir.Property:
    """The column `$v.p` reads."""
    variable = scope.find(prop.var)
    if variable is None:
        if prop.var in scope.params:
            raise scope.error("T6", f"${prop.var} is a parameter and has no properties", prop.span)
        help_text = scope.suggest(prop.var, scope.visible())
        if prop.var in scope.dropped:
            help_text = f"'with' does not hand it on; add ${prop.var} there"
        if prop.var in scope.partial:
            help_text = "only some of the alternatives bind it; bind it in every one"
        raise scope.error(
            "T6", f"${prop.var} is not bound here", prop.span, help_text or "bind it in an earlier clause"
        )
    if prop.name == "id" and not isinstance(variable, PathVar):
        return ir.Property(prop.var, "id", ir.STRING.with_nullable(variable.optional))
    if isinstance(variable, EdgeVar) and prop.name in EDGE_COLUMNS:
        return ir.Property(prop.var, EDGE_COLUMNS[prop.name], ir.STRING.with_nullable(variable.optional))
    info = scope.info(variable)
    kind = info.properties.get(prop.name)
    if kind is None:
        if isinstance(variable, EdgeVar) and prop.name in ("src", "dst"):
            raise scope.error(
                "T6", f"{info.name} has no property '{prop.name}'", prop.span, "the ends of an edge are 'from' and 'to'"
            )
        message = f"{info.name} has no property '{prop.name}'"
        if isinstance(variable, PathVar) and prop.name == "cost":
            raise scope.error("T6", message, prop.span, "only a 'cheapest' path has a cost")
        known = [*info.properties, *(() if isinstance(variable, PathVar) else ("id",))]
        raise scope.error("T6", message, prop.span, scope.suggest_or_list(prop.name, known, "properties"))
    return ir.Property(prop.var, prop.name, kind.with_nullable(kind.nullable or variable.optional))


def _record(written: ast.Record, scope: Scope, place: Place) -> ir.Record:
    """`{ name: value, … }`."""
    members: dict[str, ir.Member] = {}
    for each in written.members:
        if each.name in members:
            raise scope.error("T26", f"two members are called '{each.name}'", written.span)
        found = operand(each.value, scope, replace(place, rank_allowed=False))
        found = node_record(found, scope) if isinstance(found, ir.Node) else found
        if found.type == ir.NULL or not isinstance(found.type, PropType):
            raise scope.error("T7", f"'{each.name}' cannot be {describe(found)}", each.value.span)
        members[each.name] = ir.Member(each.name, found)
    kind = PropType("Record", members=tuple((name, each.value.type) for name, each in members.items()))  # type: ignore[misc]
    return ir.Record(tuple(members.values()), kind)


def _readable(found: ir.Property, prop: ast.Prop, scope: Scope) -> ir.Property:
    if found.type.scalar == "Blob":
        message = f"'{prop.name}' is a Blob, which a query can store but not read"
        raise scope.error("T24", message, prop.span, "fetch it through the blob interface")
    return found


def _variable(var: ast.Var, scope: Scope, place: Place) -> ir.Expr:
    if place.target is not None and place.target_var is None:
        return _blob_checked(needed_parameter(var, scope), var, scope, place)
    variable = scope.find(var.name)
    if variable is not None and place.columns_only:
        raise scope.error("T27", f"{place.what} speaks about columns", var.span, _NAME_IT)
    if isinstance(variable, PathVar):
        message = f"${var.name} is a path; name ${var.name}.length or ${var.name}.nodes"
        raise scope.error("T36", message, var.span)
    if isinstance(variable, NodeVar | EdgeVar):
        return whole(var.name, variable, scope)
    param = parameter(var.name, scope)
    if param is None:
        help_text = scope.suggest(var.name, [*scope.visible(), *scope.params])
        raise scope.error("T30", f"${var.name} is neither bound here nor a parameter", var.span, help_text)
    return _blob_checked(param, var, scope, place)


def _pattern(expr: ast.Exists | ast.Agg, what: str, scope: Scope, place: Place) -> ir.Expr:
    # A pattern has conditions, and one of them this.
    from omnigraph.compiler.query.check.patterns import check_exists, check_fold

    if place.columns_only:
        raise scope.error("T27", f"{place.what} speaks about columns", expr.span, _NAME_IT)
    if place.target is not None:
        raise scope.error("T27", f"{what} cannot stand in a mutation", expr.span, "put it into the match")
    return check_exists(expr, scope) if isinstance(expr, ast.Exists) else check_fold(expr, scope, place)


def _blob_checked(param: ir.Param, var: ast.Var, scope: Scope, place: Place) -> ir.Param:
    if param.type.scalar == "Blob":
        raise scope.error(
            place.blob_param_code, f"parameter ${param.name} is a Blob and cannot be used in {place.what}", var.span
        )
    return param


def _name(alias: ast.Alias, scope: Scope, place: Place) -> ir.Expr:
    if place.target is not None:
        return _target_property(alias, scope, place)
    found = place.aliases.get(alias.name)
    if found is None and not place.columns_only:
        found = scope.columns.get(alias.name)
    if found is None:
        holders = [var for var, kind in scope.visible().items() if alias.name in scope.info(kind).properties]
        meant = f"for the property write ${holders[0]}.{alias.name}" if holders else _COLUMN_HELP.get(alias.name)
        if meant is None and alias.name in FUNCTIONS:
            meant = f"for the function write {alias.name}(…)"
        help_text = scope.suggest(alias.name, [*place.aliases, *scope.columns]) or meant
        if help_text is None and not place.columns_only:
            known = {name: var for var, kind in scope.visible().items() for name in scope.info(kind).properties}
            near = nearest_name(alias.name, known)
            help_text = None if near is None else f"did you mean ${known[near]}.{near}?"
        raise scope.error("T25", f"there is no column called '{alias.name}' here", alias.span, help_text)
    return found


def _target_property(alias: ast.Alias, scope: Scope, place: Place) -> ir.Property:
    target, var = place.target, place.target_var or ir.TARGET
    assert target is not None
    physical = EDGE_COLUMNS if isinstance(target, EdgeType) else NODE_COLUMNS
    column = physical.get(alias.name)
    if column is not None:
        return ir.Property(var, column, ir.STRING)
    kind = target.properties.get(alias.name)
    if kind is None:
        message = f"{target.name} has no property '{alias.name}'"
        raise scope.error("T11", message, alias.span, scope.suggest(alias.name, [*target.properties, *physical]))
    if kind.scalar == "Blob":
        raise scope.error("T11", f"'{alias.name}' is a Blob and cannot be tested", alias.span)
    return ir.Property(var, alias.name, kind)


def _call(call: ast.Call, scope: Scope, place: Place) -> ir.Expr:
    if call.name in ("id", "type") and len(call.args) == 1 and isinstance(call.args[0], ast.Var):
        return _about_entity(call, call.args[0], scope, place)
    if call.name in FUNCTIONS:
        inner = replace(place, rank_allowed=False, relevance=place.rank_allowed or place.relevance)
        return check_call(call, scope, lambda part: operand(part, scope, inner))
    if call.name in ir.TEXT_FUNCTIONS or call.name == ir.SNIPPET:
        if place.target is not None:
            raise scope.error("T27", f"{call.name}(…) cannot stand in a mutation", call.span)
        if place.columns_only:
            raise scope.error("T27", f"{place.what} speaks about columns", call.span, _NAME_IT)
        return search.text_match(call, scope, lambda expr: _text_operand(expr, scope, place))
    # A relevance can be compared and computed with; other ranks order a result.
    if not place.rank_allowed and not (call.name == "bm25" and place.relevance):
        help_text = "rank in order, and read the score in return" if place.what == IN_FILTER.what else None
        raise scope.error("T27", f"{call.name}(…) cannot stand in {place.what}", call.span, help_text)
    return search.rank_call(call, scope)


def _text_operand(expr: ast.Expr, scope: Scope, place: Place) -> ir.Expr:
    # A Blob here is first of all not text, so it keeps its own code.
    if isinstance(expr, ast.Prop):
        return property_of(expr, scope)
    return operand(expr, scope, place)


def _about_entity(call: ast.Call, var: ast.Var, scope: Scope, place: Place) -> ir.Expr:
    """`id($x)` and `type($x)`."""
    variable = scope.find(var.name)
    if place.columns_only or not isinstance(variable, NodeVar | EdgeVar):
        raise scope.error("T38", f"{call.name}(…) takes a node or an edge variable", var.span)
    identity = ir.Property(var.name, "id", ir.STRING.with_nullable(variable.optional))
    members = union_members(variable.type_name)
    if call.name == "id":
        return identity
    if len(members) > 1:
        return ir.Property(var.name, TYPE_COLUMN, ir.STRING.with_nullable(variable.optional))
    name = ir.Const(members[0] if members else None, ir.STRING)
    if not variable.optional and place.what == IN_FILTER.what:
        return name
    # A value of the row: beside an aggregate it makes groups, and without rows there are none.
    kind = ir.STRING.with_nullable(variable.optional)
    return ir.Choice((ir.IsNull(identity),), (ir.Const(None, ir.NULL),), name, kind)
